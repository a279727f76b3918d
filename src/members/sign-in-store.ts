import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { members, signInSettings } from "../platform/db/schema.ts";
import { exists, insertWhere, workspaceExists } from "../platform/db/sql.ts";
import { IS_ACTIVE_OWNER } from "./store.ts";

export type SignInRow = typeof signInSettings.$inferSelect;

/**
 * Stores the settings if they are as `before` has them. Returns no row if they changed meanwhile or, unless keys stay allowed, if no
 * owner has signed in yet.
 */
export function saveSignInSettings(db: Database, before: SignInRow | undefined, row: SignInRow) {
  const { id: _, workspaceId, ...changes } = row;
  const hasOwner = exists(members, eq(members.workspaceId, workspaceId), ...IS_ACTIVE_OWNER);
  const isAllowed = changes.methods.includes("key") ? sql`TRUE` : hasOwner;
  return insertWhere(db, signInSettings, row, and(workspaceExists(workspaceId), isAllowed)!)
    .onConflictDoUpdate({
      target: signInSettings.workspaceId,
      set: changes,
      setWhere: before ? eq(signInSettings.updatedAt, before.updatedAt) : sql`FALSE`,
    })
    .returning();
}

/** Unbinds the members of a workspace from their accounts, if the settings were saved at `savedAt`. */
export function unbindAccounts(db: Database, workspaceId: string, savedAt: number) {
  const isSaved = exists(signInSettings, eq(signInSettings.workspaceId, workspaceId), eq(signInSettings.updatedAt, savedAt));
  return db
    .update(members)
    .set({ oidcIssuer: null, oidcSubject: null, updatedAt: sql`max(${members.updatedAt} + 1, ${savedAt})` })
    .where(and(eq(members.workspaceId, workspaceId), sql`${members.oidcSubject} IS NOT NULL`, isSaved));
}
