import { shardOf } from "../../db/ids.ts";
import type { StoredRow } from "./export-store.ts";
import type { Values } from "./import-store.ts";
import { columnsOf, isIdentifier, KNOWLEDGE, partOf, type RowsPart, WITH_SECRETS, WORKSPACE } from "./parts.ts";
import { type KnowledgeRecord, schemaOf } from "./record-schema.ts";
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
