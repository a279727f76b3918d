/**
 * The most chunks that a query scores, in about 2 µs each, so that its cost does not grow with the index. A term that occurs in more
 * chunks adds little to a rare one.
 */
const MAX_SCORED = 2_000;
/** The same limit for a query whose terms are all common. */
const MAX_SCORED_ALONE = 10_000;
/** The most chunks of common terms for which bm25() is used, which reads all chunks of each term before it scores the first one. */
const MAX_COUNTED = 50_000;
/** The same limit for a scan, which only compares ids and takes a few milliseconds. */
const MAX_SCANNED = 100_000;
/** The most common terms that must occur together. Hardly any chunk has more of them. */
const MAX_TOGETHER = 3;

/** The index term that marks a chunk's generation, so that a query can exclude a generation. */
export function generationTerm(generationId: number): string {
  return `g${generationId}`;
}

/** The FTS5 queries that find candidates for a question. */
interface CandidateQuery {
  /** The expression whose matches are ranked by bm25(); undefined if all terms are too common for that. */
  ranked: string | undefined;
  /** Further searches, the most promising first, which are run until there are enough candidates. */
  scans: Scan[];
}

/** An expression of common terms, whose matches are searched in a part of the index. */
interface Scan {
  expression: string;
  /** The share of the index that is searched, 0..1. */
  share: number;
}

/**
 * Chooses the queries for these terms: the rarest terms, as many as may be scored, match without others. Of the other terms the rarest must
 * occur together, so that a question of common words, or with one unusual word, still finds its subject.
 * @param size the number of chunks of the index.
 * @returns undefined if the index has none of the terms.
 */
export function candidateQuery(
  terms: readonly string[],
  frequencies: ReadonlyMap<string, number>,
  size: number,
): CandidateQuery | undefined {
  const frequency = (term: string): number => frequencies.get(term) ?? 0;
  const known = terms.filter((term) => frequency(term) > 0).sort((a, b) => frequency(a) - frequency(b));
  if (known.length === 0) return undefined;
  let scored = 0;
  const rare = known.filter((term) => (scored += frequency(term)) <= MAX_SCORED);
  const common = known.slice(rare.length, rare.length + MAX_TOGETHER);
  const groups = common.slice(1).map((_, at) => common.slice(0, common.length - at));
  // The rarest pair, or the only common term, is ranked where that does not take too long.
  const last = groups.at(-1) ?? (rare.length === 0 ? common : []);
  const counted = last.reduce((sum, term) => sum + frequency(term), 0);
  const matching = last.reduce((product, term) => product * (frequency(term) / size), size);
  const isRanked = counted <= MAX_COUNTED && matching <= (rare.length > 0 ? MAX_SCORED : MAX_SCORED_ALONE);
  const ranked = [...rare.map(literal), ...(isRanked && last.length > 0 ? [allOf(last)] : [])];
  const scan = (expression: string, read: readonly string[]): Scan => {
    const entries = read.reduce((sum, term) => sum + frequency(term), 0);
    return { expression, share: Math.min(1, MAX_SCANNED / entries) };
  };
  const scans = (isRanked ? groups.slice(0, -1) : groups).map((group) => scan(allOf(group), group));
  if (ranked.length > 0) return { ranked: ranked.join(" OR "), scans };
  const rarest = common.slice(0, 1);
  const alone = [`{title heading} : ${allOf(rarest)}`, allOf(rarest)].map((expression) => scan(expression, rarest));
  return { ranked: undefined, scans: [...scans, ...alone] };
}

function allOf(terms: readonly string[]): string {
  return `(${terms.map(literal).join(" AND ")})`;
}

/** An FTS5 expression that restricts another one to these generations, of which there must be at least one. */
export function withinGenerations(expression: string, generationIds: readonly number[]): string {
  const generations = generationIds.map((id) => literal(generationTerm(id)));
  return `(${expression}) AND ({generation} : (${generations.join(" OR ")}))`;
}

function literal(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}

/** The bounds of the ids of all chunks. */
const BOUNDS_QUERY = "bounds AS (SELECT (SELECT min(id) FROM chunks) AS low, (SELECT max(id) FROM chunks) + 1 AS high)";

/** SQL that finds ids of matching chunks in the newest part of the index. Binds the expression, the share and the limit. */
export const SCAN_QUERY = `WITH ${BOUNDS_QUERY}
  SELECT rowid AS id FROM chunk_index WHERE chunk_index MATCH ?1 AND rowid >= (SELECT high - (high - low) * ?2 FROM bounds)
  ORDER BY rowid DESC LIMIT ?3`;

/** In a large index, the chunks of a term are counted one by one up to this number, beyond which it is estimated. */
const MAX_STEPPED = 256;
/** An estimate divides the index into equal parts, and assumes that a term is as frequent in a part as in its first matches. */
const PARTS = 4;
const COUNTED_PER_PART = 64;

const COUNT_QUERY = "SELECT term, doc AS count FROM chunk_terms WHERE term IN (SELECT value FROM json_each(?))";
const STEP_QUERY = `SELECT key, (SELECT count(*) FROM (SELECT 1 FROM chunk_index WHERE chunk_index MATCH value LIMIT ${MAX_STEPPED})) AS count
  FROM json_each(?)`;
const inPart = (columns: string) =>
  `SELECT ${columns} FROM chunk_index WHERE chunk_index MATCH ?1 AND chunk_index.rowid >= start AND chunk_index.rowid < stop`;
const ESTIMATE_QUERY = `WITH ${BOUNDS_QUERY}, parts AS (
    SELECT low + (high - low) * value / ${PARTS} AS start, low + (high - low) * (value + 1) / ${PARTS} AS stop
    FROM bounds, json_each('${JSON.stringify([...Array(PARTS).keys()])}'))
  SELECT CAST(sum(coalesce(
    ${COUNTED_PER_PART} * (stop - start) / ((${inPart("rowid")} LIMIT 1 OFFSET ${COUNTED_PER_PART - 1}) - start + 1.0),
    (${inPart("count(*)")}))) AS INTEGER) AS count FROM parts`;

const MAX_CACHED_TERMS = 10_000;
const MAX_CACHED_PREFIXES = 50;
/** Counts from this number on stay cached after a write, since they are expensive to read and a small change does not matter. */
const COMMON = 1_000;
/** The most terms that are compared with a misspelt one. */
const MAX_TERMS_PER_PREFIX = 2_000;
/**
 * FTS5 counts and lists terms by reading all chunks of each term. In an index with more chunks than this, the counts of common terms
 * are estimated. The terms with a prefix are found by seeking the next term again and again, in about 15 µs each, so that fewer are
 * listed, and only for longer prefixes.
 */
const MAX_LISTED_CHUNKS = 50_000;
const MAX_SOUGHT_TERMS = 500;
const MIN_SOUGHT_PREFIX = 3;

/** The vocabulary of an agent's chunks, read from their full-text index, which exists once a chunk was written. */
export class ChunkTerms {
  private readonly counts = new Map<string, number>();
  private readonly byPrefix = new Map<string, string[]>();

  constructor(
    private readonly sql: SqlStorage,
    private readonly countChunks: () => number,
  ) {}

  get size(): number {
    return this.countChunks();
  }

  private get isLarge(): boolean {
    return this.size > MAX_LISTED_CHUNKS;
  }

  /**
   * Drops the cached counts that a write may have changed.
   * @param everything whether the write may have changed most of them.
   */
  forget(everything: boolean): void {
    this.byPrefix.clear();
    if (everything) this.counts.clear();
    for (const [term, count] of this.counts) if (count < COMMON) this.counts.delete(term);
  }

  /** The number of chunks with each of these terms, estimated in a large index. A term that no chunk has is absent. */
  documentFrequencies(terms: readonly string[]): Map<string, number> {
    if (this.counts.size > MAX_CACHED_TERMS) this.counts.clear();
    const unknown = terms.filter((term) => !this.counts.has(term));
    if (unknown.length > 0) this.count(unknown);
    const found = terms.map((term): [string, number] => [term, this.counts.get(term)!]);
    return new Map(found.filter(([, count]) => count > 0));
  }

  private count(terms: readonly string[]): void {
    for (const term of terms) this.counts.set(term, 0);
    const counted = this.isLarge ? this.estimateCommon(terms) : terms;
    for (const { term, count } of this.sql.exec<{ term: string; count: number }>(COUNT_QUERY, JSON.stringify(counted)))
      this.counts.set(term, count);
  }

  /** Estimates the counts of these terms. @returns those that FTS5 can count exactly in a short time. */
  private estimateCommon(terms: readonly string[]): string[] {
    const stepped = this.sql.exec<{ key: number; count: number }>(STEP_QUERY, JSON.stringify(terms.map(literal))).toArray();
    return stepped.flatMap(({ key, count }) => {
      const term = terms[key]!;
      const estimate = count < MAX_STEPPED ? count : this.estimate(term);
      this.counts.set(term, estimate);
      return count < MAX_STEPPED || estimate > MAX_SCORED_ALONE ? [] : [term];
    });
  }

  private estimate(term: string): number {
    const { count } = this.sql.exec<{ count: number }>(ESTIMATE_QUERY, literal(term)).one();
    return Math.min(count, this.size);
  }

  /** The terms among these that some chunk has. */
  present(terms: readonly string[]): Set<string> {
    if (!this.isLarge) return new Set(this.documentFrequencies(terms).keys());
    const query = "SELECT key FROM json_each(?) WHERE EXISTS (SELECT 1 FROM chunk_index WHERE chunk_index MATCH value)";
    const found = this.sql.exec<{ key: number }>(query, JSON.stringify(terms.map(literal))).toArray();
    return new Set(found.map(({ key }) => terms[key]!));
  }

  /** The number of chunks of these generations with each of the terms. */
  frequenciesWithin(generationIds: readonly number[], terms: readonly string[]): Map<string, number> {
    if (generationIds.length === 0) return new Map();
    const query = "SELECT count(*) AS count FROM chunk_index WHERE chunk_index MATCH ?";
    const counted = [...this.documentFrequencies(terms).keys()].map((term): [string, number] => {
      const expression = withinGenerations(`{title heading body} : ${literal(term)}`, generationIds);
      return [term, this.sql.exec<{ count: number }>(query, expression).one().count];
    });
    return new Map(counted.filter(([, count]) => count > 0));
  }

  /** The terms with this prefix, in order; undefined if there are too many to read. */
  termsWithPrefix(prefix: string): readonly string[] | undefined {
    const { isLarge } = this;
    if (isLarge && prefix.length < MIN_SOUGHT_PREFIX) return undefined;
    const known = this.byPrefix.get(prefix);
    if (known) return known;
    const found = isLarge ? this.seekTerms(prefix) : this.listTerms(prefix);
    if (this.byPrefix.size >= MAX_CACHED_PREFIXES) this.byPrefix.clear();
    this.byPrefix.set(prefix, found);
    return found;
  }

  private listTerms(prefix: string): string[] {
    const query = "SELECT term, doc FROM chunk_terms WHERE term >= ? AND term < ? LIMIT ?";
    const rows = this.sql.exec<{ term: string; doc: number }>(query, prefix, `${prefix}\uffff`, MAX_TERMS_PER_PREFIX).toArray();
    for (const { term, doc } of rows) this.counts.set(term, doc);
    return rows.map(({ term }) => term);
  }

  /** Seeks from each term to the next one. No term has a character before "!". */
  private seekTerms(prefix: string): string[] {
    const from = (start: string) => `(SELECT term FROM chunk_term_places WHERE term >= ${start} AND term < ?2 LIMIT 1)`;
    const query = `WITH RECURSIVE sought (term) AS (SELECT ${from("?1")} UNION ALL SELECT ${from("sought.term || '!'")} FROM sought WHERE term IS NOT NULL)
      SELECT term FROM sought WHERE term IS NOT NULL LIMIT ?3`;
    const rows = this.sql.exec<{ term: string }>(query, prefix, `${prefix}\uffff`, MAX_SOUGHT_TERMS).toArray();
    return rows.map(({ term }) => term);
  }
}
