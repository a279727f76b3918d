/** How a model begins a reply; the visitor never sees it. The words are those that the prompt teaches. */
export type Header = { kind: "sources"; ids: string[] } | { kind: "smalltalk" | "unknown" | "human" | "unsupported" };

/** A header, and what the model had written after it by then. */
export interface Begun {
  header: Header;
  rest: string;
  /** Whether a fence was opened before the header, which the model will close again. */
  isFenced: boolean;
}

const WORDS = "sources?|smalltalk|unknown|human|unsupported";
const MARKED = new RegExp(`^@\\s?(${WORDS})\\b[\\s:]*(.*)$`, "i");
/** Without its mark it is a header only where nothing but ids follows: prose begins with such words too. */
const UNMARKED = new RegExp(`^(${WORDS})\\s*:\\s*(.*)$`, "i");
const IDS = /^(?:[\s,;&[\]()]|and\b|none\b|[pt]\d+\b)*/i;
const DECORATION = /[*_`#>]/g;
const FENCE = /^\s*(?:```|~~~)/;

/** The header that a line is, with what stands after it on the line; undefined where it is none. */
export function parseHeader(line: string): { header: Header; rest: string } | undefined {
  const plain = line.replace(DECORATION, "").trim();
  const marked = MARKED.exec(plain);
  const [, word = "", after = ""] = marked ?? UNMARKED.exec(plain) ?? [];
  const kind = word.toLowerCase().replace(/^source$/, "sources");
  const listed = kind === "sources" ? IDS.exec(after)![0] : "";
  const rest = after.slice(listed.length);
  if (kind === "" || (!marked && rest !== "")) return undefined;
  if (kind !== "sources") return { header: { kind: kind as Exclude<Header["kind"], "sources"> }, rest };
  return { header: { kind, ids: (listed.match(/[pt]\d+/gi) ?? []).map((id) => id.toLowerCase()) }, rest };
}

/** Finds the header in a reply that comes in pieces, whatever the model wrote before it. */
export class HeaderReader {
  private pending = "";
  private isThinking = false;
  private isFenced = false;
  private before = "";

  /** @returns the header once it is complete. */
  push(text: string): Begun | undefined {
    this.pending += text;
    for (let end = this.pending.indexOf("\n"); end >= 0; end = this.pending.indexOf("\n")) {
      const line = this.pending.slice(0, end);
      this.pending = this.pending.slice(end + 1);
      const found = this.readLine(line);
      if (found) return this.begin(found.header, found.rest === "" ? this.pending : `${found.rest}\n${this.pending}`);
    }
    return undefined;
  }

  /** The reply has ended: its last line may be the header. Without any, all that was written. */
  end(): Begun | { header: null; rest: string } {
    const found = this.readLine(this.pending);
    return found ? this.begin(found.header, found.rest) : { header: null, rest: this.before.trim() };
  }

  /** How much was read without finding one. */
  get length(): number {
    return this.before.length + this.pending.length;
  }

  private begin(header: Header, rest: string): Begun {
    return { header, rest, isFenced: this.isFenced };
  }

  private readLine(whole: string): { header: Header; rest: string } | undefined {
    const line = this.withoutThoughts(whole);
    const found = parseHeader(line);
    if (found) return found;
    if (FENCE.test(line)) this.isFenced = !this.isFenced;
    this.before += `${line}\n`;
    return undefined;
  }

  /** Some models think aloud, in tags: nothing in there is meant for anybody. */
  private withoutThoughts(line: string): string {
    if (this.isThinking && !line.includes("</think>")) return "";
    const spoken = (this.isThinking ? `<think>${line}` : line).replaceAll(/<think>.*?<\/think>/g, "");
    const [before = "", ...thoughts] = spoken.split("<think>");
    this.isThinking = thoughts.length > 0;
    return before;
  }
}
