import type { Passage } from "../knowledge/passage.ts";
import type { Unit } from "./units.ts";

export interface ScoredUnit {
  unit: Unit;
  /** The share of the question that it holds, with its context. */
  score: number;
}

export interface ScoredPassage {
  passage: Passage;
  /** In reading order. */
  units: ScoredUnit[];
}

/** An answer that is read in a chat window; a list of steps may be longer, since half of it is no help. */
const MAX_WORDS = 120;
const MAX_STEPS_WORDS = 300;
/** A sentence that holds this share of what the best one holds still belongs to the answer. */
const RELATED_SHARE = 0.7;
/** Sentences with more words in common than this say the same. */
const SAME_SHARE = 0.7;
/** A shorter answer takes the next sentence with it: it mostly goes on explaining. */
const SHORT_ANSWER_WORDS = 25;
/** A sentence that begins so makes no sense without the one before. */
const CONTINUES =
  /^(?:this|that|these|those|it|its|they|their|he|she|such|so|then|also|however|otherwise|instead|therefore|but|and|in this case|in that case|if so|for example)\b/i;

/** Picks what to say and puts it in reading order. */
export function composeAnswer(read: readonly ScoredPassage[]): { text: string; cited: Passage[] } {
  const ranked = read.flatMap((passage, rank) =>
    passage.units.map((unit, at) => ({ passage, at, unit, value: valueOf(unit, passage, rank) })),
  );
  ranked.sort((a, b) => b.value - a.value);
  const best = ranked[0];
  if (!best || best.unit.score === 0) return { text: "", cited: [] };
  const answer = new Answer();
  for (const candidate of ranked) {
    if (candidate.unit.score < best.unit.score * RELATED_SHARE) continue;
    answer.add(candidate.passage, candidate.at);
  }
  answer.addNext(best.passage, best.at);
  return answer.finish(read);
}

/** A unit's score, with that of its passage to decide between equals. */
function valueOf({ unit, score }: ScoredUnit, { passage }: ScoredPassage, rank: number): number {
  // A heading or a question in the text asks; it does not answer.
  const asks = unit.kind === "heading" || unit.text.trimEnd().endsWith("?");
  return (score + 0.5 * passage.score - 0.02 * rank) * (asks ? 0.5 : 1);
}

class Answer {
  private readonly chosen = new Map<ScoredPassage, Set<number>>();
  private words = 0;

  /** Adds a unit with what it needs to be understood, where there is room and it says something new. */
  add(passage: ScoredPassage, at: number): void {
    const group = withContext(passage.units, at).filter((place) => !this.chosen.get(passage)?.has(place));
    const words = group.reduce((sum, place) => sum + countWords(passage.units[place]!.unit.text), 0);
    const limit = passage.units[at]!.unit.ordered ? MAX_STEPS_WORDS : MAX_WORDS;
    if (group.length === 0 || (this.words > 0 && this.words + words > limit)) return;
    if (this.saysAlready(passage.units[at]!.unit)) return;
    const places = this.chosen.get(passage) ?? new Set();
    this.chosen.set(passage, places);
    for (const place of group) places.add(place);
    this.words += words;
  }

  addNext(passage: ScoredPassage, at: number): void {
    const next = passage.units[at + 1]?.unit;
    const goesOn = next?.kind === "sentence" && next.block === passage.units[at]!.unit.block;
    if (goesOn && this.words < SHORT_ANSWER_WORDS) this.add(passage, at + 1);
  }

  finish(read: readonly ScoredPassage[]): { text: string; cited: Passage[] } {
    const used = read.filter((passage) => this.chosen.has(passage));
    const texts = used.map((passage) =>
      join([...this.chosen.get(passage)!].sort((a, b) => a - b).map((place) => passage.units[place]!.unit)),
    );
    return { text: texts.join("\n\n"), cited: used.map(({ passage }) => passage) };
  }

  private saysAlready(unit: Unit): boolean {
    for (const [passage, places] of this.chosen) {
      for (const place of places) if (sameShare(passage.units[place]!.unit.terms, unit.terms) > SAME_SHARE) return true;
    }
    return false;
  }
}

/** The places of a unit and of what it cannot be read without. */
function withContext(units: readonly ScoredUnit[], at: number): number[] {
  const { unit } = units[at]!;
  if (unit.kind === "sentence") {
    if (unit.text.endsWith(":")) return [at, ...listAfter(units, at)];
    const before = units[at - 1]?.unit;
    return CONTINUES.test(unit.text) && before?.kind === "sentence" && before.block === unit.block ? [at - 1, at] : [at];
  }
  const first = firstOfBlock(units, at);
  const leadIn = units[first - 1]?.unit.text.endsWith(":") ? [first - 1] : [];
  const whole = blockFrom(units, first);
  const words = whole.reduce((sum, place) => sum + countWords(units[place]!.unit.text), 0);
  return words <= (unit.ordered ? MAX_STEPS_WORDS : MAX_WORDS) ? [...leadIn, ...whole] : [...leadIn, at];
}

/** The list, code or table that a lead-in announces, as much of it as there is room for. */
function listAfter(units: readonly ScoredUnit[], at: number): number[] {
  const next = units[at + 1]?.unit;
  if (!next || next.kind === "sentence") return next ? [at + 1] : [];
  const places: number[] = [];
  let words = 0;
  for (const place of blockFrom(units, at + 1)) {
    words += countWords(units[place]!.unit.text);
    if (places.length > 0 && words > (next.ordered ? MAX_STEPS_WORDS : MAX_WORDS)) break;
    places.push(place);
  }
  return places;
}

function firstOfBlock(units: readonly ScoredUnit[], at: number): number {
  let first = at;
  while (first > 0 && units[first - 1]!.unit.block === units[at]!.unit.block) first--;
  return first;
}

function blockFrom(units: readonly ScoredUnit[], first: number): number[] {
  const places: number[] = [];
  for (let at = first; units[at]?.unit.block === units[first]?.unit.block && at < units.length; at++) places.push(at);
  return places;
}

/** Sentences of a paragraph in one line, items under each other, blocks apart. */
function join(units: readonly Unit[]): string {
  let text = "";
  for (const [at, unit] of units.entries()) {
    const before = units[at - 1];
    if (!before) text = unit.text;
    else if (before.block !== unit.block) text += `\n\n${unit.text}`;
    else text += `${unit.kind === "sentence" ? " " : "\n"}${unit.text}`;
  }
  return text;
}

function sameShare(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const term of a) if (b.has(term)) shared++;
  return shared / Math.max(1, Math.min(a.size, b.size));
}

function countWords(text: string): number {
  return text.split(/\s+/).length;
}
