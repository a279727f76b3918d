import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, vi } from "vitest";
import { resetIdClock } from "../src/platform/db/ids.ts";
import { resetBusyDatabases } from "../src/platform/group-commit.ts";
import "./queue-handler.ts";
import { createTables } from "./tables.ts";

// Files share a worker. Each starts with empty storage, and restores the bindings, the clock and its spies.
// `reset` skips a database that has been idle for some seconds, so that each is queried first.
await Promise.all([env.DB, env.DB_1, env.SPARE].map((database) => database.prepare("SELECT 1").run()));
await reset();
for (const database of [env.DB, env.DB_1]) await createTables(database);
resetBusyDatabases();

// The service's log is not printed: sending its lines to the process that runs the tests takes a third of their time. Tests spy on it.
for (const name of ["log", "error"] as const) {
  const print = console[name];
  console[name] = (...values: unknown[]) => {
    if (!String(values[0]).startsWith('{"event":')) print(...values);
  };
}

// After a test has made an id of a later time, the ids of the next test must not have that time.
afterEach(resetIdClock);

const bindings: Record<string, unknown> = { ...env };
afterAll(() => {
  for (const name of Object.keys(env)) if (!(name in bindings)) Reflect.deleteProperty(env, name);
  Object.assign(env, bindings);
  vi.useRealTimers();
  vi.restoreAllMocks();
});
