import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { compiled } from "../platform/db/compiled.ts";
import type { RedactionSettings } from "../platform/db/columns.ts";
import { usagePeriods, workspaces } from "../platform/db/schema.ts";
import { insertWhere, isWorkspace, withFields, workspaceExists } from "../platform/db/sql.ts";
import type { RedactionCounts } from "./redactor.ts";

/** The settings of a workspace. Fields that are missing are off. */
export const findRedaction = compiled((db, workspaceId: string) =>
  db.select({ redaction: workspaces.redaction }).from(workspaces).where(eq(workspaces.id, workspaceId)),
);

/** What was masked in a month, by kind. */
export function findRedactionCounts(db: Database, workspaceId: string, period: string) {
  return db
    .select({ counts: usagePeriods.redactions })
    .from(usagePeriods)
    .where(and(eq(usagePeriods.workspaceId, workspaceId), eq(usagePeriods.period, period)));
}

/** Replaces settings; a field that is left out stays as it is. */
export function updateRedaction(db: Database, workspaceId: string, changes: Partial<RedactionSettings>, nowMs: number) {
  return db
    .update(workspaces)
    .set({ redaction: withFields(workspaces.redaction, changes), updatedAt: nowMs })
    .where(isWorkspace(workspaceId))
    .returning({ redaction: workspaces.redaction });
}

/** Patterns may be renamed at any time, and their counts stay until the month ends: this bounds them, in characters. */
const MAX_COUNTS_LENGTH = 8_000;

/** The statements that count what was masked. The names of kinds have no quotes. */
export function countRedactions(db: Database, workspaceId: string, period: string, counts: RedactionCounts) {
  return [...counts].map(([kind, count]) => {
    const path = `$."${kind}"`;
    const row = { workspaceId, period, redactions: sql`json_object(${kind}, ${count})` };
    return insertWhere(db, usagePeriods, row, workspaceExists(workspaceId)).onConflictDoUpdate({
      target: [usagePeriods.workspaceId, usagePeriods.period],
      set: {
        redactions: sql`json_set(${usagePeriods.redactions}, ${path}, coalesce(${usagePeriods.redactions} ->> ${path}, 0) + ${count})`,
      },
      setWhere: sql`length(${usagePeriods.redactions}) < ${MAX_COUNTS_LENGTH}`,
    });
  });
}
