import { DomHandler, Element } from "domhandler";
import { Parser } from "htmlparser2";
import { atOnce, inSlices, type Slices } from "../../platform/time.ts";
import type { Truncation } from "./response.ts";

export interface HtmlTree {
  root: Element;
  truncated: Truncation;
}

/** The length of a book; a longer page is data or an attack. */
export const MAX_HTML_CHARS = 5 * 1024 * 1024;
/** After so many characters, which are parsed in some milliseconds, other requests get their turn. Most pages have fewer. */
const SLICE_CHARS = 128 * 1024;
/** Enough elements for 2 MB of prose; with their texts they take about 60 MB of the isolate's 128. */
const MAX_ELEMENTS = 60_000;
/** Each end tag searches the open elements, so that their number multiplies the time that a page takes. */
const MAX_OPEN_ELEMENTS = 1_000;
/** The content of deeper elements is added to the enclosing element, since functions that walk the tree are recursive. */
const MAX_DEPTH = 200;
const MAX_ATTRIBUTE_CHARS = 4_096;
/** The most attributes of a tag; no site writes as many. */
const MAX_ATTRIBUTES = 256;
/** The attributes that are read anywhere. The tree has no others: a page can have a million, which would take 200 MB. */
const KEPT_ATTRIBUTES = [
  ..."alt aria-controls aria-expanded aria-hidden aria-label aria-labelledby aria-level class colspan content for".split(" "),
  ..."hidden href http-equiv id name property rel role rowspan start style title type width".split(" "),
];

/** Inline elements and parts of drawings of which the tree has only the text, which makes it a third smaller. */
const TRANSPARENT = new Set([
  ..."span b strong i em u small font mark abbr bdi bdo time wbr ins".split(" "),
  ..."path g use circle rect line polyline polygon ellipse".split(" "),
]);
/** Parts of classes for which a span is kept: hidden text, lines and line numbers of code, icons whose text is a name. */
const SPAN_CLASS = /line|ln|hidden|sr-only|reader|gutter|copy|permalink|tooltip|icon|symbols|lang/;

/**
 * Start tags that close open elements of these names, up to the first element of `within`. The parser closes them only where no
 * unclosed element is in between, as in `<td><p>a<td>`.
 */
const IMPLIED_ENDS = new Map(
  Object.entries({
    li: { closes: ["li"], within: ["ul", "ol", "menu"] },
    dt: { closes: ["dt", "dd"], within: ["dl"] },
    dd: { closes: ["dt", "dd"], within: ["dl"] },
    tr: { closes: ["tr", "td", "th"], within: ["table"] },
    td: { closes: ["td", "th"], within: ["tr", "table"] },
    th: { closes: ["td", "th"], within: ["tr", "table"] },
    thead: { closes: ["thead", "tbody", "tfoot", "tr"], within: ["table"] },
    tbody: { closes: ["thead", "tbody", "tfoot", "tr"], within: ["table"] },
    tfoot: { closes: ["thead", "tbody", "tfoot", "tr"], within: ["table"] },
  }),
);
/** The number of open elements that are searched for one to close; nobody nests deeper between them. */
const IMPLIED_END_REACH = 12;

/** Parses HTML of any quality, in bounded time and memory. Never throws. */
export function parseHtml(html: string): HtmlTree {
  return atOnce(parseSlices(html));
}

/** Parses a whole page as `parseHtml` does, in slices between which the isolate serves other requests. */
export function parsePage(html: string): Promise<HtmlTree> {
  return inSlices(parseSlices(html));
}

function* parseSlices(html: string): Slices<HtmlTree> {
  const handler = new BoundedHandler();
  const parser = new Parser(handler);
  handler.onLimit = () => parser.pause();
  const end = Math.min(html.length, MAX_HTML_CHARS);
  for (let at = 0; at < end && !handler.isCut; at += SLICE_CHARS) {
    if (at > 0) yield;
    parser.write(html.slice(at, Math.min(at + SLICE_CHARS, end)));
  }
  parser.end();
  const truncated = handler.isCut ? "structure" : html.length > MAX_HTML_CHARS && "length";
  return { root: new Element("#root", {}, handler.root.children), truncated };
}

/** Builds the tree of a page up to the limits. */
class BoundedHandler extends DomHandler {
  isCut = false;
  onLimit: () => void = () => undefined;
  private elements = 0;
  private attributes = 0;
  /** The elements that are open in the parser; null for one that is not in the tree. */
  private readonly open: (Element | null)[] = [];

  /** Ends the page within a tag that has too many attributes. */
  onattribute(): void {
    if (++this.attributes > MAX_ATTRIBUTES) this.cut();
  }

  override onopentag(name: string, attribs: Record<string, string>): void {
    this.attributes = 0;
    if (this.elements > MAX_ELEMENTS || this.open.length > MAX_OPEN_ELEMENTS) return this.cut();
    if (isTransparent(name, attribs)) return void this.open.push(null);
    this.elements++;
    this.endImplied(name);
    const kept: Record<string, string> = {};
    for (const key of KEPT_ATTRIBUTES) if (Object.hasOwn(attribs, key)) kept[key] = attribs[key]!.slice(0, MAX_ATTRIBUTE_CHARS);
    super.onopentag(name, kept);
    this.open.push(this.tagStack.at(-1) as Element);
    if (this.tagStack.length > MAX_DEPTH && name !== "script" && name !== "style") this.tagStack.pop();
  }

  /** Closes an element and those that are open inside it, unless a start tag closed it before. */
  override onclosetag(): void {
    const closed = this.open.pop();
    if (!closed) return;
    this.lastNode = null;
    const at = this.tagStack.lastIndexOf(closed);
    if (at > 0) this.tagStack.length = at;
  }

  override oncomment(): void {}

  override onprocessinginstruction(): void {}

  private cut(): void {
    this.isCut = true;
    this.onLimit();
  }

  private endImplied(name: string): void {
    const rule = IMPLIED_ENDS.get(name);
    if (!rule) return;
    const least = Math.max(1, this.tagStack.length - IMPLIED_END_REACH);
    let outermost: number | undefined;
    for (let at = this.tagStack.length - 1; at >= least; at--) {
      const open = (this.tagStack[at] as Element).name;
      if (rule.within.includes(open)) break;
      if (rule.closes.includes(open)) outermost = at;
    }
    if (outermost !== undefined) this.tagStack.length = outermost;
  }
}

function isTransparent(name: string, attribs: Record<string, string>): boolean {
  if (name === "i") return !attribs["class"]?.includes("icon");
  if (name !== "span") return TRANSPARENT.has(name);
  const isMarked = "hidden" in attribs || "aria-hidden" in attribs || "role" in attribs || attribs["style"]?.includes("none");
  return !isMarked && !SPAN_CLASS.test(attribs["class"] ?? "");
}
