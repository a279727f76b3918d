import type { CuratedMatch } from "../../models/retrieval.ts";
import { allTokens, type Token } from "../../text/terms.ts";
import type { CuratedAnswer, IndexStore, StoredAnswer } from "../indexing/store.ts";
import { AnswerModel, PAIR, type RankedAnswer } from "./answer-model.ts";
import { alikeTo, MAX_ALIKES, rarity, type Vocabulary } from "./query.ts";
import { synonymGroups } from "./synonyms.ts";

/** From this score on a match is strong: its answer is given word for word. */
export const STRONG_MATCH = 0.7;

/** Answers whose questions are compared closely, one by one. */
const ANSWERS_COMPARED = 5;
/** Questions of one answer that are compared, the newest first. */
const QUESTIONS_COMPARED = 20;
/** What a word weighs by its kind: "why" or "not" alone tells two questions on one matter apart. */
const KIND_WEIGHTS = { content: 1, weak: 0.6, stop: 0.2 } as const;
/** A compound's part beside the whole. */
const PART_WEIGHT = 0.5;
/** Short questions differ in one word: rare ones must not drown the others. */
const RARITY_POWER = 0.7;
/** The same question, but for a word of grammar: no other answer can outvote it. */
const SAME_QUESTION = 0.95;

/** The curated answers of one agent, and the search of them. */
export class CuratedAnswers {
  /** Built when first asked for: most wakings of the object search, but writing many answers needs none. */
  private built: AnswerModel | undefined;

  constructor(private readonly store: IndexStore) {}

  /** Keeps an answer; one with the same id is replaced. */
  put(answer: CuratedAnswer): void {
    const old = this.find(answer.id);
    const row = this.store.write(() => this.store.putAnswer(answer));
    if (old) this.built?.remove(old.id, old.answer, questionFeatures(old.question));
    this.built?.add(row, answer.answer, questionFeatures(answer.question));
  }

  remove(id: string): void {
    const old = this.find(id);
    if (!old) return;
    this.store.write(() => this.store.deleteAnswer(id));
    this.built?.remove(old.id, old.answer, questionFeatures(old.question));
  }

  forget(): void {
    this.built = undefined;
  }

  /** The answers whose questions resemble this one, best first: each once, under its nearest question. */
  search(question: string, limit: number): CuratedMatch[] {
    if (this.store.size.answers === 0) return [];
    const model = this.model();
    const spell = speller(model);
    const ranked = model.rank(questionFeatures(question, spell), Math.min(limit, ANSWERS_COMPARED));
    const nearest = this.nearestOf(ranked, wordWeights(question, spell), model);
    return nearest.sort((a, b) => Number(b.score >= SAME_QUESTION) * b.score - Number(a.score >= SAME_QUESTION) * a.score);
  }

  private find(id: string): StoredAnswer | undefined {
    return this.store.isEmpty ? undefined : this.store.findAnswer(id);
  }

  private model(): AnswerModel {
    if (this.built) return this.built;
    const model = new AnswerModel();
    for (const { id, question, answer } of this.store.listAnswers()) model.add(id, answer, questionFeatures(question));
    this.built = model;
    return model;
  }

  private nearestOf(ranked: readonly RankedAnswer[], asked: Map<string, number>, model: AnswerModel): CuratedMatch[] {
    const weigh = (term: string): number => rarity(model.documentsOf(term), model.size) ** RARITY_POWER;
    const ids = ranked.map(({ questions }) => [...questions].slice(-QUESTIONS_COMPARED));
    const rows = new Map(this.store.readAnswers(ids.flat()).map((row) => [row.id, row]));
    return ids.map((own): CuratedMatch => {
      const matches = own.map((id): CuratedMatch => {
        const { answerId, question, answer } = rows.get(id)!;
        return { answerId, question, answer, score: similarity(asked, wordWeights(question), weigh) };
      });
      return matches.reduce((best, match) => (match.score > best.score ? match : best));
    });
  }
}

/** The words of a question, each with the share of its rarity that it weighs. */
function wordWeights(question: string, spell: (term: string) => string = (term) => term): Map<string, number> {
  const found = new Map<string, number>();
  for (const { term, parts, kind } of allTokens(question)) {
    found.set(spell(term), KIND_WEIGHTS[kind]);
    for (const part of parts) found.set(part, found.get(part) ?? PART_WEIGHT);
  }
  return found;
}

/** How much of both questions is the same (Dice, by weight): a short overlap of a long question is little. */
function similarity(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>, weigh: (term: string) => number): number {
  let common = 0;
  let total = 0;
  for (const [term, share] of a) {
    const weight = weigh(term);
    total += share * weight;
    if (b.has(term)) common += (share + b.get(term)!) * weight;
  }
  for (const [term, share] of b) total += share * weigh(term);
  return total === 0 ? 0 : Math.min(1, common / total);
}

/** Puts the known spelling in the place of words that no curated question has. */
function speller(model: AnswerModel): (term: string) => string {
  const vocabulary: Vocabulary = {
    size: model.size,
    frequencies: (terms) => new Map(terms.map((term) => [term, model.documentsOf(term)])),
    beginningWith: (prefix) => model.beginningWith(prefix),
  };
  const spelt = new Map<string, string>();
  return (term) => {
    const known = spelt.get(term);
    if (known !== undefined) return known;
    const alike = model.documentsOf(term) > 0 || spelt.size >= MAX_ALIKES ? undefined : alikeTo(term, vocabulary);
    const chosen = alike?.term ?? term;
    if (model.documentsOf(term) === 0) spelt.set(term, chosen);
    return chosen;
  };
}

/** What a word counts by its kind: in short questions "why" or "not" alone may tell one matter from another. */
const KIND_SHARES = { content: 1, weak: 1, stop: 0.6 } as const;
/** A compound's part beside the whole. */
const PART_SHARE = 0.5;
/** Two words together, in whichever order: "card stolen" says more than "card" and "stolen" apart. */
const PAIR_SHARE = 0.5;
/** Words with at most four others between them belong together. */
const PAIR_REACH = 5;

/**
 * What a question is told by, each with its share: its words, the groups of words that mean the like, and its pairs of
 * words (by group, where a word has one). `spell` may put another term in a term's place.
 */
function questionFeatures(question: string, spell: (term: string) => string = (term) => term): Map<string, number> {
  const found = new Map<string, number>();
  const add = (feature: string, share: number): void => {
    found.set(feature, Math.max(found.get(feature) ?? 0, share));
  };
  const meanings: string[] = [];
  for (const token of allTokens(question)) {
    const term = spell(token.term);
    const groups = synonymGroups(withoutMark(token, term));
    add(term, KIND_SHARES[token.kind]);
    for (const part of token.parts) add(part, PART_SHARE);
    for (const group of groups) add(group, 1);
    if (token.kind !== "stop") meanings.push(groups[0] ?? term);
  }
  for (const pair of pairs(meanings)) add(pair, PAIR_SHARE);
  return found;
}

function withoutMark({ kind }: Token, term: string): string {
  return kind === "stop" ? term.slice(1) : term;
}

function* pairs(meanings: readonly string[]): Generator<string> {
  for (const [at, left] of meanings.entries()) {
    for (const right of meanings.slice(at + 1, at + 1 + PAIR_REACH)) {
      if (left !== right) yield left < right ? left + PAIR + right : right + PAIR + left;
    }
  }
}
