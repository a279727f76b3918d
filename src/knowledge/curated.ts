import type { IndexStore } from "./index-store.ts";
import type { CuratedMatch } from "./passage.ts";
import { indexTerms, queryTerms } from "./query.ts";
import { quoted, vocabularyOf } from "./retrieve.ts";
import { terms } from "./terms.ts";

/** A question with the answer that the team wrote for it. */
export interface CuratedAnswer {
  id: string;
  question: string;
  answer: string;
}

/** From this score on a match is strong: its answer is given word for word. */
export const STRONG_MATCH = 0.8;

const CANDIDATES = 30;

interface Row extends Record<string, SqlStorageValue> {
  answerId: string;
  question: string;
  answer: string;
}

/** Keeps a curated answer; one with the same id is replaced. */
export function putAnswer(store: IndexStore, { id, question, answer }: CuratedAnswer): void {
  store.write(() => {
    remove(store.sql, id);
    const insert = "INSERT INTO answers (answer_id, question, answer) VALUES (?, ?, ?) RETURNING id";
    const row = store.sql.exec<{ id: number }>(insert, id, question, answer).one();
    store.sql.exec("INSERT INTO answer_index (rowid, question) VALUES (?, ?)", row.id, terms(question).join(" "));
  });
}

export function removeAnswer(store: IndexStore, id: string): void {
  if (!store.isEmpty) store.write(() => remove(store.sql, id));
}

/** The curated questions that resemble this one. */
export function searchAnswers(sql: SqlStorage, question: string, limit: number): CuratedMatch[] {
  const { size } = sql.exec<{ size: number }>("SELECT count(*) AS size FROM answers").one();
  if (size === 0) return [];
  const vocabulary = { size, ...vocabularyOf(sql, "answer_terms") };
  const asked = queryTerms(question, vocabulary);
  if (asked.length === 0) return [];
  const query = `WITH found AS (SELECT rowid AS id FROM answer_index WHERE answer_index MATCH ? ORDER BY rank LIMIT ?)
    SELECT a.answer_id AS answerId, a.question, a.answer FROM found JOIN answers a ON a.id = found.id`;
  const rows = sql.exec<Row>(query, indexTerms(asked).map(quoted).join(" OR "), CANDIDATES).toArray();
  const matches = rows.map((row): CuratedMatch => {
    const known = queryTerms(row.question, vocabulary);
    const shared = new Set([...known.map((word) => word.term)]);
    const sharedWeight = asked.filter((word) => shared.has(word.term) || (word.alike !== null && shared.has(word.alike)));
    const sum = (list: readonly { weight: number }[]): number => list.reduce((total, word) => total + word.weight, 0);
    const common = sum(sharedWeight);
    return { ...row, score: (2 * common) / (sum(asked) + sum(known)) };
  });
  return matches.toSorted((a, b) => b.score - a.score).slice(0, limit);
}

function remove(sql: SqlStorage, id: string): void {
  sql.exec("DELETE FROM answer_index WHERE rowid = (SELECT id FROM answers WHERE answer_id = ?)", id);
  sql.exec("DELETE FROM answers WHERE answer_id = ?", id);
}
