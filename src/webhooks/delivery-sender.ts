import { WorkerEntrypoint } from "cloudflare:workers";
import { Meter } from "../platform/telemetry/meter.ts";
import { withTimeout } from "../platform/time.ts";
import type { SendableDelivery } from "./attempt.ts";

/** Whether the attempt was finished when the caller stopped waiting for it. */
export type SendState = "finished" | "running";

/**
 * Makes attempts, each in an invocation of its own that outlives the RPC call, so that a queue batch does not stay open
 * until its slowest receiver has responded. The platform grants 30 s after the call; an exchange ends after 15 s.
 */
export class DeliverySender extends WorkerEntrypoint<Env> {
  /** Makes one attempt and records it. Returns within `maxWaitMs`; an unfinished attempt continues in the background. */
  async send(delivery: SendableDelivery, maxWaitMs: number): Promise<SendState> {
    const { attemptDelivery } = await import("./attempt.ts");
    const run = { env: this.env, meter: new Meter(), now: Date.now, random: Math.random };
    const finished = attemptDelivery(run, delivery).then(
      () => "finished" as const,
      // Already logged. The delivery stays leased until the lease expires; then the sweep rescues it.
      () => "finished" as const,
    );
    this.ctx.waitUntil(finished);
    return withTimeout(maxWaitMs, finished, "A delivery").catch(() => "running");
  }
}
