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
/** What a word counts that is there in a like spelling only: it may be another word. */
const ALIKE_SHARE = 0.6;
/** A sentence has fewer distinct terms. */
const LONG_UNIT_TERMS = 40;
/** The weight of two or three rare words: who shares as much with a question hardly does so by chance. */
const FULL_EVIDENCE = 1.5;
/** Below it more of what was asked is missing than is there: whatever was found is about something else. */
const MIN_COVERAGE = 0.5;
/** Below it an answer would more likely be wrong than right by far. */
const MIN_CONFIDENCE = 0.3;

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

/** The share of the words' weight that a unit holds, itself or by its context; a long one holds much by chance. */
function unitScore(unit: Unit, leadIn: Unit | undefined, context: ReadonlySet<string>, words: readonly QueryTerm[]): number {
  let score = 0;
  let total = 0;
  for (const word of words) {
    total += word.weight;
    const nearby = Math.max(held(context, word), leadIn ? held(leadIn.terms, word) : 0) * CONTEXT_SHARE;
    score += word.weight * Math.max(held(unit.terms, word), nearby);
  }
  return total === 0 ? 0 : (score / total) * Math.min(1, Math.sqrt(LONG_UNIT_TERMS / Math.max(1, unit.terms.size)));
}

function signalsOf(retrieval: Retrieval, words: readonly QueryTerm[], read: readonly ScoredPassage[]): Signals {
  const holdings = read.map(({ passage, units }) => {
    const all = new Set([...terms(`${passage.title}\n${passage.heading ?? ""}`), ...units.flatMap(({ unit }) => [...unit.terms])]);
    return words.reduce((sum, word) => sum + word.weight * held(all, word), 0);
  });
  const most = Math.max(0, ...holdings);
  const total = words.reduce((sum, { weight }) => sum + weight, 0);
  return {
    passageCoverage: total === 0 ? 0 : most / total,
    sentenceCoverage: Math.max(0, ...read.flatMap(({ units }) => units.map(({ score }) => score))),
    passageScore: retrieval.passages[0]?.score ?? 0,
    evidence: Math.min(1, most / FULL_EVIDENCE),
  };
}

/** Whether a set of terms holds a word: 1, or less where it is spelt otherwise. */
function held(all: ReadonlySet<string>, { term, alike, parts }: QueryTerm): number {
  if (all.has(term)) return 1;
  if (parts.length > 0 && parts.every((part) => all.has(part))) return 1;
  return alike !== null && all.has(alike) ? ALIKE_SHARE : 0;
}
