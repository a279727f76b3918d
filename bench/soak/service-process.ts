import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { workerdMegabytes } from "../measure.ts";
import { startWorker } from "../service.ts";

// A service in a process of its own, which leads its process group, so that killing the group ends all of it at once.

/** The arguments of `startWorker`, which the process receives as a message, and how far its clock is ahead. */
export interface ServiceOptions {
  args: Parameters<typeof startWorker>;
  aheadMs: number;
  /** More often than the platform's minute, because few of these processes live that long. */
  sweepEveryMs: number;
}

/** What the process is asked while it serves. */
export type Order = { aheadMs: number } | { sampled: number };

/** The addresses of the service that serves now. */
export interface Addresses {
  port: number;
  /** Where the platform's own requests are sent. */
  platformUrl: string;
}

/** The process's own measures. */
export interface ProcessSample {
  /** The number of the order that asked for it. */
  sampled: number;
  megabytes: number;
  /** The rows of each table of D1. */
  rows: Record<string, number>;
  /** The messages of all billing periods. */
  usedMessages: number;
}

const TABLES =
  "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'";

process.once("disconnect", () => process.kill(0, "SIGKILL"));
const [options] = (await once(process, "message")) as [ServiceOptions];
let { aheadMs } = options;
const [build, bindings, ...rest] = options.args;
const served = await startWorker(build, { ...bindings, CLOCK_AHEAD_MS: String(aheadMs) }, ...rest);
process.on("message", (order: Order) => {
  void obey(order).catch((error: unknown) => console.error(`The process could not do ${JSON.stringify(order)}: ${String(error)}`));
});
process.send?.({ port: served.port, platformUrl: served.platformUrl.href } satisfies Addresses);
for (;;) {
  await sleep(options.sweepEveryMs);
  const at = new Date(Date.now() + aheadMs);
  await served.sweep(undefined, at).catch((error: unknown) => console.error(`The sweep failed: ${String(error)}`));
}

async function obey(order: Order): Promise<void> {
  if ("aheadMs" in order) {
    ({ aheadMs } = order);
    await served.sweep(`ahead ${aheadMs}`);
    return served.sweep(undefined, new Date(Date.now() + aheadMs));
  }
  const tables = await served.query<{ name: string }>(TABLES);
  const rows: Record<string, number> = {};
  // One after another, so that requests are answered in between.
  for (const { name } of tables) rows[name] = (await served.query<{ count: number }>(`SELECT count(*) AS count FROM "${name}"`))[0]!.count;
  const [used] = await served.query<{ messages: number }>("SELECT coalesce(sum(messages), 0) AS messages FROM usage_periods");
  process.send?.({ ...order, megabytes: workerdMegabytes(), rows, usedMessages: used!.messages } satisfies ProcessSample);
}
