import type { Database } from "../platform/db/client.ts";
import type { BusinessHours } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { workspaces } from "../platform/db/schema.ts";
import { isWorkspace, withFields } from "../platform/db/sql.ts";

/** Finds the business hours of a workspace, as far as they are set. */
export const findBusinessHours = compiled((db, workspaceId: string) =>
  db.select({ stored: workspaces.businessHours }).from(workspaces).where(isWorkspace(workspaceId)),
);

/** Changes the given fields of the business hours in one statement, so that changes at the same time lose nothing. */
export function updateBusinessHours(db: Database, workspaceId: string, changes: Partial<BusinessHours>) {
  return db
    .update(workspaces)
    .set({ businessHours: withFields(workspaces.businessHours, changes) })
    .where(isWorkspace(workspaceId))
    .returning({ stored: workspaces.businessHours });
}
