/** A line of a reply that tells what the reply is. The prompt asks for it as the first line, and the visitor never sees it. */
export type ReplyHeader = { kind: "sources"; ids: string[] } | { kind: "smalltalk" | "unknown" | "human" | "unsupported" };

interface HeaderLine {
  header: ReplyHeader;
  /** The text that follows it in the same line. */
  rest: string;
}

const WORDS = "sources?|smalltalk|unknown|human|unsupported";
const MARKED = new RegExp(`^@\\s?(${WORDS})\\b[\\s:]*(.*)$`, "i");
/** A header without its @ counts only if nothing but ids follows, since prose may start with these words too. */
const UNMARKED = new RegExp(`^(${WORDS})\\s*:\\s*(.*)$`, "i");
const IDS = /^(?:[\s,;&[\]()]|and\b|none\b|[pt]\d+\b)*/i;
const DECORATION = /[*_`#>]/g;
const DECORATION_BEFORE = /^[\s*_`#>]*/;

/** Finds the header in a line or sentence of a reply; undefined for any other text. */
export function parseHeader(line: string): HeaderLine | undefined {
  const plain = line.replace(DECORATION, "").trim();
  const marked = MARKED.exec(plain);
  const [, word = "", after = ""] = marked ?? UNMARKED.exec(plain) ?? [];
  const kind = word.toLowerCase().replace(/^source$/, "sources");
  const idList = kind === "sources" ? IDS.exec(after)![0] : "";
  const isEmpty = after.length === idList.length;
  const rest = isEmpty ? "" : restOf(line, plain.length - after.length + idList.length);
  if (kind === "" || (!marked && rest !== "")) return undefined;
  if (kind !== "sources") return { header: { kind: kind as Exclude<ReplyHeader["kind"], "sources"> }, rest };
  return { header: { kind, ids: (idList.match(/[pt]\d+/gi) ?? []).map((id) => id.toLowerCase()) }, rest };
}

/** Returns what follows so many characters of a line, of which decoration does not count. The rest keeps its decoration. */
function restOf(line: string, length: number): string {
  let at = DECORATION_BEFORE.exec(line)![0].length;
  for (let count = 0; count < length; at++) if (line[at]!.search(DECORATION) < 0) count++;
  return line.slice(at).trimEnd();
}
