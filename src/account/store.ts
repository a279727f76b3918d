import { and, eq } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { compiled } from "../db/compiled.ts";
import { usagePeriods, workspaces } from "../db/schema.ts";

/** The questions counted in one period; no row when there was none. */
export function findUsage(db: Database, workspaceId: string, period: string) {
  return usageOf(db, { workspaceId, period });
}

const usageFields = { messages: usagePeriods.messages };
const usageOf = compiled<typeof usageFields, { workspaceId: string; period: string }>(usageFields, (db, fields, param) =>
  db
    .select(fields)
    .from(usagePeriods)
    .where(and(eq(usagePeriods.workspaceId, param("workspaceId")), eq(usagePeriods.period, param("period")))),
);

/** The workspace's kept counts. */
export function findCounts(db: Database, workspaceId: string) {
  return countsOf(db, { workspaceId });
}

const countFields = { agents: workspaces.agentsCount, sources: workspaces.sourcesCount, pages: workspaces.pagesCount };
const countsOf = compiled<typeof countFields, { workspaceId: string }>(countFields, (db, fields, param) =>
  db
    .select(fields)
    .from(workspaces)
    .where(eq(workspaces.id, param("workspaceId"))),
);
