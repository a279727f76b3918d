/**
 * Chunks that a query may score, each about 2 µs, so that a query's cost does not grow with the index. A term of more chunks adds
 * little beside a rare one.
 */
const MAX_SCORED = 2_000;

/** The index term that marks a chunk's generation, so that a query can exclude a generation. */
export function generationTerm(generationId: number): string {
  return `g${generationId}`;
}

/** An FTS5 expression for any of these terms, each taken literally. */
export function fullTextQuery(terms: readonly string[]): string {
  return terms.map(literal).join(" OR ");
}

/**
 * An FTS5 expression for the rarest of these terms, as many as may be scored. Of the others the rarest two must occur together, so
 * that a question of common words, or with one unusual word, still finds its subject.
 * @returns undefined when the index, of `size` chunks, has none of the terms.
 */
export function boundedQuery(terms: readonly string[], frequencies: ReadonlyMap<string, number>, size: number): string | undefined {
  const frequency = (term: string): number => frequencies.get(term) ?? 0;
  const known = terms.filter((term) => frequency(term) > 0).sort((a, b) => frequency(a) - frequency(b));
  let scored = 0;
  const rare = known.filter((term) => (scored += frequency(term)) <= MAX_SCORED);
  const [common, next] = known.slice(rare.length);
  if (known.length === 0) return undefined;
  if (common === undefined) return fullTextQuery(rare);
  if (next === undefined) return fullTextQuery(rare.length > 0 ? rare : [common]);
  const together = `(${literal(common)} AND ${literal(next)})`;
  if (rare.length === 0) return together;
  const isSelective = (frequency(common) * frequency(next)) / size <= MAX_SCORED;
  return isSelective ? `${fullTextQuery(rare)} OR ${together}` : fullTextQuery(rare);
}

/** What matches an FTS5 expression in these generations, of which there must be one. */
export function withinGenerations(expression: string, generationIds: readonly number[]): string {
  return `(${expression}) AND ({generation} : (${fullTextQuery(generationIds.map(generationTerm))}))`;
}

function literal(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}

const MAX_CACHED_TERMS = 10_000;
const MAX_CACHED_PREFIXES = 50;
/** Counts from here on stay cached over writes: they are expensive to read, and a small change does not matter. */
const COMMON = 1_000;
/** Terms compared with a misspelt one. */
const MAX_TERMS_PER_PREFIX = 2_000;

/** The vocabulary of an agent's chunks, read from their fts5vocab table, which exists once a chunk was written. */
export class ChunkTerms {
  /** FTS5 counts a term's chunks by reading its postings, which is slow for common terms. */
  private readonly counts = new Map<string, number>();
  private readonly byPrefix = new Map<string, Map<string, number>>();

  constructor(private readonly sql: SqlStorage) {}

  /** Drops the cached frequencies that a write may have made stale; `everything` after a write that may have changed most of them. */
  forget(everything: boolean): void {
    this.byPrefix.clear();
    if (everything) this.counts.clear();
    for (const [term, count] of this.counts) if (count < COMMON) this.counts.delete(term);
  }

  /** How many chunks have each of these terms; a term that no chunk has is absent. */
  frequencies(terms: readonly string[]): Map<string, number> {
    if (this.counts.size > MAX_CACHED_TERMS) this.counts.clear();
    const unknown = terms.filter((term) => !this.counts.has(term));
    for (const term of unknown) this.counts.set(term, 0);
    const query = "SELECT term, doc FROM chunk_terms WHERE term IN (SELECT value FROM json_each(?))";
    const counted = this.sql.exec<{ term: string; doc: number }>(query, JSON.stringify(unknown));
    for (const { term, doc } of counted) this.counts.set(term, doc);
    const found = terms.map((term): [string, number] => [term, this.counts.get(term)!]);
    return new Map(found.filter(([, count]) => count > 0));
  }

  /** The same for the chunks of some generations: FTS5 skips through the postings of both. */
  frequenciesWithin(generationIds: readonly number[], terms: readonly string[]): Map<string, number> {
    if (generationIds.length === 0) return new Map();
    const query = "SELECT count(*) AS count FROM chunk_index WHERE chunk_index MATCH ?";
    const counted = [...this.frequencies(terms).keys()].map((term): [string, number] => {
      const expression = withinGenerations(`{title heading body} : ${literal(term)}`, generationIds);
      return [term, this.sql.exec<{ count: number }>(query, expression).one().count];
    });
    return new Map(counted.filter(([, count]) => count > 0));
  }

  /** Terms with this prefix, with the number of their chunks. */
  beginningWith(prefix: string): Map<string, number> {
    const known = this.byPrefix.get(prefix);
    if (known) return known;
    const query = "SELECT term, doc FROM chunk_terms WHERE term >= ? AND term < ? LIMIT ?";
    const rows = this.sql.exec<{ term: string; doc: number }>(query, prefix, `${prefix}\uffff`, MAX_TERMS_PER_PREFIX).toArray();
    const found = new Map(rows.map(({ term, doc }) => [term, doc]));
    if (this.byPrefix.size >= MAX_CACHED_PREFIXES) this.byPrefix.clear();
    this.byPrefix.set(prefix, found);
    return found;
  }
}
