import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { Refusal, type Routes } from "./call.ts";

interface Database {
  uuid: string;
  name: string;
  sqlite: DatabaseSync;
}

/** The databases of an account: each is SQLite in memory, so that migrations really run. */
export class D1 {
  readonly #databases: Database[] = [];

  readonly routes: Routes = [
    [/^GET d1\/database$/, ({ query }) => this.#page(Number(query.get("page") ?? 1), Number(query.get("per_page") ?? 10))],
    [/^POST d1\/database$/, ({ body }) => shown(this.create((JSON.parse(body) as { name: string }).name))],
    [/^GET d1\/database\/([^/]+)$/, (_, key) => shown(this.find(key))],
    [/^POST d1\/database\/([^/]+)\/query$/, ({ body }, key) => this.#query(key, (JSON.parse(body) as { sql: string }).sql)],
  ];

  get names(): string[] {
    return this.#databases.map(({ name }) => name);
  }

  /** A database by name or id. */
  find(key: string): Database {
    const database = this.#databases.find(({ uuid, name }) => key === uuid || key === name);
    if (!database) throw new Refusal(404, 7_404, "The database could not be found");
    return database;
  }

  create(name: string): Database {
    if (this.names.includes(name)) throw new Refusal(400, 7_502, "A database with that name already exists");
    const database = { uuid: randomUUID(), name, sqlite: new DatabaseSync(":memory:") };
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
    return this.#databases.slice((page - 1) * size, page * size).map(shown);
  }

  #query(key: string, sql: string) {
    const { sqlite } = this.find(key);
    try {
      if (/^\s*SELECT/i.test(sql)) return [{ results: sqlite.prepare(sql).all(), success: true, meta: {} }];
      sqlite.exec(sql);
      return [{ results: [], success: true, meta: {} }];
    } catch (error) {
      throw new Refusal(400, 7_500, String(error));
    }
  }
}

function shown({ uuid, name }: Database) {
  return { uuid, name };
}
