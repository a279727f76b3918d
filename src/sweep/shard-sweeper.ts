import { exports, WorkerEntrypoint } from "cloudflare:workers";
import { sweepShard, type Swept } from "./sweep.ts";

/**
 * Sweeps a shard in an invocation of its own: the platform bounds the queries and calls of each, and a deployment may have
 * many shards.
 */
export class ShardSweeper extends WorkerEntrypoint<Env> {
  async sweep(shard: number, nowMs: number): Promise<Swept> {
    return sweepShard(this.env, shard, nowMs);
  }
}

/** Has a shard swept apart from the others. */
export async function sweepApart(shard: number, nowMs: number): Promise<Swept> {
  return exports.ShardSweeper.sweep(shard, nowMs);
}
