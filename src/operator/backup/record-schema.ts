import { z } from "@hono/zod-openapi";
import { getTableName } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { isUuid } from "../../db/ids.ts";
import { workspaces } from "../../db/schema.ts";
import { sha256Hex } from "../../crypto/sha256.ts";
import { columnsOf, KNOWLEDGE, partOf, ROWS_PARTS, WORKSPACE } from "./parts.ts";

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
export function schemaOf(type: string): z.ZodType | undefined {
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
