import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { formatReport } from "../report.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";
import { type Measurements, usageOfLines } from "./measure.ts";
import { INCLUDED, PRICES, VECTOR_MONTH } from "./prices.ts";
import {
  costsAtLimits,
  createReport,
  priceOf,
  usageOfAsk,
  usageOfEvent,
  usageOfMail,
  usageOfOpenPage,
  usageOfPage,
  withObjectTime,
} from "./table.ts";

const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.abs(expected), `${actual} is not ${expected}`);

void test("each thing is counted at its price", () => {
  near(priceOf({}), 0);
  near(priceOf({ d1RowWritten: 1e6, d1RowRead: 1e6, neuron: 1_000 }), 1 + 0.001 + 0.011);
});

void test("a question pays for its tokens in and out, the vectors that it is compared with, and its conversation's object for as long as the model writes", () => {
  const usage = usageOfAsk({ workerRequest: 1, objectRequest: 3, d1RowWritten: 40 }, 1_000);
  near(usage.neuron!, (1_000 * 5_500 + 300 * 36_400 + 40 * 1_075) / 1e6);
  near(usage.objectGbSecond!, (4 + 2 * 0.02) * 0.128);
  assert.deepEqual([usage.workerRequest, usage.objectRequest, usage.d1RowWritten, usage.objectRowRead], [1, 3, 40, 200]);
});

void test("an event is written to the queue, read and deleted", () => {
  near(priceOf(usageOfEvent({ workerRequest: 1 })), PRICES.workerRequest + 3 * PRICES.queueOperation);
});

const crawl = { page: { workerRequest: 1 }, unchanged: {}, chunks: 4, embeddedTokens: 1_000, textMb: 0.002, objectBytes: 20_000 };
const MEASURED: Measurements = {
  ask: {},
  further: {},
  read: {},
  reply: {},
  event: {},
  crawl,
  promptTokens: 0,
  conversationBytes: 1,
  questionBytes: 1,
  eventBytes: 1,
  sweep: { objectHops: 0, d1Trips: 1, rowsRead: 28, rowsWritten: 0 },
};
const sum = (costs: Record<string, number>) => Object.values(costs).reduce((total, cost) => total + cost, 0);

void test("a page pays for the vectors of its text, and its agent's object while it is indexed", () => {
  const usage = usageOfPage({ page: { objectRequest: 2, workerCpuMs: 10 }, embeddedTokens: 1_000 });
  near(usage.neuron!, 1.075);
  near(usage.objectGbSecond!, 0.05 * 0.128);
});

void test("objects are active for their hops", () => {
  near(withObjectTime({ objectRequest: 3 }).objectGbSecond!, 0.06 * 0.128);
});

void test("a mail is sent, and is a job of the queue", () => {
  near(priceOf(usageOfMail()), 0.35 / 1e3 + 0.3 / 1e6 + 3 * PRICES.queueOperation);
});

void test("an open page that nothing happens on pays for new connections and a twentieth of its pings, and for no time between them", () => {
  const usage = usageOfOpenPage();
  near(usage.objectRequest!, 6 * 3 + 120 / 20);
  near(usage.objectGbSecond!, 18 * 0.02 * 0.128);
});

void test("the log is counted with what the platform adds to each line, and each request and job is a point", () => {
  const line = { event: "request", rows_written: 4 };
  const usage = usageOfLines([line, { event: "job", job: "turn", rows_written: 4 }, { event: "model_failure" }]);
  assert.equal(usage.dataPoint, 2);
  assert.equal(usage.d1RowWritten, 4);
  near(usage.logMb!, (JSON.stringify(line).length + 45 + 25 + 3_000) / 1e6);
});

void test("every plan has its row, those without webhooks without events", () => {
  const text = formatReport(createReport(MEASURED));
  assert.match(text, /\| free \| 100 \| 0 \|/);
  assert.match(text, /\| starter \| 2,000 \| 0 \|/);
  assert.match(text, /\| pro \| 10,000 \| 20,000 \|/);
  assert.match(text, /\| enterprise \| 100,000 \| 200,000 \|/);
});

void test("a workspace at its limits pays for each of them, and in Vectorize for what its agents' objects do not hold", () => {
  const pro = limitsOf("pro", {});
  const costs = costsAtLimits(pro, { ...MEASURED, read: { workerRequest: 1 }, event: { workerRequest: 1 } });
  const byRequests = costs["`requests_per_minute`: lists of conversations"]!;
  near(byRequests, pro.requests_per_minute * 60 * 24 * 30 * PRICES.workerRequest);
  near(costs["`deliveries_per_day`"]!, pro.deliveries_per_day * 30 * (PRICES.workerRequest + 3 * PRICES.queueOperation));
  const stored = (megabytes: number) =>
    costsAtLimits({ ...pro, agents: 1, knowledge_mb_per_agent: megabytes }, MEASURED)["`knowledge_mb_per_agent` of all `agents`: storage"]!;
  near(stored(25), (12_500 * 20_000 * 0.2) / 1e9);
  near(stored(26), (13_000 * 20_000 * 0.2) / 1e9 + 13_000 * 4 * VECTOR_MONTH);
  for (const [name, limit] of Object.entries(pro)) {
    if (UNPRICED.has(name)) continue;
    const higher = { ...pro, [name]: typeof limit === "number" ? limit * 2 : limit };
    const paid = { ...MEASURED, read: { d1RowRead: 1 }, reply: { d1RowWritten: 1 }, event: { d1RowWritten: 1 }, promptTokens: 1_000 };
    if (typeof limit === "number") assert.ok(sum(costsAtLimits(higher, paid)) > sum(costsAtLimits(pro, paid)), name);
  }
});

/** Limits of what costs next to nothing by itself, or is a part of another limit. */
const UNPRICED = new Set([
  "messages_per_conversation",
  "leads_per_day",
  "erasures_per_day",
  "visitor_attachments_per_day",
  "api_keys",
  "members",
  "sources",
  "max_pages",
  "answers_per_agent",
]);

void test("the guide links the page of every price", () => {
  const guide = readFileSync(new URL("../../docs/costs.md", import.meta.url), "utf8");
  for (const { what, amount, more, page } of INCLUDED) assert.ok(guide.includes(`| ${what} | ${amount} | [${more}](${page}) |`), what);
});
