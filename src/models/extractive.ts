import { terms } from "../text/terms.ts";
import { composeAnswer, type ScoredPassage } from "./compose.ts";
import { confidenceOf, type Signals } from "./confidence.ts";
import { replyToThanks, smallTalkOf } from "./intent.ts";
import { type KnowledgeQuestion, type Model, type ModelRequest, type Opening, SMALL_TALK_CONFIDENCE } from "./model.ts";
import { only, sentencesOf } from "./pieces.ts";
import type { Passage, QueryTerm, Retrieval } from "./retrieval.ts";
import { hasShape, type Shape, shapeOf, type Unit, unitsOf } from "./units.ts";

/** Passages that are read for an answer. */
const PASSAGES_READ = 5;
/** What a word counts that stands in a sentence's heading, title or lead-in only. */
const CONTEXT_SHARE = 0.6;
/** What a word counts that is there in a like spelling only: it may be another word. */
const ALIKE_SHARE = 0.6;
/** A longer unit (a table, a block of code) holds words by chance; hardly a sentence has more terms. */
const LONG_UNIT_TERMS = 40;
/** What a passage's score adds to a sentence's value, and what the form that was asked for adds. */
const PASSAGE_VALUE = 0.5;
const SHAPE_VALUE = 0.15;
/** A sentence that only says where to read on hardly answers. */
const POINTER_SHARE = 0.5;
const POINTS_ELSEWHERE =
  /^(?:for (?:more|further|additional|detailed) (?:information|info|details|instructions|help)\b|(?:also )?(?:see|refer to|read|learn more|find out more)\b)/i;
/** A sentence about something names it among its first words. */
const TOPIC_TERMS = 4;
/** The weight of two words that no passage has by chance: a question found by less may be about something else. */
const FULL_EVIDENCE = 2;
/** Below it an answer would more likely be wrong than right by far. */
const MIN_CONFIDENCE = 0.35;

/** What it says. `confidence` is the probability, 0..1, that an answer from this knowledge is right. */
export type ExtractiveReply =
  | { outcome: "answered"; text: string; cited: Passage[]; confidence: number }
  | { outcome: "no_answer"; confidence: number };

/** Answers with the very sentences of the knowledge. It needs no network, and cannot say what no source says. */
export class ExtractiveModel {
  async answer({ question, retrieval }: KnowledgeQuestion): Promise<ExtractiveReply> {
    const { text, cited, signals } = draft(question, retrieval);
    const confidence = confidenceOf(signals);
    if (text === "" || confidence < MIN_CONFIDENCE) return { outcome: "no_answer", confidence };
    return { outcome: "answered", text, cited, confidence };
  }
}

/** The best answer that can be made of what was found, however little it may be worth, and what speaks for it. */
export function draft(question: string, retrieval: Retrieval): { text: string; cited: Passage[]; signals: Signals } {
  const read = readPassages(retrieval, question);
  return { ...composeAnswer(read), signals: signalsOf(retrieval, read) };
}

/** The best passages with their sentences, each scored by how much of the question it holds. */
function readPassages({ passages, questionTerms, previousTerms }: Retrieval, question: string): ScoredPassage[] {
  const words = [...questionTerms, ...previousTerms];
  const shape = shapeOf(question);
  return passages.slice(0, PASSAGES_READ).map((passage) => {
    const units = unitsOf(passage.content, aboutOf(passage)).map((unit) => (quotes(unit, question) ? { ...unit, terms: NO_TERMS } : unit));
    return { passage, units: units.map((unit) => scoredUnit(unit, passage, words, shape)) };
  });
}

const NO_TERMS: ReadonlySet<string> = new Set();

/** Whether a code example holds the very question that is asked, as a request's body does: it does not answer it. */
function quotes({ kind, text }: Unit, question: string): boolean {
  return kind === "code" && plain(text).includes(plain(question));
}

function plain(text: string): string {
  return ` ${text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
}

function scoredUnit(unit: Unit, passage: Passage, words: readonly QueryTerm[], shape: Shape): { unit: Unit; score: number; value: number } {
  const share = shareHeld(words, (word) => Math.max(held(unit.terms, word), held(unit.context, word) * CONTEXT_SHARE));
  const score = share * Math.min(1, Math.sqrt(LONG_UNIT_TERMS / Math.max(1, unit.terms.size)));
  const first = new Set([...unit.terms].slice(0, TOPIC_TERMS));
  const startsWithTopic = words.some((word) => !word.weak && held(first, word) === 1);
  const form = hasShape(shape, unit, startsWithTopic) ? SHAPE_VALUE : 0;
  const says = POINTS_ELSEWHERE.test(unit.text) ? POINTER_SHARE : 1;
  return { unit, score, value: (score + PASSAGE_VALUE * passage.score + form) * says };
}

/** What a reply's confidence is made of. A passage that only quotes the question speaks for nothing. */
function signalsOf({ questionTerms }: Retrieval, read: readonly ScoredPassage[]): Signals {
  const speaking = read.filter(({ units }) => !units.some(({ unit }) => unit.terms === NO_TERMS)).toSorted(byScore);
  const [best = 0, ...others] = speaking.map(({ passage }) => passage.score);
  const other = others.reduce((sum, score) => sum + score, 0) / (PASSAGES_READ - 1);
  const telling = questionTerms.filter((word) => !word.weak);
  const asked = telling.reduce((sum, { weight }) => sum + weight, 0);
  const [inBest = 0, ...elsewhere] = speaking.map((passage) => weightFound(passage, telling));
  const found = Math.max(inBest, ...elsewhere);
  return {
    passageScore: best,
    lead: best === 0 ? 0 : 1 - other / best,
    evidence: Math.min(1, found / FULL_EVIDENCE),
    tellingInBest: asked === 0 ? 0 : inBest / asked,
    tellingFound: asked === 0 ? 1 : found / asked,
  };
}

function byScore(a: ScoredPassage, b: ScoredPassage): number {
  return b.passage.score - a.passage.score;
}

/** The weight of the words that a passage holds. */
function weightFound({ passage, units }: ScoredPassage, words: readonly QueryTerm[]): number {
  const all = new Set([...terms(aboutOf(passage)), ...units.flatMap(({ unit }) => [...unit.terms])]);
  return words.filter((word) => held(all, word) > 0).reduce((sum, { weight }) => sum + weight, 0);
}

function aboutOf({ title, heading }: Passage): string {
  return `${title}\n${heading ?? ""}`;
}

/** The share of the words' weight that is held. */
function shareHeld(words: readonly QueryTerm[], heldShare: (word: QueryTerm) => number): number {
  const total = words.reduce((sum, { weight }) => sum + weight, 0);
  const found = words.reduce((sum, word) => sum + word.weight * heldShare(word), 0);
  return total === 0 ? 0 : found / total;
}

/** Whether a set of terms holds a word: 1, or less where it is spelt otherwise. */
function held(all: ReadonlySet<string>, { term, alike, parts }: QueryTerm): number {
  if (all.has(term)) return 1;
  if (parts.length > 0 && parts.every((part) => all.has(part))) return 1;
  return alike !== null && all.has(alike) ? ALIKE_SHARE : 0;
}

const extractive = new ExtractiveModel();

/** The engine without a network: it says the knowledge's own sentences, one by one. */
export class ExtractiveEngine implements Model {
  async answer(request: ModelRequest): Promise<Opening> {
    const polite = politeReply(request);
    if (polite !== undefined) return { outcome: "answered", cited: [], confidence: SMALL_TALK_CONFIDENCE, text: only(polite) };
    const reply = await extractive.answer(request);
    if (reply.outcome === "no_answer") return reply;
    const { cited, confidence, text } = reply;
    return { outcome: "answered", cited, confidence, text: sentencesOf(text, request.language) };
  }
}

/** What is said to a visitor who greets or thanks: nobody has to take over for that. */
function politeReply({ question, welcomeMessage, language }: ModelRequest): string | undefined {
  const talk = smallTalkOf(question);
  if (talk === undefined) return undefined;
  return talk === "thanks" ? replyToThanks(language) : welcomeMessage.trim() || undefined;
}
