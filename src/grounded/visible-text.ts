export const REMOVED_LINK = "(link removed)";
const MAX_LABEL_LENGTH = 500;
const MAX_TARGET_LENGTH = 2_048;

/** A citation in brackets. Since the prompt asks for none, models write them in several ways: [p1], 【p1, p2】, [passage p1]. */
const MARKER =
  /^(?:[[【]\s*\^?(?:(?:passage|result|source)s?:?\s*)?[pt]\d+(?:\s*(?:[,;、&]|and)\s*(?:(?:passage|result) )?[pt]\d+)*\s*[\]】])/i;
/** A citation in parentheses: (p1), (Source: p1). Its ids are in lower case, since "(P1)" may be a priority. */
const ROUND_MARKER =
  /^\((?:(?:see|from|[Pp]assage|[Rr]esult|[Ss]ource)s?:? )?[pt]\d+(?:(?:, ?|; ?| and | & )(?:(?:passage|result) )?[pt]\d+)*\)/;
const MARKER_TARGET = /^[pt]\d+$/i;
// Each character can match in one way only: otherwise a model could be made to write text that backtracks exponentially.
const LABEL = /^!?\[((?:[^[\]\n\\]|\\.|\[[^[\]\n]*\])*)\]/;
const TARGET = /^\(\s*(?!\s)<?((?:[^\s<>()]|\([^\s()]*\))*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/;
// A browser reads "http:example.com" as "http://example.com", too.
const BARE_LINK = /^(?:https?:(?=\S)|www\.|\/\/(?=[^\s/]*\.))[^\s<>"'`\\|^{}]*/i;
const PLAIN = /^[^\s![【(/hw]+\s*/i;
const WORD_END = /[\p{L}\p{N}]$/u;

/** The next piece of a text: its number of characters, and the text that is shown in its place. */
interface Piece {
  length: number;
  shown: string;
  /** The ids that it cites. */
  ids: string[];
}

export interface VisibleText {
  text: string;
  /** The ids of the citation markers that were removed. */
  ids: string[];
}

/**
 * Returns one part of a reply as the visitor sees it: without citation markers, and without links that no source has.
 * @param isId whether an id is one of the evidence.
 */
export function visibleText(part: string, links: AllowedLinks, isId: (id: string) => boolean): VisibleText {
  const ids: string[] = [];
  let shown = "";
  for (let rest = part; rest !== "";) {
    const cited = citedAt(rest, isId);
    if (cited) {
      ids.push(...cited.ids);
      shown = shown.replace(/(?<![ \t])[ \t]+$/, "");
      rest = rest.slice(cited.length);
      continue;
    }
    const piece = markdownLinkAt(rest, shown, links, isId) ?? bareLinkAt(rest, shown, links) ?? plainTextAt(rest, shown);
    ids.push(...piece.ids);
    shown += piece.shown;
    rest = rest.slice(piece.length);
  }
  return { text: shown.trim(), ids };
}

function citedAt(text: string, isId: (id: string) => boolean): { length: number; ids: string[] } | undefined {
  const marker = (MARKER.exec(text) ?? ROUND_MARKER.exec(text))?.[0];
  const ids = marker?.toLowerCase().match(/[pt]\d+/g) ?? [];
  return marker !== undefined && ids.every(isId) ? { length: marker.length, ids } : undefined;
}

/** Reads a Markdown link or image. One that is not allowed is replaced by its label, which may contain another link. */
function markdownLinkAt(text: string, before: string, links: AllowedLinks, isId: (id: string) => boolean): Piece | undefined {
  const label = LABEL.exec(text);
  if (!label || label[0].length > MAX_LABEL_LENGTH) return undefined;
  const after = text.slice(label[0].length);
  const isReferenceDefinition = after.startsWith(":") && before.slice(before.lastIndexOf("\n") + 1).trim() === "";
  const target = isReferenceDefinition ? undefined : TARGET.exec(after);
  if (!isReferenceDefinition && (!target || target[0].length > MAX_TARGET_LENGTH)) return undefined;
  const length = label[0].length + (target?.[0].length ?? 0);
  if (target && links.has(target[1]!) && !label[1]!.includes("](")) return { length, shown: text.slice(0, length), ids: [] };
  const inLabel = visibleText(label[1]!, links, isId);
  const id = target && MARKER_TARGET.test(target[1]!) ? target[1]!.toLowerCase() : undefined;
  return { length, shown: inLabel.text, ids: id !== undefined && isId(id) ? [id] : [] };
}

function bareLinkAt(text: string, before: string, links: AllowedLinks): Piece | undefined {
  const isWordStart = !WORD_END.test(before.slice(-2));
  const found = isWordStart || text.startsWith("//") ? BARE_LINK.exec(text)?.[0].slice(0, MAX_TARGET_LENGTH) : undefined;
  if (found === undefined) return undefined;
  const ends = possibleLinkEnds(found);
  const end = ends.find((at) => links.has(found.slice(0, at)));
  return end === undefined ? { length: ends.at(-1)!, shown: REMOVED_LINK, ids: [] } : { length: end, shown: found.slice(0, end), ids: [] };
}

function plainTextAt(text: string, before: string): Piece {
  // What is no link here, since it is long or unusual, must be none for other readers of Markdown either.
  if (text.startsWith("(") && before.endsWith("]")) return { length: 1, shown: " (", ids: [] };
  const length = PLAIN.exec(text)?.[0].length ?? 1;
  return { length, shown: text.slice(0, length), ids: [] };
}

const URL_IN_TEXT = /(?:https?:)?\/\/[^\s<>"'`\\|^{}]+|\bwww\.[^\s<>"'`\\|^{}]+/gi;
const TRAILING = ".,;:!?)]*_~'\"";
/** Bounds the possible ends of a link, of which a long line of punctuation would have thousands. */
const MAX_TRAILING = 20;

/**
 * The links that an answer may contain: those that the evidence, the instructions or the conversation have verbatim. A link that a model
 * makes up is dead at best. At worst, an injected image link sends the conversation to another server as soon as it is shown.
 */
export class AllowedLinks {
  private links: Set<string> | undefined;

  /** @param texts is called at the first look-up, since there may be more evidence by then. */
  constructor(private readonly texts: () => readonly string[]) {}

  has(link: string): boolean {
    this.links ??= new Set(this.texts().flatMap((text) => [...text.matchAll(URL_IN_TEXT)].flatMap(([found]) => possibleLinks(found))));
    return this.links.has(normalizeLink(link));
  }

  /** Makes the next look-up read the texts again. Call it when there are more. */
  refresh(): void {
    this.links = undefined;
  }
}

function possibleLinks(found: string): string[] {
  return possibleLinkEnds(found).map((end) => normalizeLink(found.slice(0, end)));
}

/** Returns where a link in a text may end, longest first, since punctuation at its end may belong to the sentence. */
function possibleLinkEnds(link: string): number[] {
  const found = [link.length];
  for (let end = link.length; found.length <= MAX_TRAILING && end > 0 && TRAILING.includes(link[end - 1]!); end--) found.push(end - 1);
  return found;
}

/** Removes the fragment and a slash at the end. */
function normalizeLink(link: string): string {
  return link.replace(/#[^#]*$/, "").replace(/\/$/, "");
}
