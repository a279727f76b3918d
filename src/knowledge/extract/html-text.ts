import { type ChildNode, Element, isTag, isText } from "domhandler";
import { inSlices, type Slices } from "../../platform/time.ts";
import { cleanCharacters, cleanLine, withoutLinkSign } from "./clean.ts";
import {
  hasQuestion,
  containsSections,
  isAccordionButton,
  isAccordionLabel,
  isPermalink,
  isFootnoteLink,
  isBoilerplate,
  isLineNumbers,
  isTableOfContents,
  hasClass,
  isNonContent,
  type PageFacts,
} from "./html-rules.ts";
import { isLayoutTable, rowsOf, tableBlocks } from "./html-table.ts";

const BLOCKS = new Set(
  (
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form header hgroup hr " +
    "html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul #root"
  ).split(" "),
);
const HEADING = /^h[1-6]$/;
const NOT_IN_HEADINGS = /^(?:ul|ol|dl|table|pre|section|article|h[1-6])$/;
/** A longer heading is a paragraph, as in text/blocks.ts. */
const MAX_HEADING_CHARS = 200;
const MAX_HEADING_LEVEL = 6;
/** Deeper lists are not indented further. */
const MAX_LIST_DEPTH = 6;
/** A short definition is put in one line with its term, and a short term is repeated for its further definitions. */
const MAX_DEFINITION_CHARS = 200;
/** A form with this much text besides its controls contains the whole page. */
const MIN_FORM_TEXT_CHARS = 400;

const MAX_CLASSES_CHARS = 400;
/**
 * The most blocks within each other that are rendered with their structure: list items, cells, headings. Each one cleans all of its text
 * again, so deeper ones are plain text.
 */
const MAX_NESTING = 8;
const MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?";
const DATE = `(?:[a-z]{2,9}day,? )?(?:\\d{1,4}[./-]\\d|${MONTH} \\d|\\d{1,2}(?:st|nd|rd|th)?\\.? ${MONTH}|\\d{1,4} [a-z]{1,9} ago)`;
/** Paragraphs that site generators add without a class that would mark them. */
const BOILERPLATE_LINE = new RegExp(
  `^(?:${[
    `(?:(?:page )?last (?:updated|modified|edited)|updated)(?: on| at|:)? ${DATE}.{0,30}`,
    "edit (?:this page|on github).{0,20}|was this (?:page|article|section|answer)? ?helpful\\?.{0,20}",
    "(?:back|return) to top|skip to (?:main )?content|on this page|in this article|copy(?: code| link| page)?|copied!?",
    "(?:note|tip|info|warning|danger|caution|important|hint|success|abstract):?",
  ].join("|")})$`,
  "i",
);

/** After so many nodes, which are rendered in a few milliseconds, other requests get their turn. */
const NODES_PER_SLICE = 500;

interface RenderContext {
  withinMain: boolean;
  listDepth: number;
  /** The number of enclosing blocks whose text is rendered before them. */
  nesting: number;
  /** Classes of the enclosing elements, nearest first, which may name the language of code. */
  classes: string;
}

/** Enough to find the number before a raised one, with its currency. */
const LAST_CHARS = 20;

/** Collects blocks. Inline text is joined until the next block begins. */
class Flow {
  readonly blocks: string[] = [];
  private inline: string[] = [];

  constructor(readonly dropsLines: boolean) {}

  text(text: string): void {
    this.inline.push(text);
  }

  /** The end of the inline text so far. */
  lastText(): string {
    return this.inline
      .slice(-4)
      .map((text) => text.slice(-LAST_CHARS))
      .join("");
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
    const isDropped = this.dropsLines && BOILERPLATE_LINE.test(text);
    if (text !== "" && !isDropped) this.blocks.push(text);
  }

  end(): string[] {
    this.break();
    return this.blocks;
  }
}

/** Renders elements of one page as Markdown. */
export class MarkdownRenderer {
  private level = 1;
  private nodes = 0;
  /** The characters of text so far. */
  private chars = 0;
  private readonly tabTitles = new Map<Element, string>();

  constructor(
    private readonly facts: PageFacts,
    private readonly dropsBoilerplate: boolean,
    /** The most text that is rendered. */
    private readonly maxChars: number,
  ) {}

  /** Renders elements, as far as the most text allows, in slices between which the isolate serves other requests. */
  async render(elements: readonly Element[]): Promise<{ text: string; truncated: boolean }> {
    this.chars = 0;
    const texts: string[] = [];
    for (const element of elements) {
      this.level = 1;
      const blocks = this.renderBlocks(element, { withinMain: isMain(element), listDepth: 0, nesting: 0, classes: "" });
      texts.push((await inSlices(blocks)).join("\n\n"));
    }
    return { text: texts.join("\n\n"), truncated: this.chars > this.maxChars };
  }

  private *renderBlocks(element: Element, context: RenderContext): Slices<string[]> {
    // "Warning" is boilerplate above a paragraph, and content as a heading, term, cell or item.
    const flow = new Flow(context.nesting === 0);
    yield* this.renderNodes(element.children, flow, { ...context, nesting: context.nesting + 1 });
    return flow.end();
  }

  /** Returns as much of a text as may still be rendered. */
  private bounded(text: string): string {
    const kept = text.slice(0, Math.max(0, this.maxChars - this.chars));
    this.chars += text.length;
    return kept;
  }

  private *inlineText(element: Element, context: RenderContext): Slices<string> {
    return cleanLine((yield* this.renderBlocks(element, context)).join(" "));
  }

  private *renderNodes(nodes: ChildNode[], flow: Flow, context: RenderContext): Slices<void> {
    for (const node of nodes) {
      if (++this.nodes % NODES_PER_SLICE === 0) yield;
      if (this.chars > this.maxChars) return;
      if (isText(node)) flow.text(this.bounded(node.data.replace(/[ \t\n\r\f]+/g, " ")));
      else if (isTag(node)) yield* this.element(node, flow, context);
    }
  }

  private *element(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    if (element.name === "br") return flow.text("\n");
    if (this.isLeftOut(element, context)) return BLOCKS.has(element.name) ? flow.break() : undefined;
    if (element.name === "img") return flow.text(imageText(element));
    if (element.name === "sup") flow.text(markOfRaised(element, flow.lastText()));
    if (context.nesting > MAX_NESTING) return yield* this.plain(element, flow, context);
    if (element.name === "button" || isAccordionLabel(element)) return yield* this.button(element, flow, context);
    if (element.attribs["role"] === "tabpanel") return yield* this.tabPanel(element, flow, context);
    if (HEADING.test(element.name)) return yield* this.heading(element, Number(element.name[1]), flow, context);
    if (element.attribs["role"] === "heading") return yield* this.heading(element, ariaLevel(element), flow, context);
    if (!BLOCKS.has(element.name)) return yield* this.renderNodes(element.children, flow, context);
    flow.break();
    yield* this.block(element, flow, within(element, context));
    flow.break();
  }

  /** Renders the text of an element without its structure. */
  private *plain(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    const isBlock = BLOCKS.has(element.name) || HEADING.test(element.name);
    if (isBlock) flow.break();
    yield* this.renderNodes(element.children, flow, context);
    if (isBlock) flow.break();
  }

  private *block(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    switch (element.name) {
      case "pre":
        return flow.block(this.bounded(codeBlock(element, context.classes)));
      case "ul":
      case "ol":
        return containsSections(element)
          ? yield* this.renderNodes(element.children, flow, context)
          : flow.block(yield* this.list(element, context));
      case "dl":
        return yield* this.definitions(element, flow, context);
      case "table":
        return yield* this.table(element, flow, context);
      case "details":
        return yield* this.details(element, flow, context);
      default:
        return yield* this.renderNodes(element.children, flow, context);
    }
  }

  private isLeftOut(element: Element, context: RenderContext): boolean {
    if (isNonContent(element, this.facts) || isLineNumbers(element) || isFootnoteLink(element)) return true;
    if (element.name === "label" && !isAccordionLabel(element))
      return element.attribs["for"] !== undefined || element.children.some((child) => isTag(child));
    if (!this.dropsBoilerplate) return false;
    if (element.name === "form") return textLength(element) < MIN_FORM_TEXT_CHARS;
    return isBoilerplate(element, this.facts, context.withinMain);
  }

  private *heading(element: Element, level: number, flow: Flow, context: RenderContext): Slices<void> {
    // A heading that was never closed contains the elements after it.
    if (element.children.some((child) => isTag(child) && NOT_IN_HEADINGS.test(child.name))) {
      flow.break();
      return yield* this.renderNodes(element.children, flow, context);
    }
    const children = element.children.filter((child) => !isTag(child) || !isPermalink(child));
    const text = yield* this.inlineText(withPlainHeadings(new Element("div", element.attribs, children)), context);
    this.headingLine(withoutLinkSign(text), level, flow);
  }

  private headingLine(text: string, level: number, flow: Flow): void {
    // A heading without a letter or digit is an ornament.
    if (!/[\p{L}\p{N}]/u.test(text)) return;
    if (text.length > MAX_HEADING_CHARS) return flow.block(text);
    this.level = Math.min(level, MAX_HEADING_LEVEL);
    flow.block(`${"#".repeat(this.level)} ${text}`);
  }

  /** A question whose answer opens on a click becomes a heading one level below the last real one. */
  private questionHeading(text: string, flow: Flow, level = this.level + 1): void {
    const current = this.level;
    this.headingLine(text, level, flow);
    this.level = current;
  }

  private *button(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    if (element.name === "label" || isAccordionButton(element))
      this.questionHeading(yield* this.inlineText(withPlainHeadings(new Element("div", element.attribs, element.children)), context), flow);
  }

  /** Renders a panel under the text of its tab, unless that is above it already. */
  private *tabPanel(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    const title = yield* this.tabTitle(element, context);
    const level = this.level + 1;
    const panel = new Flow(flow.dropsLines);
    yield* this.block(element, panel, within(element, context));
    const blocks = panel.end();
    flow.break();
    if (blocks.length === 0) return;
    if (flow.blocks.at(-1) === title) flow.blocks.pop();
    const isShown = [flow.blocks.at(-1), blocks[0]].some((block) => headingText(block) === title);
    if (!isShown) this.questionHeading(title, flow, level);
    for (const block of blocks) flow.blocks.push(block);
  }

  /** The text of a panel's tab; "" if it has none. A tab is rendered once, as plain text, since it may contain panels. */
  private *tabTitle({ attribs }: Element, context: RenderContext): Slices<string> {
    const ids = [attribs["id"], ...(attribs["aria-labelledby"] ?? "").split(/\s+/)];
    const tab = ids.map((id) => this.facts.tabs.get(id ?? "")).find((found) => found !== undefined);
    if (!tab) return "";
    const known = this.tabTitles.get(tab);
    if (known !== undefined) return this.bounded(known);
    const title = yield* this.inlineText(tab, { ...context, nesting: MAX_NESTING });
    this.tabTitles.set(tab, title);
    return title;
  }

  private *details(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    const summary = element.children.find((child): child is Element => isTag(child) && child.name === "summary");
    const rest = element.children.filter((child) => child !== summary);
    if (summary) {
      const title = yield* this.inlineText(withPlainHeadings(summary), context);
      if (hasQuestion(title)) this.questionHeading(title, flow);
      else flow.block(title);
    }
    yield* this.renderNodes(rest, flow, context);
  }

  private *list(element: Element, context: RenderContext): Slices<string> {
    if (isTableOfContents(element)) return "";
    const lines: string[] = [];
    let number = Number.parseInt(element.attribs["start"] ?? "1", 10) || 1;
    const deeper = { ...context, listDepth: context.listDepth + 1 };
    const indent = context.listDepth < MAX_LIST_DEPTH ? "  " : "";
    for (const child of element.children) {
      if (!isTag(child) || this.isLeftOut(child, context)) continue;
      const blocks =
        child.name === "li" ? yield* this.renderBlocks(child, deeper) : yield* this.renderBlocks(new Element("div", {}, [child]), deeper);
      if (blocks.length === 0) continue;
      const mark = element.name === "ol" ? `${number++}. ` : "- ";
      lines.push(`${mark}${blocks.join("\n").replace(/\n(?!\n)/g, `\n${indent}`)}`);
    }
    return lines.join("\n");
  }

  private *definitions(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    let term = "";
    let isDefined = true;
    for (const child of definitionItems(element)) {
      if (this.isLeftOut(child, context)) continue;
      if (child.name === "dt") {
        if (!isDefined) flow.block(term);
        term = (yield* this.inlineText(withPlainHeadings(child), context)).replace(/(?<!\s)\s*:$/, "");
        isDefined = false;
        continue;
      }
      if (isDefined) term = hasQuestion(term) || term.length > MAX_DEFINITION_CHARS ? "" : this.bounded(term);
      const blocks = yield* this.renderBlocks(child, context);
      const isShort = blocks.length === 1 && blocks[0]!.length <= MAX_DEFINITION_CHARS && !/^(?:#|\||- |```)/.test(blocks[0]!);
      const isQuestion = hasQuestion(term);
      if (isQuestion) this.questionHeading(term, flow);
      else if (!isShort) flow.block(term);
      flow.block(isShort && term !== "" && !isQuestion ? `${term}: ${blocks[0]!}` : blocks.join("\n\n"));
      isDefined = true;
    }
    if (!isDefined) flow.block(term);
  }

  private *table(element: Element, flow: Flow, context: RenderContext): Slices<void> {
    const rows = rowsOf(element).filter((row) => !this.isLeftOut(row, context));
    if (isLayoutTable(element, rows)) return yield* this.renderNodes(element.children, flow, context);
    for (const child of element.children) {
      if (isTag(child) && child.name === "caption") flow.block(yield* this.inlineText(child, context));
    }
    const blocks = yield* tableBlocks(
      rows,
      (cell) => this.inlineText(cell, context),
      (text) => this.bounded(text),
    );
    for (const block of blocks) flow.block(block);
  }
}

/** Whether an element is a page's main part by its tag or role. */
export function isMain(element: Element): boolean {
  return element.name === "main" || element.name === "article" || element.attribs["role"] === "main";
}

function within(element: Element, context: RenderContext): RenderContext {
  const classes = `${element.attribs["class"] ?? ""} ${context.classes}`.slice(0, MAX_CLASSES_CHARS);
  return { ...context, withinMain: context.withinMain || isMain(element), classes };
}

function ariaLevel(element: Element): number {
  const level = Number.parseInt(element.attribs["aria-level"] ?? "2", 10);
  return level >= 1 && level <= MAX_HEADING_LEVEL ? level : 2;
}

/** The text of a block without the mark of a heading. */
function headingText(block = ""): string {
  return block.replace(/^#{1,6} /, "");
}

/** Returns an element with plain text in place of its headings and buttons. */
function withPlainHeadings(element: Element): Element {
  const plain = (child: ChildNode): ChildNode =>
    isTag(child) && /^(?:h[1-6]|button)$/.test(child.name) ? new Element("div", child.attribs, child.children) : child;
  return new Element("div", element.attribs, element.children.map(plain));
}

/** The terms and definitions of a list, including those that are grouped in `div`s. */
function definitionItems(list: Element): Element[] {
  return list.children.filter(isTag).flatMap((child) => (child.name === "div" ? child.children.filter(isTag) : [child]));
}

/** The number of characters of text in an element, without scripts and the like. */
export function textLength(element: Element): number {
  let length = 0;
  for (const child of element.children) {
    if (isText(child)) length += child.data.trim().length;
    else if (isTag(child) && !/^(?:title|script|style|select|noscript|template)$/.test(child.name)) length += textLength(child);
  }
  return length;
}

const CURRENCY = String.raw`(?:\p{Sc}|\b[A-Z]{3}\b)`;
const PRICE_BEFORE = new RegExp(String.raw`${CURRENCY}\s?[\d.,]*\d$`, "u");
const CURRENCY_AFTER = new RegExp(String.raw`^\s*${CURRENCY}`, "u");
const RAISED_NUMBER = /^[-+−]?\d+/;

/**
 * The mark that plain text needs before a raised number that follows a digit: $9<sup>99</sup> is $9.99, and 10<sup>3</sup> is 10^3.
 * @param before the text before the element.
 */
function markOfRaised(element: Element, before: string): string {
  const [child] = element.children;
  const raised = child && isText(child) ? child.data.trim() : "";
  const number = RAISED_NUMBER.exec(raised)?.[0];
  if (number === undefined || !/\d$/.test(before)) return "";
  const after = raised.slice(number.length) + (element.next && isText(element.next) ? element.next.data : "");
  if (/^\d\d$/.test(number) && (PRICE_BEFORE.test(before) || CURRENCY_AFTER.test(after))) return ".";
  // The numerator of a fraction: 1<sup>1</sup>/<sub>2</sub>.
  return /^\s?[/⁄]/.test(after) ? " " : "^";
}

/** Parts of a code block that are not code. */
const NO_CODE = new Set(["button", "svg", "style", "script", "template", "noscript", "select", "textarea", "label", "figcaption"]);
const NO_CODE_CLASS = /(?:^|-)(?:copy|copybtn|clipboard|tooltip|sr-only|hidden)(?:-|$)/;
/** Elements in which some highlighters put each line, with no line break between them. */
const LINE_TAGS = new Set(["div", "p", "li", "tr"]);
const LINE_CLASS = /(?:^|-)(?:token-line|code-line|view-line|line)(?:-|$)/;
const LANGUAGE_CLASS = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s?)([a-z0-9+#-]{1,20})(?=[\s;]|$)/i;
const NO_LANGUAGE = new Set(["default", "none", "text", "plaintext", "plain", "auto", "source", "highlight", "console-output"]);

/**
 * Renders a `pre` as a fenced block with its white space; "" where it is empty.
 * @param classes those of the enclosing elements.
 */
function codeBlock(pre: Element, classes: string): string {
  const parts: string[] = [];
  collectCode(pre.children, parts);
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

function collectCode(nodes: ChildNode[], parts: string[]): void {
  for (const node of nodes) {
    if (isText(node)) parts.push(node.data);
    else if (!isTag(node)) continue;
    else if (node.name === "br") parts.push("\n");
    else if (!NO_CODE.has(node.name) && !isLineNumbers(node) && !hasClass(node, NO_CODE_CLASS)) collectLine(node, parts);
  }
}

function collectLine(element: Element, parts: string[]): void {
  const isLine = LINE_TAGS.has(element.name) || (element.name === "span" && hasClass(element, LINE_CLASS));
  if (isLine && parts.length > 0 && !parts.at(-1)!.endsWith("\n")) parts.push("\n");
  collectCode(element.children, parts);
}

function languageOf(pre: Element, classes: string): string {
  const code = pre.children.find((child): child is Element => isTag(child) && child.name === "code");
  for (const names of [code?.attribs["class"], pre.attribs["class"], classes]) {
    const language = LANGUAGE_CLASS.exec(names ?? "")?.[1]?.toLowerCase();
    if (language && !NO_LANGUAGE.has(language)) return language;
  }
  return "";
}

/** Descriptions that do not say what an image shows. */
const GENERIC_ALT =
  /^(?:(?:the|an?|site|our|my)\s+)?(?:image|img|picture|photo|icon|logo|avatar|banner|screenshot|thumbnail|placeholder|spacer|figure|graphic|diagram|hero|gif|badge|illustration)s?[\s\d:._-]*$/i;
const FILE_NAME = /^\S+\.(?:png|jpe?g|gif|svg|webp|avif|bmp|ico)$|^(?:IMG|DSC|image|screen ?shot)[-_ ]?\d[\w .-]*$|^https?:/i;
const MAX_ALT_CHARS = 300;

/** An image's description between spaces; "" if it describes nothing. */
function imageText({ attribs }: Element): string {
  const alt = cleanLine(attribs["alt"] ?? "");
  const isDecoration = ["presentation", "none"].includes(attribs["role"] ?? "") || attribs["width"] === "1";
  if (alt === "" || isDecoration || alt.length > MAX_ALT_CHARS || GENERIC_ALT.test(alt) || FILE_NAME.test(alt)) return "";
  return ` ${alt} `;
}
