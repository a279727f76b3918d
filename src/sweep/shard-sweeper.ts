import { WorkerEntrypoint } from "cloudflare:workers";
import type { SweepResult } from "./sweep.ts";

/** Sweeps a shard in an invocation of its own, because the platform limits the queries and calls of each. */
export class ShardSweeper extends WorkerEntrypoint<Env> {
  async sweep(shard: number, nowMs: number): Promise<SweepResult> {
    const { sweepShard } = await import("./sweep.ts");
    return sweepShard(this.env, shard, nowMs);
  }
}
