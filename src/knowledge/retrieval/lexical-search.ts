import type { Passage, QueryTerm, Retrieval, SearchQuery } from "../../models/retrieval.ts";
import { DEFAULT_LANGUAGE, detectLanguage } from "../../text/languages.ts";
import { terms } from "../../text/terms.ts";
import { candidateQuery, SCAN_QUERY, withinGenerations } from "../indexing/full-text.ts";
import type { IndexStore } from "../indexing/store.ts";
import { IS_LIVE } from "../indexing/tables.ts";
import { indexTerms, isFollowUp, queryTerms, termsOfPrevious } from "./query.ts";

/*
 * Lexical search has two stages: the FTS5 index proposes candidates by its bm25(), then each candidate is scored by BM25 with spelling
 * corrections, synonyms and compounds, and by the proximity of the query's terms.
 */

const CANDIDATES = 50;
/** The number of candidates with several common terms that are added even where rare terms find enough, since a rare term may be irrelevant. */
const MIN_SCANNED_CANDIDATES = 20;
/** The weights of the columns generation, title, heading and body. */
const FTS5_RANK = "bm25(0.0, 2.0, 3.0, 1.0)";

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

/** The part of an index that a search is restricted to. */
export type Extent = ReturnType<IndexStore["extentOf"]>;

const COLUMNS = "c.id AS chunkId, d.source_id AS sourceId, d.type, d.title, c.heading, d.url, c.content, c.terms";

/** IS_LIVE is not in the FTS5 expression, where bm25() would count all chunks of a generation that is being built. */
const RANKED_CANDIDATES = `SELECT ${COLUMNS} FROM chunk_index CROSS JOIN chunks c ON c.id = chunk_index.rowid
  CROSS JOIN documents d ON d.id = c.document_id
  WHERE chunk_index MATCH ? AND rank MATCH ? AND ${IS_LIVE} ORDER BY rank LIMIT ?`;
const LIVE_CHUNKS = `SELECT ${COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document_id
  WHERE c.id IN (SELECT value FROM json_each(?)) AND ${IS_LIVE}`;

/**
 * Ranks the live chunks that match a query, best first, and returns the query's terms.
 * @param language the code of the language of the query.
 * @param extent the part of the index that is searched; undefined means all.
 */
export function rankChunks(
  store: IndexStore,
  { question, previousQuestions }: Pick<SearchQuery, "question" | "previousQuestions">,
  language: string,
  extent?: Extent,
): { ranked: RankedChunk[] } & Omit<Retrieval, "passages" | "curated"> {
  const questionTerms = queryTerms(question, store.chunkTerms, language);
  const previousTerms = termsOfPrevious(question, previousQuestions, questionTerms, store.chunkTerms, language);
  const needsContext = isFollowUp(question, language);
  const query = [...questionTerms, ...previousTerms];
  return {
    ranked: rank(store, extent, query, needsContext ? query : questionTerms),
    language,
    questionTerms,
    previousQuestion: needsContext ? (previousQuestions.at(-1) ?? null) : null,
    previousTerms,
  };
}

/** Detects the language of a question, or of an earlier one, among the languages of the knowledge; the first of these where it is not clear. */
export function languageOfQuestion(
  { question, previousQuestions }: Pick<SearchQuery, "question" | "previousQuestions">,
  languages: readonly string[],
): string {
  const [first = DEFAULT_LANGUAGE, second] = languages;
  if (second === undefined) return first;
  for (const text of [question, ...previousQuestions.toReversed()]) {
    const language = detectLanguage(text, first, languages);
    if (language !== undefined) return language;
  }
  return first;
}

/** Reads those of these chunks that are live, with a score of 0. */
export function readLiveChunks(sql: SqlStorage, chunkIds: readonly number[]): Map<number, Passage> {
  const rows = sql.exec<Row>(LIVE_CHUNKS, JSON.stringify(chunkIds)).toArray();
  return new Map(rows.map((row) => [row.chunkId, toPassage(row, 0)]));
}

function findCandidates({ sql, chunkTerms, size }: IndexStore, extent: Extent | undefined, wanted: readonly string[]): Row[] {
  const frequencies = extent ? chunkTerms.frequenciesWithin(extent.generations, wanted) : chunkTerms.documentFrequencies(wanted);
  const query = candidateQuery(wanted, frequencies, extent?.chunks ?? size.chunks);
  if (query === undefined) return [];
  const inScope = (expression: string) => {
    const inText = `{title heading body} : (${expression})`;
    return extent ? withinGenerations(inText, extent.generations) : inText;
  };
  const { ranked, scans } = query;
  const rows = ranked === undefined ? [] : sql.exec<Row>(RANKED_CANDIDATES, inScope(ranked), FTS5_RANK, CANDIDATES).toArray();
  if (scans.length === 0) return rows;
  const ids = new Set(rows.map(({ chunkId }) => chunkId));
  const count = Math.max(CANDIDATES, rows.length + MIN_SCANNED_CANDIDATES);
  for (const { expression, share } of scans) {
    // A scan also finds the chunks that scans of more terms have found.
    const found = ids.size < count ? sql.exec<{ id: number }>(SCAN_QUERY, inScope(expression), share, count).toArray() : [];
    for (const { id } of found) if (ids.size < count) ids.add(id);
  }
  return [...rows, ...sql.exec<Row>(LIVE_CHUNKS, JSON.stringify([...ids].slice(rows.length)))];
}

/** @param asked the terms by which passages are scored. Terms of earlier questions help to find and order passages, but are not asked for now. */
function rank(store: IndexStore, extent: Extent | undefined, query: readonly QueryTerm[], asked: readonly QueryTerm[]): RankedChunk[] {
  // In a large index the terms themselves find enough. Synonyms, which are common words, would displace their matches.
  const [own, wanted] = [indexTerms(query, false), indexTerms(query, true)];
  const isSmall = store.size.chunks < CANDIDATES;
  const found = isSmall ? [] : findCandidates(store, extent, own);
  const needsSynonyms = isSmall || (found.length < CANDIDATES && wanted.length > own.length);
  const rows = needsSynonyms ? findCandidates(store, extent, wanted) : found;
  const wantedTerms = new Set(wanted);
  const bodies = rows.map((row) => row.terms.split(" "));
  const averageLength = bodies.reduce((sum, body) => sum + body.length, 0) / Math.max(rows.length, 1);
  const titles = new Map<string, ReadonlySet<string>>();
  const ranked = rows.map((row, at) => {
    const title = titles.get(row.title) ?? new Set(terms(row.title));
    titles.set(row.title, title);
    const heading = new Set(row.heading === null ? [] : terms(row.heading));
    const body = bodies[at]!;
    const chunk = { title, heading, positions: positionsOf(wantedTerms, body), length: body.length };
    const rankScore = scoreOf(query, chunk, averageLength);
    const score = asked === query ? rankScore : scoreOf(asked, chunk, averageLength);
    return { chunkId: row.chunkId, passage: toPassage(row, score), rankScore };
  });
  return ranked.filter(({ rankScore }) => rankScore > 0).toSorted((a, b) => b.rankScore - a.rankScore);
}

function toPassage({ sourceId, type, title, heading, url, content }: Row, score: number): Passage {
  const scores = { lexical: score, semantic: null, reranker: null };
  return {
    sourceId,
    type: type === "page" ? "page" : "text",
    title,
    heading,
    url,
    content,
    score,
    scores,
    similarities: null,
    similarityWithout: new Map(),
  };
}

// --- Scoring ---

interface ChunkFields {
  title: ReadonlySet<string>;
  heading: ReadonlySet<string>;
  /** The ascending positions of each wanted term in the body. */
  positions: ReadonlyMap<string, readonly number[]>;
  /** The number of terms of the body. */
  length: number;
}

/** The usual constants of BM25 (Robertson and Zaragoza 2009), for the saturation of repeated terms and for length normalization. */
const K1 = 1.6;
const B = 0.75;
/** A term in the title or heading counts as this number of terms in the body (BM25F). */
const TITLE_COUNT = 2;
const HEADING_COUNT = 3;
/** The factor for a compound of which only the parts are found. */
const PARTS_FACTOR = 0.8;
/** The factor for synonyms of a word that the knowledge has itself, since texts with the visitor's own word are meant. */
const KNOWN_TERM_ALTERNATIVE_FACTOR = 0.25;
/** Terms further apart than this many positions are not near each other. */
const MAX_DISTANCE = 6;
/** The share of proximity in the score; the rest is BM25. */
const PROXIMITY_SHARE = 0.25;

function positionsOf(wanted: ReadonlySet<string>, body: readonly string[]): Map<string, number[]> {
  const positions = new Map<string, number[]>();
  for (const [at, term] of body.entries()) {
    if (!wanted.has(term)) continue;
    const known = positions.get(term);
    if (known) known.push(at);
    else positions.set(term, [at]);
  }
  return positions;
}

/** Scores a chunk for a query, 0..1. */
function scoreOf(query: readonly QueryTerm[], chunk: ChunkFields, averageLength: number): number {
  return (1 - PROXIMITY_SHARE) * bm25Share(query, chunk, averageLength) + PROXIMITY_SHARE * proximityShare(query, chunk);
}

/** BM25 as a share of the highest score that any chunk could reach for the query. */
function bm25Share(query: readonly QueryTerm[], chunk: ChunkFields, averageLength: number): number {
  const lengthFactor = 1 - B + (B * chunk.length) / Math.max(averageLength, 1);
  let score = 0;
  let total = 0;
  for (const term of query) {
    total += term.weight;
    const scores = occurrences(term, chunk).map(({ count, factor }) => (factor * count) / (count + K1 * lengthFactor));
    score += term.weight * Math.max(0, ...scores);
  }
  return total === 0 ? 0 : score / total;
}

/** How often a chunk contains a term, all its parts, and each of its alternatives. */
function occurrences({ term, parts, alternatives, documentFrequency }: QueryTerm, chunk: ChunkFields): { count: number; factor: number }[] {
  const alternativeFactor = documentFrequency > 0 ? KNOWN_TERM_ALTERNATIVE_FACTOR : 1;
  const whole = { count: countOf(term, chunk), factor: 1 };
  const inParts = parts.length === 0 ? [] : [{ count: Math.min(...parts.map((part) => countOf(part, chunk))), factor: PARTS_FACTOR }];
  return [
    whole,
    ...inParts,
    ...alternatives.map((other) => ({
      count: countOf(other.term, chunk),
      factor: other.weight === 1 ? 1 : other.weight * alternativeFactor,
    })),
  ];
}

function countOf(term: string, { title, heading, positions }: ChunkFields): number {
  return (positions.get(term)?.length ?? 0) + (heading.has(term) ? HEADING_COUNT : 0) + (title.has(term) ? TITLE_COUNT : 0);
}

/** The share of the query's adjacent pairs that are near each other in the chunk, by weight. Nearer pairs count more. */
function proximityShare(query: readonly QueryTerm[], chunk: ChunkFields): number {
  let near = 0;
  let total = 0;
  for (let at = 1; at < query.length; at++) {
    const [left, right] = [query[at - 1]!, query[at]!];
    const weight = left.weight + right.weight;
    total += weight;
    const distance = minDistance(bodyPositions(left, chunk), bodyPositions(right, chunk));
    if (distance <= MAX_DISTANCE) near += weight / Math.max(1, distance);
  }
  return total === 0 ? 0 : near / total;
}

function bodyPositions({ term, alternatives, parts }: QueryTerm, { positions }: ChunkFields): readonly number[] {
  const found = [term, ...alternatives.map((other) => other.term)].map((each) => positions.get(each)).find((each) => each !== undefined);
  return found ?? (parts.length > 0 ? (positions.get(parts.at(-1)!) ?? []) : []);
}

/** The smallest distance between two ascending lists of positions. */
function minDistance(left: readonly number[], right: readonly number[]): number {
  let min = Number.POSITIVE_INFINITY;
  let l = 0;
  let r = 0;
  while (l < left.length && r < right.length) {
    min = Math.min(min, Math.abs(left[l]! - right[r]!));
    if (left[l]! < right[r]!) l++;
    else r++;
  }
  return min;
}
