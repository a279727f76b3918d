import { z } from "@hono/zod-openapi";
import { getTableName } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { PART_BYTES } from "../attachments/contents.ts";
import { MAX_FILE_BYTES } from "../attachments/wire.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import { isUuid, shardOf } from "../platform/db/ids.ts";
import { workspaces } from "../platform/db/schema.ts";
import { parsedJson } from "../platform/json.ts";
import { columnsOf, FILE, isIdentifier, KNOWLEDGE, partOf, ROWS_PARTS, type RowsPart, WITH_SECRETS, WORKSPACE } from "./parts.ts";
import type { StoredRow, Values } from "./store.ts";
import type { Header } from "./wire.ts";

/** A record line of an export. */
export interface ImportRecord {
  type: string;
  record: Record<string, unknown>;
}

/** Valid records, by how they are stored. */
export interface CheckedRecords {
  tables: { type: string; part: RowsPart; rows: StoredRow[]; values: Values[] }[];
  knowledge: KnowledgeRecord[];
  files: FileRecord[];
  workspace: StoredRow | undefined;
}

/** A problem of a record. */
export interface RecordProblem {
  path: PropertyKey[];
  message: string;
}

/** Checks that each record matches its type's schema, and belongs to the workspace and its shard. */
export function checkRecords(header: Header, sent: readonly ImportRecord[]): CheckedRecords | { problems: RecordProblem[] } {
  const problems = sent.flatMap((one, at) => problemsOf(header, one).map(({ path, message }) => ({ path: [at, ...path], message })));
  if (problems.length > 0) return { problems };
  const byType = Map.groupBy(sent, ({ type }) => type);
  const tables = [...byType].flatMap(([type, records]) => {
    const part = partOf(type);
    if (!part) return [];
    const rows = records.map(({ record }) => record as StoredRow);
    return [{ type, part, rows, values: rows.map((row) => columnsOf(part.table).map(({ name }) => row[name]!)) }];
  });
  const knowledge = (byType.get(KNOWLEDGE) ?? []).map(({ record }) => record as KnowledgeRecord);
  const files = (byType.get(FILE) ?? []).map(({ record }) => record as FileRecord);
  return { tables, knowledge, files, workspace: byType.get(WORKSPACE)?.at(-1)?.record as StoredRow | undefined };
}

function problemsOf({ workspace_id: workspaceId, slug }: Header, { type, record }: ImportRecord): RecordProblem[] {
  const schema = schemaOf(type);
  if (!schema) return [{ path: ["type"], message: `the type ${type} is unknown` }];
  const { success, error } = schema.safeParse(record);
  if (!success) return error.issues.map(({ path, message }) => ({ path: ["record", ...path], message }));
  const problem = (field: string, message: string) => [{ path: ["record", field], message }];
  const { id } = record;
  if (type === WORKSPACE) {
    if (id !== workspaceId) return problem("id", "is not the workspace of the header");
    if (record["slug"] !== slug) return problem("slug", "is not the slug of the header");
    return record["deleted_at"] === null ? [] : problem("deleted_at", "must be null");
  }
  if (type === KNOWLEDGE || type === FILE) return [];
  if (record["workspace_id"] !== workspaceId) return problem("workspace_id", "is not the workspace of the header");
  // A lookup queries the shard that the identifier names. Counts of all agents have an empty agent id.
  const isOfAnotherShard = ([column, value]: [string, unknown]) =>
    isIdentifier(column) && typeof value === "string" && value !== "" && shardOf(value) !== shardOf(workspaceId);
  const elsewhere = Object.entries(record).find(isOfAnotherShard);
  return elsewhere ? problem(elsewhere[0], "names another shard than the workspace's") : [];
}

/** The records that may hold encrypted secrets, as JSON. */
export function secretsText({ tables }: CheckedRecords): string {
  return JSON.stringify(tables.filter(({ type }) => WITH_SECRETS.has(type)).map(({ rows }) => rows));
}

/** Identifiers must be in lower case, as the service generates them, because they are compared as text. */
const uuid = z.string().refine(isUuid, "is not an identifier");

const knowledge = z.strictObject({
  agent_id: uuid,
  table: z.string(),
  row: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
});

export type KnowledgeRecord = z.infer<typeof knowledge>;

const file = z.strictObject({
  attachment_id: uuid,
  part: z
    .int()
    .gte(0)
    .lt(MAX_FILE_BYTES / PART_BYTES),
  bytes: z.base64().max(Math.ceil(PART_BYTES / 3) * 4),
});

export type FileRecord = z.infer<typeof file>;

const schemas = new Map<string, z.ZodType>([
  [KNOWLEDGE, knowledge],
  [FILE, file],
]);

/** Returns the schema of a type's records: every column of its table, and nothing else. It is undefined for an unknown type. */
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

/** The year 2200 in Unix milliseconds. Lists fail with a time beyond the range of dates, and the index of leads with one beyond 2248. */
const MAX_INTEGER = Date.UTC(2200);

function valueOf(column: SQLiteColumn): z.ZodType {
  if (column.columnType === "SQLiteBoolean") return z.union([z.literal(0), z.literal(1)]);
  if (column.columnType === "SQLiteReal") return z.number();
  if (column.columnType === "SQLiteInteger") return z.int().gte(-MAX_INTEGER).lte(MAX_INTEGER);
  if (column.columnType === "SQLiteTextJson") return jsonText(column);
  if (column.enumValues) return z.enum(column.enumValues as [string, ...string[]]);
  return column.name === "id" || column.name === "workspace_id" ? uuid : z.string();
}

/** Requires a list or an object, whichever the column has by default. */
function jsonText(column: SQLiteColumn): z.ZodType {
  const isList = JSON.stringify(column.default ?? "").includes("'[]'");
  return z.string().refine(
    (text) => {
      const value = parsedJson(text);
      return isList ? Array.isArray(value) : typeof value === "object" && value !== null && !Array.isArray(value);
    },
    `must be a JSON ${isList ? "list" : "object"}`,
  );
}

/** Identifies the tables and columns of this version of the service. An export of another schema cannot be imported. */
export function schemaVersion(): Promise<string> {
  const describe = (table: SQLiteTable) =>
    [getTableName(table), ...columnsOf(table).map(({ name, columnType, notNull }) => `${name} ${columnType} ${notNull}`)].join();
  const tables = [workspaces, ...ROWS_PARTS.map(({ table }) => table)];
  version ??= sha256Hex(tables.map(describe).join(";")).then((hash) => hash.slice(0, VERSION_LENGTH));
  return version;
}

const VERSION_LENGTH = 16;
let version: Promise<string> | undefined;

/** Why records cannot be imported, and what to do about it. */
export class ImportError extends Error {
  constructor(
    readonly kind: "invalid" | "conflict" | "unavailable",
    message: string,
    /** Problems of single records; each path starts with the record's index. */
    readonly problems: readonly RecordProblem[] = [],
  ) {
    super(message);
  }
}
