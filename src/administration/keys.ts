import { closeLive } from "../events/live-channel.ts";
import { secretValues } from "../platform/config.ts";
import type { apiKeys } from "../platform/db/schema.ts";
import { transact } from "../platform/db/sql.ts";
import { mintApiKey } from "../workspaces/api-key.ts";
import { reloadGate } from "../workspaces/gate.ts";
import type { Limits } from "../workspaces/plans.ts";
import { countActiveKeys, createKey, findKey, pruneRevokedKeys, revokeKey } from "../workspaces/store.ts";
import { type AuditedChange, recordChange } from "./operator-audit-store.ts";

type KeyRow = typeof apiKeys.$inferSelect;

/** The outcome of adding a key. It is `not_granted` if the granting key lacks one of the scopes, or has just been revoked. */
export type KeyAddition = { outcome: "done"; row: KeyRow; key: string } | { outcome: "too_many" } | { outcome: "not_granted" };

/**
 * Adds a key, which is valid from the next request on. If a request is repeated because its response was lost, its key replaces the
 * first one, which nobody has seen.
 * @param granterId the key that grants it, within its own scopes; undefined for the operator and for a member, whose scopes were checked.
 */
export async function addKey(
  op: AuditedChange,
  limits: Limits,
  given: { name: string; scopes: string[] },
  granterId?: string,
): Promise<KeyAddition> {
  const { env, db, workspaceId, nowMs } = op;
  const { key, ...minted } = await mintApiKey(workspaceId, secretValues(env.KEY_SECRET)[0]);
  const row = { id: op.newId(), workspaceId, ...given, ...minted, createdAt: nowMs };
  const {
    after: [[created], [active]],
  } = await transact(db, {
    writes: [
      createKey(db, row, limits.api_keys, granterId),
      ...recordChange(db, op, "key.created", { targetId: row.id, fields: Object.keys(given) }),
    ],
    after: [findKey(db, workspaceId, row.id), countActiveKeys(db, workspaceId)],
  });
  if (created?.hash !== minted.hash) return { outcome: (active?.keys ?? 0) >= limits.api_keys ? "too_many" : "not_granted" };
  await reloadGate(op);
  return { outcome: "done", row: created, key };
}

/**
 * Revokes a key from the next request on. The records of the latest revoked keys are kept.
 * @param keepsLast whether the last key that may manage keys stays, so that a workspace cannot lock itself out.
 */
export async function removeKey(op: AuditedChange, keyId: string, keepsLast: boolean): Promise<"done" | "not_found" | "is_last"> {
  const { env, db, workspaceId, nowMs } = op;
  const writes = [revokeKey(db, workspaceId, keyId, { nowMs, keepsLast }), ...recordChange(db, op, "key.revoked", { targetId: keyId })];
  const {
    after: [[key]],
  } = await transact(db, { writes: [...writes, pruneRevokedKeys(db, workspaceId)], after: [findKey(db, workspaceId, keyId)] });
  if (!key) return "not_found";
  if (key.revokedAt === null) return "is_last";
  await reloadGate(op);
  closeLive(env, workspaceId, keyId);
  return "done";
}
