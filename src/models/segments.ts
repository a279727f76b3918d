import { blocks, LIST_ITEM } from "../text/blocks.ts";
import { sentences } from "../text/sentences.ts";
import { terms } from "../text/terms.ts";
import type { QueryTerm } from "./retrieval.ts";

/** The smallest part of a passage that can be quoted by itself or with its lead-in. */
export interface Segment {
  kind: "sentence" | "item" | "code" | "table" | "heading";
  text: string;
  terms: ReadonlySet<string>;
  /** The number of its block; the items of one list, or the sentences of one paragraph, share it. */
  block: number;
  /** Whether its block is a list of numbered steps. */
  isOrdered: boolean;
  /** Whether a pronoun or conjunction in it refers to the sentence before. */
  needsContext: boolean;
  /** The terms of what it belongs to: its passage's headings, its list's lead-in, the sentence or question before it. */
  contextTerms: ReadonlySet<string>;
}

const ORDERED_ITEM = /^[ \t]*\(?\d{1,3}[.)]/;
const IMAGE = /!\[[^\]]*\]\([^)]*\)/g;
/** A line of at most so many words without final punctuation is a heading, whatever its markup. */
const MAX_HEADING_WORDS = 10;
const REFERS_BACK =
  /^(?:this|that|these|those|it|its|they|their|he|she|such|so|then|also|however|otherwise|instead|therefore|but|and|in this case|in that case|if so|for example)\b|\b(?:them|they|these|those)\b/i;
const FINAL_PUNCTUATION = /[.!?…:;,。！？）)"'”`*]$/;

/** Splits a passage into segments, in reading order. `about` is its title and heading. */
export function segmentsOf(content: string, about: string): Segment[] {
  const segments: Segment[] = [];
  const title = terms(about);
  let heading: string[] = [];
  for (const [block, { kind, text }] of [...blocks(content)].entries()) {
    const texts = kind === "text" ? sentenceTexts(text) : kind === "list" ? listItems(text) : [text];
    const isHeading = kind === "heading" || (kind === "text" && looksLikeHeading(texts));
    if (isHeading) heading = terms(text);
    const segmentKind = isHeading ? "heading" : kind === "text" ? "sentence" : kind === "list" ? "item" : kind;
    const isSentence = segmentKind === "sentence";
    const isOrdered = kind === "list" && ORDERED_ITEM.test(text);
    const leadIn = segments.at(-1)?.text.endsWith(":") ? segments.at(-1) : undefined;
    for (const [at, segmentText] of texts.entries()) {
      const previous = segments.at(-1);
      const needsContext = isSentence && at > 0 && REFERS_BACK.test(segmentText);
      const followsQuestion = isSentence && previous?.text.endsWith("?") === true;
      const context = needsContext || followsQuestion ? previous : isSentence ? undefined : leadIn;
      const contextTerms = new Set([...title, ...(isHeading ? [] : heading), ...(context?.terms ?? [])]);
      const ownTerms = new Set(terms(segmentText));
      segments.push({ kind: segmentKind, text: segmentText, terms: ownTerms, block, isOrdered, needsContext, contextTerms });
    }
  }
  return segments;
}

function sentenceTexts(text: string): string[] {
  const lines = sentences(text.replace(IMAGE, " ")).map((sentence) => sentence.replaceAll(/\s*\n\s*/g, " "));
  return lines.map((sentence) => sentence.replace(/^[\s:;,]+/, "")).filter((sentence) => sentence !== "");
}

function looksLikeHeading([only, second]: readonly string[]): boolean {
  if (only === undefined || second !== undefined) return false;
  return !FINAL_PUNCTUATION.test(only) && only.split(/\s+/).length <= MAX_HEADING_WORDS;
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

/** A corrected spelling may be another word. */
const CORRECTION_MATCH = 0.6;

/** How surely a set of terms contains a query term: 1, less where only its corrected spelling is there, or 0. */
export function termMatch(all: ReadonlySet<string>, { term, correction, parts }: QueryTerm): number {
  if (all.has(term)) return 1;
  if (parts.length > 0 && parts.every((part) => all.has(part))) return 1;
  return correction !== null && all.has(correction) ? CORRECTION_MATCH : 0;
}
