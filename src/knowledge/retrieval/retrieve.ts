import type { Passage, QueryTerm, Retrieval, SearchQuery } from "../../models/retrieval.ts";
import { terms } from "../../text/terms.ts";
import { boundedQuery, fullTextQuery, generationTerm } from "../indexing/full-text.ts";
import type { IndexStore } from "../indexing/store.ts";
import { previousWords } from "./follow-up.ts";
import { indexTerms, queryTerms, type Vocabulary } from "./query.ts";

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

/** A chunk's words, ready to be looked through. */
interface TermPlaces {
  /** The places of each asked term in the body. */
  body: Map<string, number[]>;
  bodyLength: number;
  /** The terms of its heading and its title. */
  heading: ReadonlySet<string>;
  title: ReadonlySet<string>;
}

/** How well an entry answers a query: each 0..1. */
interface Match {
  /** BM25 with title and heading, as a share of the most that the query could have. */
  strength: number;
  /** The share of neighbouring words of the query that are neighbours here too. */
  closeness: number;
}

/** BM25's usual constants: how soon a repeated word stops to matter, and how much length is held against a text. */
const SATURATION = 1.6;
const LENGTH_SHARE = 0.75;
/** A word in the title or heading says more of what a passage is about than one in its text. */
const TITLE_COUNT = 2;
const HEADING_COUNT = 3;
/** A word found only in another spelling, or part by part. */
const ALIKE_SHARE = 0.8;
/** Words further apart than this are no phrase. */
const NEAR = 6;

/** How much of the rank the words' neighbourhood makes; the rest is BM25. */
const CLOSENESS_SHARE = 0.25;

/** Finds the asked terms in a chunk's terms. */
function termPlaces(asked: ReadonlySet<string>, body: readonly string[], heading: readonly string[], title: readonly string[]): TermPlaces {
  const places = new Map<string, number[]>();
  for (const [at, term] of body.entries()) {
    if (!asked.has(term)) continue;
    const known = places.get(term);
    if (known) known.push(at);
    else places.set(term, [at]);
  }
  return { body: places, bodyLength: body.length, heading: new Set(heading), title: new Set(title) };
}

/** How much of the words it holds. */
function match(words: readonly QueryTerm[], entry: TermPlaces, averageLength: number): Match {
  let strength = 0;
  let total = 0;
  for (const word of words) {
    const { weight } = word;
    total += weight;
    const { count, share } = occurrences(word, entry);
    if (count === 0) continue;
    const length = 1 - LENGTH_SHARE + (LENGTH_SHARE * entry.bodyLength) / Math.max(averageLength, 1);
    strength += (weight * share * count) / (count + SATURATION * length);
  }
  if (total === 0) return { strength: 0, closeness: 0 };
  return { strength: strength / total, closeness: closeness(words, entry) };
}

/** One number to rank by, 0..1. */
function rankScore({ strength, closeness }: Match): number {
  return (1 - CLOSENESS_SHARE) * strength + CLOSENESS_SHARE * closeness;
}

function occurrences(word: QueryTerm, entry: TermPlaces): { count: number; share: number } {
  const whole = countOf(word.term, entry);
  if (whole > 0) return { count: whole, share: 1 };
  if (word.alike !== null) return { count: countOf(word.alike, entry), share: ALIKE_SHARE };
  if (word.parts.length === 0) return { count: 0, share: 0 };
  const counts = word.parts.map((part) => countOf(part, entry));
  return { count: Math.min(...counts), share: ALIKE_SHARE };
}

function countOf(term: string, entry: TermPlaces): number {
  const body = entry.body.get(term)?.length ?? 0;
  return body + (entry.heading.has(term) ? HEADING_COUNT : 0) + (entry.title.has(term) ? TITLE_COUNT : 0);
}

/** How many of the query's neighbours stand near each other in the text, by weight. */
function closeness(words: readonly QueryTerm[], entry: TermPlaces): number {
  let near = 0;
  let total = 0;
  for (let at = 1; at < words.length; at++) {
    const [left, right] = [words[at - 1]!, words[at]!];
    const weight = left.weight + right.weight;
    total += weight;
    const distance = distanceBetween(placesOf(left, entry), placesOf(right, entry));
    if (distance <= NEAR) near += weight / Math.max(1, distance);
  }
  return total === 0 ? 0 : near / total;
}

function placesOf(word: QueryTerm, entry: TermPlaces): readonly number[] {
  const own = entry.body.get(word.term) ?? (word.alike === null ? undefined : entry.body.get(word.alike));
  return own ?? (word.parts.length > 0 ? (entry.body.get(word.parts.at(-1)!) ?? []) : []);
}

/** The least distance between two ascending lists of places. */
function distanceBetween(left: readonly number[], right: readonly number[]): number {
  let least = Number.POSITIVE_INFINITY;
  let l = 0;
  let r = 0;
  while (l < left.length && r < right.length) {
    least = Math.min(least, Math.abs(left[l]! - right[r]!));
    if (left[l]! < right[r]!) l++;
    else r++;
  }
  return least;
}
