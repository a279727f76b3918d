import { WorkerEntrypoint } from "cloudflare:workers";
import { Meter } from "../platform/telemetry/meter.ts";
import { withTimeout } from "../platform/time.ts";
import { attemptDelivery, type Sendable } from "./attempt.ts";

/** Whether a delivery's attempt had ended when the caller stopped waiting for it. */
export type Progress = "over" | "under_way";

/**
 * Sends deliveries, each in an invocation of its own that outlives the RPC call: a queue batch need not stay open until
 * its slowest receiver has answered. The platform grants 30 s after the call, and an exchange ends after 15 s.
 */
export class DeliveryCourier extends WorkerEntrypoint<Env> {
  /** Makes one attempt and records it. Returns after `patienceMs` at the latest; an unfinished attempt goes on in the background. */
  async send(held: Sendable, patienceMs: number): Promise<Progress> {
    const run = { env: this.env, meter: new Meter(), now: Date.now, random: Math.random };
    const sending = attempt(run, held);
    this.ctx.waitUntil(sending);
    // What is thrown is the limit's error: an attempt throws nothing.
    return withTimeout(patienceMs, sending, "A delivery").catch(() => "under_way");
  }
}

/** A delivery whose record fails stays held until its lease ends; then the sweep finds it. */
async function attempt(run: Parameters<typeof attemptDelivery>[0], held: Sendable): Promise<Progress> {
  try {
    await attemptDelivery(run, held);
  } catch {
    // The attempt has told of it itself.
  }
  return "over";
}
