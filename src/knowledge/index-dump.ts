import { headingTermsOf, titleTermsOf } from "./indexing/ingest.ts";
import type { Binding, IndexStore } from "./indexing/store.ts";

/**
 * The tables of a dump, referenced tables first. The full-text index is built again on import, and the pauses of hosts are left out.
 */
const TABLES = [
  "texts",
  "text_parts",
  "file_parts",
  "generations",
  "documents",
  "chunks",
  "answers",
  "crawls",
  "variant_groups",
  "pages",
  "page_texts",
  "page_blocks",
] as const;

/**
 * A replaced row of these tables gets another primary key. They are read in the order of these columns instead, so that a row that is
 * replaced during a dump is not read twice.
 */
const STABLE_KEYS: Record<string, string[]> = { answers: ["answer_id"], pages: ["source_id", "page_key"] };

/** A page of a dump ends with the row that exceeds this number of characters. */
const PAGE_LENGTH = 256_000;

/** A row of one of the object's tables, with bytes as base64. */
export interface DumpedRow {
  table: string;
  row: Record<string, string | number | null>;
}

/** The position in a dump: the index of a table and the key of the last row that was read. */
export type DumpCursor = (string | number)[];

export interface DumpPage {
  rows: DumpedRow[];
  /** The position of the next page; null at the end. */
  next: DumpCursor | null;
}

interface TableShape {
  name: string;
  columns: { name: string; type: string; notnull: number; pk: number }[];
  /** The columns by which a dump is ordered. */
  key: string[];
}

/** Reads the next rows of the storage of an agent's index, in the order of tables and keys. */
export function readDump({ sql }: IndexStore, [tableNumber = 0, ...after]: DumpCursor): DumpPage {
  const rows: DumpedRow[] = [];
  let length = 0;
  let key: DumpCursor = after;
  for (let at = Number(tableNumber); at < TABLES.length; at++, key = []) {
    const shape = shapeOf(sql, TABLES[at]!);
    for (const stored of rowsAfter(sql, shape, key)) {
      const row = Object.fromEntries(shape.columns.map(({ name }) => [name, toText(stored[name])]));
      rows.push({ table: shape.name, row });
      length += JSON.stringify(row).length;
      if (length > PAGE_LENGTH) return { rows, next: [at, ...shape.key.map((name) => row[name]!)] };
    }
  }
  return { rows, next: null };
}

/**
 * Imports rows of a dump; existing rows stay.
 * @returns the problem of the first row that fits no table, in which case none is imported.
 */
export function putDump(store: IndexStore, rows: readonly DumpedRow[]): string | undefined {
  return store.write(() => {
    const shapes = new Map(TABLES.map((name) => [name as string, shapeOf(store.sql, name)]));
    for (const { table, row } of rows) {
      const shape = shapes.get(table);
      const problem = shape ? problemOf(shape, row) : `there is no table ${table}`;
      if (problem !== undefined) return problem;
    }
    for (const { table, row } of rows) insertRow(store, shapes.get(table)!, row);
    return undefined;
  });
}

function rowsAfter(sql: SqlStorage, { name, key }: TableShape, after: DumpCursor): Iterable<Record<string, SqlStorageValue>> {
  const where = after.length > 0 ? `WHERE (${key.join()}) > (${key.map(() => "?").join()})` : "";
  return sql.exec(`SELECT * FROM ${name} ${where} ORDER BY ${key.join()}`, ...after);
}

function insertRow(store: IndexStore, { name, columns }: TableShape, row: DumpedRow["row"]): void {
  const values = columns.map((column) => toStored(column.type, row[column.name]!));
  const names = columns.map((column) => column.name).join();
  const insert = `INSERT INTO ${name} (${names}) VALUES (${columns.map(() => "?").join()}) ON CONFLICT DO NOTHING RETURNING 1`;
  const isNew = store.sql.exec(insert, ...values).toArray().length > 0;
  if (isNew && name === "chunks") indexChunk(store, row);
}

function indexChunk(store: IndexStore, chunk: DumpedRow["row"]): void {
  // The row was checked against the table's columns.
  const { id, document_id, heading, terms } = chunk as { id: number; document_id: number; heading: string | null; terms: string };
  const query = "SELECT title, generation_id AS generationId FROM documents WHERE id = ?";
  const [document] = store.all<{ title: string; generationId: number }>(query, document_id);
  if (!document) return;
  const words = { titleTerms: titleTermsOf(document.title), headingTerms: headingTermsOf(heading), bodyTerms: terms };
  store.indexChunk(id, document.generationId, words);
}

function shapeOf(sql: SqlStorage, name: string): TableShape {
  const query = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid';
  const columns = sql.exec<TableShape["columns"][number] & Record<string, SqlStorageValue>>(query, name).toArray();
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  return { name, columns, key: STABLE_KEYS[name] ?? key.map((column) => column.name) };
}

function problemOf({ name, columns }: TableShape, row: DumpedRow["row"]): string | undefined {
  const unknown = Object.keys(row).find((field) => !columns.some((column) => column.name === field));
  if (unknown !== undefined) return `${name} has no column ${unknown}`;
  const wrong = columns.find((column) => !fits(column, row[column.name]));
  return wrong && `${name}.${wrong.name} is missing or not of its type`;
}

function fits({ type, notnull, pk }: TableShape["columns"][number], value: string | number | null | undefined): boolean {
  if (value === null) return notnull === 0 && pk === 0;
  if (type === "INTEGER") return Number.isSafeInteger(value);
  return typeof value === "string" && (type !== "BLOB" || isBase64(value));
}

function isBase64(text: string): boolean {
  try {
    Uint8Array.fromBase64(text);
    return true;
  } catch {
    return false;
  }
}

function toText(value: SqlStorageValue | undefined): string | number | null {
  return value instanceof ArrayBuffer ? new Uint8Array(value).toBase64() : (value ?? null);
}

function toStored(type: string, value: string | number | null): Binding | ArrayBuffer {
  return type === "BLOB" ? Uint8Array.fromBase64(String(value)).buffer : value;
}
