import { isDeepStrictEqual } from "node:util";
import { send } from "../load.ts";
import type { Stage, Subject } from "./subject.ts";

/** What is compared: each total, rollup and counter that the fast way computed, and the rows that it wrote. */
const PATHS = [
  ...["1", "30", "365"].flatMap((days) => [`/analytics/overview?days=${days}`, `/analytics/overview?days=${days}&agent_id={agent}`]),
  ...["resolved", "ai_handled", "needs_human", "human_active"].map((status) => `/conversations?limit=100&status=${status}`),
  ...["/conversations?agent_id={agent}&channel=api&limit=100", "/conversations?limit=100", "/leads?limit=100", "/leads?q=acme&limit=100"],
  ...["/usage", "/privacy/visitors?external_id=u-0", "/privacy/visitors?email=visitor1@example.com"],
];

/**
 * Holds what was loaded fast against the same history written with the triggers, by what the service answers of both.
 * @throws Error naming the first answer that differs.
 */
export async function checkMirror({ served, subject, mirror }: Stage): Promise<void> {
  if (!mirror) throw new Error("There is nothing to hold the load against.");
  for (const path of PATHS) {
    const [fast, own] = [await ask(served.port, subject, path), await ask(served.port, mirror, path)];
    if (!isDeepStrictEqual(fast, own)) {
      throw new Error(`The load went wrong: ${path} answers ${JSON.stringify(fast)}, and with triggers ${JSON.stringify(own)}`);
    }
  }
}

/** An answer without identifiers, which are the workspace's own. */
async function ask(port: number, { scene, authorization }: Subject, path: string): Promise<unknown> {
  const request = { method: "GET", path: `/api/v1${path.replace("{agent}", scene.agentIds[1]!)}`, headers: authorization, status: 200 };
  const plain = JSON.stringify(await send(port, request), (name, value: unknown) => (/(?:^|_)id$|_cursor$/.test(name) ? undefined : value));
  return JSON.parse(plain);
}
