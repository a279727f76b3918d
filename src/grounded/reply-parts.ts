import { sentenceSpans } from "../text/sentences.ts";

/** The smallest part of a reply that is shown or left out as a whole. */
export interface ReplyPart {
  kind: "sentence" | "heading" | "item" | "row" | "code" | "rule";
  /** The white space before it. */
  space: string;
  text: string;
}

const HEADING = /^\s*(?:#{1,6}\s|(?:\*\*|__)[^*_]{1,80}(?:\*\*|__):?\s*$)/;
const ITEM = /^\s*(?:[-*+•–]|\(?\d{1,3}[.)])\s/;
const ROW = /^\s*\|/;
/** A thematic break, or the line under a table's head. */
const RULE = /^[\s|:*_-]*$/;
const RULE_MARK = /--|\*\*\*|___/;
const FENCE = /^\s*(?:```|~~~)/;
/** A fence around prose is left out. */
const PROSE_FENCE = /^(?:```|~~~) ?(?:markdown|md|text|txt|plain)?$/i;
/** A longer text after an open bracket is not held back as a link. */
const MAX_LINK_LENGTH = 1_000;
const CITATION_START = /^\s*[[(【]/;
const CITATION = /^\s*(?:[[(【][^\n\])】]{1,60}[\])】]\s*)+/;

/** Cuts a streamed reply in Markdown into its parts, and returns each as soon as it is complete. */
export class ReplyParts {
  private pending = "";
  /** The white space before the next part. */
  private space = "";
  private code = "";
  private isInCode = false;
  /** Whether the whole answer is in a fence, which is left out. */
  private isFenced = false;
  private isStart = true;

  /** @param isCitation whether a text such as " [p1]" consists only of citations of the sentence before it. */
  constructor(private readonly isCitation: (text: string) => boolean) {}

  /** Reads more of the reply. @returns the parts that are complete now. */
  push(text: string): ReplyPart[] {
    this.pending += text;
    const parts: ReplyPart[] = [];
    for (let end = this.pending.indexOf("\n"); end >= 0; end = this.pending.indexOf("\n")) {
      const line = this.pending.slice(0, end + 1);
      this.pending = this.pending.slice(end + 1);
      parts.push(...this.readLine(line));
    }
    if (!this.isInCode && !FENCE.test(this.pending)) parts.push(...this.cutSentences());
    return parts;
  }

  /** Ends the reply. @returns the last parts. */
  end(): ReplyPart[] {
    const parts = this.readLine(this.pending);
    this.pending = "";
    return this.code === "" ? parts : [...parts, ...this.endCode()];
  }

  private readLine(line: string): ReplyPart[] {
    if (FENCE.test(line)) return this.readFence(line);
    if (this.isInCode) {
      this.code += line;
      return [];
    }
    return this.withSpace(this.partsOfLine(line, true), line);
  }

  /** Adds the white space before the first part, and keeps what is left of the line for the next one. */
  private withSpace(parts: ReplyPart[], line: string): ReplyPart[] {
    const read = lengthOf(parts);
    const [first, ...others] = parts;
    const space = this.space;
    this.space = first ? line.slice(read) : space + line;
    if (!first) return [];
    this.isStart = false;
    return [{ ...first, space: space + first.space }, ...others];
  }

  private readFence(line: string): ReplyPart[] {
    const opensAnswer = this.isStart && PROSE_FENCE.test(line.trim());
    const closesAnswer = this.isFenced && !this.isInCode && PROSE_FENCE.test(line.trim());
    this.isStart = false;
    if (opensAnswer || closesAnswer) {
      this.isFenced = opensAnswer;
      return [];
    }
    this.code += line;
    this.isInCode = !this.isInCode;
    if (this.isInCode) return [];
    return this.endCode();
  }

  private endCode(): ReplyPart[] {
    const { code } = this;
    this.code = "";
    return this.withSpace([partOf("code", code.trimEnd())], code);
  }

  /** Cuts off the sentences of the last line that are complete, since another one begins after them. */
  private cutSentences(): ReplyPart[] {
    if (ROW.test(this.pending) || isRule(this.pending)) return [];
    const parts = this.partsOfLine(this.pending, false);
    const length = lengthOf(parts);
    if (length === 0) return [];
    const complete = this.withSpace(parts, this.pending.slice(0, length));
    this.pending = this.pending.slice(length);
    return complete;
  }

  private partsOfLine(line: string, isComplete: boolean): ReplyPart[] {
    if (isRule(line)) return [partOf("rule", line.trimEnd())];
    if (ROW.test(line)) return [partOf("row", line.trimEnd())];
    if (HEADING.test(line)) return isComplete ? [partOf("heading", line.trimEnd())] : [];
    const spans = [...sentenceSpans(line)];
    const parts: ReplyPart[] = [];
    let scanner = new LinkScanner();
    let [from, scannedTo] = [0, 0];
    for (const [at, { end }] of spans.entries()) {
      const next = spans[at + 1];
      if (!isComplete && !next) break;
      const citation = this.citationAfter(line.slice(end));
      if (!isComplete && citation === undefined) break;
      const to = end + (citation?.length ?? 0);
      const isInLink = scanner.endsInLink(line.slice(scannedTo, to));
      scannedTo = Math.max(scannedTo, to);
      if (to <= from || (next && isInLink && to - from <= MAX_LINK_LENGTH)) continue;
      const text = line.slice(from, to);
      // The number of a list item is no sentence by itself.
      if (next && /^\s*\(?\d{1,3}[.)]\s*$/.test(text)) continue;
      parts.push(partOf(ITEM.test(text) ? "item" : "sentence", text));
      from = to;
      scanner = new LinkScanner();
    }
    return parts;
  }

  /** Returns the citation that follows a sentence, or ""; undefined if it is not complete yet. */
  private citationAfter(rest: string): string | undefined {
    if (!CITATION_START.test(rest)) return "";
    const citation = CITATION.exec(rest)?.[0];
    if (citation === undefined) return rest.length > 80 ? "" : undefined;
    return this.isCitation(citation) ? citation.trimEnd() : "";
  }
}

/** Finds incomplete Markdown links. A link is shown or removed as a whole, so no part may end within one. */
class LinkScanner {
  /** The numbers of open brackets, and of open parentheses of a link's target. */
  private brackets = 0;
  private parentheses = 0;
  private before = "";

  /** Reads the next text. @returns whether the text so far ends within a link. */
  endsInLink(text: string): boolean {
    for (const character of text) {
      if (character === "[") this.brackets++;
      else if (character === "]") this.brackets = Math.max(0, this.brackets - 1);
      else if (character === "(" && (this.before === "]" || this.parentheses > 0)) this.parentheses++;
      else if (character === ")") this.parentheses = Math.max(0, this.parentheses - 1);
      this.before = character;
    }
    return this.brackets + this.parentheses > 0;
  }
}

function isRule(line: string): boolean {
  return RULE.test(line) && RULE_MARK.test(line);
}

function lengthOf(parts: readonly ReplyPart[]): number {
  return parts.reduce((sum, { space, text }) => sum + space.length + text.length, 0);
}

function partOf(kind: ReplyPart["kind"], whole: string): ReplyPart {
  const text = whole.trimStart();
  return { kind, space: whole.slice(0, whole.length - text.length), text };
}
