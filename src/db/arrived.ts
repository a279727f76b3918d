import { type Column, type SQL, sql } from "drizzle-orm";
import { workspaceImports } from "./schema.ts";

/** Whether a row's workspace is all here: while it is imported, cron leaves what there is of it alone. */
export function hasArrived(workspaceId: Column | SQL): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM ${workspaceImports} i WHERE i.workspace_id = ${workspaceId} AND i.completed_at IS NULL)`;
}
