import { isDeepStrictEqual } from "node:util";
import { send } from "../load.ts";
import type { Stage, Subject } from "./subject.ts";

/** What is compared: each total, rollup and counter that the fast way computed, and the rows that it wrote. */
const PATHS = [
  "/analytics/overview?days=1",
  "/analytics/overview?days=30",
  "/analytics/overview?days=365",
  "/analytics/overview?days=365&agent_id={agent}",
  "/conversations?limit=100",
  "/conversations?limit=100&status=resolved",
  "/conversations?limit=100&status=ai_handled",
  "/conversations?limit=100&status=needs_human",
  "/conversations?limit=100&status=human_active",
  "/conversations?limit=100&agent_id={agent}&channel=api",
  "/conversations?limit=100&updated_since={since}",
  "/leads?limit=100",
  "/leads?limit=100&created_since={since}",
  "/leads?limit=100&q=acme",
  "/usage",
  "/privacy/visitors?external_id=u-0",
  "/privacy/visitors?email=visitor2@example.com",
];
/** Between the beginning and the end of a day, and of 32. */
const SINCE_MS = 200.5 * 86_400_000;

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
  const since = new Date(scene.nowMs - SINCE_MS).toISOString();
  const query = path.replace("{agent}", scene.agentIds[1]!).replace("{since}", since);
  const request = { method: "GET", path: `/api/v1${query}`, headers: authorization, status: 200 };
  const plain = JSON.stringify(await send(port, request), (name, value: unknown) => (/(?:^|_)id$|_cursor$/.test(name) ? undefined : value));
  return JSON.parse(plain);
}
