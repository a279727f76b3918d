import { headingTermsOf, titleTermsOf } from "./indexing/ingest.ts";
import type { Binding, IndexStore } from "./indexing/store.ts";

/**
 * The tables that a dump holds, referenced tables first. The full-text index is rebuilt on import, and the pauses of
 * hosts are not kept.
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

/** A page of a dump ends with the row that exceeds this many characters; one part of a text may be larger. */
const PAGE_LENGTH = 256_000;

/** A row of one of the object's tables; bytes as base64. */
export interface DumpedRow {
  table: string;
  row: Record<string, string | number | null>;
}

/** Where a dump continues: the index of a table and the key of the last row read. */
export type DumpCursor = (string | number)[];

export interface DumpPage {
  rows: DumpedRow[];
  /** Null when that was all. */
  next: DumpCursor | null;
}

interface TableShape {
  name: string;
  columns: { name: string; type: string; notnull: number; pk: number }[];
  key: string[];
}

/** Exports the storage of an agent's index row by row, and imports it into another one. */
export class IndexDump {
  constructor(private readonly store: IndexStore) {}

  /** The next rows of a dump, in the order of tables and keys. */
  read([tableNumber = 0, ...after]: DumpCursor): DumpPage {
    const rows: DumpedRow[] = [];
    let length = 0;
    let key: DumpCursor = after;
    for (let at = Number(tableNumber); at < TABLES.length; at++, key = []) {
      const shape = this.shapeOf(TABLES[at]!);
      for (const stored of this.rowsAfter(shape, key)) {
        const row = Object.fromEntries(shape.columns.map(({ name }) => [name, toText(stored[name])]));
        rows.push({ table: shape.name, row });
        length += JSON.stringify(row).length;
        if (length > PAGE_LENGTH) return { rows, next: [at, ...shape.key.map((name) => row[name]!)] };
      }
    }
    return { rows, next: null };
  }

  /**
   * Imports rows; existing rows stay.
   * @returns what is wrong with the first row that fits no table, or undefined when all were imported.
   */
  put(rows: readonly DumpedRow[]): string | undefined {
    return this.store.write(() => {
      const shapes = new Map(TABLES.map((name) => [name as string, this.shapeOf(name)]));
      for (const { table, row } of rows) {
        const shape = shapes.get(table);
        if (!shape) return `there is no table ${table}`;
        const problem = problemOf(shape, row);
        if (problem !== undefined) return problem;
      }
      for (const { table, row } of rows) this.insert(shapes.get(table)!, row);
      return undefined;
    });
  }

  private *rowsAfter({ name, key }: TableShape, after: DumpCursor): Iterable<Record<string, SqlStorageValue>> {
    const placeholders = key.map(() => "?").join();
    const where = after.length > 0 ? `WHERE (${key.join()}) > (${placeholders})` : "";
    yield* this.store.sql.exec(`SELECT * FROM ${name} ${where} ORDER BY ${key.join()}`, ...after);
  }

  private insert({ name, columns }: TableShape, row: DumpedRow["row"]): void {
    const values = columns.map((column) => toStored(column.type, row[column.name]!));
    const insert = `INSERT INTO ${name} (${columns.map((column) => column.name).join()}) VALUES (${columns.map(() => "?").join()}) ON CONFLICT DO NOTHING RETURNING 1`;
    const isNew = this.store.sql.exec(insert, ...values).toArray().length > 0;
    if (isNew && name === "chunks") this.indexChunk(row);
  }

  private indexChunk(chunk: DumpedRow["row"]): void {
    const query = "SELECT title, generation_id AS generationId FROM documents WHERE id = ?";
    const [document] = this.store.sql.exec<{ title: string; generationId: number }>(query, chunk["document_id"]!).toArray();
    if (!document) return;
    // Its row was checked against the table's columns.
    const { id, heading, terms } = chunk as { id: number; heading: string | null; terms: string };
    const words = { titleTerms: titleTermsOf(document.title), headingTerms: headingTermsOf(heading), bodyTerms: terms };
    this.store.indexChunk(id, document.generationId, words);
  }

  private shapeOf(name: string): TableShape {
    const query = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid';
    const columns = this.store.sql.exec<TableShape["columns"][number] & Record<string, SqlStorageValue>>(query, name).toArray();
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    return { name, columns, key: key.map((column) => column.name) };
  }
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
