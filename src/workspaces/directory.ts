import { newOperation } from "../platform/db/client.ts";
import type { ConsoleMethod, MemberRole, Plan, RedactionSettings } from "../platform/db/columns.ts";
import { databaseOf } from "../platform/db/shard-map.ts";
import { shardOf } from "../platform/db/ids.ts";
import { movedError } from "../platform/db/database-errors.ts";
import { jurisdictionFor } from "../platform/objects.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { SESSION_PREFIX } from "./api-key.ts";
import { type Limits, limitsOf } from "./plans.ts";
import { ALL_SCOPES, expandScopes, type Scope, scopesOfRole } from "./scopes.ts";
import {
  findSignInSettings,
  findWorkspace,
  listActiveKeys,
  listActiveSessions,
  listApplicationTokens,
  listRevokedKeys,
  recordSecretUse,
} from "./store.ts";

export interface CallerWorkspace {
  id: string;
  name: string;
  slug: string;
  plan: Plan;
  limits: Limits;
  redaction: Partial<RedactionSettings>;
  /** Whether the console refuses API keys. A gate of the release before does not tell, and then it accepts them. */
  refusesKeySignIn: boolean;
}

/** An API key or, for a member, the session or the connected application: its id, and the member's name. */
export interface CallerKey {
  id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
  /** Whether it may do everything, as an owner and the operator's keys with the scope `*`. */
  isOwner: boolean;
  /** The member whose session or application it is; undefined for an API key. */
  member?: CallerMember;
  /** Whether it is an application that the member has connected, whose tokens are for /mcp alone. */
  isApplication?: boolean;
}

interface CallerMember {
  id: string;
  name: string;
  email: string;
  role: MemberRole;
}

/** A key as the gate knows it. */
export interface KnownKey {
  key: CallerKey;
  isRevoked: boolean;
  /** The id of the secret that signed it last. */
  secretId: string;
  /** When it was last used under an outdated secret, Unix milliseconds, at most an hour ago. */
  outdatedUseAtMs: number | null;
  /** When the session or the token ends, Unix milliseconds; undefined for an API key. */
  expiresAtMs?: number;
}

/** What the gate knows of its workspace. */
export interface Directory {
  /** Each read gives a new one. */
  version: string;
  workspace: CallerWorkspace;
  keysByHash: Map<string, KnownKey>;
}

/** Reads a workspace with its keys. Returns null if it does not exist. */
export async function readDirectory(env: Env, meter: Meter, workspaceId: string): Promise<Directory | null> {
  const { db, nowMs } = newOperation(env, meter, workspaceId);
  const [[row], active, revoked, sessions, applications, [signIn]] = await db.batch([
    findWorkspace(db, workspaceId),
    listActiveKeys(db, workspaceId),
    listRevokedKeys(db, workspaceId),
    listActiveSessions(db, workspaceId, nowMs),
    listApplicationTokens(db, workspaceId, nowMs),
    findSignInSettings(db, workspaceId),
  ]);
  if (!row) return null;
  if (row.jurisdiction !== jurisdictionFor(env, workspaceId)) throw movedError(databaseOf(env, shardOf(row.id))!, row.jurisdiction);
  const { id, name, slug, plan } = row;
  const keys = [...active, ...revoked].map((row): [string, KnownKey] => {
    const isOwner = row.scopes.includes(ALL_SCOPES);
    const key = { id: row.id, name: row.name, prefix: row.prefix, scopes: expandScopes(row.scopes), isOwner };
    return [row.hash, { key, isRevoked: row.revokedAt !== null, secretId: row.secretId, outdatedUseAtMs: row.outdatedUseAt }];
  });
  const signedIn = sessions.map((row): [string, KnownKey] => {
    const member = { id: row.memberId, name: row.name, email: row.email, role: row.role };
    const granted = { scopes: scopesOfRole(row.role, row.scopes), isOwner: row.role === "owner" };
    const key = { id: row.sessionId, name: row.name, prefix: SESSION_PREFIX, ...granted, member };
    return [row.hash, { key, isRevoked: false, secretId: "", outdatedUseAtMs: null, expiresAtMs: row.expiresAt }];
  });
  const connected = applications.flatMap((row) => {
    const member = { id: row.memberId, name: row.name, email: row.email, role: row.role };
    const allowed = scopesOfRole(row.role, row.scopes);
    return row.tokens.map(({ hash, scopes, expiresAt }): [string, KnownKey] => {
      const granted = { scopes: allowed.filter((scope) => scopes.includes(scope)), isOwner: false };
      const key = { id: row.applicationId, name: row.name, prefix: SESSION_PREFIX, ...granted, member, isApplication: true };
      return [hash, { key, isRevoked: false, secretId: "", outdatedUseAtMs: null, expiresAtMs: expiresAt }];
    });
  });
  const refusesKeySignIn = signIn !== undefined && !signIn.methods.includes("key" satisfies ConsoleMethod);
  const workspace = { id, name, slug, plan, limits: limitsOf(plan, row.limits), redaction: row.redaction, refusesKeySignIn };
  return { version: crypto.randomUUID(), workspace, keysByHash: new Map([...keys, ...signedIn, ...connected]) };
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
