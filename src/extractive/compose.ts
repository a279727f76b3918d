import { isQuestion, leadInOf, type Segment } from "./segments.ts";

/** The longest answer that is readable in a chat window. A list of steps may be longer, since half of it would not help. */
const MAX_WORDS = 120;
const MAX_STEPS_WORDS = 300;
/** A paragraph that is not longer is given whole, since its other sentences mostly explain or limit the one that was asked for. */
const SHORT_PARAGRAPH_WORDS = 60;
/** In a longer paragraph, a shorter answer continues with the next sentences. */
const SHORT_ANSWER_WORDS = 50;

/** Composes an answer from a segment and the neighbours that it needs to be understood. */
export function composeAnswer(segments: readonly Segment[], at: number): string {
  return join(answerSegments(segments, at).map((index) => segments[index]!));
}

/** Returns the indexes of the segments of the answer that is composed from a segment. */
export function answerSegments(segments: readonly Segment[], at: number): number[] {
  return segments[at]!.kind === "sentence" ? sentences(segments, at) : withLeadIn(segments, at);
}

/** Returns a short paragraph; of a longer one a sentence, the one before it if it refers to that, and the ones after it while the answer is short. */
function sentences(segments: readonly Segment[], at: number): number[] {
  const { needsContext, text, block } = segments[at]!;
  const paragraph = blockOf(segments, at);
  // What follows a colon or a question belongs to that.
  const isPlain = paragraph.every((index) => !segments[index]!.text.endsWith(":") && !isQuestion(segments[index]!.text));
  if (isPlain && wordCount(segments, paragraph) <= SHORT_PARAGRAPH_WORDS) return paragraph;
  const indexes = needsContext ? [at - 1, at] : [at];
  if (text.endsWith(":")) return [...indexes, ...introducedFrom(segments, at + 1)];
  for (let next = at + 1; segments[next]?.block === block && wordCount(segments, indexes) < SHORT_ANSWER_WORDS; next++) {
    indexes.push(next);
    if (segments[next]!.text.endsWith(":")) return [...indexes, ...introducedFrom(segments, next + 1)];
  }
  return indexes;
}

/** Returns the whole list of an item if it is not too long, or a table's row or a code block alone; each with its lead-in. */
function withLeadIn(segments: readonly Segment[], at: number): number[] {
  const segment = segments[at]!;
  const introduction = leadInOf(segments, at);
  const leadIn = introduction === undefined ? [] : [introduction];
  if (segment.kind === "row") return [...leadIn, at];
  const whole = blockOf(segments, at);
  return wordCount(segments, whole) <= maxWords(segment) ? [...leadIn, ...whole] : [...leadIn, at];
}

/** Returns as much of the list, code or table after a lead-in as fits into an answer. */
function introducedFrom(segments: readonly Segment[], first: number): number[] {
  const next = segments[first];
  if (!next) return [];
  if (next.kind === "sentence") return [first];
  const indexes: number[] = [];
  for (const index of blockOf(segments, first)) {
    if (indexes.length > 0 && wordCount(segments, [...indexes, index]) > maxWords(next)) break;
    indexes.push(index);
  }
  return indexes;
}

function maxWords({ isOrdered }: Segment): number {
  return isOrdered ? MAX_STEPS_WORDS : MAX_WORDS;
}

function wordCount(segments: readonly Segment[], indexes: readonly number[]): number {
  return indexes.reduce((sum, index) => sum + segments[index]!.text.split(/\s+/).length, 0);
}

/** Returns the indexes of all segments of the block that a segment belongs to. */
function blockOf(segments: readonly Segment[], at: number): number[] {
  return [...segments.keys()].filter((index) => segments[index]!.block === segments[at]!.block);
}

/** Joins the sentences of a paragraph in one line, puts each item in a line of its own, and separates blocks by a blank line. */
function join(segments: readonly Segment[]): string {
  let text = "";
  for (const [at, segment] of segments.entries()) {
    const before = segments[at - 1];
    if (!before) text = segment.text;
    else if (before.block !== segment.block) text += `\n\n${segment.text}`;
    else text += `${segment.kind === "sentence" ? " " : "\n"}${segment.text}`;
  }
  return text;
}
