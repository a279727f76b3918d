import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { databases } from "../../src/db/client.ts";
import { shardOf } from "../../src/db/ids.ts";
import { createAgent, createWorkspace } from "../harness.ts";
import { DAY_MS, Histories, seeded } from "./history.ts";

test("the migration counts what was there before it, as far as the records tell", { timeout: 60_000 }, async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const endMs = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS - 1;
  await new Histories(workspace.id, [agent.id], seeded(4)).play(60, endMs - 40 * DAY_MS, endMs);
  const overview = async () => (await workspace.call("GET", "/analytics/overview?days=30")).body;
  const kept = await overview();
  const { queries } = env.TEST_MIGRATIONS.find(({ name }) => name.endsWith("analytics_rollups.sql"))!;
  const backfill = queries.slice(queries.findIndex((statement) => statement.includes("What was there before")));
  expect(backfill.length).toBeGreaterThan(5);
  const db = databases(env)[shardOf(workspace.id)]!;
  await db.batch([
    db.prepare("DELETE FROM analytics_days"),
    db.prepare("UPDATE conversations SET first_ai_reply_at = NULL, ai_resolved_at = NULL"),
    ...backfill.map((statement) => db.prepare(statement)),
  ]);
  const counted = await overview();
  // Of reopened conversations the records do not tell how and when they were first resolved.
  for (const body of [kept, counted]) {
    for (const period of [body, body.previous]) {
      delete period.rates.ai_resolution;
      delete period.rates.durable_resolution_7d;
    }
    delete body.times.median_resolution_seconds;
  }
  expect(counted).toEqual(kept);
  expect(counted.rates.reopen).toBeGreaterThan(0);
});
