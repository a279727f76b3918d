import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sendTest } from "../../src/webhooks/test-delivery.ts";
import { costOf, createNeighbour, query } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import { attemptsOf, createReceiver, deliveryOf, endpointOf, MINUTE, type Receiver, verify, DeliverySimulation } from "./simulation.ts";

const sendTo = ({ workspace, id }: Receiver, headers?: Record<string, string>) =>
  workspace.call("POST", `/webhooks/${id}/test`, undefined, headers);

test("a signed test is sent while the caller waits, and its result is the response", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { body: "hello" });
  const { status, body } = await sendTo(receiver);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    webhook_id: receiver.id,
    event_type: "webhook.test",
    status: "succeeded",
    trigger: "test",
    attempt_count: 1,
    next_attempt_at: null,
    attempts: [{ number: 1, response_status: 200, response_body: "hello", error: null, url: receiver.url }],
  });
  const [request] = await receivedBy(receiver.host);
  expect(request!.headers["webhook-id"]).toBe(body.event_id);
  expect(verify(receiver.secret, request!)).toEqual({
    id: body.event_id,
    type: "webhook.test",
    created_at: body.created_at,
    api_version: "1.0.0",
    workspace_id: receiver.workspace.id,
    data: { message: expect.any(String) },
  });
  const { body: log } = await receiver.workspace.call("GET", `/webhooks/${receiver.id}/deliveries`);
  expect(log.data).toEqual([body]);
});

test("a failed test is not retried and does not change the endpoint's failure streak", async () => {
  const receiver = await createReceiver({ failure_streak: 19, failing_since: 1 });
  for (const status of [500, 410]) {
    await behaveAt(receiver.host, { status });
    const { body } = await sendTo(receiver);
    expect(body).toMatchObject({ status: "failed", next_attempt_at: null, attempts: [{ response_status: status, error: "http_error" }] });
  }
  expect(await endpointOf(receiver)).toMatchObject({ enabled: 1, failure_streak: 19, failing_since: 1, last_duration_ms: null });
  await behaveAt(receiver.host, {});
  await sendTo(receiver);
  expect(await endpointOf(receiver)).toMatchObject({ failure_streak: 19, last_success_at: null });
});

test("a disabled endpoint gets a test", async () => {
  const receiver = await createReceiver({ enabled: 0, disabled_reason: "gone" });
  await behaveAt(receiver.host, {});
  expect((await sendTo(receiver)).body).toMatchObject({ status: "succeeded" });
  expect(await endpointOf(receiver)).toMatchObject({ enabled: 0, disabled_reason: "gone" });
});

test("a repeated request returns the same test", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const key = { "Idempotency-Key": "one" };
  const first = await sendTo(receiver, key);
  expect((await sendTo(receiver, key)).body).toEqual(first.body);
  expect(await receivedBy(receiver.host)).toHaveLength(1);
});

test("a request that resumes a dead one finds its test and sends no second one", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const ids = [newId(shardOf(receiver.id), Date.now()), newId(shardOf(receiver.id), Date.now())];
  const run = (nowMs: number) => {
    const left = [...ids];
    const op = { ...newOperation(env, new Meter(), receiver.workspace.id, nowMs), newId: () => left.shift()! };
    return sendTest(op, receiver.id, 9);
  };
  const now = Date.now();
  const first = await run(now);
  expect(await run(now + 5 * MINUTE)).toEqual(first);
  // Under way still, it is not sent beside the first run either.
  await query(ids[0]!, "UPDATE deliveries SET status = 'pending', lease_until = ? WHERE id = ?", now + MINUTE - 1, ids[0]);
  expect(await run(now + 1)).toMatchObject({ delivery: { status: "pending" } });
  expect(await receivedBy(receiver.host)).toHaveLength(1);
});

test("another workspace's endpoint is not tested", async () => {
  const receiver = await createReceiver();
  const neighbour = await createNeighbour(receiver.workspace);
  expect((await neighbour.call("POST", `/webhooks/${receiver.id}/test`)).status).toBe(404);
  expect(await receivedBy(receiver.host)).toEqual([]);
});

test("a test whose sender died is sent once by the sweep", async () => {
  const receiver = await createReceiver({ enabled: 0 });
  await behaveAt(receiver.host, { status: 500 });
  const { body } = await sendTo(receiver);
  const now = Date.now();
  await query(body.id, "DELETE FROM delivery_attempts WHERE delivery_id = ?", body.id);
  const died = "UPDATE deliveries SET status = 'pending', attempt_count = 0, next_attempt_at = ?, lease_until = ? WHERE id = ?";
  await query(body.id, died, now - 2 * MINUTE, now - 1, body.id);
  const simulation = new DeliverySimulation(now, new Set([body.id]));
  await simulation.sweep();
  await simulation.runUntil(now + 10 * MINUTE);
  expect(await receivedBy(receiver.host)).toHaveLength(2);
  expect(await deliveryOf(body.id)).toMatchObject({ status: "failed", attempt_count: 1 });
  expect(await attemptsOf(body.id)).toMatchObject([{ error: "http_error" }]);
});

test("a test event costs the gate's hop and two D1 round trips", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  await sendTo(receiver);
  expect(await costOf(() => sendTo(receiver))).toMatchObject({ object_hops: 1, d1_trips: 2 });
});
