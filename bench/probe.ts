import { setTimeout as sleep } from "node:timers/promises";
import { type Prepared, send } from "./load.ts";
import type { LoggedCost } from "./report.ts";
import type { Served } from "./serve.ts";

/** A log line comes by pipe, after its response. */
const LOG_DEADLINE_MS = 2000;

/** What the service logs of one request; undefined when it logs nothing. A late line of the warm-up says the same. */
export async function probe(served: Served, request: Prepared): Promise<LoggedCost | undefined> {
  let cost: LoggedCost | undefined;
  served.onLog = (line) => {
    if (line.startsWith("{") && line.includes('"event":"request"')) cost = JSON.parse(line) as LoggedCost;
  };
  await send(served.port, request);
  for (const deadlineMs = Date.now() + LOG_DEADLINE_MS; !cost && Date.now() < deadlineMs;) await sleep(10);
  served.onLog = undefined;
  return cost;
}
