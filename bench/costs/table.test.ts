import assert from "node:assert/strict";
import { test } from "node:test";
import { formatReport } from "../report.ts";
import { PRICES } from "./prices.ts";
import { createReport, priceOf, usageOfAsk, usageOfEvent } from "./table.ts";

const near = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

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

void test("every plan has its row, those without webhooks without events", () => {
  const sweep = { objectHops: 0, d1Trips: 1, rowsRead: 28, rowsWritten: 0 };
  const measured = {
    ask: {},
    further: {},
    event: {},
    text: { d1RowWritten: 100 },
    promptTokens: 0,
    conversationBytes: 1,
    questionBytes: 1,
    eventBytes: 1,
    sweep,
  };
  const text = formatReport(createReport(measured));
  // 1 agent with 10 MB: a thousand texts, each of which writes 100 rows, 6 queue operations and 2,500 tokens of vectors.
  assert.match(text, /\| free \| 100 \| 0 \|.*\| \$0\.13 \|\n/);
  assert.match(text, /\| free \| 100 \| 0 \|/);
  assert.match(text, /\| starter \| 2,000 \| 0 \|/);
  assert.match(text, /\| pro \| 10,000 \| 20,000 \|/);
  assert.match(text, /\| enterprise \| 100,000 \| 200,000 \|/);
});
