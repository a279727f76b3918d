import { HEADING_SEPARATOR } from "../../models/retrieval.ts";
import { type Block, blockSlices, LIST_ITEM } from "../../text/blocks.ts";
import { truncateBytes, utf8Length } from "../../platform/text.ts";
import { sentenceSpans } from "../../text/sentences.ts";

/** A part of a document, small enough to be quoted in an answer. */
export interface Chunk {
  /** The headings above the chunk, outermost first. */
  heading: string | null;
  content: string;
}

/** The most bytes of UTF-8 that a chunk's content has, however long its words are. */
const MAX_CHUNK_BYTES = 8_192;
/** The length of a paragraph or two, which is enough context for an answer and has one subject. */
const TARGET_WORDS = 350;
/** The length up to which a list, table or code block is not split. */
const WHOLE_BLOCK_WORDS = 600;
/** A shorter section is put into one chunk with the next section. */
const MIN_SECTION_WORDS = 8;
/** Only longer sentences and lines are split. Two pieces, or one with a table's header, fit into a chunk. */
const MAX_PIECE_CHARS = 4_000;
const MAX_PIECE_BYTES = 4_096;
/** A longer run of characters without a space counts as several words. */
const LONG_RUN = 20;
const LONG_RUN_CHARS_PER_WORD = 8;
/** In scripts without spaces, a word has about two characters. */
const UNSPACED_CHARS_PER_WORD = 2;
const FIRST_UNSPACED_CODE = 0x0e00;
const MAX_HEADING_PATH = 300;

/** Replaces lone surrogates and control characters in a text, removes characters without width, and unifies its line breaks. */
export function cleanText(text: string): string {
  const lines = text.replace(/\r\n?|\u2028|\u2029/g, "\n").replace(/[\u00ad\u200b\u2060\ufeff]/g, "");
  // oxlint-disable-next-line no-control-regex
  return lines.toWellFormed().replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, " ");
}

/** The chunks of a text; undefined after a stretch of it without one, so that the caller can do other work in between. */
export type ChunkSlices = Generator<Chunk | undefined>;

/** Splits a cleaned text into chunks, lazily and in linear time. */
export function* chunks(text: string): ChunkSlices {
  const packer = new Packer();
  for (const block of blockSlices(text)) {
    if (!block) yield undefined;
    else if (block.kind === "heading") yield* packer.heading(block);
    else yield* packer.block(block);
  }
  yield* packer.end();
}

/** Estimates the number of words of a text. Long runs and scripts without spaces are measured in characters. */
export function wordCount(text: string): number {
  let words = 0;
  for (const [run] of text.matchAll(/\S+/g)) words += wordsOfRun(run);
  return words;
}

/** The separator between the pieces of a chunk. */
const SEPARATOR = "\n\n";

interface Heading {
  level: number;
  text: string;
}

/** Fills chunks with blocks, and starts a new one at headings and when one is full. */
class Packer {
  private path: Heading[] = [];
  /** The last heading, until it is part of a chunk. */
  private pendingHeading: Heading | undefined;
  private pieces: string[] = [];
  private words = 0;
  private bytes = 0;
  private openedUnder: string | null = null;

  *heading({ text, level }: Block): Generator<Chunk> {
    // A heading without text below it is not the heading of any chunk, so it is added as text.
    if (this.pendingHeading && level <= this.pendingHeading.level) yield* this.addHeading(this.pendingHeading);
    if (this.words >= MIN_SECTION_WORDS) yield* this.flush();
    const shared = this.words > 0;
    // In a chunk that it shares with the section before, the heading is part of the text.
    if (shared) yield* this.addHeading({ text, level });
    while (this.path.length > 0 && this.path.at(-1)!.level >= level) this.path.pop();
    this.path.push({ level, text });
    this.pendingHeading = shared ? undefined : this.path.at(-1);
  }

  *block(block: Block): ChunkSlices {
    this.pendingHeading = undefined;
    const limit = block.kind === "text" ? TARGET_WORDS : WHOLE_BLOCK_WORDS;
    if (fits(block.text, limit)) return yield* this.piece(block.text.trimEnd(), wordCount(block.text), block.kind !== "text");
    for (const part of split(block)) {
      if (part === undefined) yield undefined;
      else yield* this.piece(part, wordCount(part), false);
    }
  }

  *end(): Generator<Chunk> {
    if (this.pendingHeading) yield* this.addHeading(this.pendingHeading);
    yield* this.flush();
  }

  private *piece(text: string, words: number, needsLeadIn: boolean): Generator<Chunk> {
    if (this.words > 0 && this.words + words > TARGET_WORDS) {
      // A lead-in such as "To do this:" belongs to the list after it.
      const leadIn = needsLeadIn && this.pieces.length > 1 && this.pieces.at(-1)!.endsWith(":") ? this.pieces.pop() : undefined;
      yield* this.flush();
      if (leadIn) yield* this.add(leadIn);
    }
    yield* this.add(text, words);
  }

  /** Adds a heading as a line of Markdown, so that it is not taken for a sentence of the text. */
  private *addHeading({ level, text }: Heading): Generator<Chunk> {
    yield* this.add(`${"#".repeat(level)} ${text}`, wordCount(text));
  }

  /** @param text has at most MAX_CHUNK_BYTES. */
  private *add(text: string, words = wordCount(text)): Generator<Chunk> {
    const bytes = utf8Length(text) + SEPARATOR.length;
    if (this.bytes + bytes > MAX_CHUNK_BYTES) yield* this.flush();
    if (this.pieces.length === 0) this.openedUnder = this.headingPath();
    this.pieces.push(text);
    this.words += words;
    this.bytes += bytes;
  }

  private *flush(): Generator<Chunk> {
    const content = this.pieces.join(SEPARATOR).trim();
    const heading = this.openedUnder;
    this.pieces = [];
    this.words = 0;
    this.bytes = 0;
    if (content !== "") yield { heading, content };
  }

  private headingPath(): string | null {
    if (this.path.length === 0) return null;
    const path = this.path.map((heading) => heading.text).join(HEADING_SEPARATOR);
    return path.length > MAX_HEADING_PATH ? path.slice(-MAX_HEADING_PATH).toWellFormed() : path;
  }
}

function fits(text: string, words: number): boolean {
  // The length is checked first, since counting the words of 5 MiB is slow.
  return text.length <= words * LONG_RUN && wordCount(text) <= words && utf8Length(text) <= MAX_CHUNK_BYTES;
}

/** Splits a block that is too long for one chunk into parts of bounded size. Yields undefined after many lines without a part. */
function* split(block: Block): Generator<string | undefined> {
  if (block.kind === "text") yield* packSentences(block.text);
  else if (block.kind === "table") yield* packLines(block.text, tableHeader(block.text), () => true);
  else if (block.kind === "list") yield* packLines(block.text, "", (line) => LIST_ITEM.test(line));
  else yield* packLines(block.text, "", () => true);
}

function* packSentences(text: string): Generator<string> {
  const pack = new Pack(" ");
  for (const { start, end } of sentenceSpans(text)) {
    for (const piece of bounded(text.slice(start, end))) yield* pack.add(piece);
  }
  yield* pack.end();
}

/** After so many lines, which are read in a few milliseconds, `packLines` pauses. */
const LINES_PER_SLICE = 10_000;

/** Joins lines to packs. A pack begins only at a line for which `mayBegin` is true, unless the one before would exceed the larger limit. */
function* packLines(text: string, header: string, mayBegin: (line: string) => boolean): Generator<string | undefined> {
  const pack = new Pack("\n", header);
  let count = 0;
  for (let start = 0, end = 0; start <= text.length; start = end + 1) {
    end = text.indexOf("\n", start);
    if (end < 0) end = text.length;
    const line = text.slice(start, end);
    if (++count % LINES_PER_SLICE === 0) yield undefined;
    for (const piece of bounded(line)) yield* pack.add(piece, mayBegin(line));
  }
  yield* pack.end();
}

class Pack {
  private parts: string[] = [];
  private words = 0;
  private bytes = 0;

  constructor(
    private readonly separator: string,
    private readonly header = "",
  ) {}

  *add(part: string, mayBegin = true): Generator<string> {
    // Blank lines have no words, so the limit of words does not bound their number.
    if (part === "" && (this.parts.at(-1) ?? "") === "") return;
    const words = wordCount(part);
    const limit = mayBegin ? TARGET_WORDS : WHOLE_BLOCK_WORDS;
    const isFull = this.words > 0 && this.words + words > limit;
    if (isFull || this.bytes + utf8Length(part) > MAX_CHUNK_BYTES) {
      yield* this.end();
      if (this.header !== "") this.push(this.header, 0);
    }
    this.push(part, words);
  }

  private push(part: string, words: number): void {
    this.parts.push(part);
    this.words += words;
    this.bytes += utf8Length(part) + this.separator.length;
  }

  *end(): Generator<string> {
    const text = this.parts.join(this.separator);
    this.parts = [];
    this.words = 0;
    this.bytes = 0;
    if (text.trim() !== "") yield text;
  }
}

/** The header of a Markdown table with its ruler, which is repeated in each part of the table; "" where it has none. */
function tableHeader(text: string): string {
  const end = text.indexOf("\n", text.indexOf("\n") + 1);
  const [header = "", ruler = ""] = text.slice(0, end < 0 ? 0 : end).split("\n");
  return /^[\s|:-]+$/.test(ruler) && header.length + ruler.length < MAX_PIECE_CHARS / 4 ? `${header}\n${ruler}` : "";
}

/** Splits a text into pieces of bounded length, at white space if there is any. */
function* bounded(text: string): Generator<string> {
  let from = 0;
  for (let limit = pieceLimit(text, from); limit < text.length; limit = pieceLimit(text, from)) {
    const to = cutBefore(text, from, limit);
    yield text.slice(from, to).trim();
    from = to;
  }
  yield from === 0 ? text : text.slice(from).trim();
}

/** The latest end of a piece that starts at `from`. */
function pieceLimit(text: string, from: number): number {
  return from + truncateBytes(text.slice(from, from + MAX_PIECE_CHARS), MAX_PIECE_BYTES).length;
}

function cutBefore(text: string, from: number, limit: number): number {
  const space = text.slice(from, limit).lastIndexOf(" ");
  if (space > (limit - from) / 2) return from + space;
  const code = text.charCodeAt(limit);
  const splitsPair = code >= 0xdc00 && code <= 0xdfff;
  return splitsPair ? limit - 1 : limit;
}

function wordsOfRun(run: string): number {
  const perWord = run.charCodeAt(0) >= FIRST_UNSPACED_CODE ? UNSPACED_CHARS_PER_WORD : LONG_RUN_CHARS_PER_WORD;
  const longest = perWord === UNSPACED_CHARS_PER_WORD ? UNSPACED_CHARS_PER_WORD : LONG_RUN;
  return run.length <= longest ? 1 : Math.ceil(run.length / perWord);
}
