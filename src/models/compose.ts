import type { Passage } from "./retrieval.ts";
import type { Unit } from "./units.ts";

interface ScoredUnit {
  unit: Unit;
  /** The share of the question that it holds, with its context. */
  score: number;
  /** The same with what else speaks for it: its passage, its form. To choose by. */
  value: number;
}

export interface ScoredPassage {
  passage: Passage;
  /** In reading order. */
  units: ScoredUnit[];
}

/** An answer that is read in a chat window; a list of steps may be longer, since half of it is no help. */
const MAX_WORDS = 120;
const MAX_STEPS_WORDS = 300;
/** What of the best sentence's value another one must have to belong to the answer. */
const RELATED_SHARE = 0.75;
/** The same for one of another passage: an answer from one place reads better. */
const RELATED_ELSEWHERE_SHARE = 0.85;
const MAX_PASSAGES = 3;
/** Sentences with more words in common than this say the same. */
const SAME_SHARE = 0.7;
/** A shorter answer takes the next sentence with it: it mostly goes on explaining. */
const SHORT_ANSWER_WORDS = 25;
interface Candidate {
  passage: ScoredPassage;
  at: number;
  unit: ScoredUnit;
}

/** Picks what to say: the passages best first, each in reading order. */
export function composeAnswer(read: readonly ScoredPassage[]): { text: string; cited: Passage[] } {
  const candidates = read.flatMap((passage) => passage.units.map((unit, at): Candidate => ({ passage, at, unit })));
  const ranked = candidates.filter(({ unit }) => unit.score > 0 && unit.unit.kind !== "heading" && !asks(unit.unit));
  ranked.sort((a, b) => b.unit.value - a.unit.value);
  const best = ranked[0];
  if (!best) return { text: "", cited: [] };
  const answer = new Answer();
  answer.add(best.passage, best.at);
  answer.addNext(best.passage, best.at);
  for (const { passage, at, unit } of ranked.slice(1)) {
    const share = passage === best.passage ? RELATED_SHARE : RELATED_ELSEWHERE_SHARE;
    if (unit.value >= best.unit.value * share) answer.add(passage, at);
  }
  return answer.finish();
}

/** A question in the knowledge asks, it does not answer: what comes after it does. */
function asks({ text }: Unit): boolean {
  return text.endsWith("?");
}

class Answer {
  private readonly chosen = new Map<ScoredPassage, Set<number>>();
  private words = 0;

  /** Adds a unit with what it needs to be understood, where there is room and it says something new. */
  add(passage: ScoredPassage, at: number): void {
    const { unit } = passage.units[at]!;
    if (!this.chosen.has(passage) && this.chosen.size >= MAX_PASSAGES) return;
    const group = withContext(passage.units, at).filter((place) => !this.chosen.get(passage)?.has(place));
    const words = group.reduce((sum, place) => sum + countWords(passage.units[place]!.unit.text), 0);
    const limit = unit.ordered && this.words === 0 ? MAX_STEPS_WORDS : MAX_WORDS;
    if (group.length === 0 || (this.words > 0 && this.words + words > limit)) return;
    if (this.saysAlready(unit)) return;
    const places = this.chosen.get(passage) ?? new Set();
    this.chosen.set(passage, places);
    for (const place of group) places.add(place);
    this.words += words;
  }

  /** Adds what comes after a unit in its paragraph, while the answer is short. */
  addNext(passage: ScoredPassage, at: number): void {
    const next = passage.units[at + 1]?.unit;
    const goesOn = next?.kind === "sentence" && next.block === passage.units[at]!.unit.block;
    if (goesOn && this.words < SHORT_ANSWER_WORDS) this.add(passage, at + 1);
  }

  /** The passages in the order in which they were taken: what answers best is read first. */
  finish(): { text: string; cited: Passage[] } {
    const texts = [...this.chosen].map(([{ units }, places]) => {
      const inOrder = [...places].sort((a, b) => a - b);
      return join(inOrder.map((place) => units[place]!.unit));
    });
    return { text: texts.join("\n\n"), cited: [...this.chosen.keys()].map(({ passage }) => passage) };
  }

  private saysAlready(unit: Unit): boolean {
    for (const [passage, places] of this.chosen) {
      for (const place of places) if (sharedShare(passage.units[place]!.unit.terms, unit.terms) > SAME_SHARE) return true;
    }
    return false;
  }
}

/** The places of a unit and of what it cannot be read without. */
function withContext(units: readonly ScoredUnit[], at: number): number[] {
  const { unit } = units[at]!;
  if (unit.kind === "sentence") {
    if (unit.text.endsWith(":")) return [at, ...announced(units, at + 1)];
    return unit.leans ? [at - 1, at] : [at];
  }
  const first = firstOfBlock(units, at);
  const before = units[first - 1]?.unit;
  const leadIn = before?.kind === "sentence" && before.text.endsWith(":") ? [first - 1] : [];
  const whole = blockFrom(units, first);
  return wordsOf(units, whole) <= roomFor(unit) ? [...leadIn, ...whole] : [...leadIn, at];
}

/** The list, code or table that a lead-in announces, as much of it as there is room for. */
function announced(units: readonly ScoredUnit[], first: number): number[] {
  const next = units[first]?.unit;
  if (!next) return [];
  if (next.kind === "sentence") return [first];
  const places: number[] = [];
  for (const place of blockFrom(units, first)) {
    if (places.length > 0 && wordsOf(units, [...places, place]) > roomFor(next)) break;
    places.push(place);
  }
  return places;
}

function roomFor(unit: Unit): number {
  return unit.ordered ? MAX_STEPS_WORDS : MAX_WORDS;
}

function wordsOf(units: readonly ScoredUnit[], places: readonly number[]): number {
  return places.reduce((sum, place) => sum + countWords(units[place]!.unit.text), 0);
}

function firstOfBlock(units: readonly ScoredUnit[], at: number): number {
  let first = at;
  while (first > 0 && units[first - 1]!.unit.block === units[at]!.unit.block) first--;
  return first;
}

function blockFrom(units: readonly ScoredUnit[], first: number): number[] {
  const places: number[] = [];
  for (let at = first; at < units.length && units[at]!.unit.block === units[first]!.unit.block; at++) places.push(at);
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

/** The share of the smaller set's terms that the other one has too. */
function sharedShare(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const term of a) if (b.has(term)) shared++;
  return shared / Math.max(1, Math.min(a.size, b.size));
}

function countWords(text: string): number {
  return text.split(/\s+/).length;
}
