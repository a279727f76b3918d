import type { Passage, QueryTerm, Retrieval } from "../knowledge/passage.ts";
import { terms } from "../knowledge/terms.ts";
import { composeAnswer, type ScoredPassage } from "./compose.ts";
import { confidenceOf, type Signals } from "./confidence.ts";
import type { Model, ModelReply, ModelRequest } from "./model.ts";
import { type Unit, unitsOf } from "./units.ts";

/** Passages that are read for an answer. */
const PASSAGES_READ = 5;
/** What a word counts that stands in a sentence's heading, title or lead-in only. */
const CONTEXT_SHARE = 0.6;
/** Below it more of what was asked is missing than is there: whatever was found is about something else. */
const MIN_COVERAGE = 0.5;
/** Below it an answer would more likely be wrong than right by far. */
const MIN_CONFIDENCE = 0.25;

/** Answers with the very sentences of the knowledge. It needs no network, and cannot say what no source says. */
export class ExtractiveModel implements Model {
  async answer({ retrieval }: ModelRequest): Promise<ModelReply> {
    const words = [...retrieval.questionTerms, ...retrieval.previousTerms];
    const read = retrieval.passages.slice(0, PASSAGES_READ).map((passage) => readPassage(passage, words));
    const signals = signalsOf(retrieval, words, read);
    const confidence = confidenceOf(signals);
    if (signals.passageCoverage < MIN_COVERAGE || confidence < MIN_CONFIDENCE) return { outcome: "no_answer", confidence };
    const { text, cited } = composeAnswer(read);
    return text === "" ? { outcome: "no_answer", confidence } : { outcome: "answered", text, cited, confidence };
  }
}

/** The signals that a reply's confidence is made of. */
export function extractiveSignals(retrieval: Retrieval): Signals {
  const words = [...retrieval.questionTerms, ...retrieval.previousTerms];
  const read = retrieval.passages.slice(0, PASSAGES_READ).map((passage) => readPassage(passage, words));
  return signalsOf(retrieval, words, read);
}

function readPassage(passage: Passage, words: readonly QueryTerm[]): ScoredPassage {
  const context = new Set(terms(`${passage.title}\n${passage.heading ?? ""}`));
  const units = unitsOf(passage.content);
  const scored = units.map((unit, at) => ({ unit, score: unitScore(unit, leadInOf(units, at), context, words) }));
  return { passage, units: scored };
}

/** The lead-in of a list item or code block: the last sentence before its block. */
function leadInOf(units: readonly Unit[], at: number): Unit | undefined {
  const { kind, block } = units[at]!;
  if (kind === "sentence") return undefined;
  let before = at - 1;
  while (before >= 0 && units[before]!.block === block) before--;
  return units[before]?.text.endsWith(":") ? units[before] : undefined;
}

function unitScore(unit: Unit, leadIn: Unit | undefined, context: ReadonlySet<string>, words: readonly QueryTerm[]): number {
  let score = 0;
  let total = 0;
  for (const word of words) {
    const { weight } = word;
    total += weight;
    if (holds(unit.terms, word)) score += weight;
    else if (holds(context, word) || (leadIn && holds(leadIn.terms, word))) score += weight * CONTEXT_SHARE;
  }
  return total === 0 ? 0 : score / total;
}

function signalsOf(retrieval: Retrieval, words: readonly QueryTerm[], read: readonly ScoredPassage[]): Signals {
  const coverages = read.map(({ passage, units }) => {
    const held = new Set([...terms(`${passage.title}\n${passage.heading ?? ""}`), ...units.flatMap(({ unit }) => [...unit.terms])]);
    return share(words, (word) => holds(held, word));
  });
  return {
    passageCoverage: Math.max(0, ...coverages),
    sentenceCoverage: Math.max(0, ...read.flatMap(({ units }) => units.map(({ score }) => score))),
    passageScore: retrieval.passages[0]?.score ?? 0,
  };
}

function share(words: readonly QueryTerm[], counts: (word: QueryTerm) => boolean): number {
  const total = words.reduce((sum, { weight }) => sum + weight, 0);
  const counted = words.reduce((sum, word) => sum + (counts(word) ? word.weight : 0), 0);
  return total === 0 ? 0 : counted / total;
}

function holds(held: ReadonlySet<string>, { term, alike, parts }: QueryTerm): boolean {
  if (held.has(term) || (alike !== null && held.has(alike))) return true;
  return parts.length > 0 && parts.every((part) => held.has(part));
}
