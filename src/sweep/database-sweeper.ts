import { WorkerEntrypoint } from "cloudflare:workers";
import type { SweepResult } from "./sweep.ts";

/** Sweeps a database in an invocation of its own, because the platform limits the queries and calls of each. */
export class DatabaseSweeper extends WorkerEntrypoint<Env> {
  async sweep(database: number, nowMs: number): Promise<SweepResult> {
    const { sweepDatabase } = await import("./sweep.ts");
    return sweepDatabase(this.env, database, nowMs);
  }
}
