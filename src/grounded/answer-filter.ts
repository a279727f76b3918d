import { parseHeader, type ReplyHeader } from "./header.ts";

export const REMOVED_LINK = "(link removed)";
const MAX_LABEL_LENGTH = 500;
const MAX_TARGET_LENGTH = 2_048;

/** As the prompt asks for none, models write them in several ways: [p1], 【p1, p2】, [passage p1], (p1), (Source: p1). */
const MARKER =
  /^(?:[[【]\s*\^?(?:(?:passage|result|source)s?:?\s*)?[pt]\d+(?:\s*(?:[,;、&]|and)\s*(?:(?:passage|result) )?[pt]\d+)*\s*[\]】])/i;
/** In parentheses only in lower case: "(P1)" may be a priority. */
const ROUND_MARKER =
  /^\((?:(?:see|from|[Pp]assage|[Rr]esult|[Ss]ource)s?:? )?[pt]\d+(?:(?:, ?|; ?| and | & )(?:(?:passage|result) )?[pt]\d+)*\)/;
const PARTIAL_MARKER = /^[[【(][\s^a-z\d,;:、&]{0,60}$/i;
const PARTIAL_MARKER_START = /^[[【(]\s*\^?(?:$|[prts]|see|from)/i;
const MARKER_TARGET = /^[pt]\d+$/i;
// Each character matches in one way alone: a model can be made to write text that would else backtrack exponentially.
const LABEL = /^!?\[((?:[^[\]\n\\]|\\.|\[[^[\]\n]*\])*)\]/;
const PARTIAL_LABEL = /^!?\[[^\n]*$/;
const TARGET = /^\(\s*(?!\s)<?((?:[^\s<>()]|\([^\s()]*\))*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/;
const PARTIAL_TARGET = /^\(\s*(?!\s)<?(?:[^\s<>()]|\([^\s()]*\))*(?:\([^\s()]*|>?(?:\s+(?!\s)(?:"[^"\n]*"?|'[^'\n]*'?)?\s*)?)$/;
const BARE_LINK = /^(?:https?:\/\/|www\.|\/\/(?=[^\s/]*\.))[^\s<>"'`\\|^{}]*/i;
const BARE_LINK_PREFIXES = ["https://", "http://", "www."];
const PARTIAL_HOST = /^\/(?:\/[^\s/.]{0,253})?$/;
const PLAIN = /^[^\s!@`[【(/hw]+/i;
const WORD_END = /[\p{L}\p{N}]$/u;

/** What is next in the pending text: so many characters, and what is shown in their place. */
interface Token {
  length: number;
  output: string;
}

/**
 * Filters a streamed answer for the visitor: removes citation markers, later headers, and links that no source has. It
 * holds back only text that may yet become one of these.
 */
export class AnswerFilter {
  private pending = "";
  /** White space is shown only with the text after it, so that an answer has none at either end. */
  private space = "";
  private lastShown = "";
  private fences = 0;
  /** The ids of the removed citation markers. */
  readonly citedIds: string[] = [];
  /** The headers after the first one. */
  readonly headers: ReplyHeader[] = [];

  constructor(
    private readonly links: AllowedLinks,
    private readonly isId: (id: string) => boolean,
    private isFenced = false,
  ) {}

  /** @returns what can be shown by now. */
  push(text: string): string {
    this.pending += text;
    return this.release(false);
  }

  /** @returns what was still held back. */
  end(): string {
    return this.release(true);
  }

  private release(isEnd: boolean): string {
    let shown = "";
    while (this.pending !== "") {
      const token = this.nextToken(isEnd);
      if (token === "wait") break;
      this.pending = this.pending.slice(token.length);
      if (token.output === "") continue;
      shown += (this.lastShown === "" ? "" : this.space) + token.output;
      this.space = "";
      this.lastShown = token.output.at(-1)!;
    }
    return shown;
  }

  private nextToken(isEnd: boolean): Token | "wait" {
    const isLineStart = this.lastShown === "" || this.space.includes("\n") || (this.lastShown === "\n" && this.space.trim() === "");
    return (
      (isLineStart ? (this.header(isEnd) ?? this.fence(isEnd)) : undefined) ??
      this.marker(isEnd) ??
      this.whiteSpace() ??
      this.markdownLink(isEnd, isLineStart) ??
      this.bareLink(isEnd) ??
      this.plain()
    );
  }

  /** A model may repeat its header, or write another one after a tool call. */
  private header(isEnd: boolean): Token | "wait" | undefined {
    if (!isEnd && /^[*_`]{1,4}$/.test(this.pending)) return "wait";
    if (!/^[*_`]*@/.test(this.pending)) return undefined;
    const end = this.pending.indexOf("\n");
    if (end < 0 && !isEnd && this.pending.length < MAX_LABEL_LENGTH) return "wait";
    const line = end < 0 ? this.pending : this.pending.slice(0, end + 1);
    const found = parseHeader(line);
    if (!found) return undefined;
    this.headers.push(found.header);
    return { length: found.rest === "" ? line.length : Math.max(1, line.lastIndexOf(found.rest)), output: "" };
  }

  /** Removes the end of a code fence that was opened before the header. */
  private fence(isEnd: boolean): Token | "wait" | undefined {
    const line = /^```[^\n]*/.exec(this.pending)?.[0];
    if (line === undefined) return undefined;
    const isLast = this.pending.slice(line.length).trim() === "";
    if (isLast && !isEnd) return "wait";
    const closesHeaderFence = this.isFenced && line.trim() === "```" && (this.lastShown === "" || (isLast && this.fences % 2 === 0));
    if (closesHeaderFence) this.isFenced = false;
    else this.fences++;
    return { length: line.length, output: closesHeaderFence ? "" : line };
  }

  private marker(isEnd: boolean): Token | "wait" | undefined {
    const found = (MARKER.exec(this.pending) ?? ROUND_MARKER.exec(this.pending))?.[0];
    if (found === undefined) {
      const isPartial = PARTIAL_MARKER.test(this.pending) && PARTIAL_MARKER_START.test(this.pending);
      return !isEnd && isPartial ? "wait" : undefined;
    }
    const ids = found.toLowerCase().match(/[pt]\d+/g) ?? [];
    if (!ids.every(this.isId)) return undefined;
    this.citedIds.push(...ids);
    this.space = this.space.replace(/(?<![ \t])[ \t]+$/, "");
    return { length: found.length, output: "" };
  }

  private whiteSpace(): Token | undefined {
    const found = /^\s+/.exec(this.pending)?.[0];
    if (found === undefined) return undefined;
    this.space += found;
    return { length: found.length, output: "" };
  }

  /** A Markdown link or image. One that is not allowed is replaced by its label, which may contain another. */
  private markdownLink(isEnd: boolean, isLineStart: boolean): Token | "wait" | undefined {
    if (!/^!?\[/.test(this.pending)) return this.pending === "!" && !isEnd ? "wait" : undefined;
    const label = LABEL.exec(this.pending);
    if (!label) return !isEnd && PARTIAL_LABEL.test(this.pending) && this.pending.length <= MAX_LABEL_LENGTH ? "wait" : undefined;
    if (label[0].length > MAX_LABEL_LENGTH) return undefined;
    const after = this.pending.slice(label[0].length);
    if (after === "" && !isEnd) return "wait";
    const isReferenceDefinition = after.startsWith(":") && isLineStart;
    if (isReferenceDefinition) return { length: label[0].length, output: this.filterLabel(label[1]!) };
    if (!after.startsWith("(")) return undefined;
    const target = TARGET.exec(after);
    if (!target) return !isEnd && PARTIAL_TARGET.test(after) && after.length <= MAX_TARGET_LENGTH ? "wait" : undefined;
    if (target[0].length > MAX_TARGET_LENGTH) return undefined;
    const length = label[0].length + target[0].length;
    const targetId = MARKER_TARGET.test(target[1]!) ? target[1]!.toLowerCase() : undefined;
    if (targetId !== undefined && this.isId(targetId)) this.citedIds.push(targetId);
    const isAllowed = this.links.has(target[1]!) && !label[1]!.includes("](");
    return { length, output: isAllowed ? this.pending.slice(0, length) : this.filterLabel(label[1]!) };
  }

  private filterLabel(label: string): string {
    const filter = new AnswerFilter(this.links, this.isId);
    return filter.push(label) + filter.end();
  }

  private bareLink(isEnd: boolean): Token | "wait" | undefined {
    const { pending } = this;
    const isWordStart = this.space !== "" || !WORD_END.test(this.lastShown);
    const isPartialPrefix = isWordStart && BARE_LINK_PREFIXES.some((prefix) => prefix.startsWith(pending.toLowerCase()));
    if (!isEnd && (isPartialPrefix || PARTIAL_HOST.test(pending))) return "wait";
    const found = isWordStart || pending.startsWith("//") ? BARE_LINK.exec(pending)?.[0].slice(0, MAX_TARGET_LENGTH) : undefined;
    if (found === undefined) return undefined;
    if (found.length === pending.length && !isEnd && pending.length < MAX_TARGET_LENGTH) return "wait";
    const ends = possibleLinkEnds(found);
    const end = ends.find((at) => this.links.has(found.slice(0, at)));
    return end === undefined ? { length: ends.at(-1)!, output: REMOVED_LINK } : { length: end, output: found.slice(0, end) };
  }

  private plain(): Token {
    const length = PLAIN.exec(this.pending)?.[0].length ?? 1;
    return { length, output: this.pending.slice(0, length) };
  }
}

const URL_IN_TEXT = /(?:https?:)?\/\/[^\s<>"'`\\|^{}]+|\bwww\.[^\s<>"'`\\|^{}]+/gi;
const TRAILING = ".,;:!?)]*_~'\"";
/** No sentence ends a link with more; without a limit a line of punctuation would be thousands of links. */
const MAX_TRAILING = 20;

/**
 * The links that an answer may contain: those that its sources have verbatim. A link that a model makes up is dead at best;
 * at worst an injected image link sends the conversation to another server as soon as it is shown.
 */
export class AllowedLinks {
  private readonly links = new Set<string>();

  /** @param texts read at the first look-up: there may be more evidence by then. */
  constructor(private readonly texts: () => readonly string[]) {}

  has(link: string): boolean {
    if (this.links.size === 0) for (const found of this.texts().flatMap((text) => [...text.matchAll(URL_IN_TEXT)])) this.add(found[0]);
    return this.links.has(normalizeLink(link));
  }

  /** Call it when there are more texts: they are read again at the next look-up. */
  refresh(): void {
    this.links.clear();
  }

  private add(link: string): void {
    for (const end of possibleLinkEnds(link)) this.links.add(normalizeLink(link.slice(0, end)));
  }
}

/** Where a link that was found in a text may end, longest first: punctuation at its end may belong to the sentence. */
function possibleLinkEnds(link: string): number[] {
  const found = [link.length];
  for (let end = link.length; found.length <= MAX_TRAILING && end > 0 && TRAILING.includes(link[end - 1]!); end--) found.push(end - 1);
  return found;
}

/** Without the fragment and a slash at the end. */
function normalizeLink(link: string): string {
  return link.replace(/#[^#]*$/, "").replace(/\/$/, "");
}
