import { z } from "@hono/zod-openapi";
import { getTableName } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import { isUuid, shardOf } from "../platform/db/ids.ts";
import { workspaces } from "../platform/db/schema.ts";
import { columnsOf, isIdentifier, KNOWLEDGE, partOf, ROWS_PARTS, type RowsPart, WITH_SECRETS, WORKSPACE } from "./parts.ts";
import type { StoredRow, Values } from "./store.ts";
import type { Header } from "./wire.ts";

/** A line of an export, as it is sent. */
export interface GivenRecord {
  type: string;
  record: Record<string, unknown>;
}

/** Records that were checked, by what is done with them. */
export interface CheckedRecords {
  tables: { type: string; part: RowsPart; rows: StoredRow[]; values: Values[] }[];
  knowledge: KnowledgeRecord[];
  workspace: StoredRow | undefined;
}

/** What is wrong with a record. */
export interface RecordProblem {
  path: PropertyKey[];
  message: string;
}

/** Checks each record by its type, and that it is the workspace's own and of its shard. */
export function checkRecords(header: Header, given: readonly GivenRecord[]): CheckedRecords | { problems: RecordProblem[] } {
  const problems = given.flatMap((one, at) => problemsOf(header, one).map(({ path, message }) => ({ path: [at, ...path], message })));
  if (problems.length > 0) return { problems };
  const byType = Map.groupBy(given, ({ type }) => type);
  const tables = [...byType].flatMap(([type, records]) => {
    const part = partOf(type);
    if (!part) return [];
    const rows = records.map(({ record }) => record as StoredRow);
    return [{ type, part, rows, values: rows.map((row) => columnsOf(part.table).map(({ name }) => row[name]!)) }];
  });
  const knowledge = (byType.get(KNOWLEDGE) ?? []).map(({ record }) => record as KnowledgeRecord);
  return { tables, knowledge, workspace: byType.get(WORKSPACE)?.at(-1)?.record as StoredRow | undefined };
}

function problemsOf({ workspace_id: workspaceId, slug }: Header, { type, record }: GivenRecord): RecordProblem[] {
  const schema = schemaOf(type);
  if (!schema) return [{ path: ["type"], message: `there are no records of the type ${type}` }];
  const { success, error } = schema.safeParse(record);
  if (!success) return error.issues.map(({ path, message }) => ({ path: ["record", ...path], message }));
  const refuse = (field: string, message: string) => [{ path: ["record", field], message }];
  const { id } = record;
  if (type === WORKSPACE) {
    if (id !== workspaceId) return refuse("id", "is not the workspace of the header");
    if (record["slug"] !== slug) return refuse("slug", "is not the slug of the header");
    return record["deleted_at"] === null ? [] : refuse("deleted_at", "must be null");
  }
  if (type === KNOWLEDGE) return [];
  if (record["workspace_id"] !== workspaceId) return refuse("workspace_id", "is not the workspace of the header");
  // Who looks a record up asks the database that its identifier names. Counts of all agents have an empty one.
  const isElsewhere = ([column, value]: [string, unknown]) =>
    isIdentifier(column) && typeof value === "string" && value !== "" && shardOf(value) !== shardOf(workspaceId);
  const elsewhere = Object.entries(record).find(isElsewhere);
  return elsewhere ? refuse(elsewhere[0], "names another shard than the workspace's") : [];
}

/** The part of the records that holds stored secrets, as text. */
export function secretsText({ tables }: CheckedRecords): string {
  return JSON.stringify(tables.filter(({ type }) => WITH_SECRETS.has(type)).map(({ rows }) => rows));
}

/** Identifiers as the service makes them: in lower case, or they would name nothing. */
const uuid = z.string().refine(isUuid, "is no identifier");

const knowledge = z.strictObject({
  agent_id: uuid,
  table: z.string(),
  row: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
});

export type KnowledgeRecord = z.infer<typeof knowledge>;

const schemas = new Map<string, z.ZodType>([[KNOWLEDGE, knowledge]]);

/** What a record of this type must be: every column of its table, and nothing else; undefined where there is no such type. */
function schemaOf(type: string): z.ZodType | undefined {
  const known = schemas.get(type);
  if (known) return known;
  const table = type === WORKSPACE ? workspaces : partOf(type)?.table;
  if (!table) return undefined;
  const schema = z.strictObject(Object.fromEntries(columnsOf(table).map((column) => [column.name, fieldOf(column)])));
  schemas.set(type, schema);
  return schema;
}

function fieldOf(column: SQLiteColumn): z.ZodType {
  const field = valueOf(column);
  return column.notNull ? field : field.nullable();
}

function valueOf(column: SQLiteColumn): z.ZodType {
  if (column.columnType === "SQLiteBoolean") return z.union([z.literal(0), z.literal(1)]);
  if (column.columnType === "SQLiteReal") return z.number();
  if (column.columnType === "SQLiteInteger") return z.int();
  if (column.columnType === "SQLiteTextJson") return jsonText(column);
  if (column.enumValues) return z.enum(column.enumValues as [string, ...string[]]);
  return column.name === "id" || column.name === "workspace_id" ? uuid : z.string();
}

/** A list or an object, as the column's default is one or the other. */
function jsonText(column: SQLiteColumn): z.ZodType {
  const isList = JSON.stringify(column.default ?? "").includes("'[]'");
  return z.string().refine(
    (text) => {
      const value = parse(text);
      return isList ? Array.isArray(value) : typeof value === "object" && value !== null && !Array.isArray(value);
    },
    `must be a JSON ${isList ? "list" : "object"}`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Names the tables and columns that this version of the service has: records of another one do not fit. */
export function schemaVersion(): Promise<string> {
  const describe = (table: SQLiteTable) =>
    [getTableName(table), ...columnsOf(table).map(({ name, columnType, notNull }) => `${name} ${columnType} ${notNull}`)].join();
  const tables = [workspaces, ...ROWS_PARTS.map(({ table }) => table)];
  version ??= sha256Hex(tables.map(describe).join(";")).then((hash) => hash.slice(0, VERSION_LENGTH));
  return version;
}

const VERSION_LENGTH = 16;
let version: Promise<string> | undefined;

/** An import that cannot be: what is sent is wrong, or what is there is in its way. The message says what to do. */
export class ImportRefusal extends Error {
  constructor(
    readonly kind: "invalid" | "conflict" | "unavailable",
    message: string,
    /** Of the records that were sent, each by its number. */
    readonly problems: readonly RecordProblem[] = [],
  ) {
    super(message);
  }
}
