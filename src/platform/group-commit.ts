import { databaseRegions, groupCommitAfterMs } from "./config.ts";
import { type Database, metered } from "./db/client.ts";
import { shardOf } from "./db/ids.ts";
import { placeOf, runWhereServed } from "./db/placement.ts";
import { bindingName } from "./db/shard-map.ts";
import { objectIn } from "./objects.ts";
import type { Meter } from "./telemetry/meter.ts";

/** For this time after a slow batch, the batches on its database are gathered. Then one is run directly, to see whether it still is. */
const BUSY_MS = 5_000;
/** Until when this isolate takes databases for busy, Unix milliseconds. */
const busyUntilMs = new Map<number, number>();

/** Forgets which databases are busy, for tests, which share an isolate. */
export function resetBusyDatabases(): void {
  busyUntilMs.clear();
}

/** Returns the database of a workspace for batches that are run together with those of other sessions while the database is busy. */
export function gatheredDb(env: Env, workspaceId: string, meter: Meter): Database {
  const shard = shardOf(workspaceId);
  return metered(async (statements) => {
    const database = placeOf(env, shard);
    const startedAtMs = Date.now();
    if (startedAtMs < (busyUntilMs.get(database) ?? 0)) {
      meter.countObjectHop();
      return committerOf(env, database).commit({ shard, statements });
    }
    try {
      return await runWhereServed(env, [shard], statements);
    } finally {
      const endedAtMs = Date.now();
      if (endedAtMs - startedAtMs >= groupCommitAfterMs(env)) busyUntilMs.set(database, endedAtMs + BUSY_MS);
    }
  }, meter);
}

function committerOf(env: Env, database: number) {
  return objectIn(env, databaseRegions(env).get(database), env.COMMITTER, bindingName(database));
}
