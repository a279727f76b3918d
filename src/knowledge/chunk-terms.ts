/** Words whose frequency is remembered, and beginnings whose words are. */
const REMEMBERED = 10_000;
const REMEMBERED_BEGINNINGS = 50;
/** Above it a count is worth keeping over writes that change it by a few: it is dear to make, and says "common" anyway. */
const COMMON = 1_000;
/** Words looked at for a misspelt one. */
const MAX_NEIGHBOURS = 2_000;

/** The vocabulary of an agent's chunks, read from their fts5vocab table, which exists once a chunk was written. */
export class ChunkTerms {
  /** FTS5 counts a word's chunks by walking through them: common words are dear, and come again. */
  private readonly counts = new Map<string, number>();
  private readonly beginnings = new Map<string, Map<string, number>>();

  constructor(private readonly sql: SqlStorage) {}

  /** Drops the cached frequencies that a write may have made stale; `everything` after a write that may have changed most of them. */
  forget(everything: boolean): void {
    this.beginnings.clear();
    if (everything) this.counts.clear();
    for (const [term, count] of this.counts) if (count < COMMON) this.counts.delete(term);
  }

  /** In how many chunks each of these terms stands; a term that stands in none is absent. */
  frequencies(terms: readonly string[]): Map<string, number> {
    if (this.counts.size > REMEMBERED) this.counts.clear();
    const unknown = terms.filter((term) => !this.counts.has(term));
    for (const term of unknown) this.counts.set(term, 0);
    const query = "SELECT term, doc FROM chunk_terms WHERE term IN (SELECT value FROM json_each(?))";
    const counted = this.sql.exec<{ term: string; doc: number }>(query, JSON.stringify(unknown));
    for (const { term, doc } of counted) this.counts.set(term, doc);
    const found = terms.map((term): [string, number] => [term, this.counts.get(term)!]);
    return new Map(found.filter(([, count]) => count > 0));
  }

  /** Terms that begin with these letters, with the number of their chunks. */
  beginningWith(prefix: string): Map<string, number> {
    const known = this.beginnings.get(prefix);
    if (known) return known;
    const query = "SELECT term, doc FROM chunk_terms WHERE term >= ? AND term < ? LIMIT ?";
    const rows = this.sql.exec<{ term: string; doc: number }>(query, prefix, `${prefix}\uffff`, MAX_NEIGHBOURS).toArray();
    const found = new Map(rows.map(({ term, doc }) => [term, doc]));
    if (this.beginnings.size >= REMEMBERED_BEGINNINGS) this.beginnings.clear();
    this.beginnings.set(prefix, found);
    return found;
  }
}
