import { LruCache } from "../platform/lru-cache.ts";
import { type Block, blocks, LIST_ITEM, ORDERED_ITEM } from "../text/blocks.ts";
import { sentences } from "../text/sentences.ts";
import { terms } from "../text/terms.ts";
import { HEADING_SEPARATOR, type Passage, passageText, type QueryTerm } from "../models/retrieval.ts";

/** The smallest part of a passage that can be quoted by itself or with its lead-in. */
export interface Segment {
  kind: "sentence" | "item" | "code" | "row" | "heading";
  text: string;
  terms: ReadonlySet<string>;
  /** The number of its block. The items of one list, or the sentences of one paragraph, have the same. */
  block: number;
  /** Whether its block is a list of numbered steps. */
  isOrdered: boolean;
  /** Whether a pronoun or conjunction in it refers to the sentence before. */
  needsContext: boolean;
  /** The terms of the headings above it, or of the title where there is none, and of a question before it. */
  headingTerms: ReadonlySet<string>;
  /** The terms of the sentences next to it in its block, and of its list's lead-in. */
  neighborTerms: ReadonlySet<string>;
}

const IMAGE = /!\[[^\]]*\]\([^)]*\)/g;
/** A line of at most this many words without final punctuation counts as the heading of the text below it, whatever its markup. */
const MAX_HEADING_WORDS = 10;
const REFERS_BACK =
  /^(?:this|that|it|its|their|he|she|such|so|then|also|however|otherwise|instead|therefore|but|and|in this case|in that case|if so|for example)\b|\b(?:them|they|these|those)\b/i;
const FINAL_PUNCTUATION = /[.!?…:;,。！？؟۔।）)"'”`*]$/;

/** How many passages of a search the engine reads: the best ones. */
export const MAX_PASSAGES_READ = 5;

/** A passage, split and analysed. */
export interface ReadPassage {
  /** In reading order. */
  segments: readonly Segment[];
  terms: ReadonlySet<string>;
  titleTerms: ReadonlySet<string>;
}

/** Recently read passages, since many questions find the same ones. Each takes up to about 50 KB. */
const readPassages = new LruCache<string, ReadPassage>(200);

/** Splits and analyses a passage. The result is cached, so the same passage gives the same sets of terms. */
export function readPassage(passage: Pick<Passage, "content" | "title" | "heading">): ReadPassage {
  const key = [passage.title, passage.heading, passage.content].join("\0");
  const known = readPassages.get(key);
  if (known) return known;
  const read = {
    segments: segmentsOf(passage),
    terms: new Set(terms(passageText(passage))),
    titleTerms: new Set(terms(passage.title)),
  };
  readPassages.set(key, read);
  return read;
}

/** Increment it with every change of the segments of a text. The stored vectors, which are in the order of the segments, are then computed again. */
export const SEGMENTS_VERSION = 1;

/** Splits a passage into segments, in reading order. */
export function segmentsOf({ content, title, heading }: Pick<Passage, "content" | "title" | "heading">): Segment[] {
  const segments: Segment[] = [];
  const headings = new Set(terms(heading ?? title));
  /** One set for all segments under a heading, so that it is compared with a question only once. */
  let headingTerms: ReadonlySet<string> = headings;
  const read = [...blocks(content)].map((each) => ({ ...each, texts: textsOf(each.kind, each.text) }));
  for (const [block, { kind, text, texts }] of read.entries()) {
    const isHeading = kind === "heading" || (looksLikeHeading(read[block]!) && isBelowHeading(read[block + 1]));
    if (isHeading) headingTerms = new Set([...headings, ...terms(text)]);
    const isOrdered = kind === "list" && ORDERED_ITEM.test(text);
    const leadIn = segments.at(-1)?.text.endsWith(":") ? segments.at(-1)!.text : "";
    for (const [at, segmentText] of texts.entries()) {
      // In a list of questions and answers, a question is the heading of what follows.
      if (kind === "text" && isQuestion(segmentText)) headingTerms = new Set([...headings, ...terms(segmentText)]);
      const segmentKind = isHeading ? "heading" : SEGMENT_KINDS[kind];
      segments.push({
        kind: segmentKind,
        text: segmentText,
        terms: new Set(terms(segmentText)),
        block,
        isOrdered,
        needsContext: segmentKind === "sentence" && at > 0 && REFERS_BACK.test(segmentText),
        headingTerms: isHeading ? headings : headingTerms,
        neighborTerms: new Set(terms([texts[at - 1], texts[at + 1], leadIn].join("\n"))),
      });
    }
  }
  return segments;
}

/** Whether a text, which may be in bold, asks something. A question of a text is never its answer. */
export function isQuestion(text: string): boolean {
  return /[?？؟][*_"”’)]*$/.test(text);
}

/** Returns the heading above a segment: in its passage, or that of the passage. In a list of questions and answers, it is the question. */
export function headingAbove({ title, heading }: Pick<Passage, "title" | "heading">, segments: readonly Segment[], at: number): string {
  const inside = segments.slice(0, at).findLast(({ kind, text }) => kind === "heading" || isQuestion(text));
  return inside?.text ?? heading?.split(HEADING_SEPARATOR).at(-1) ?? title;
}

/** Returns the index of the sentence that introduces the list, table or code block of a segment; undefined if there is none. */
export function leadInOf(segments: readonly Segment[], at: number): number | undefined {
  if (segments[at]!.kind === "sentence") return undefined;
  const before = firstOfBlock(segments, at) - 1;
  return segments[before]?.kind === "sentence" && segments[before].text.endsWith(":") ? before : undefined;
}

/** Returns the index of the first segment of a segment's block. */
function firstOfBlock(segments: readonly Segment[], at: number): number {
  return segments.findIndex(({ block }) => block === segments[at]!.block);
}

const SEGMENT_KINDS = { text: "sentence", list: "item", code: "code", table: "row", heading: "heading" } as const;

function textsOf(kind: keyof typeof SEGMENT_KINDS, text: string): string[] {
  if (kind === "text") return sentenceTexts(text);
  if (kind === "list") return listItems(text);
  return kind === "table" ? tableRows(text) : [text];
}

const TABLE_RULE = /^:?-+:?$/;

/** Writes the rows of a table as sentences, in Markdown with the names of the columns: "pro: price 99 €, messages 10,000". */
function tableRows(text: string): string[] {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => cellsOf(line));
  const rule = lines.findIndex((cells) => cells.every((cell) => TABLE_RULE.test(cell)));
  const heads = lines[rule - 1] ?? [];
  return lines.slice(rule + 1).map(([name = "", ...cells]) => {
    const values = cells.map((cell, at) => [heads[at + 1] ?? "", cell] as const).filter(([, cell]) => cell !== "");
    if (values.length === 0) return name;
    return `${name}: ${values.map(([head, cell]) => (head === "" ? cell : `${head} ${cell}`)).join(", ")}`;
  });
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function sentenceTexts(text: string): string[] {
  const lines = sentences(text.replace(IMAGE, " ")).map((sentence) => sentence.replaceAll(/\s*\n\s*/g, " "));
  return lines.map((sentence) => sentence.replace(/^[\s:;,]+/, "")).filter((sentence) => sentence !== "");
}

interface ReadBlock extends Block {
  texts: readonly string[];
}

/** Whether a block is one short line without punctuation at its end, and without a value after a colon. */
function looksLikeHeading({ kind, texts: [only, second] }: ReadBlock): boolean {
  if (kind !== "text" || only === undefined || second !== undefined) return false;
  return !FINAL_PUNCTUATION.test(only) && !/:\s/.test(only) && only.split(/\s+/).length <= MAX_HEADING_WORDS;
}

/** Whether a block can be the text below a heading. Of several short lines in a row, none is the heading of the next. */
function isBelowHeading(block: ReadBlock | undefined): boolean {
  return block !== undefined && block.kind !== "heading" && !looksLikeHeading(block);
}

/** The items of a list, each with its continuation lines. */
function listItems(text: string): string[] {
  const items: string[] = [];
  for (const line of text.split("\n")) {
    if (LIST_ITEM.test(line) || items.length === 0) items.push(line.trimEnd());
    else items[items.length - 1] += `\n${line.trimEnd()}`;
  }
  return items;
}

/** How well a set of terms matches a query term, 0..1: 1 for the term or all of its parts, otherwise the weight of an alternative. */
export function termMatch(all: ReadonlySet<string>, { term, parts, alternatives }: QueryTerm): number {
  if (all.has(term)) return 1;
  if (parts.length > 0 && parts.every((part) => all.has(part))) return 1;
  let best = 0;
  for (const other of alternatives) if (other.weight > best && all.has(other.term)) best = other.weight;
  return best;
}
