import { OAuthError } from "@cloudflare/workers-oauth-provider";
import { directoryDb, newOperation } from "../platform/db/client.ts";
import { isUuid, newId, shardOf } from "../platform/db/ids.ts";
import { Fault } from "../platform/telemetry/errors.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { DAY_MS } from "../platform/time.ts";
import { recordAudit } from "../workspaces/audit-store.ts";
import { disconnect } from "./disconnect.ts";
import {
  createApplication,
  createRecord,
  eraseRecord,
  findByGrant,
  findGrant,
  findRecord,
  type GrantKey,
  listGrants,
  updateGrant,
  updateRecord,
} from "./store.ts";

/** How an application that is being connected is shown. */
export interface Shown {
  name: string;
  host: string;
}

interface PutOptions {
  expiration?: number;
  expirationTtl?: number;
  metadata?: unknown;
}

/** An application that registered itself is forgotten after this time, unless somebody allows it. */
const UNUSED_CLIENT_MS = DAY_MS;
const KEY = /^grant:(?<workspaceId>[^.:]+)\.(?<memberId>[^.:]+):(?<grantId>[^:]*)/;
const RECORD = /^(?:client|client-assertion-jti):/;

/**
 * The storage of the OAuth library, for one request: what the library uses of a KV namespace, in D1. A value is changed only if it
 * still is what this request has read, so that a code, or a refresh token, that arrives twice at the same time is used once. KV could
 * not tell, and shows a change elsewhere only after a minute.
 *
 * Grants are applications of a member. The library's access tokens are not kept: the service gives its own, which the gate admits.
 */
export class OAuthStorage {
  /** The values as this request has read them. */
  private readonly read = new Map<string, string>();

  /** @param shown how the application that this request connects is shown. */
  constructor(
    private readonly env: Env,
    private readonly meter: Meter,
    private readonly shown?: Shown,
  ) {}

  async get(key: string, options?: { type?: "json" }): Promise<unknown> {
    const value = await this.find(key);
    if (value === undefined) return null;
    this.read.set(key, value);
    return options?.type === "json" ? JSON.parse(value) : value;
  }

  private async find(key: string): Promise<string | undefined> {
    const nowMs = Date.now();
    if (RECORD.test(key)) {
      const directory = directoryDb(this.env, this.meter);
      const [[record]] = await directory.batch([findRecord(directory, key, nowMs)]);
      return record?.value;
    }
    const grant = parseGrantKey(key);
    if (!grant) return undefined;
    const { db } = newOperation(this.env, this.meter, grant.workspaceId);
    const [[found]] = await db.batch([findGrant(db, grant, nowMs)]);
    return found?.record;
  }

  async put(key: string, value: string, { expiration, expirationTtl, metadata }: PutOptions = {}): Promise<void> {
    if (key.startsWith("token:")) return;
    const nowMs = Date.now();
    const expiresAt = expiration === undefined ? nowMs + expirationTtl! * 1000 : expiration * 1000;
    const read = this.read.get(key);
    const isWritten = RECORD.test(key)
      ? await this.putRecord(key, value, read, expiresAt)
      : await this.putGrant(key, value, read, { metadata: metadata === undefined ? null : JSON.stringify(metadata), expiresAt });
    if (!isWritten)
      throw new OAuthError("temporarily_unavailable", { description: "Another request was first. Try again.", statusCode: 503 });
    this.read.set(key, value);
  }

  private async putRecord(key: string, value: string, read: string | undefined, expiresAt: number): Promise<boolean> {
    const directory = directoryDb(this.env, this.meter);
    if (read !== undefined) {
      const [updated] = await directory.batch([updateRecord(directory, read, { key, value, expiresAt })]);
      return updated.length > 0;
    }
    const until = key.startsWith("client:") ? Math.min(expiresAt, Date.now() + UNUSED_CLIENT_MS) : expiresAt;
    const [, created] = await directory.batch([...createRecord(directory, { key, value, expiresAt: until })]);
    return created.length > 0;
  }

  private async putGrant(
    key: string,
    grant: string,
    read: string | undefined,
    { metadata, expiresAt }: { metadata: string | null; expiresAt: number },
  ): Promise<boolean> {
    const named = parseGrantKey(key);
    if (!named) throw new Fault("The OAuth library uses an unknown key");
    const { db, nowMs } = newOperation(this.env, this.meter, named.workspaceId);
    if (read !== undefined) {
      const [updated] = await db.batch([updateGrant(db, named, read, { grant, metadata, expiresAt })]);
      return updated.length > 0;
    }
    const { scope: scopes } = JSON.parse(grant) as { scope: string[] };
    const { name, host } = this.shown!;
    const id = newId(shardOf(named.workspaceId), nowMs);
    const shown = { name, host, scopes };
    const row = { id, ...named, grant, metadata, ...shown, tokens: [], createdAt: nowMs, expiresAt };
    const [create, trim] = createApplication(db, row);
    const [[created]] = await db.batch([
      create,
      recordAudit(db, { ...named, actor: `member/${named.memberId}`, nowMs }, "application.connected", { targetId: id, detail: shown }),
      trim,
    ]);
    return created !== undefined;
  }

  /** Deletes a value. A grant ends with its tokens, at once. */
  async delete(key: string): Promise<void> {
    if (RECORD.test(key)) {
      const directory = directoryDb(this.env, this.meter);
      await directory.batch([eraseRecord(directory, key)]);
      return;
    }
    const named = parseGrantKey(key);
    if (!named) return;
    const op = { ...newOperation(this.env, this.meter, named.workspaceId), actor: `member/${named.memberId}` };
    const [[application]] = await op.db.batch([findByGrant(op.db, named)]);
    if (application) await disconnect(op, application);
  }

  /** Lists the grants of a member. Other lists are empty, since nobody asks for them. */
  async list({ prefix }: { prefix: string }) {
    const named = parseGrantKey(prefix);
    if (!named) return { keys: [], list_complete: true };
    const { db, nowMs } = newOperation(this.env, this.meter, named.workspaceId);
    const [grants] = await db.batch([listGrants(db, named, nowMs)]);
    const keys = grants.map(({ grantId, metadata }) => ({
      name: `${prefix}${grantId}`,
      ...(metadata !== null && { metadata: JSON.parse(metadata) as unknown }),
    }));
    return { keys, list_complete: true };
  }
}

/** The name of a member in the library, which is part of its codes and refresh tokens. */
export function userIdOf(workspaceId: string, memberId: string): string {
  return `${workspaceId}.${memberId}`;
}

/** Returns the grant that a key, code or token of the library names; undefined if it names no grant of this service. */
export function parseGrant(text: string): GrantKey | undefined {
  return parseGrantKey(`grant:${text}`);
}

function parseGrantKey(key: string): GrantKey | undefined {
  const { workspaceId, memberId, grantId } = KEY.exec(key)?.groups ?? {};
  if (!workspaceId || !memberId || grantId === undefined || !isUuid(workspaceId) || !isUuid(memberId)) return undefined;
  return { workspaceId, memberId, grantId };
}
