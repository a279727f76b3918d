import { and, asc, type Column, eq, gt, type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { agents, workspaces } from "../../db/schema.ts";
import { columnsOf, type RowsPart } from "./parts.ts";
import type { Place } from "./progress.ts";

/** A row as the database has it: by the names of SQL, JSON as its text. */
export type StoredRow = Record<string, string | number | null>;

/** Some rows of a part that come after a place, in the order of its key. */
export function listRows(db: Database, { table, key, only }: RowsPart, workspaceId: string, after: Place | null, limit: number) {
  const isTheirs = and(eq(table.workspaceId, workspaceId), only, after === null ? undefined : isAfter(key, after));
  return db
    .select(asStored(columnsOf(table)))
    .from(table)
    .where(isTheirs)
    .orderBy(...key.map((column) => asc(column)))
    .limit(limit);
}

/** The next agent after an id; with `including`, the agent with that id itself if it exists. */
export function findAgentAfter(db: Database, workspaceId: string, agentId: string, including: boolean) {
  const isNext = including ? eq(agents.id, agentId) : gt(agents.id, agentId);
  return db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.workspaceId, workspaceId), isNext))
    .orderBy(agents.id)
    .limit(1);
}

/** The workspace's own row. */
export function findWorkspaceRow(db: Database, workspaceId: string) {
  return db
    .select(asStored(columnsOf(workspaces)))
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId));
}

function isAfter(key: RowsPart["key"], place: Place): SQL {
  const values = place.map((value) => sql`${value}`);
  return sql`(${sql.join([...key], sql`, `)}) > (${sql.join(values, sql`, `)})`;
}

/** Expressions and not columns, so that values come as they are stored. */
function asStored(columns: readonly Column[]) {
  return Object.fromEntries(columns.map((column) => [column.name, sql<string | number | null>`${column}`.as(column.name)]));
}
