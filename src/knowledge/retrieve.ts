import { previousWords } from "./follow-up.ts";
import { fullTextQuery, vocabularyOf } from "./full-text.ts";
import { generationTerm, type IndexStore } from "./index-store.ts";
import type { Passage, QueryTerm, Retrieval, SearchQuery } from "./passage.ts";
import { indexTerms, queryTerms } from "./query.ts";
import { match, rankScore, termPlaces } from "./rank.ts";
import { terms } from "./terms.ts";

/** Chunks that the index proposes and that are scored closely. */
const CANDIDATES = 50;
/** bm25's weights of generation, title, heading and body. */
const BM25 = "bm25(0.0, 2.0, 3.0, 1.0)";
interface Row extends Record<string, SqlStorageValue> {
  sourceId: string;
  type: string;
  title: string;
  heading: string | null;
  url: string | null;
  content: string;
  terms: string;
}

/** Finds the passages on a question in the chunks that are live. */
export function searchChunks(store: IndexStore, query: SearchQuery): Omit<Retrieval, "curated"> {
  const vocabulary = { size: store.size.chunks, ...vocabularyOf(store.sql) };
  const questionTerms = queryTerms(query.question, vocabulary);
  const previousTerms = previousWords(query.question, query.previousQuestions, questionTerms, vocabulary);
  const words = [...questionTerms, ...previousTerms];
  const asked = indexTerms(words);
  const passages = asked.length === 0 ? [] : rank(candidates(store.sql, asked), words, new Set(asked));
  return { passages: passages.slice(0, query.limit), questionTerms, previousTerms };
}

function candidates(sql: SqlStorage, asked: readonly string[]): Row[] {
  const hidden = sql.exec<{ id: number }>("SELECT id FROM generations WHERE state = 'building'").toArray();
  const wanted = `{title heading body} : (${fullTextQuery(asked)})`;
  const except = fullTextQuery(hidden.map(({ id }) => generationTerm(id)));
  const expression = hidden.length === 0 ? wanted : `(${wanted}) NOT ({generation} : (${except}))`;
  const query = `WITH found AS (SELECT rowid AS id FROM chunk_index WHERE chunk_index MATCH ? AND rank MATCH ? ORDER BY rank LIMIT ?)
    SELECT d.source_id AS sourceId, d.type, d.title, c.heading, d.url, c.content, c.terms
    FROM found JOIN chunks c ON c.id = found.id JOIN documents d ON d.id = c.document_id`;
  return sql.exec<Row>(query, expression, BM25, CANDIDATES).toArray();
}

function rank(rows: readonly Row[], words: readonly QueryTerm[], asked: ReadonlySet<string>): Passage[] {
  const bodies = rows.map((row) => row.terms.split(" "));
  const averageLength = bodies.reduce((sum, body) => sum + body.length, 0) / Math.max(rows.length, 1);
  const titles = new Map<string, string[]>();
  const passages = rows.map((row, at): Passage => {
    const title = titles.get(row.title) ?? terms(row.title);
    titles.set(row.title, title);
    const entry = termPlaces(asked, bodies[at]!, row.heading === null ? [] : terms(row.heading), title);
    const { sourceId, heading, url, content } = row;
    const type = row.type === "page" ? "page" : "text";
    return { sourceId, type, title: row.title, heading, url, content, score: rankScore(match(words, entry, averageLength)) };
  });
  return passages.filter((passage) => passage.score > 0).toSorted((a, b) => b.score - a.score);
}
