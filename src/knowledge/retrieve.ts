import { previousWords } from "./follow-up.ts";
import { boundedQuery, fullTextQuery, generationTerm } from "./full-text.ts";
import type { IndexStore } from "./index-store.ts";
import type { Passage, QueryTerm, Retrieval, SearchQuery } from "./passage.ts";
import { indexTerms, queryTerms, type Vocabulary } from "./query.ts";
import { match, rankScore, termPlaces } from "./rank.ts";
import { terms } from "./terms.ts";

/** Chunks that the index proposes and that are scored closely. */
const CANDIDATES = 50;
/** bm25's weights of generation, title, heading and body. */
const BM25 = "bm25(0.0, 2.0, 3.0, 1.0)";

const COLUMNS = "c.id AS chunkId, d.source_id AS sourceId, d.type, d.title, c.heading, d.url, c.content, c.terms";

/** A passage with the number of its chunk. */
export interface RankedChunk {
  chunkId: number;
  passage: Passage;
}

interface Row extends Record<string, SqlStorageValue> {
  chunkId: number;
  sourceId: string;
  type: string;
  title: string;
  heading: string | null;
  url: string | null;
  content: string;
  terms: string;
}

/** The live chunks that hold words of a question, best first, and those words. */
export function rankChunks(
  store: IndexStore,
  { question, previousQuestions }: Omit<SearchQuery, "limit">,
): { ranked: RankedChunk[] } & Omit<Retrieval, "curated" | "passages"> {
  const { chunkTerms } = store;
  const vocabulary: Vocabulary = {
    size: store.size.chunks,
    frequencies: (wanted) => chunkTerms.frequencies(wanted),
    beginningWith: (prefix) => chunkTerms.beginningWith(prefix),
  };
  const questionTerms = queryTerms(question, vocabulary);
  const previousTerms = previousWords(question, previousQuestions, questionTerms, vocabulary);
  const words = [...questionTerms, ...previousTerms];
  const asked = indexTerms(words);
  const ranked = rank(candidates(store, asked), words, new Set(asked));
  return { ranked, questionTerms, previousTerms };
}

/** These chunks, as far as they are live, with a score of 0. */
export function readLiveChunks(sql: SqlStorage, chunkIds: readonly number[]): Map<number, Passage> {
  const query = `SELECT ${COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.id IN (SELECT value FROM json_each(?)) AND d.generation_id NOT IN (SELECT id FROM generations WHERE state = 'building')`;
  const rows = sql.exec<Row>(query, JSON.stringify(chunkIds)).toArray();
  return new Map(rows.map((row) => [row.chunkId, toPassage(row, 0)]));
}

function candidates({ sql, chunkTerms, size }: IndexStore, asked: readonly string[]): Row[] {
  const bounded = boundedQuery(asked, chunkTerms.frequencies(asked), size.chunks);
  if (bounded === undefined) return [];
  const hidden = sql.exec<{ id: number }>("SELECT id FROM generations WHERE state = 'building'").toArray();
  const wanted = `{title heading body} : (${bounded})`;
  const except = fullTextQuery(hidden.map(({ id }) => generationTerm(id)));
  const expression = hidden.length === 0 ? wanted : `(${wanted}) NOT ({generation} : (${except}))`;
  const query = `WITH found AS (SELECT rowid AS id FROM chunk_index WHERE chunk_index MATCH ? AND rank MATCH ? ORDER BY rank LIMIT ?)
    SELECT ${COLUMNS} FROM found JOIN chunks c ON c.id = found.id JOIN documents d ON d.id = c.document_id`;
  return sql.exec<Row>(query, expression, BM25, CANDIDATES).toArray();
}

function rank(rows: readonly Row[], words: readonly QueryTerm[], asked: ReadonlySet<string>): RankedChunk[] {
  const bodies = rows.map((row) => row.terms.split(" "));
  const averageLength = bodies.reduce((sum, body) => sum + body.length, 0) / Math.max(rows.length, 1);
  const titles = new Map<string, string[]>();
  const ranked = rows.map((row, at): RankedChunk => {
    const title = titles.get(row.title) ?? terms(row.title);
    titles.set(row.title, title);
    const entry = termPlaces(asked, bodies[at]!, row.heading === null ? [] : terms(row.heading), title);
    return { chunkId: row.chunkId, passage: toPassage(row, rankScore(match(words, entry, averageLength))) };
  });
  return ranked.filter(({ passage }) => passage.score > 0).toSorted((a, b) => b.passage.score - a.passage.score);
}

function toPassage({ sourceId, type, title, heading, url, content }: Row, score: number): Passage {
  return { sourceId, type: type === "page" ? "page" : "text", title, heading, url, content, score };
}
