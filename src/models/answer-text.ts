import { type Header, parseHeader } from "./header.ts";

/** What is put in the place of a link that the answer's sources do not have. */
export const NO_LINK = "(link removed)";
/** A longer label or target is none. */
const MAX_LABEL_LENGTH = 500;
const MAX_TARGET_LENGTH = 2_048;

const MARKER = /^[[【]\s*[pt]\d+(?:\s*[,;、]\s*[pt]\d+)*\s*[\]】]/i;
const BEGUN_MARKER = /^[[【][\spt\d,;、]*$/i;
// Each character can be read in one way alone: a model can be made to write what would else be tried in 2^n.
const LABEL = /^!?\[((?:[^[\]\n\\]|\\.|\[[^[\]\n]*\])*)\]/;
const BEGUN_LABEL = /^!?\[[^\n]*$/;
const TARGET = /^\(\s*(?!\s)<?((?:[^\s<>()]|\([^\s()]*\))*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/;
const BEGUN_TARGET = /^\(\s*(?!\s)<?(?:[^\s<>()]|\([^\s()]*\))*(?:\([^\s()]*|>?(?:\s+(?!\s)(?:"[^"\n]*"?|'[^'\n]*'?)?\s*)?)$/;
const LINK = /^(?:https?:\/\/|www\.|\/\/(?=[^\s/]*\.))[^\s<>"'`\\|^{}]*/i;
const LINK_BEGINNINGS = ["https://", "http://", "www."];
const BEGUN_HOST = /^\/(?:\/[^\s/.]{0,253})?$/;
const PLAIN = /^[^\s!@`[【/hw]+/i;
const WORD_END = /[\p{L}\p{N}]$/u;

interface Step {
  /** How much of what is held it uses up. */
  take: number;
  /** What becomes of that. */
  give: string;
}

/**
 * What a visitor may read of a model's text, as it comes: without markers of passages, later headers and links that no
 * source has. It keeps back only what may yet become one of these.
 */
export class AnswerText {
  private held = "";
  /** Space that is given with what follows it: there is none at either end of an answer. */
  private space = "";
  private last = "";
  private fences = 0;
  /** The ids of the markers that were taken out. */
  readonly markedIds: string[] = [];
  /** The headers that came after the first one. */
  readonly headers: Header[] = [];

  constructor(
    private readonly links: KnownLinks,
    private readonly isId: (id: string) => boolean,
    private isFenced = false,
  ) {}

  /** @returns what can be shown by now. */
  push(text: string): string {
    this.held += text;
    return this.release(false);
  }

  /** @returns what was still kept back. */
  end(): string {
    return this.release(true);
  }

  private release(isEnd: boolean): string {
    let given = "";
    while (this.held !== "") {
      const step = this.next(isEnd);
      if (step === "wait") break;
      this.held = this.held.slice(step.take);
      if (step.give === "") continue;
      given += (this.last === "" ? "" : this.space) + step.give;
      this.space = "";
      this.last = step.give.at(-1)!;
    }
    return given;
  }

  private next(isEnd: boolean): Step | "wait" {
    const isLineStart = this.last === "" || this.space.includes("\n") || (this.last === "\n" && this.space.trim() === "");
    return (
      (isLineStart ? (this.header(isEnd) ?? this.fence(isEnd)) : undefined) ??
      this.marker(isEnd) ??
      this.takeSpace() ??
      this.markdownLink(isEnd, isLineStart) ??
      this.bareLink(isEnd) ??
      this.plain()
    );
  }

  /** A model may repeat its header, or give another one after a tool's result. */
  private header(isEnd: boolean): Step | "wait" | undefined {
    if (!isEnd && /^[*_`]{1,4}$/.test(this.held)) return "wait";
    if (!/^[*_`]*@/.test(this.held)) return undefined;
    const end = this.held.indexOf("\n");
    if (end < 0 && !isEnd && this.held.length < MAX_LABEL_LENGTH) return "wait";
    const line = end < 0 ? this.held : this.held.slice(0, end + 1);
    const found = parseHeader(line);
    if (!found) return undefined;
    this.headers.push(found.header);
    return { take: found.rest === "" ? line.length : Math.max(1, line.lastIndexOf(found.rest)), give: "" };
  }

  /** The end of a fence that was opened before the header. */
  private fence(isEnd: boolean): Step | "wait" | undefined {
    const line = /^```[^\n]*/.exec(this.held)?.[0];
    if (line === undefined) return undefined;
    // Whether it is the last line shows only when more than space follows.
    const isLast = this.held.slice(line.length).trim() === "";
    if (isLast && !isEnd) return "wait";
    const closes = this.isFenced && line.trim() === "```" && (this.last === "" || (isLast && this.fences % 2 === 0));
    if (closes) this.isFenced = false;
    else this.fences++;
    return { take: line.length, give: closes ? "" : line };
  }

  private marker(isEnd: boolean): Step | "wait" | undefined {
    const found = MARKER.exec(this.held)?.[0];
    if (found === undefined) return !isEnd && BEGUN_MARKER.test(this.held) ? "wait" : undefined;
    const ids = found.toLowerCase().match(/[pt]\d+/g) ?? [];
    if (!ids.every(this.isId)) return undefined;
    this.markedIds.push(...ids);
    this.space = this.space.replace(/(?<![ \t])[ \t]+$/, "");
    return { take: found.length, give: "" };
  }

  private takeSpace(): Step | undefined {
    const found = /^\s+/.exec(this.held)?.[0];
    if (found === undefined) return undefined;
    this.space += found;
    return { take: found.length, give: "" };
  }

  /** A Markdown link or image; one that is not known becomes its label, which may hold another. */
  private markdownLink(isEnd: boolean, isLineStart: boolean): Step | "wait" | undefined {
    if (!/^!?\[/.test(this.held)) return this.held === "!" && !isEnd ? "wait" : undefined;
    const label = LABEL.exec(this.held);
    if (!label) return !isEnd && BEGUN_LABEL.test(this.held) && this.held.length <= MAX_LABEL_LENGTH ? "wait" : undefined;
    if (label[0].length > MAX_LABEL_LENGTH) return undefined;
    const behind = this.held.slice(label[0].length);
    if (behind === "" && !isEnd) return "wait";
    // The definition of a link elsewhere in the text.
    if (behind.startsWith(":") && isLineStart) return { take: label[0].length, give: this.plainLabel(label[1]!) };
    if (!behind.startsWith("(")) return undefined;
    const target = TARGET.exec(behind);
    if (!target) return !isEnd && BEGUN_TARGET.test(behind) && behind.length <= MAX_TARGET_LENGTH ? "wait" : undefined;
    if (target[0].length > MAX_TARGET_LENGTH) return undefined;
    const take = label[0].length + target[0].length;
    const isKnown = this.links.has(target[1]!) && !label[1]!.includes("](");
    return { take, give: isKnown ? this.held.slice(0, take) : this.plainLabel(label[1]!) };
  }

  private plainLabel(label: string): string {
    const text = new AnswerText(this.links, this.isId);
    return text.push(label) + text.end();
  }

  private bareLink(isEnd: boolean): Step | "wait" | undefined {
    const { held } = this;
    const isWordStart = this.space !== "" || !WORD_END.test(this.last);
    if (!isEnd && (BEGUN_HOST.test(held) || (isWordStart && LINK_BEGINNINGS.some((one) => one.startsWith(held.toLowerCase())))))
      return "wait";
    const found = isWordStart || held.startsWith("//") ? LINK.exec(held)?.[0].slice(0, MAX_TARGET_LENGTH) : undefined;
    if (found === undefined) return undefined;
    if (found.length === held.length && !isEnd && held.length < MAX_TARGET_LENGTH) return "wait";
    const possible = ends(found);
    const end = possible.find((at) => this.links.has(found.slice(0, at)));
    return end === undefined ? { take: possible.at(-1)!, give: NO_LINK } : { take: end, give: found.slice(0, end) };
  }

  private plain(): Step {
    const length = PLAIN.exec(this.held)?.[0].length ?? 1;
    return { take: length, give: this.held.slice(0, length) };
  }
}

const URL_IN_TEXT = /(?:https?:)?\/\/[^\s<>"'`\\|^{}]+|\bwww\.[^\s<>"'`\\|^{}]+/gi;
const TRAILING = ".,;:!?)]*_~'\"";
/** No sentence ends a link with more; a line of thousands would be thousands of links. */
const MAX_TRAILING = 20;

/**
 * The links that an answer may hold: those that stand, letter by letter, in what it rests on. A link that a model makes up
 * leads nowhere at best; at worst whoever wrote a page lets it carry a conversation away, by an image that loads by itself.
 */
export class KnownLinks {
  private readonly known = new Set<string>();

  /** @param texts read when a link is asked for first: more may be known by then. */
  constructor(private readonly texts: () => readonly string[]) {}

  has(link: string): boolean {
    if (this.known.size === 0) for (const found of this.texts().flatMap((text) => [...text.matchAll(URL_IN_TEXT)])) this.learn(found[0]);
    return this.known.has(normalize(link));
  }

  /** Forgets what it has read, as there is more now. */
  refresh(): void {
    this.known.clear();
  }

  private learn(link: string): void {
    for (const end of ends(link)) this.known.add(normalize(link.slice(0, end)));
  }
}

/** Where a link that was found in a text may end: the punctuation behind it may belong to the sentence. */
function ends(link: string): number[] {
  const found = [link.length];
  for (let end = link.length; found.length <= MAX_TRAILING && end > 0 && TRAILING.includes(link[end - 1]!); end--) found.push(end - 1);
  return found;
}

/** The same page by another spelling: a slash at the end, or a place within the page. */
function normalize(link: string): string {
  return link.replace(/#[^#]*$/, "").replace(/\/$/, "");
}
