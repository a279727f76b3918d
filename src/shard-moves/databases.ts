import { boundDatabases } from "../platform/db/bindings.ts";
import { directoryDb, wholeDatabase } from "../platform/db/client.ts";
import { ALL_SHARDS, bindingName, databaseOf } from "../platform/db/shard-map.ts";
import { listShards, readSize } from "../platform/db/shards.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { describeMove, listAllMoves, locate } from "./moves.ts";

/** Lists the bound databases with the logical shards that each serves. */
export async function listDatabases(env: Env, meter: Meter) {
  const directory = directoryDb(env, meter);
  const [[counts], moves] = await Promise.all([directory.batch([listShards(directory)]), listAllMoves(env)]);
  const places = ALL_SHARDS.map((shard) => locate(env, shard, moves));
  return Promise.all(
    boundDatabases(env).map(async (database) => {
      const db = wholeDatabase(env, database, meter);
      const [[size], move] = await Promise.all([db.batch([readSize(db)]), describeMove(env, database)]);
      const served = ALL_SHARDS.filter((shard) => places[shard] === database);
      const former = moves.get(database)!.filter(({ state, erasedAt }) => state === "left" && erasedAt === null);
      return {
        binding: bindingName(database),
        shards: toRanges(served),
        mappedShards: toRanges(ALL_SHARDS.filter((shard) => databaseOf(env, shard) === database)),
        workspaces: counts.reduce((sum, count) => sum + (served.includes(count.shard) ? count.workspacesCount : 0), 0),
        sizeBytes: size.meta.size_after,
        formerShards: toRanges(former.map(({ shard }) => Number.parseInt(shard, 16))),
        move,
      };
    }),
  );
}

/** Writes numbers in order as ranges, such as `0-63, 128-255`. */
function toRanges(shards: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const shard of shards) {
    const current = ranges.at(-1);
    if (current && shard === current[1] + 1) current[1] = shard;
    else ranges.push([shard, shard]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(", ");
}
