/** A block of Markdown or similar text. `level` is the level of a heading, and 0 for other kinds. */
export interface Block {
  kind: "heading" | "text" | "list" | "table" | "code";
  text: string;
  level: number;
}

interface Line {
  /** The place of the line in the text. */
  start: number;
  text: string;
  /** The beginning of the line, by which its kind is recognised. */
  head: string;
}

/** The length of the beginning, which bounds the time of the patterns below. */
const HEAD_LENGTH = 240;
/** A longer "heading" is a paragraph that starts with a hash. */
const MAX_HEADING_LENGTH = 200;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ATX_HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;
const SETEXT_UNDERLINE = /^ {0,3}(=+|-{2,})[ \t]*$/;
const THEMATIC_BREAK = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
export const LIST_ITEM = /^[ \t]*(?:[-*+•◦▪–]|\(?\d{1,3}[.)])[ \t]+\S/;
/** Matches the number at the beginning of an item of an ordered list. */
export const ORDERED_ITEM = /^[ \t]*\(?\d{1,3}[.)]/;
const TABLE_ROW = /^[ \t]*\|/;
/** Matches a cell of the line below the header row of a Markdown table. */
const RULER_CELL = /^:?-+:?$/;
const INDENTED = /^(?: {2,}|\t)\S/;

/** The characters after which `blockSlices` pauses, which are read in some milliseconds. */
const SLICE_CHARS = 64 * 1024;

/** Reads the blocks of a text lazily and in order, without thematic breaks and blank lines. */
export function* blocks(text: string): Generator<Block> {
  for (const block of blockSlices(text)) if (block) yield block;
}

/** Reads a text as `blocks` does, and yields undefined after each slice of it, so that a long block does not take long at once. */
export function* blockSlices(text: string): Generator<Block | undefined> {
  const reader = new LineReader(text);
  for (let line = reader.next(); line; line = reader.next()) {
    if (reader.endsSlice()) yield undefined;
    if (line.head.trim() === "" && line.text.trim() === "") continue;
    const fence = FENCE.exec(line.head);
    if (fence) yield { kind: "code", text: yield* readFence(reader, line, fence[1]!), level: 0 };
    else if (headingOf(line)) yield headingOf(line)!;
    else if (THEMATIC_BREAK.test(line.head)) continue;
    else if (LIST_ITEM.test(line.head)) yield { kind: "list", text: yield* readList(reader, line), level: 0 };
    else if (isTableHead(line, reader.peek()))
      yield { kind: "table", text: yield* readWhile(reader, line, (next) => next.head.includes("|")), level: 0 };
    else if (TABLE_ROW.test(line.head))
      yield { kind: "table", text: yield* readWhile(reader, line, (next) => TABLE_ROW.test(next.head)), level: 0 };
    else yield yield* readParagraph(reader, line);
  }
}

class LineReader {
  private position = 0;
  private sliceEnd = SLICE_CHARS;
  constructor(private readonly text: string) {}

  /** Whether a slice has been read. If so, the next one begins. */
  endsSlice(): boolean {
    if (this.position < this.sliceEnd) return false;
    this.sliceEnd = this.position + SLICE_CHARS;
    return true;
  }

  next(): Line | undefined {
    const line = this.peek();
    if (line) this.position += line.text.length + 1;
    return line;
  }

  /** The text from this line to the end of the last line that was read. */
  textFrom({ start }: Line): string {
    return this.text.slice(start, this.position - 1);
  }

  /**
   * @param skipBlank finds the next line that is not blank, within a slice.
   * @param start where the next line is looked for.
   */
  peek(skipBlank = false, start = this.position): Line | undefined {
    let at = start;
    while (at < this.text.length && at - start <= SLICE_CHARS) {
      const found = this.text.indexOf("\n", at);
      const end = found < 0 ? this.text.length : found;
      const text = this.text.slice(at, end);
      if (!skipBlank || text.trim() !== "") return { start: at, text, head: text.slice(0, HEAD_LENGTH) };
      at = end + 1;
    }
    return undefined;
  }
}

/** The text of a Markdown heading without closing hashes. */
export function withoutClosingHashes(heading: string): string {
  return heading.replace(/(?<![ \t])[ \t]+#+[ \t]*$/, "");
}

function headingOf(line: Line): Block | undefined {
  if (line.text.length > MAX_HEADING_LENGTH) return undefined;
  const match = ATX_HEADING.exec(line.text);
  if (!match) return undefined;
  const text = withoutClosingHashes(match[2]!).trim();
  return text === "" ? undefined : { kind: "heading", text, level: match[1]!.length };
}

function* readFence(reader: LineReader, first: Line, mark: string): Generator<undefined, string> {
  for (let line = reader.next(); line; line = reader.next()) {
    if (reader.endsSlice()) yield undefined;
    const head = line.head.trim();
    if (head.startsWith(mark) && head.replaceAll(mark[0]!, "") === "") break;
  }
  return reader.textFrom(first);
}

/** Reads a list with its continuation lines and the blank lines between its items. */
function* readList(reader: LineReader, first: Line): Generator<undefined, string> {
  const parts: string[] = [];
  let begin = first;
  for (let next = reader.peek(true); next; next = reader.peek(true)) {
    const blankBefore = reader.peek()!.text.trim() === "";
    const belongs = LIST_ITEM.test(next.head) || INDENTED.test(next.head) || (!blankBefore && isProse(next));
    if (!belongs) break;
    if (blankBefore) {
      parts.push(reader.textFrom(begin));
      begin = next;
      while (reader.peek()!.text.trim() === "") reader.next();
    }
    reader.next();
    if (reader.endsSlice()) yield undefined;
  }
  return [...parts, reader.textFrom(begin)].join("\n");
}

function* readParagraph(reader: LineReader, first: Line): Generator<undefined, Block> {
  const under = reader.peek();
  const underline = under && SETEXT_UNDERLINE.exec(under.head);
  if (underline && first.text.length <= MAX_HEADING_LENGTH) {
    reader.next();
    return { kind: "heading", text: first.text.trim(), level: underline[1]!.startsWith("=") ? 1 : 2 };
  }
  const belongs = (line: Line): boolean =>
    isProse(line) && !LIST_ITEM.test(line.head) && !isTableHead(line, reader.peek(false, line.start + line.text.length + 1));
  return { kind: "text", text: yield* readWhile(reader, first, belongs), level: 0 };
}

function* readWhile(reader: LineReader, first: Line, belongs: (line: Line) => boolean): Generator<undefined, string> {
  for (let next = reader.peek(); next && next.text.trim() !== "" && belongs(next); next = reader.peek()) {
    reader.next();
    if (reader.endsSlice()) yield undefined;
  }
  return reader.textFrom(first);
}

/** Whether a line is the header row of a Markdown table. The bars at the ends of its rows may be missing. */
function isTableHead(line: Line, next: Line | undefined): boolean {
  if (!line.head.includes("|") || next === undefined) return false;
  const cells = next.head.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
  return cells.length > 1 && cells.every((cell) => RULER_CELL.test(cell.trim()));
}

function isProse(line: Line): boolean {
  return !FENCE.test(line.head) && !headingOf(line) && !THEMATIC_BREAK.test(line.head) && !TABLE_ROW.test(line.head);
}
