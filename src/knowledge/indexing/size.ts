import type { IndexStore } from "./store.ts";

/**
 * How much text an agent has in its object, in bytes of UTF-8, without one source: texts, pages that are read, and pages
 * that wait to be indexed. While a site is read again, its former pages still count.
 */
export function textBytesBeside(store: IndexStore, sourceId: string): number {
  return sumTextBytes(store, "<>", sourceId);
}

/** How much of it one source has. */
export function textBytesOf(store: IndexStore, sourceId: string): number {
  return sumTextBytes(store, "=", sourceId);
}

function sumTextBytes(store: IndexStore, comparison: "=" | "<>", sourceId: string): number {
  if (store.isEmpty) return 0;
  const texts = `SELECT coalesce(sum(length(bytes)), 0) AS bytes FROM text_parts WHERE source_id ${comparison} ?`;
  const pages = `SELECT coalesce(sum(text_bytes), 0) AS bytes FROM documents WHERE source_id ${comparison} ? AND type = 'page'`;
  const waiting = `SELECT coalesce(sum(octet_length(t.text)), 0) AS bytes FROM page_texts t JOIN pages p ON p.id = t.page_id
    WHERE p.source_id ${comparison} ?`;
  const queries = store.hasTable("page_texts") ? [texts, pages, waiting] : [texts, pages];
  return queries.reduce((sum, query) => sum + store.sql.exec<{ bytes: number }>(query, sourceId).one().bytes, 0);
}
