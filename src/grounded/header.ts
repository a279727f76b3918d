/** The first line of a model's reply, which the visitor never sees. The prompt teaches its words. */
export type ReplyHeader = { kind: "sources"; ids: string[] } | { kind: "smalltalk" | "unknown" | "human" | "unsupported" };

export interface HeaderMatch {
  header: ReplyHeader;
  /** What was received after the header so far. */
  rest: string;
  /** Whether a code fence was opened before the header: the model will close it after the answer. */
  isFenced: boolean;
}

interface HeaderLine {
  header: ReplyHeader;
  /** The text that follows on the same line. */
  rest: string;
}

const WORDS = "sources?|smalltalk|unknown|human|unsupported";
const MARKED = new RegExp(`^@\\s?(${WORDS})\\b[\\s:]*(.*)$`, "i");
/** Without the @ it is a header only where nothing but ids follows: prose may start with these words too. */
const UNMARKED = new RegExp(`^(${WORDS})\\s*:\\s*(.*)$`, "i");
const IDS = /^(?:[\s,;&[\]()]|and\b|none\b|[pt]\d+\b)*/i;
const DECORATION = /[*_`#>]/g;
const FENCE = /^\s*(?:```|~~~)/;

export function parseHeader(line: string): HeaderLine | undefined {
  const plain = line.replace(DECORATION, "").trim();
  const marked = MARKED.exec(plain);
  const [, word = "", after = ""] = marked ?? UNMARKED.exec(plain) ?? [];
  const kind = word.toLowerCase().replace(/^source$/, "sources");
  const idList = kind === "sources" ? IDS.exec(after)![0] : "";
  const rest = after.slice(idList.length);
  if (kind === "" || (!marked && rest !== "")) return undefined;
  if (kind !== "sources") return { header: { kind: kind as Exclude<ReplyHeader["kind"], "sources"> }, rest };
  return { header: { kind, ids: (idList.match(/[pt]\d+/gi) ?? []).map((id) => id.toLowerCase()) }, rest };
}

/** Finds the header in a streamed reply, whatever the model writes before it. */
export class HeaderParser {
  private pending = "";
  private isFenced = false;
  /** Whether there was text before the header. */
  hasTextBefore = false;

  /** @returns the header once its line is complete. */
  push(text: string): HeaderMatch | undefined {
    this.pending += text;
    for (let end = this.pending.indexOf("\n"); end >= 0; end = this.pending.indexOf("\n")) {
      const line = this.pending.slice(0, end);
      this.pending = this.pending.slice(end + 1);
      const found = this.readLine(line);
      if (found) return this.match(found.header, found.rest === "" ? this.pending : `${found.rest}\n${this.pending}`);
    }
    return undefined;
  }

  /** Call it when the reply has ended: its last line may be the header. */
  end(): HeaderMatch | undefined {
    const found = this.readLine(this.pending);
    return found && this.match(found.header, found.rest);
  }

  private match(header: ReplyHeader, rest: string): HeaderMatch {
    return { header, rest, isFenced: this.isFenced };
  }

  private readLine(line: string): HeaderLine | undefined {
    const found = parseHeader(line);
    if (found) return found;
    if (FENCE.test(line)) this.isFenced = !this.isFenced;
    else if (line.trim() !== "") this.hasTextBefore = true;
    return undefined;
  }
}
