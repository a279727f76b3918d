import { fullTextQuery, vocabularyOf } from "./full-text.ts";
import type { CuratedAnswer, IndexStore } from "./index-store.ts";
import type { CuratedMatch } from "./passage.ts";
import { alikeTo, MAX_ALIKES, rarity, type Vocabulary } from "./query.ts";
import { allTokens } from "./terms.ts";

/** From this score on a match is strong: its answer is given word for word. About nine of ten such matches are right. */
export const STRONG_MATCH = 0.7;

/** Questions that the index proposes and that are compared closely. */
const CANDIDATES = 50;
/** What a word weighs by its kind: "why" or "not" alone tells two questions on one matter apart. */
const KIND_WEIGHTS = { content: 1, weak: 0.6, stop: 0.2 } as const;
/** A compound's part beside the whole, and a word that is spelt otherwise. */
const PART_WEIGHT = 0.5;
const ALIKE_WEIGHT = 0.8;
/** Short questions differ in one word: rare ones must not drown the others. */
const RARITY_POWER = 0.7;
/** Several phrasings of one answer support it; a high power keeps far ones from outvoting a near one. */
const SUPPORT_POWER = 4;
const SUPPORTERS = 20;
/** The same question, but for a word of grammar: no other answer can outvote it. */
const SAME_QUESTION = 0.95;

interface Row extends Record<string, SqlStorageValue> {
  answerId: string;
  question: string;
  answer: string;
}

/** Keeps a curated answer; one with the same id is replaced. */
export function putAnswer(store: IndexStore, answer: CuratedAnswer): void {
  store.write(() => store.putAnswer(answer, [...features(answer.question).keys()].join(" ")));
}

/** The curated answers whose questions resemble this one: each answer once, under its nearest question. */
export function searchAnswers(store: IndexStore, question: string, limit: number): CuratedMatch[] {
  const size = store.size.answers;
  if (size === 0) return [];
  const vocabulary = { size, ...vocabularyOf(store.sql, "answer_terms") };
  const asked = withAlikes(features(question), vocabulary);
  const rows = candidates(store.sql, asked);
  const known = rows.map((row) => features(row.question));
  const weigh = weigher([asked, ...known], vocabulary);
  const matches = rows.map((row, at): CuratedMatch => ({ ...row, score: similarity(asked, known[at]!, weigh) }));
  return byAnswer(matches).slice(0, limit);
}

function candidates(sql: SqlStorage, asked: ReadonlyMap<string, number>): Row[] {
  const content = [...asked].filter(([, share]) => share > KIND_WEIGHTS.stop).map(([term]) => term);
  const wanted = content.length > 0 ? content : [...asked.keys()];
  if (wanted.length === 0) return [];
  const query = `WITH found AS (SELECT rowid AS id FROM answer_index WHERE answer_index MATCH ? ORDER BY rank LIMIT ?)
    SELECT a.answer_id AS answerId, a.question, a.answer FROM found JOIN answers a ON a.id = found.id`;
  return sql.exec<Row>(query, fullTextQuery(wanted), CANDIDATES).toArray();
}

/** The terms of a question, each with the share of its rarity that it weighs. */
function features(question: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const { term, parts, kind } of allTokens(question)) {
    found.set(term, KIND_WEIGHTS[kind]);
    for (const part of parts) found.set(part, found.get(part) ?? PART_WEIGHT);
  }
  return found;
}

/** Puts the known spelling in the place of words that no curated question has. */
function withAlikes(asked: Map<string, number>, vocabulary: Vocabulary): Map<string, number> {
  const known = vocabulary.frequencies([...asked.keys()]);
  const found = new Map<string, number>();
  let left = MAX_ALIKES;
  for (const [term, share] of asked) {
    const alike = known.has(term) || left-- <= 0 ? undefined : alikeTo(term, vocabulary);
    found.set(alike?.term ?? term, alike ? share * ALIKE_WEIGHT : share);
  }
  return found;
}

function weigher(texts: readonly ReadonlyMap<string, number>[], vocabulary: Vocabulary): (term: string) => number {
  const frequencies = vocabulary.frequencies([...new Set(texts.flatMap((text) => [...text.keys()]))]);
  return (term) => rarity(frequencies.get(term) ?? 0, vocabulary.size) ** RARITY_POWER;
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

function byAnswer(matches: readonly CuratedMatch[]): CuratedMatch[] {
  const nearest = matches.toSorted((a, b) => b.score - a.score);
  const groups = Map.groupBy(nearest, (match) => match.answer);
  const support = new Map<string, number>();
  for (const { answer, score } of nearest.slice(0, SUPPORTERS)) support.set(answer, (support.get(answer) ?? 0) + score ** SUPPORT_POWER);
  const rank = ({ answer, score }: CuratedMatch): number => (score >= SAME_QUESTION ? SUPPORTERS + score : (support.get(answer) ?? 0));
  return [...groups.values()].map((group) => group[0]!).sort((a, b) => rank(b) - rank(a));
}
