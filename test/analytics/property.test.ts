import { expect, test } from "vitest";
import { createAgent, createWorkspace, query } from "../harness.ts";
import { DAY_MS, Histories, seeded } from "./history.ts";
import { readRecords, recordsOf, recount } from "./recount.ts";

/** The histograms' error, and what rounding to milliseconds adds. */
const MEDIAN_ERROR = 0.047;
const ROUNDING_SECONDS = 0.0005;
const CONVERSATIONS = 70;
const HISTORY_DAYS = 100;
const YEAR = "/analytics/overview?days=365";

test.for([1, 2, 3])("the rollups equal a recount of random histories, seed %i", async (seed) => {
  const workspace = await createWorkspace();
  const agents = [(await createAgent(workspace)).id, (await createAgent(workspace, { name: "Second" })).id];
  const histories = new Histories(workspace.id, agents, seeded(seed));
  // The history ends with today, so that the same seed gives the same history at any hour.
  const endMs = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS - 1;
  // Overviews on the way add up days that change later.
  const look = () => Promise.all(["", ...agents.map((id) => `&agent_id=${id}`)].map((of) => workspace.call("GET", `${YEAR}${of}`)));
  await histories.play(CONVERSATIONS, endMs - HISTORY_DAYS * DAY_MS, endMs, look);
  const records = await readRecords(workspace.id);
  for (const agentId of [undefined, ...agents]) {
    for (const days of [1, 2, 7, 8, 9, 30, 50, 90, 365]) {
      const ofAgent = agentId === undefined ? "" : `&agent_id=${agentId}`;
      const { status, body } = await workspace.call("GET", `/analytics/overview?days=${days}${ofAgent}`);
      expect(status).toBe(200);
      const { times, agent_id: answeredFor, ...counted } = body;
      const { medians, ...expected } = recount(recordsOf(records, agentId), histories.transitions, days, body.range.to);
      expect(answeredFor).toBe(agentId ?? null);
      expect(counted, `${days} days of ${agentId ?? "all"}`).toEqual(expected);
      expectNear(times.median_first_response_seconds, medians[0]!);
      expectNear(times.median_resolution_seconds, medians[1]!);
      expectNear(times.median_team_reply_seconds, medians[2]!);
    }
  }
  const kept = await look();
  await query(workspace.id, "DELETE FROM analytics_spans WHERE workspace_id = ?", workspace.id);
  expect((await look()).map(({ body }) => body)).toEqual(kept.map(({ body }) => body));
  // The histories are worth counting only when they hold what is counted.
  const {
    rates,
    medians: [, , teamReply],
    top_unanswered: questions,
  } = recount(records, histories.transitions, HISTORY_DAYS, new Date(endMs).toISOString().slice(0, 10));
  for (const rate of Object.values(rates)) expect(rate).toBeGreaterThan(0);
  expect(rates.durable_resolution_7d).toBeLessThan(1);
  expect(teamReply).toBeGreaterThan(0);
  expect(questions.length).toBeGreaterThan(3);
});

function expectNear(seconds: number | null, ms: number | null): void {
  if (seconds === null || ms === null) return expect(seconds).toBe(ms);
  // No time at all counts as a millisecond.
  const exact = Math.max(ms, 1) / 1000;
  expect(Math.abs(seconds - exact)).toBeLessThanOrEqual(exact * MEDIAN_ERROR + ROUNDING_SECONDS);
}
