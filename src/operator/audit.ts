import { boundShards } from "../platform/db/bindings.ts";
import { type Database, shardDb } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { DAY_MS } from "../platform/time.ts";
import { type AuditFilter, listAudit, pruneAudit } from "../administration/audit-store.ts";

/** A year, and time to look at it. */
const RETENTION_MS = 400 * DAY_MS;
/** The limit of entries in each database. */
const MAX_ENTRIES = 100_000;

/**
 * A page of the audit log of all workspaces, newest first, plus one entry when there is another page, and the total. An entry is
 * in its workspace's database, in the transaction of the change.
 */
export async function pageAudit(
  env: Env,
  meter: Meter,
  filter: AuditFilter,
  { limit, offset, cursor }: { limit: number; offset: number; cursor?: { id: string } | undefined },
) {
  const shards = filter.workspaceId === undefined ? boundShards(env) : [shardOf(filter.workspaceId)];
  const first = { limit: offset + limit + 1, beforeId: cursor?.id };
  const pages = await Promise.all(
    shards.map((shard) => {
      const db = shardDb(env, shard, meter);
      return db.batch(listAudit(db, filter, first));
    }),
  );
  const newest = pages.flatMap(([rows]) => rows).toSorted((a, b) => (a.id > b.id ? -1 : 1));
  const total = pages.reduce((sum, [, [counted]]) => sum + (counted?.total ?? 0), 0);
  return { rows: newest.slice(offset, offset + limit + 1), total };
}

/** Deletes old entries; for the sweep. */
export function pruneOldAudit(db: Database, nowMs: number) {
  return pruneAudit(db, nowMs - RETENTION_MS, MAX_ENTRIES);
}
