import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { ApiError, type Call, type Routes } from "./call.ts";

interface Database {
  uuid: string;
  name: string;
  sqlite: DatabaseSync;
  /** As it was created with. */
  place: { primary_location_hint?: string; jurisdiction?: string };
}

/** Where the platform's query endpoint ends a trigger: at the first END before a semicolon, be it that of a CASE. */
const TRIGGER = /^\s*CREATE\s+TRIGGER\b[\s\S]*?\bEND\s*;/i;
const STATEMENT = /^[^;]*;?/;

/** Splits SQL as the platform's query endpoint does, which cuts some triggers in two. */
function splitForQuery(sql: string): string[] {
  const statements: string[] = [];
  for (let rest = sql; rest.trim() !== "";) {
    const [statement] = (TRIGGER.exec(rest) ?? STATEMENT.exec(rest))!;
    statements.push(statement);
    rest = rest.slice(statement.length);
  }
  return statements;
}

/** The databases of an account: each is SQLite in memory, so that migrations really run. */
export class D1 {
  readonly #databases: Database[] = [];
  /** Files that were uploaded to be imported, by their hash. */
  readonly #uploads = new Map<string, string>();

  readonly routes: Routes = [
    [/^GET d1\/database$/, ({ query }) => this.#page(Number(query.get("page") ?? 1), Number(query.get("per_page") ?? 10))],
    [/^POST d1\/database$/, ({ body }) => toDatabaseResult(this.#createAsAsked(body))],
    [/^GET d1\/database\/([^/]+)$/, (_, key) => toDatabaseResult(this.find(key))],
    [/^POST d1\/database\/([^/]+)\/query$/, ({ body }, key) => this.#query(key, (JSON.parse(body) as { sql: string }).sql)],
    [/^DELETE d1\/database\/([^/]+)$/, (_, key) => this.#databases.splice(this.#databases.indexOf(this.find(key)), 1).length],
    [/^POST d1\/database\/([^/]+)\/import$/, (call, key) => this.#import(key, call)],
    [/^PUT uploads\/([^/]+)$/, ({ body }, etag) => this.#uploads.set(etag, body).size],
  ];

  get names(): string[] {
    return this.#databases.map(({ name }) => name);
  }

  /** A database by name or id. */
  find(key: string): Database {
    const database = this.#databases.find(({ uuid, name }) => key === uuid || key === name);
    if (!database) throw new ApiError(404, 7_404, "The database could not be found");
    return database;
  }

  #createAsAsked(body: string): Database {
    const { name, ...place } = JSON.parse(body) as { name: string } & Database["place"];
    return this.create(name, place);
  }

  create(name: string, place: Database["place"] = {}): Database {
    if (this.names.includes(name)) throw new ApiError(400, 7_502, "A database with that name already exists");
    const database = { uuid: randomUUID(), name, sqlite: new DatabaseSync(":memory:"), place };
    this.#databases.push(database);
    return database;
  }

  /** The tables of a database, so far as migrations made them. */
  tables(name: string): string[] {
    return this.find(name)
      .sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .all()
      .map((row) => String(row["name"]));
  }

  #page(page: number, size: number) {
    return this.#databases.slice((page - 1) * size, page * size).map(toDatabaseResult);
  }

  #query(key: string, sql: string) {
    const { sqlite } = this.find(key);
    try {
      if (/^\s*SELECT/i.test(sql)) return [{ results: sqlite.prepare(sql).all(), success: true, meta: {} }];
      atOnce(sqlite, splitForQuery(sql));
      return [{ results: [], success: true, meta: {} }];
    } catch (error) {
      throw new ApiError(400, 7_500, `${(error as Error).message}: SQLITE_ERROR`);
    }
  }

  /** Takes a whole file, which SQLite itself splits. */
  #import(key: string, { body, origin }: Call) {
    const { action, etag } = JSON.parse(body) as { action: string; etag: string };
    if (action === "init") return { filename: etag, upload_url: `${origin}/client/v4/uploads/${etag}` };
    atOnce(this.find(key).sqlite, [this.#uploads.get(etag)!]);
    const meta = { duration: 1, rows_read: 0, rows_written: 1, size_after: 4096 };
    return { success: true, status: "complete", messages: [], at_bookmark: "b", result: { num_queries: 1, final_bookmark: "b", meta } };
  }
}

/** All of it or nothing. */
function atOnce(sqlite: DatabaseSync, parts: readonly string[]): void {
  sqlite.exec("BEGIN");
  try {
    for (const part of parts) sqlite.exec(part);
    sqlite.exec("COMMIT");
  } catch (error) {
    sqlite.exec("ROLLBACK");
    throw error;
  }
}

function toDatabaseResult({ uuid, name, place }: Database) {
  return { uuid, name, jurisdiction: place.jurisdiction ?? null };
}
