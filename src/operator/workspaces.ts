import type { z } from "@hono/zod-openapi";
import { type Auditor, type OperatorOperation, recordOperation } from "../administration/operator-audit-store.ts";
import { closedDatabases, databaseRegions } from "../platform/config.ts";
import { directoryDb, newOperation, runByDatabase } from "../platform/db/client.ts";
import { newId } from "../platform/db/ids.ts";
import { chooseShard, listOpenDatabases, listShards } from "../platform/db/shards.ts";
import { databasesIn, shardsIn } from "../platform/objects.ts";
import { jurisdictionOf } from "../platform/db/regions.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { reloadGate } from "../workspaces/gate.ts";
import { startErasure } from "./erasure.ts";
import { claimSlug, createWorkspace, findSlug, listDirectory, listWorkspaces, markDeleted } from "./store.ts";
import type { workspaceCreateSchema, WorkspaceRow } from "./wire.ts";

/** The outcome of adding a workspace; `no_room` if every database of the region is full, closed or unreachable. */
type AddResult =
  | { outcome: "added"; workspace: WorkspaceRow }
  | { outcome: "slug_taken" }
  | { outcome: "no_region" }
  | { outcome: "no_room" };

/** Workspaces that are created without a region get the region of this database. */
const DEFAULT_DATABASE = 0;

/**
 * Adds a workspace. Among the shards in databases of its region that have room, it chooses one with the fewest workspaces. The slug is claimed
 * in the directory first. If creating the workspace then fails, the next attempt with the same slug finishes it.
 */
export async function addWorkspace(env: Env, meter: Meter, by: Auditor, body: z.output<typeof workspaceCreateSchema>): Promise<AddResult> {
  const { region = databaseRegions(env).get(DEFAULT_DATABASE), ...fields } = body;
  const databases = databasesIn(env, region);
  if (databases.length === 0) return { outcome: "no_region" };
  const directory = directoryDb(env, meter);
  const [counts, [claimedBefore]] = await directory.batch([listShards(directory), findSlug(directory, body.slug)]);
  if (claimedBefore && !shardsIn(env, databases).includes(claimedBefore.shard)) return { outcome: "slug_taken" };
  const open = databases.filter((database) => !closedDatabases(env).has(database));
  const shard = claimedBefore?.shard ?? chooseShard(shardsIn(env, await listOpenDatabases(env, meter, open)), counts);
  if (shard === undefined) return { outcome: "no_room" };
  const id = claimedBefore?.workspaceId ?? newId(shard, Date.now());
  if (!claimedBefore) {
    const [[claimed]] = await directory.batch([claimSlug(directory, { workspaceId: id, slug: body.slug, shard })]);
    if (!claimed) return { outcome: "slug_taken" };
  }
  const op = { ...newOperation(env, meter, id), by };
  const { db, nowMs } = op;
  const [limits, retention] = [withoutNulls(body.limits), withoutNulls(body.retention)];
  const pruneAt = Object.keys(retention).length > 0 ? nowMs : null;
  const [[workspace]] = await db.batch([
    createWorkspace(db, {
      id,
      ...fields,
      limits,
      retention,
      pruneAt,
      jurisdiction: jurisdictionOf(region),
      createdAt: nowMs,
      updatedAt: nowMs,
    }),
    recordOperation(db, op, { fields: Object.keys(body) }),
  ]);
  return workspace ? { outcome: "added", workspace } : { outcome: "slug_taken" };
}

/** Leaves out null values, which stand for the default. */
function withoutNulls<Values extends object>(values: Values | undefined) {
  const entries = Object.entries(values ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Values]?: Exclude<Values[Name], null | undefined> };
}

/** Reads a page of all workspaces, newest first, and their total, in one round trip to the directory and then one to each database. */
export async function pageWorkspaces(env: Env, meter: Meter, page: { limit: number; offset: number }) {
  const directory = directoryDb(env, meter);
  const [entries, counts] = await directory.batch([listDirectory(directory, page), listShards(directory)]);
  const rows = await runByDatabase(
    env,
    entries,
    (entry) => entry.workspaceId,
    meter,
    async (db, group) => {
      const ids = group.map((entry) => entry.workspaceId);
      const [found] = await db.batch([listWorkspaces(db, ids)]);
      return found;
    },
  );
  const byId = new Map(rows.flat().map((row) => [row.id, row]));
  const total = counts.reduce((sum, count) => sum + count.workspacesCount, 0);
  return { rows: entries.flatMap((entry) => byId.get(entry.workspaceId) ?? []), total };
}

/**
 * Deletes a workspace: from now on it is not found and its keys are refused. Its records are erased in the background.
 * @returns whether there was one.
 */
export async function deleteWorkspace(op: OperatorOperation): Promise<boolean> {
  const { db, workspaceId, nowMs } = op;
  const [[deleted]] = await db.batch([markDeleted(db, workspaceId, nowMs), recordOperation(db, op)]);
  if (!deleted) return false;
  // These calls run one after the other, so that a failure of one does not interrupt another. The erasure repeats what is left undone.
  await reloadGate(op);
  await startErasure(op);
  return true;
}
