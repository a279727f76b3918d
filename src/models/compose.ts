import type { Passage } from "./retrieval.ts";
import type { Segment } from "./segments.ts";

export interface ScoredSegment {
  segment: Segment;
  /** The share of the question that it and its context contain, 0..1. */
  coverage: number;
  /** To rank by: coverage with the bonuses for its passage and for its answer type. */
  score: number;
}

export interface ScoredPassage {
  passage: Passage;
  /** In reading order. */
  segments: ScoredSegment[];
  quotesQuestion: boolean;
}

/** An answer has to be readable in a chat window; a list of steps may be longer, since half of it is no help. */
const MAX_WORDS = 120;
const MAX_STEPS_WORDS = 300;
/** A segment belongs to the answer if its score is at least this share of the best one's. */
const RELATED_SHARE = 0.75;
/** The same for segments of other passages: an answer from one place reads better. */
const RELATED_SHARE_ELSEWHERE = 0.85;
const MAX_PASSAGES = 3;
/** Segments with a larger share of terms in common repeat each other. */
const DUPLICATE_SHARE = 0.7;
/** A shorter answer includes the next sentence, which mostly continues the explanation. */
const SHORT_ANSWER_WORDS = 25;

/** Composes an answer of the best segments: the passage with the best one first, each passage in reading order. */
export function composeAnswer(read: readonly ScoredPassage[]): { text: string; cited: Passage[] } {
  const candidates = read.flatMap((passage) => passage.segments.map((scored, at) => ({ passage, at, scored })));
  const ranked = candidates.filter(({ scored }) => scored.coverage > 0 && canAnswer(scored.segment));
  ranked.sort((a, b) => b.scored.score - a.scored.score);
  const best = ranked[0];
  if (!best) return { text: "", cited: [] };
  const answer = new Answer();
  answer.add(best.passage, best.at);
  answer.addNextSentence(best.passage, best.at);
  for (const { passage, at, scored } of ranked.slice(1)) {
    const share = passage === best.passage ? RELATED_SHARE : RELATED_SHARE_ELSEWHERE;
    if (scored.score >= best.scored.score * share) answer.add(passage, at);
  }
  return answer.finish();
}

/** A heading or a question only announces what comes after it. */
function canAnswer({ kind, text }: Segment): boolean {
  return kind !== "heading" && !text.endsWith("?");
}

class Answer {
  private readonly chosen = new Map<ScoredPassage, Set<number>>();
  private words = 0;

  /** Adds a segment with the context it needs, if there is room and it does not repeat the answer. */
  add(passage: ScoredPassage, at: number): void {
    const { segment } = passage.segments[at]!;
    if (!this.chosen.has(passage) && this.chosen.size >= MAX_PASSAGES) return;
    const group = withContext(passage.segments, at).filter((index) => !this.chosen.get(passage)?.has(index));
    const words = wordCount(passage.segments, group);
    const limit = segment.isOrdered && this.words === 0 ? MAX_STEPS_WORDS : MAX_WORDS;
    if (group.length === 0 || (this.words > 0 && this.words + words > limit)) return;
    if (this.repeats(segment)) return;
    const indexes = this.chosen.get(passage) ?? new Set();
    this.chosen.set(passage, indexes);
    for (const index of group) indexes.add(index);
    this.words += words;
  }

  /** Adds the next sentence of the paragraph, while the answer is short. */
  addNextSentence(passage: ScoredPassage, at: number): void {
    const next = passage.segments[at + 1]?.segment;
    const continues = next?.kind === "sentence" && next.block === passage.segments[at]!.segment.block;
    if (continues && this.words < SHORT_ANSWER_WORDS) this.add(passage, at + 1);
  }

  finish(): { text: string; cited: Passage[] } {
    const texts = [...this.chosen].map(([{ segments }, indexes]) => {
      const inOrder = [...indexes].sort((a, b) => a - b);
      return join(inOrder.map((index) => segments[index]!.segment));
    });
    return { text: texts.join("\n\n"), cited: [...this.chosen.keys()].map(({ passage }) => passage) };
  }

  private repeats(segment: Segment): boolean {
    for (const [passage, indexes] of this.chosen) {
      for (const index of indexes) if (overlap(passage.segments[index]!.segment.terms, segment.terms) > DUPLICATE_SHARE) return true;
    }
    return false;
  }
}

/** The indexes of a segment and of the segments that it cannot be understood without. */
function withContext(segments: readonly ScoredSegment[], at: number): number[] {
  const { segment } = segments[at]!;
  if (segment.kind === "sentence") {
    if (segment.text.endsWith(":")) return [at, ...introducedFrom(segments, at + 1)];
    return segment.needsContext ? [at - 1, at] : [at];
  }
  let first = at;
  while (first > 0 && segments[first - 1]!.segment.block === segment.block) first--;
  const before = segments[first - 1]?.segment;
  const leadIn = before?.kind === "sentence" && before.text.endsWith(":") ? [first - 1] : [];
  const whole = blockFrom(segments, first);
  return wordCount(segments, whole) <= maxWords(segment) ? [...leadIn, ...whole] : [...leadIn, at];
}

/** The list, code or table after a lead-in, as much of it as there is room for. */
function introducedFrom(segments: readonly ScoredSegment[], first: number): number[] {
  const next = segments[first]?.segment;
  if (!next) return [];
  if (next.kind === "sentence") return [first];
  const indexes: number[] = [];
  for (const index of blockFrom(segments, first)) {
    if (indexes.length > 0 && wordCount(segments, [...indexes, index]) > maxWords(next)) break;
    indexes.push(index);
  }
  return indexes;
}

function maxWords({ isOrdered }: Segment): number {
  return isOrdered ? MAX_STEPS_WORDS : MAX_WORDS;
}

function wordCount(segments: readonly ScoredSegment[], indexes: readonly number[]): number {
  return indexes.reduce((sum, index) => sum + segments[index]!.segment.text.split(/\s+/).length, 0);
}

function blockFrom(segments: readonly ScoredSegment[], first: number): number[] {
  const indexes: number[] = [];
  for (let at = first; segments[at]?.segment.block === segments[first]!.segment.block; at++) indexes.push(at);
  return indexes;
}

/** Sentences of a paragraph on one line, items on a line each, blocks with a blank line between. */
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

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((term) => b.has(term)).length;
  return shared / Math.max(1, Math.min(a.size, b.size));
}
