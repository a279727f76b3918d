import { newOperation } from "../platform/db/client.ts";
import type { Plan } from "../platform/db/columns.ts";
import { databaseOf } from "../platform/db/shard-map.ts";
import { shardOf } from "../platform/db/ids.ts";
import { movedError } from "../platform/db/database-errors.ts";
import { jurisdictionFor } from "../platform/objects.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { type Limits, limitsOf } from "./plans.ts";
import { expandScopes, type Scope } from "./scopes.ts";
import { findWorkspace, listActiveKeys, listRevokedKeys, recordSecretUse } from "./store.ts";

export interface CallerWorkspace {
  id: string;
  name: string;
  slug: string;
  plan: Plan;
  limits: Limits;
}

export interface CallerKey {
  id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
}

/** A key as the gate knows it. */
export interface KnownKey {
  key: CallerKey;
  isRevoked: boolean;
  /** The id of the secret that signed it last. */
  secretId: string;
  /** When it was last used under an outdated secret, Unix milliseconds, at most an hour ago. */
  outdatedUseAtMs: number | null;
}

/** What the gate knows of its workspace. */
export interface Directory {
  /** Each read gives a new one. */
  version: string;
  workspace: CallerWorkspace;
  keysByHash: Map<string, KnownKey>;
}

/** A workspace with its keys; null if it does not exist. */
export async function readDirectory(env: Env, meter: Meter, workspaceId: string): Promise<Directory | null> {
  const { db } = newOperation(env, meter, workspaceId);
  const [[row], active, revoked] = await db.batch([
    findWorkspace(db, workspaceId),
    listActiveKeys(db, workspaceId),
    listRevokedKeys(db, workspaceId),
  ]);
  if (!row) return null;
  if (row.jurisdiction !== jurisdictionFor(env, workspaceId)) throw movedError(databaseOf(env, shardOf(row.id))!, row.jurisdiction);
  const { id, name, slug, plan } = row;
  const keysByHash = [...active, ...revoked].map((row): [string, KnownKey] => {
    const key = { id: row.id, name: row.name, prefix: row.prefix, scopes: expandScopes(row.scopes) };
    return [row.hash, { key, isRevoked: row.revokedAt !== null, secretId: row.secretId, outdatedUseAtMs: row.outdatedUseAt }];
  });
  const workspace = { id, name, slug, plan, limits: limitsOf(plan, row.limits) };
  return { version: crypto.randomUUID(), workspace, keysByHash: new Map(keysByHash) };
}

/** Stores which secret signed a key. A failed write is not retried: the next hour, or the next instance of the gate, writes again. */
export async function recordUse(env: Env, workspaceId: string, { key, secretId, outdatedUseAtMs }: KnownKey): Promise<void> {
  const { db } = newOperation(env, new Meter(), workspaceId);
  try {
    await db.batch([recordSecretUse(db, workspaceId, key.id, { secretId, outdatedUseAt: outdatedUseAtMs })]);
  } catch (error) {
    logProblem("key_use_not_recorded", { key_id: key.id }, error);
  }
}
