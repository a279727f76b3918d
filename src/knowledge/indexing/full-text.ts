/**
 * Chunks that a query may score, each about 2 µs: a word that stands in more tells little beside one that stands in few,
 * and so a query's cost does not grow with the knowledge.
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
 * An FTS5 expression for the rarest of these terms, as many as may be scored. Of the others it wants the rarest two
 * together, so that a question of common words alone, or with one odd word, still finds what it is about.
 * @returns undefined where the index, of `size` chunks, has none of them.
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
  const isTelling = (frequency(common) * frequency(next)) / size <= MAX_SCORED;
  return isTelling ? `${fullTextQuery(rare)} OR ${together}` : fullTextQuery(rare);
}

function literal(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}
