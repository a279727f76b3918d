import { type ChildNode, Element, isTag, isText } from "domhandler";
import { cleanCharacters, cleanLine, withoutLinkSign } from "./clean.ts";
import { hasQuestion, holdsSections, isAccordionButton, isAnchorMark, isFootnoteMark, isLinkListWithin } from "./html-marks.ts";
import { isFurniture, isLineNumbers, isNamed, isNoText, type PageFacts } from "./html-rules.ts";
import { isLayoutTable, rowsOf, tableText } from "./html-table.ts";

const BLOCKS = new Set(
  (
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form header hgroup hr " +
    "html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul #root"
  ).split(" "),
);
const HEADING = /^h[1-6]$/;
const NOT_IN_HEADINGS = /^(?:ul|ol|dl|table|pre|section|article|h[1-6])$/;
/** As `blocks` reads them: a longer heading is a paragraph. */
const MAX_HEADING_CHARS = 200;
const MAX_HEADING_LEVEL = 6;
/** Deeper lists stay at this depth: what is further in is not read as nested any more. */
const MAX_LIST_DEPTH = 6;
/** A definition this short stands in one line with its term. */
const MAX_DEFINITION_CHARS = 200;
/** A form with this much text beside its controls is a page that was wrapped in one. */
const MIN_FORM_TEXT_CHARS = 400;

/** Enough for the classes of a few elements around. */
const MAX_CLASSES_CHARS = 400;
/** Short blocks that many generators set beside the text, with no name to tell them by. */
const BOILERPLATE =
  /^(?:(?:last (?:updated|modified|edited)|page last (?:updated|modified)|updated)(?: on| at|:)? .{0,40}|edit (?:this page|on github).{0,20}|was this (?:page|article|section|answer)? ?helpful\?.{0,20}|(?:back|return) to top|skip to (?:main )?content|on this page|in this article|copy(?: code| link| page)?|copied!?|(?:note|tip|info|warning|danger|caution|important|hint|success|abstract):?)$/i;

interface Place {
  withinMain: boolean;
  listDepth: number;
  /** Classes of the elements around, the nearest first, where code blocks keep their language. */
  classes: string;
}

/** A run of blocks: inline text gathers until a block breaks it. */
class Flow {
  readonly blocks: string[] = [];
  private inline: string[] = [];

  text(text: string): void {
    this.inline.push(text);
  }

  block(text: string): void {
    this.break();
    if (text !== "") this.blocks.push(text);
  }

  break(): void {
    if (this.inline.length === 0) return;
    const lines = cleanCharacters(this.inline.join(""))
      .split("\n")
      .map((line) => line.replace(/\s+/g, " ").trim());
    this.inline = [];
    const text = lines.filter((line) => line !== "").join("\n");
    if (text !== "" && !BOILERPLATE.test(text)) this.blocks.push(text);
  }

  /** All of it; what is inline is broken off. */
  end(): string[] {
    this.break();
    return this.blocks;
  }
}

/** Makes the Markdown-like text of parts of one page. */
export class TextMaker {
  private level = 1;

  constructor(
    private readonly facts: PageFacts,
    /** Whether what a name calls furniture is left out; not where nothing else is left. */
    private readonly withoutFurniture: boolean,
  ) {}

  /** The text of an element with all that it holds. */
  textOf(element: Element): string {
    this.level = 1;
    return this.blocksOf(element, { withinMain: isMain(element), listDepth: 0, classes: "" }).join("\n\n");
  }

  private blocksOf(element: Element, place: Place): string[] {
    const flow = new Flow();
    this.all(element.children, flow, place);
    return flow.end();
  }

  private lineOf(element: Element, place: Place): string {
    return cleanLine(this.blocksOf(element, place).join(" "));
  }

  private all(nodes: ChildNode[], flow: Flow, place: Place): void {
    for (const node of nodes) {
      if (isText(node)) flow.text(node.data.replace(/[ \t\n\r\f]+/g, " "));
      else if (isTag(node)) this.element(node, flow, place);
    }
  }

  private element(element: Element, flow: Flow, place: Place): void {
    if (element.name === "br") return flow.text("\n");
    if (this.isLeftOut(element, place)) return BLOCKS.has(element.name) ? flow.break() : undefined;
    if (element.name === "img") return flow.text(imageText(element));
    if (element.name === "button") return this.button(element, flow, place);
    if (HEADING.test(element.name)) return this.heading(element, Number(element.name[1]), flow, place);
    if (element.attribs["role"] === "heading") return this.heading(element, ariaLevel(element), flow, place);
    if (!BLOCKS.has(element.name)) return this.all(element.children, flow, place);
    flow.break();
    this.block(element, flow, within(element, place));
    flow.break();
  }

  private block(element: Element, flow: Flow, place: Place): void {
    switch (element.name) {
      case "pre":
        return flow.block(codeBlock(element, place.classes));
      case "ul":
      case "ol":
        return holdsSections(element) ? this.all(element.children, flow, place) : flow.block(this.list(element, place));
      case "dl":
        return this.definitions(element, flow, place);
      case "table":
        return this.table(element, flow, place);
      case "details":
        return this.details(element, flow, place);
      default:
        return this.all(element.children, flow, place);
    }
  }

  private isLeftOut(element: Element, place: Place): boolean {
    if (isNoText(element, this.facts) || isLineNumbers(element) || isFootnoteMark(element)) return true;
    if (element.name === "label") return element.attribs["for"] !== undefined || element.children.some((child) => isTag(child));
    if (!this.withoutFurniture) return false;
    if (element.name === "form") return textLength(element) < MIN_FORM_TEXT_CHARS;
    return isFurniture(element, this.facts, place.withinMain);
  }

  private heading(element: Element, level: number, flow: Flow, place: Place): void {
    // One that was never closed holds what follows it.
    if (element.children.some((child) => isTag(child) && NOT_IN_HEADINGS.test(child.name))) {
      flow.break();
      return this.all(element.children, flow, place);
    }
    const children = element.children.filter((child) => !isTag(child) || !isAnchorMark(child));
    const text = this.lineOf(unheaded(new Element("div", element.attribs, children)), place);
    this.headingLine(withoutLinkSign(text), level, flow);
  }

  private headingLine(text: string, level: number, flow: Flow): void {
    // What has no letter and no digit is an ornament.
    if (!/[\p{L}\p{N}]/u.test(text)) return;
    if (text.length > MAX_HEADING_CHARS) return flow.block(text);
    this.level = Math.min(level, MAX_HEADING_LEVEL);
    flow.block(`${"#".repeat(this.level)} ${text}`);
  }

  /** A question that opens its answer: a heading beside the last one that was none, not below the question before. */
  private opener(text: string, flow: Flow): void {
    const level = this.level;
    this.headingLine(text, level + 1, flow);
    this.level = level;
  }

  private button(element: Element, flow: Flow, place: Place): void {
    if (isAccordionButton(element)) this.opener(this.lineOf(new Element("div", element.attribs, element.children), place), flow);
  }

  private details(element: Element, flow: Flow, place: Place): void {
    const summary = element.children.find((child): child is Element => isTag(child) && child.name === "summary");
    const rest = element.children.filter((child) => child !== summary);
    if (summary) {
      const title = this.lineOf(unheaded(summary), place);
      if (hasQuestion(title)) this.opener(title, flow);
      else flow.block(title);
    }
    this.all(rest, flow, place);
  }

  private list(element: Element, place: Place): string {
    if (isLinkListWithin(element)) return "";
    const lines: string[] = [];
    let number = Number.parseInt(element.attribs["start"] ?? "1", 10) || 1;
    const deeper = { ...place, listDepth: place.listDepth + 1 };
    const indent = place.listDepth < MAX_LIST_DEPTH ? "  " : "";
    for (const child of element.children) {
      if (!isTag(child) || this.isLeftOut(child, place)) continue;
      const blocks = child.name === "li" ? this.blocksOf(child, deeper) : this.blocksOf(new Element("div", {}, [child]), deeper);
      if (blocks.length === 0) continue;
      const mark = element.name === "ol" ? `${number++}. ` : "- ";
      lines.push(`${mark}${blocks.join("\n").replace(/\n(?!\n)/g, `\n${indent}`)}`);
    }
    return lines.join("\n");
  }

  private definitions(element: Element, flow: Flow, place: Place): void {
    let term = "";
    for (const child of groupsOf(element)) {
      if (this.isLeftOut(child, place)) continue;
      if (child.name === "dt") {
        if (term !== "") flow.block(term);
        term = this.lineOf(unheaded(child), place).replace(/(?<!\s)\s*:$/, "");
        continue;
      }
      const blocks = this.blocksOf(child, place);
      const isShort = blocks.length === 1 && blocks[0]!.length <= MAX_DEFINITION_CHARS && !/^(?:#|\||- |```)/.test(blocks[0]!);
      if (term !== "" && hasQuestion(term)) this.opener(term, flow);
      else if (term !== "" && !isShort) flow.block(term);
      flow.block(isShort && term !== "" && !hasQuestion(term) ? `${term}: ${blocks[0]!}` : blocks.join("\n\n"));
      term = "";
    }
    if (term !== "") flow.block(term);
  }

  private table(element: Element, flow: Flow, place: Place): void {
    const rows = rowsOf(element).filter((row) => !this.isLeftOut(row, place));
    if (isLayoutTable(element, rows)) return this.all(element.children, flow, place);
    for (const child of element.children) {
      if (isTag(child) && child.name === "caption") flow.block(this.lineOf(child, place));
    }
    flow.block(tableText(rows, (cell) => this.lineOf(cell, place)));
  }
}

/** Whether an element is a page's main part by its tag or role. */
export function isMain(element: Element): boolean {
  return element.name === "main" || element.name === "article" || element.attribs["role"] === "main";
}

function within(element: Element, place: Place): Place {
  const classes = `${element.attribs["class"] ?? ""} ${place.classes}`.slice(0, MAX_CLASSES_CHARS);
  return { ...place, withinMain: place.withinMain || isMain(element), classes };
}

function ariaLevel(element: Element): number {
  const level = Number.parseInt(element.attribs["aria-level"] ?? "2", 10);
  return level >= 1 && level <= MAX_HEADING_LEVEL ? level : 2;
}

/** An element whose own headings are plain text. */
function unheaded(element: Element): Element {
  const plain = (child: ChildNode): ChildNode =>
    isTag(child) && /^(?:h[1-6]|button)$/.test(child.name) ? new Element("div", child.attribs, child.children) : child;
  return new Element("div", element.attribs, element.children.map(plain));
}

/** The terms and definitions of a list, also those that it groups in `div`s. */
function groupsOf(list: Element): Element[] {
  return list.children.filter(isTag).flatMap((child) => (child.name === "div" ? child.children.filter(isTag) : [child]));
}

/** How much text an element holds, in characters, as far as it matters. */
export function textLength(element: Element): number {
  let length = 0;
  for (const child of element.children) {
    if (isText(child)) length += child.data.trim().length;
    else if (isTag(child) && !/^(?:title|script|style|select|noscript|template)$/.test(child.name)) length += textLength(child);
  }
  return length;
}

/** Parts of a code block that are not code: buttons, and prompts that say what the block is. */
const NO_CODE = new Set(["button", "svg", "style", "script", "template", "noscript", "select", "textarea", "label", "figcaption"]);
const NO_CODE_CLASS = /(?:^|-)(?:copy|copybtn|clipboard|tooltip|sr-only|hidden)(?:-|$)/;
/** Elements that some highlighters put each line in, with no line break between. */
const LINE_TAGS = new Set(["div", "p", "li", "tr"]);
const LINE_CLASS = /(?:^|-)(?:token-line|code-line|view-line|line)(?:-|$)/;
const LANGUAGE_CLASS = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s?)([a-z0-9+#-]{1,20})(?=[\s;]|$)/i;
const NO_LANGUAGE = new Set(["default", "none", "text", "plaintext", "plain", "auto", "source", "highlight", "console-output"]);

/** A `pre` as a fenced block with its white space; "" where it is empty. `classes` are those of the elements around it. */
function codeBlock(pre: Element, classes: string): string {
  const parts: string[] = [];
  collect(pre.children, parts);
  const code = parts
    .join("")
    .replace(/\r\n?/g, "\n")
    .replace(/[\u200b\u2060\ufeff]/g, "")
    .replaceAll("\u00a0", " ");
  const lines = code.split("\n").map((line) => line.trimEnd());
  const first = lines.findIndex((line) => line !== "");
  const last = lines.findLastIndex((line) => line !== "");
  if (first < 0) return "";
  const body = lines.slice(first, last + 1).join("\n");
  const fence = body.includes("```") ? "~~~~" : "```";
  return `${fence}${languageOf(pre, classes)}\n${body}\n${fence}`;
}

function collect(nodes: ChildNode[], parts: string[]): void {
  for (const node of nodes) {
    if (isText(node)) parts.push(node.data);
    else if (!isTag(node)) continue;
    else if (node.name === "br") parts.push("\n");
    else if (!NO_CODE.has(node.name) && !isLineNumbers(node) && !isNamed(node, NO_CODE_CLASS)) line(node, parts);
  }
}

function line(element: Element, parts: string[]): void {
  const isLine = LINE_TAGS.has(element.name) || (element.name === "span" && isNamed(element, LINE_CLASS));
  if (isLine && parts.length > 0 && !parts.at(-1)!.endsWith("\n")) parts.push("\n");
  collect(element.children, parts);
}

function languageOf(pre: Element, classes: string): string {
  const code = pre.children.find((child): child is Element => isTag(child) && child.name === "code");
  for (const names of [code?.attribs["class"], pre.attribs["class"], classes]) {
    const language = LANGUAGE_CLASS.exec(names ?? "")?.[1]?.toLowerCase();
    if (language && !NO_LANGUAGE.has(language)) return language;
  }
  return "";
}

/** Names of what an image is, not of what it shows. */
const SAYS_NOTHING =
  /^(?:(?:the|an?|site|our|my)\s+)?(?:image|img|picture|photo|icon|logo|avatar|banner|screenshot|thumbnail|placeholder|spacer|figure|graphic|diagram|hero|gif|badge|illustration)s?[\s\d:._-]*$/i;
const FILE_NAME = /^\S+\.(?:png|jpe?g|gif|svg|webp|avif|bmp|ico)$|^(?:IMG|DSC|image|screen ?shot)[-_ ]?\d[\w .-]*$|^https?:/i;
const MAX_ALT_CHARS = 300;

/** What stands in the text for an image: its description where that says something, else "". Spaces around keep words apart. */
function imageText({ attribs }: Element): string {
  const alt = cleanLine(attribs["alt"] ?? "");
  const isDecoration = ["presentation", "none"].includes(attribs["role"] ?? "") || attribs["width"] === "1";
  if (alt === "" || isDecoration || alt.length > MAX_ALT_CHARS || SAYS_NOTHING.test(alt) || FILE_NAME.test(alt)) return "";
  return ` ${alt} `;
}
