import type { Vocabulary } from "./query.ts";

/** Words looked at for a misspelt one. */
const MAX_NEIGHBOURS = 2_000;

/** An FTS5 expression for any of these terms, each taken literally. */
export function fullTextQuery(terms: readonly string[]): string {
  return terms.map((term) => `"${term.replaceAll('"', '""')}"`).join(" OR ");
}

/** Reads the words of the chunks from their fts5vocab table. */
export function vocabularyOf(sql: SqlStorage): Omit<Vocabulary, "size"> {
  const read = (query: string, ...bindings: (string | number)[]): Map<string, number> => {
    const rows = sql.exec<{ term: string; doc: number }>(query, ...bindings).toArray();
    return new Map(rows.map(({ term, doc }) => [term, doc]));
  };
  const some = "SELECT term, doc FROM chunk_terms WHERE term IN (SELECT value FROM json_each(?))";
  const range = "SELECT term, doc FROM chunk_terms WHERE term >= ? AND term < ? LIMIT ?";
  return {
    frequencies: (wanted) => read(some, JSON.stringify(wanted)),
    beginningWith: (prefix) => read(range, prefix, `${prefix}\uffff`, MAX_NEIGHBOURS),
  };
}
