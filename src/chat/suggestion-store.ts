import { and, eq, gt, lt, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { usagePeriods } from "../platform/db/schema.ts";
import { insertWhere, workspaceExists } from "../platform/db/sql.ts";
import type { Quota } from "./question.ts";

/** Counts a text that an agent writes for the team toward the quota, as a question is. Returns no row if the quota is used up. */
export function countWriting(db: Database, workspaceId: string, { period, limit }: Quota) {
  const row = { workspaceId, period, messages: 1 };
  return insertWhere(db, usagePeriods, row, sql`${workspaceExists(workspaceId)} AND ${limit} > 0`)
    .onConflictDoUpdate({
      target: [usagePeriods.workspaceId, usagePeriods.period],
      set: { messages: sql`${usagePeriods.messages} + 1` },
      setWhere: lt(usagePeriods.messages, limit),
    })
    .returning({ messages: usagePeriods.messages });
}

/** Takes a text out of the quota, which the service failed to write. */
export function refundWriting(db: Database, workspaceId: string, { period }: Quota) {
  return db
    .update(usagePeriods)
    .set({ messages: sql`${usagePeriods.messages} - 1` })
    .where(and(eq(usagePeriods.workspaceId, workspaceId), eq(usagePeriods.period, period), gt(usagePeriods.messages, 0)));
}
