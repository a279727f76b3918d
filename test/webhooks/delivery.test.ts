import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { consume } from "../../src/queues.ts";
import { newSecret, sealSecret } from "../../src/webhooks/signature.ts";
import { createWorkspace, createWorkspaceOn, deliver, envWith, operate, query } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import {
  addEvent,
  addReceiver,
  attemptsOf,
  changeEndpoint,
  createReceiver,
  deliveryOf,
  endpointOf,
  HOUR,
  MINUTE,
  type Receiver,
  SECOND,
  verify,
  DeliverySimulation,
} from "./simulation.ts";

const FAST = "support-agent-deliveries";
const DAY = 24 * HOUR;

/** Attempts one delivery to a receiver with the given behaviour. */
async function tryOnce(behaviour: Parameters<typeof behaveAt>[1], changes: Record<string, unknown> = {}) {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, behaviour);
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver], changes)) as [string];
  await simulation.runUntil(simulation.nowMs);
  return { receiver, simulation, id, delivery: await deliveryOf(id), attempts: await attemptsOf(id), endpoint: await endpointOf(receiver) };
}

const countOf = async ({ host }: Receiver) => (await receivedBy(host)).length;

for (const shard of [0, 1]) {
  test(`shard ${shard}: a wake-up sends a signed request and records it`, async () => {
    const receiver = await addReceiver(await createWorkspaceOn(shard));
    await behaveAt(receiver.host, { status: 202, body: "thanks" });
    const [id] = await addEvent([receiver], Date.now());
    await deliver(FAST, { deliveryId: id });
    const [request, ...more] = await receivedBy(receiver.host);
    expect(more).toEqual([]);
    expect(request).toMatchObject({ method: "POST", place: `${receiver.host}/hooks?token=hidden` });
    expect(request!.headers).toMatchObject({ "content-type": "application/json", "user-agent": "Support-Agent-Webhooks/1.0" });
    expect(verify(receiver.secret, request!)).toMatchObject({ type: "lead.created", data: { name: "Zoë 😀" } });
    expect(await deliveryOf(id!)).toMatchObject({ status: "succeeded", attempt_count: 1, next_attempt_at: null, lease_until: null });
    expect(await attemptsOf(id!)).toMatchObject([
      { number: 1, response_status: 202, response_body: "thanks", response_truncated: 0, error: null, url: receiver.url },
    ]);
    expect(await endpointOf(receiver)).toMatchObject({ failure_streak: 0, pending_count: 0, succeeded_count: 1 });
  });
}

test("the same wake-up twice, and ten at once, send one request", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const [id] = await addEvent([receiver], Date.now());
  await Promise.all(Array.from({ length: 10 }, () => deliver(FAST, { deliveryId: id })));
  await deliver(FAST, { deliveryId: id });
  const simulation = new DeliverySimulation(Date.now());
  await simulation.batch("fast", [id!, id!, id!]);
  expect(await countOf(receiver)).toBe(1);
  expect(await attemptsOf(id!)).toHaveLength(1);
});

test("an attempt that outlasts its lease is not recorded beside the one of the next run", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const [id] = await addEvent([receiver], Date.now());
  const simulation = new DeliverySimulation(Date.now());
  // While the first one sends, another takes over and records.
  await simulation.batch("fast", [id!], async (delivery) => {
    await query(id!, "UPDATE deliveries SET lease_until = lease_until + 1, attempt_count = 1 WHERE id = ?", id);
    return simulation.send(delivery);
  });
  expect(await deliveryOf(id!)).toMatchObject({ status: "pending", attempt_count: 1 });
  expect(await attemptsOf(id!)).toEqual([]);
  expect(await endpointOf(receiver)).toMatchObject({ last_success_at: null });
});

test("after a crash between the request and its record, the same bytes are sent again with the same id when the lease has expired", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  simulation.crash();
  const startMs = simulation.nowMs;
  const dying = envWith({ DB: failingBatches(env.DB, 1), DB_1: failingBatches(env.DB_1, 1) });
  const alive = simulation.env;
  Object.assign(simulation, { env: { ...alive, DB: dying.DB, DB_1: (dying as any).DB_1 } });
  await simulation.batch("fast", [id], async (delivery) => simulation.send(delivery).catch(() => "finished" as const));
  Object.assign(simulation, { env: alive });
  expect(await countOf(receiver)).toBe(1);
  expect(await deliveryOf(id)).toMatchObject({ status: "pending", attempt_count: 0, lease_until: startMs + 90 * SECOND });
  // Neither a wake-up nor the sweep sends it while it is leased.
  await simulation.runUntil(startMs + 80 * SECOND);
  await simulation.batch("fast", [id]);
  await simulation.sweep();
  await simulation.runUntil(startMs + 85 * SECOND);
  expect(await countOf(receiver)).toBe(1);
  await simulation.runUntil(startMs + 91 * SECOND);
  await simulation.sweep();
  await simulation.runUntil(startMs + 92 * SECOND);
  const [first, second, ...more] = await receivedBy(receiver.host);
  expect(more).toEqual([]);
  expect(second!.headers["webhook-id"]).toBe(first!.headers["webhook-id"]);
  expect(second!.body).toEqual(first!.body);
  verify(receiver.secret, second!, simulation.nowMs);
  expect(await deliveryOf(id)).toMatchObject({ status: "succeeded", attempt_count: 1 });
});

/** A database whose batches fail after the first few. */
function failingBatches(database: D1Database, good: number): D1Database {
  let left = good;
  return {
    prepare: (text: string) => database.prepare(text),
    batch: (statements: D1PreparedStatement[]) => (left-- > 0 ? database.batch(statements) : Promise.reject(new Error("It is down"))),
  } as unknown as D1Database;
}

test("a delivery is attempted nine times, each with a new signature, and then fails", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { status: 500, body: "no" });
  const startMs = Date.now();
  const simulation = new DeliverySimulation(startMs);
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.runUntil(startMs + 12 * HOUR);
  expect(await deliveryOf(id)).toMatchObject({ status: "failed", attempt_count: 9, next_attempt_at: null });
  const attempts = await attemptsOf(id);
  expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(new Set(attempts.map(({ error }) => error))).toEqual(new Set(["http_error"]));
  const lasted = attempts.at(-1)!.started_at - startMs;
  expect(lasted).toBeGreaterThan(5.8 * HOUR);
  expect(lasted).toBeLessThan(5.9 * HOUR);
  const requests = await receivedBy(receiver.host);
  expect(requests).toHaveLength(9);
  for (const [at, request] of requests.entries()) {
    verify(receiver.secret, request, attempts[at]!.started_at);
    expect(request.headers["webhook-timestamp"]).toBe(String(Math.floor(attempts[at]!.started_at / SECOND)));
    expect(request.headers["webhook-id"]).toBe(requests[0]!.headers["webhook-id"]);
    expect(request.body).toEqual(requests[0]!.body);
  }
  expect(new Set(requests.map(({ headers }) => headers["webhook-signature"]))).toHaveLength(9);
  // Nothing more comes of it, whoever wakes it.
  await simulation.batch("slow", [id]);
  expect(await countOf(receiver)).toBe(9);
});

test("a receiver that was down for three hours gets every event", async () => {
  const receiver = await createReceiver();
  const startMs = Date.now();
  const simulation = new DeliverySimulation(startMs);
  await behaveAt(receiver.host, { fails: "reset" });
  const ids: string[] = [];
  for (let at = 0; at < 12; at++) {
    ids.push(...(await simulation.emit([receiver])));
    await simulation.runUntil(startMs + (at + 1) * 15 * MINUTE);
  }
  for (const id of ids) expect(await deliveryOf(id)).toMatchObject({ status: "pending" });
  await behaveAt(receiver.host, {});
  await simulation.runUntil(startMs + 7 * HOUR);
  for (const id of ids) expect(await deliveryOf(id)).toMatchObject({ status: "succeeded" });
  expect(await endpointOf(receiver)).toMatchObject({ enabled: 1, failure_streak: 0, failing_since: null, pending_count: 0 });
});

test("a response of 12 MB is read up to 8 KiB, without a character cut in half", async () => {
  const { delivery, attempts } = await tryOnce({ body: "é".repeat(512 * 1024), times: 12 });
  expect(delivery.status).toBe("succeeded");
  expect(attempts).toMatchObject([{ response_truncated: 1, response_body: "é".repeat(4096) }]);
  const { attempts: odd } = await tryOnce({ body: `a${"é".repeat(8192)}` });
  expect(odd).toMatchObject([{ response_truncated: 1, response_body: `a${"é".repeat(4095)}` }]);
});

test("a binary response is stored as text", async () => {
  const { delivery, attempts } = await tryOnce({ bytes: new Uint8Array([0x61, 0xff, 0xfe, 0x62, 0xe2, 0x82]).toBase64() });
  expect(delivery.status).toBe("succeeded");
  expect(attempts[0]!["response_body"]).toBe("a\uFFFD\uFFFDb\uFFFD");
});

test.each([
  ["a connection that breaks", { fails: "reset" as const }, { error: "connection_failed", response_status: null, response_body: null }],
  ["one that breaks in the body", { body: "a", fails: "reset_in_body" as const }, { error: "connection_failed" }],
  ["an error", { status: 500, body: "oh" }, { error: "http_error", response_status: 500, response_body: "oh" }],
  ["an answer to nothing asked", { status: 404 }, { error: "http_error", response_status: 404 }],
])("%s is a failure, and the next attempt is on the slow queue", async (_, behaviour, attempt) => {
  const { simulation, id, delivery, attempts, endpoint } = await tryOnce(behaviour);
  expect(attempts).toMatchObject([attempt]);
  expect(delivery).toMatchObject({ status: "pending", attempt_count: 1, completed_at: null, lease_until: null });
  expect(delivery.next_attempt_at! - attempts[0]!["started_at"] - attempts[0]!["duration_ms"]).toBe(5 * SECOND);
  expect(endpoint).toMatchObject({ failure_streak: 1, failing_since: attempts[0]!["started_at"], enabled: 1 });
  const [, queued] = simulation.queued;
  expect(queued).toMatchObject({ queue: "slow", id });
  // It is not sent before it is due.
  expect(queued!.atMs).toBeGreaterThanOrEqual(delivery.next_attempt_at!);
});

test("a TLS error is a failed connection", async () => {
  const receiver = await createReceiver();
  const real = globalThis.fetch;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    if (new Request(input).url.includes(receiver.host)) return Promise.reject(new TypeError("TLS peer's certificate is not trusted"));
    return real(input, init);
  });
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.runUntil(simulation.nowMs);
  spy.mockRestore();
  expect(await attemptsOf(id)).toMatchObject([{ error: "connection_failed", response_status: null }]);
  expect(JSON.stringify(await attemptsOf(id))).not.toContain("certificate");
});

test.each([
  ["says nothing", { fails: "silent" as const }],
  ["drips", { body: "a", times: 1000, everyMs: 20 }],
])("a receiver that %s is given 15 seconds for the whole exchange", async (_, behaviour) => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  // The clock of a deadline is the platform's: here 15 s are a few milliseconds.
  const spy = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / 75));
  const { delivery, attempts } = await tryOnce(behaviour);
  expect(spy).toHaveBeenCalledWith(15_000);
  spy.mockRestore();
  expect(attempts).toMatchObject([{ error: "timeout", response_status: null, response_body: null }]);
  expect(delivery).toMatchObject({ status: "pending", attempt_count: 1 });
});

test("a redirect is not followed, and fails", async () => {
  const inside = await createReceiver();
  const { delivery, attempts } = await tryOnce({ status: 307, headers: { Location: inside.url } });
  expect(delivery.status).toBe("pending");
  expect(attempts).toMatchObject([{ error: "http_error", response_status: 307 }]);
  expect(await countOf(inside)).toBe(0);
});

test("a blocked URL is not called, and the log says so", async () => {
  const receiver = await createReceiver({ url: "https://10.0.0.1/hooks" });
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.runUntil(simulation.nowMs);
  expect(await attemptsOf(id)).toMatchObject([{ error: "blocked_url", url: "https://10.0.0.1/hooks" }]);
  expect(await deliveryOf(id)).toMatchObject({ status: "pending" });
});

test("Retry-After lengthens the delay, at most twofold", async () => {
  const { delivery, attempts } = await tryOnce({ status: 503, headers: { "Retry-After": "3600" } });
  expect(delivery.next_attempt_at! - attempts[0]!["started_at"] - attempts[0]!["duration_ms"]).toBe(10 * SECOND);
});

test("410 disables the endpoint immediately and cancels its pending deliveries", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { status: 500 });
  const simulation = new DeliverySimulation(Date.now());
  const [waiting] = (await simulation.emit([receiver])) as [string];
  await simulation.runUntil(simulation.nowMs + SECOND);
  await behaveAt(receiver.host, { status: 410 });
  const [last] = (await simulation.emit([receiver])) as [string];
  await simulation.batch("slow", [last]);
  const endedMs = (await deliveryOf(last)).completed_at;
  expect(await endpointOf(receiver)).toMatchObject({ enabled: 0, disabled_reason: "gone", disabled_at: endedMs, pending_count: 0 });
  expect(await deliveryOf(last)).toMatchObject({ status: "failed", attempt_count: 1, next_attempt_at: null });
  expect(await deliveryOf(waiting)).toMatchObject({ status: "failed", attempt_count: 2, next_attempt_at: null, lease_until: null });
  expect((await attemptsOf(last)).map(({ error }) => error)).toEqual(["http_error"]);
  expect((await attemptsOf(waiting)).map(({ error }) => error)).toEqual(["http_error", "endpoint_disabled"]);
  const sent = await countOf(receiver);
  await simulation.runUntil(simulation.nowMs + HOUR);
  expect(await countOf(receiver)).toBe(sent);
});

test.each([
  [19, DAY, 0, "the twentieth failure after a day"],
  [19, DAY - MINUTE, 1, "the twentieth, but not a day yet"],
  [18, 3 * DAY, 1, "a day, but only nineteen"],
  [500, DAY - MINUTE, 1, "hundreds within a day"],
])("%i failures in a row for %i ms before this one leave enabled at %i: %s", async (streak, failingMs, enabled) => {
  const now = Date.now();
  const receiver = await createReceiver({ failure_streak: streak, failing_since: now - failingMs });
  await behaveAt(receiver.host, { status: 500 });
  const simulation = new DeliverySimulation(now);
  const [id, other] = (await simulation.emit([receiver, receiver])) as [string, string];
  await simulation.batch("slow", [id]);
  const disabled = { enabled: 0, disabled_reason: "failing", failure_streak: streak + 1 };
  expect(await endpointOf(receiver)).toMatchObject(enabled ? { enabled: 1, disabled_reason: null, disabled_at: null } : disabled);
  expect((await deliveryOf(id)).status).toBe(enabled ? "pending" : "failed");
  expect((await deliveryOf(other)).status).toBe(enabled ? "pending" : "failed");
});

test("a success resets the failure streak", async () => {
  const receiver = await createReceiver({ failure_streak: 30, failing_since: 1 });
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.batch("slow", [id]);
  expect(await endpointOf(receiver)).toMatchObject({ failure_streak: 0, failing_since: null, enabled: 1 });
  expect((await endpointOf(receiver))["last_success_at"]).toBe((await deliveryOf(id)).completed_at);
});

test("a due delivery of a disabled endpoint fails without a request", async () => {
  const receiver = await createReceiver();
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await changeEndpoint(receiver, { enabled: 0 });
  await simulation.runUntil(simulation.nowMs);
  expect(await countOf(receiver)).toBe(0);
  expect(await deliveryOf(id)).toMatchObject({ status: "failed", attempt_count: 1, completed_at: simulation.nowMs, lease_until: null });
  expect(await attemptsOf(id)).toMatchObject([{ number: 1, error: "endpoint_disabled", duration_ms: 0, url: receiver.url }]);
});

test("a due delivery fails without a request where the plan no longer has webhooks, unless the operator overrides it", async () => {
  const workspace = await createWorkspace({ plan: "pro" });
  const receiver = await addReceiver(workspace);
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await operate("PATCH", `/workspaces/${workspace.id}`, { plan: "starter" });
  await simulation.runUntil(simulation.nowMs);
  expect(await countOf(receiver)).toBe(0);
  expect(await attemptsOf(id)).toMatchObject([{ error: "endpoint_disabled" }]);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { webhooks: true } });
  const [other] = (await simulation.emit([receiver])) as [string];
  await simulation.runUntil(simulation.nowMs);
  expect(await deliveryOf(other)).toMatchObject({ status: "succeeded" });
});

test("a retry goes to the endpoint's new URL, and each attempt shows its URL", async () => {
  const receiver = await createReceiver();
  const moved = await createReceiver();
  await behaveAt(moved.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.runUntil(simulation.nowMs);
  await changeEndpoint(receiver, { url: moved.url });
  await simulation.runUntil(simulation.nowMs + MINUTE);
  expect((await attemptsOf(id)).map(({ url, error }) => [url, error])).toEqual([
    [receiver.url, "connection_failed"],
    [moved.url, null],
  ]);
});

test("a failure at the old URL does not disable an endpoint that has moved", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { status: 410 });
  const simulation = new DeliverySimulation(Date.now());
  const [id] = await addEvent([receiver], simulation.nowMs);
  await simulation.batch("fast", [id!], async (delivery) => {
    await changeEndpoint(receiver, { url: "https://new.example.com/" });
    return simulation.send(delivery);
  });
  expect(await endpointOf(receiver)).toMatchObject({ enabled: 1, failure_streak: 0 });
  expect(await deliveryOf(id!)).toMatchObject({ status: "pending" });
});

test("an attempt that is running when its endpoint is disabled is recorded, and is the last", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { status: 500 });
  const simulation = new DeliverySimulation(Date.now());
  const [id] = await addEvent([receiver], simulation.nowMs);
  await simulation.batch("fast", [id!], async (delivery) => {
    await changeEndpoint(receiver, { enabled: 0 });
    return simulation.send(delivery);
  });
  expect(await deliveryOf(id!)).toMatchObject({ status: "failed", attempt_count: 1, next_attempt_at: null });
  expect(await attemptsOf(id!)).toMatchObject([{ error: "http_error" }]);
});

test("an attempt that is running when its endpoint is deleted leaves nothing", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = await addEvent([receiver], simulation.nowMs);
  await simulation.batch("fast", [id!], async (delivery) => {
    const answer = await receiver.workspace.call("DELETE", `/webhooks/${receiver.id}`);
    expect(answer.status).toBe(204);
    return simulation.send(delivery);
  });
  expect(await query(id!, "SELECT * FROM deliveries WHERE id = ?", id)).toEqual([]);
  expect(await attemptsOf(id!)).toEqual([]);
  expect(await simulation.batch("fast", [id!])).toEqual([]);
});

test("nothing is sent for a workspace that is deleted", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = await addEvent([receiver], simulation.nowMs);
  await operate("DELETE", `/workspaces/${receiver.workspace.id}`);
  await simulation.batch("fast", [id!]);
  expect(await countOf(receiver)).toBe(0);
  expect(await deliveryOf(id!)).toMatchObject({ status: "failed", next_attempt_at: null });
});

test("an early wake-up does nothing", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const now = Date.now();
  const [id] = await addEvent([receiver], now, { next_attempt_at: now + 5 * SECOND });
  const simulation = new DeliverySimulation(now);
  for (const queue of ["fast", "slow"] as const) await simulation.batch(queue, [id!]);
  expect(await deliveryOf(id!)).toMatchObject({ status: "pending", attempt_count: 0, lease_until: null });
  expect(simulation.queued).toEqual([]);
  // Clocks of two machines may differ by a second.
  simulation.nowMs = now + 4 * SECOND;
  await simulation.batch("fast", [id!]);
  expect(await countOf(receiver)).toBe(1);
});

test("during rotations each secret signs until its time, and afterwards only the new one", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, {});
  const startMs = Date.now();
  const next = newSecret();
  const [row] = await query<{ secret: string }>(receiver.id, "SELECT secret FROM webhook_endpoints WHERE id = ?", receiver.id);
  const secret = await sealSecret(env, next, receiver.id);
  const oldest = newSecret();
  const older = [{ secret: await sealSecret(env, oldest, receiver.id), untilMs: startMs + HOUR / 2 }];
  await changeEndpoint(receiver, {
    secret,
    previous_secret: row!.secret,
    previous_secret_until: startMs + HOUR,
    older_secrets: JSON.stringify(older),
  });
  const simulation = new DeliverySimulation(startMs);
  await simulation.emit([receiver]);
  await simulation.runUntil(startMs + HOUR);
  await simulation.emit([receiver]);
  await simulation.runUntil(startMs + HOUR + 1);
  const [during, after] = await receivedBy(receiver.host);
  for (const valid of [oldest, receiver.secret, next]) verify(valid, during!, startMs);
  verify(next, after!, startMs + HOUR);
  expect(() => verify(receiver.secret, after!, startMs + HOUR)).toThrow();
  const tampered = { ...during!, body: during!.body.map((byte, at) => (at === 9 ? byte ^ 1 : byte)) };
  expect(() => verify(next, tampered, startMs)).toThrow();
});

test("each attempt is logged without payload, secret and URL", async () => {
  const log = vi.spyOn(console, "log");
  const { id, receiver } = await tryOnce({ status: 500, body: "private" });
  const lines = log.mock.calls.map(([line]) => String(line));
  log.mockRestore();
  const line = JSON.parse(lines.find((text) => text.includes("webhook_attempt"))!);
  expect(line).toMatchObject({ delivery_id: id, webhook_id: receiver.id, workspace_id: receiver.workspace.id, attempts: 1 });
  expect(line).toMatchObject({ response_status: 500, error: "http_error", outcome: "pending", duration_ms: expect.any(Number) });
  for (const secret of ["Zoë", "hidden", receiver.host, "private", receiver.secret]) expect(lines.join("\n")).not.toContain(secret);
});

test("when a database is down its wake-ups are retried, and those of other databases are delivered", async () => {
  const down = await addReceiver(await createWorkspaceOn(1));
  const up = await addReceiver(await createWorkspaceOn(0));
  await behaveAt(up.host, {});
  const [lost] = (await addEvent([down], Date.now())) as [string];
  const [sent] = (await addEvent([up], Date.now())) as [string];
  const fates: Record<string, unknown> = {};
  const messages = [lost, sent, "nonsense", null].map((deliveryId) => ({
    body: deliveryId === null ? null : { deliveryId },
    ack: () => void (fates[String(deliveryId)] = "ack"),
    retry: (options: unknown) => void (fates[String(deliveryId)] = options),
  }));
  const batch = { queue: FAST, messages } as unknown as MessageBatch;
  await consume(batch, envWith({ DB_1: failingBatches((env as any).DB_1, 0) }));
  expect(fates).toEqual({ [lost]: { delaySeconds: 10 }, [sent]: "ack", nonsense: "ack", null: "ack" });
  expect(await deliveryOf(sent)).toMatchObject({ status: "succeeded" });
});

test("a dead-lettered wake-up is logged, and its delivery waits for the sweep", async () => {
  const receiver = await createReceiver();
  const [id] = await addEvent([receiver], Date.now());
  const error = vi.spyOn(console, "error");
  expect(await deliver("support-agent-deliveries-dlq", { deliveryId: id })).toMatchObject({ retryMessages: [] });
  expect(error.mock.calls.join()).toContain(id);
  error.mockRestore();
  expect(await deliveryOf(id!)).toMatchObject({ status: "pending", attempt_count: 0 });
});
