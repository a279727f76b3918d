import { decodeHTML, decodeHTMLAttribute } from "entities";

/** An element of a page, or a run of its text. Bare inline elements (`<b>`, `<span>`) leave only their text. */
export type HtmlNode = HtmlElement | string;

export interface HtmlElement {
  tag: string;
  /** Names in lower case, values decoded; the first of several of one name. */
  attributes: ReadonlyMap<string, string>;
  children: HtmlNode[];
}

export interface HtmlTree {
  root: HtmlElement;
  /** Whether a limit cut the page: the tree holds what came before. */
  truncated: boolean;
}

/** A page of this many characters is a book; more is data or an attack. */
const MAX_HTML_CHARS = 5 * 1024 * 1024;
/** An event costs about 20 µs, mostly the way from the parser to here: a page gets some two seconds, enough for 2 MB. */
const MAX_EVENTS = 100_000;
/** Deeper elements become siblings: no layout needs more, and what walks the tree may recurse. */
const MAX_DEPTH = 200;
const MAX_ATTRIBUTES = 64;
const MAX_ATTRIBUTE_CHARS = 4_096;
/** Small, so that a page over the budget is stopped soon after it. */
const PIECE_CHARS = 16_384;

/** Inline elements that neither break a line nor say what the text is: not hearing of them saves a third of the time. */
const BARE_INLINE = ["span", "b", "strong", "i", "em", "u", "s", "small", "font", "mark", "abbr", "bdi", "bdo", "time", "wbr", "ins"];
/** Those that do matter: hidden ones, lines and line numbers of code, icons whose text is a name, marks of structure. */
const TOLD_PARTS = ["line", "ln", "hidden", "sr-only", "reader", "gutter", "copy", "permalink", "tooltip", "icon", "symbols", "lang"];
const TOLD_INLINE = [
  ...["[hidden]", "[aria-hidden]", "[role]", "[style*=none]"].map((condition) => `span${condition}`),
  ...TOLD_PARTS.map((part) => `span[class*=${part}]`),
  "i[class*=icon]",
];
/** Parts of drawings and links to files: the drawing itself is left out whole, and of links in a head the canonical one alone counts. */
const UNREAD = ["path", "g", "use", "circle", "rect", "line", "polyline", "polygon", "ellipse", "link"];
const NOT_READ = [...BARE_INLINE, ...UNREAD].map((tag) => `:not(${tag})`).join("");
const SELECTOR = [`*${NOT_READ}`, ...TOLD_INLINE, 'link[rel~="canonical" i]'].join(", ");

const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track"]);
/** An opening tag that ends what is open, up to the first element of `within`. */
const IMPLIED_ENDS: Record<string, { closes: string[]; within: string[] }> = {
  li: { closes: ["li"], within: ["ul", "ol", "menu"] },
  dt: { closes: ["dt", "dd"], within: ["dl"] },
  dd: { closes: ["dt", "dd"], within: ["dl"] },
  tr: { closes: ["tr", "td", "th"], within: ["table"] },
  td: { closes: ["td", "th"], within: ["tr", "table"] },
  th: { closes: ["td", "th"], within: ["tr", "table"] },
  thead: { closes: ["thead", "tbody", "tfoot", "tr"], within: ["table"] },
  tbody: { closes: ["thead", "tbody", "tfoot", "tr"], within: ["table"] },
  tfoot: { closes: ["thead", "tbody", "tfoot", "tr"], within: ["table"] },
  option: { closes: ["option"], within: ["select", "datalist"] },
};
const ENDS_PARAGRAPH = new Set(
  "address article aside blockquote details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul".split(
    " ",
  ),
);
/** How far up an implied end looks: further is no markup that anyone wrote. */
const IMPLIED_END_REACH = 12;

/** Reads HTML of any quality into a tree, in bounded time and memory. Never throws. */
export async function readHtml(html: string): Promise<HtmlTree> {
  const builder = new TreeBuilder();
  const rewriter = new HTMLRewriter()
    .on(SELECTOR, { element: (element) => builder.open(element) })
    .onDocument({ text: ({ text, lastInTextNode }) => builder.text(text, lastInTextNode) });
  let truncated = html.length > MAX_HTML_CHARS;
  try {
    const reader = rewriter.transform(new Response(pieces(html.slice(0, MAX_HTML_CHARS), builder))).body!.getReader();
    while (!(await reader.read()).done);
  } catch {
    // The parser's own limit of memory (about 16,000 open elements): what it read until then stands.
    truncated = true;
  }
  builder.end();
  return { root: builder.root, truncated: truncated || builder.events > MAX_EVENTS };
}

/** The page piece by piece, until it is over or has cost too much. */
function pieces(html: string, builder: TreeBuilder): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= html.length || builder.events > MAX_EVENTS) return controller.close();
      let end = Math.min(html.length, at + PIECE_CHARS);
      if (isHighSurrogate(html.charCodeAt(end - 1))) end++;
      controller.enqueue(encoder.encode(html.slice(at, end)));
      at = end;
    },
  });
}

class TreeBuilder {
  readonly root: HtmlElement = { tag: "#root", attributes: new Map(), children: [] };
  events = 0;
  private readonly stack: HtmlElement[] = [this.root];
  private readonly isOpen = new Set<HtmlElement>();
  private pending: string[] = [];

  open(source: Element): void {
    this.events++;
    this.flush();
    const tag = source.tagName.toLowerCase();
    this.endWhatIsImplied(tag);
    const element: HtmlElement = { tag, attributes: attributesOf(source), children: [] };
    this.stack.at(-1)!.children.push(element);
    if (VOID.has(tag) || !endsItself(source, () => this.close(element))) return;
    if (this.stack.length >= MAX_DEPTH) return;
    this.stack.push(element);
    this.isOpen.add(element);
  }

  text(text: string, isLast: boolean): void {
    this.events++;
    if (text !== "") this.pending.push(text);
    if (isLast) this.flush();
  }

  end(): void {
    this.flush();
  }

  /** An end tag closes what stands open inside its element too, and nothing when an implied end came before it. */
  private close(element: HtmlElement): void {
    this.events++;
    this.flush();
    this.pop(element);
  }

  private pop(element: HtmlElement): void {
    if (!this.isOpen.has(element)) return;
    while (this.stack.length > 1) {
      const closed = this.stack.pop()!;
      this.isOpen.delete(closed);
      if (closed === element) return;
    }
  }

  private endWhatIsImplied(tag: string): void {
    if (ENDS_PARAGRAPH.has(tag) && this.stack.at(-1)!.tag === "p") this.pop(this.stack.at(-1)!);
    const rule = Object.hasOwn(IMPLIED_ENDS, tag) ? IMPLIED_ENDS[tag] : undefined;
    if (!rule) return;
    let outermost: HtmlElement | undefined;
    for (let at = this.stack.length - 1; at > Math.max(0, this.stack.length - IMPLIED_END_REACH); at--) {
      const open = this.stack[at]!;
      if (rule.within.includes(open.tag)) break;
      if (rule.closes.includes(open.tag)) outermost = open;
    }
    if (outermost) this.pop(outermost);
  }

  private flush(): void {
    if (this.pending.length === 0) return;
    const parent = this.stack.at(-1)!;
    const raw = this.pending.join("");
    this.pending = [];
    parent.children.push(parent.tag === "script" || parent.tag === "style" ? raw : decodeHTML(raw));
  }
}

/** Whether an end tag can follow; `onEnd` is called at it. The parser throws for elements that end themselves, as `<path/>` does. */
function endsItself(source: Element, onEnd: () => void): boolean {
  try {
    source.onEndTag(onEnd);
    return true;
  } catch {
    return false;
  }
}

function attributesOf(source: Element): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const [name, value] of source.attributes) {
    if (attributes.size >= MAX_ATTRIBUTES) break;
    const key = name!.toLowerCase();
    if (!attributes.has(key)) attributes.set(key, decodeHTMLAttribute((value ?? "").slice(0, MAX_ATTRIBUTE_CHARS)));
  }
  return attributes;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
