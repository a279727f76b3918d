import { sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import type { BusinessHours } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { workspaces } from "../platform/db/schema.ts";
import { isWorkspace } from "../platform/db/sql.ts";

/** The business hours of a workspace, as far as they are set. */
export const findBusinessHours = compiled((db, workspaceId: string) =>
  db.select({ stored: workspaces.businessHours }).from(workspaces).where(isWorkspace(workspaceId)),
);

/** Changes the given fields of the business hours in one statement, so that changes at the same time lose nothing. */
export function updateBusinessHours(db: Database, workspaceId: string, changes: Partial<BusinessHours>) {
  const values = Object.entries(changes).flatMap(([name, value]) => [sql`${`$.${name}`}`, sql`json(${JSON.stringify(value)})`]);
  return db
    .update(workspaces)
    .set({ businessHours: sql`json_set(${sql.join([workspaces.businessHours, ...values], sql`, `)})` })
    .where(isWorkspace(workspaceId))
    .returning({ stored: workspaces.businessHours });
}
