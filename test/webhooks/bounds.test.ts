import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { appendEvent } from "../../src/events/outbox.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { workspaces } from "../../src/platform/db/schema.ts";
import { firstIdAt, newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { DAY_MS } from "../../src/platform/time.ts";
import { MAX_PRUNED_PER_RUN } from "../../src/webhooks/sweep.ts";
import { limitsOf, MEGABYTE } from "../../src/workspaces/plans.ts";
import { createAgent, createNeighbour, createWorkspace, listen, operate, query, send, type Workspace } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import { addReceiver, attemptsOf, DeliverySimulation, HOUR, type Receiver } from "./simulation.ts";

/** Appends an event in the batch that causes it, as features do. */
async function emit({ id: workspaceId }: Workspace, nowMs = Date.now()): Promise<string> {
  const { db } = newOperation(env, new Meter(), workspaceId);
  const id = newId(shardOf(workspaceId), nowMs);
  // The events follow a statement that changes one row.
  const cause = db.update(workspaces).set({ updatedAt: nowMs }).where(eq(workspaces.id, workspaceId));
  await db.batch([cause, ...appendEvent(db, { id, workspaceId, nowMs }, "lead.created", sql`'{}'`)]);
  return id;
}

const usageOf = async (workspace: Workspace) => (await workspace.call("GET", "/usage")).body.usage;
const endpointOf = async (workspace: Workspace, { id }: { id: string }) => (await workspace.call("GET", `/webhooks/${id}`)).body;
const deliveredTo = async ({ id }: { id: string }) =>
  (await query<{ event_id: string }>(id, "SELECT event_id FROM deliveries WHERE webhook_id = ? ORDER BY event_id", id)).map(
    ({ event_id: eventId }) => eventId,
  );

describe("the deliveries of a day", () => {
  // The day does not end within a test.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 3, 1, 12) }));
  afterEach(() => void vi.useRealTimers());

  test("beyond the limit an event is not delivered, which its endpoint shows, and it is listed with the others", async () => {
    const workspace = await createWorkspace({ limits: { deliveries_per_day: 3 } });
    const [first, second] = [await listen(workspace), await listen(workspace)];
    const delivered = await emit(workspace);
    expect(await endpointOf(workspace, second)).toMatchObject({ last_skipped_at: null });
    const nowMs = Date.now();
    const partly = await emit(workspace, nowMs);
    expect(await endpointOf(workspace, first)).toMatchObject({ last_skipped_at: null });
    expect(await endpointOf(workspace, second)).toMatchObject({ last_skipped_at: new Date(nowMs).toISOString() });
    const skipped = await emit(workspace, nowMs + 1);
    expect(await deliveredTo(first)).toEqual([delivered, partly]);
    expect(await deliveredTo(second)).toEqual([delivered]);
    expect(await endpointOf(workspace, first)).toMatchObject({ last_skipped_at: new Date(nowMs + 1).toISOString() });
    expect(await endpointOf(workspace, second)).toMatchObject({ last_skipped_at: new Date(nowMs + 1).toISOString() });
    const events = await query<{ id: string }>(
      workspace.id,
      "SELECT id FROM events WHERE workspace_id = ? ORDER BY sequence",
      workspace.id,
    );
    expect(events.map(({ id }) => id)).toEqual([delivered, partly, skipped]);
    expect((await workspace.call("GET", "/events")).body.next_cursor).toBe(skipped);
    expect(await usageOf(workspace)).toMatchObject({ deliveries_today: 3 });
  });

  test("an endpoint that is not subscribed is not skipped", async () => {
    const workspace = await createWorkspace({ limits: { deliveries_per_day: 0 } });
    const [other, disabled] = [await listen(workspace, ["source.synced"]), await listen(workspace)];
    await workspace.call("PATCH", `/webhooks/${disabled.id}`, { enabled: false });
    const subscribed = await listen(workspace, ["lead.created"]);
    await emit(workspace);
    for (const endpoint of [other, disabled]) expect(await endpointOf(workspace, endpoint)).toMatchObject({ last_skipped_at: null });
    expect(await endpointOf(workspace, subscribed)).toMatchObject({ last_skipped_at: expect.any(String) });
  });

  test("the next day has room again, and neighbours have their own", async () => {
    const workspace = await createWorkspace({ limits: { deliveries_per_day: 1 } });
    const neighbour = await createNeighbour(workspace);
    const [mine, theirs] = [await listen(workspace), await listen(neighbour)];
    const today = [await emit(workspace), await emit(workspace)];
    const tomorrow = await emit(workspace, Date.now() + DAY_MS);
    expect(await deliveredTo(mine)).toEqual([today[0], tomorrow]);
    await emit(neighbour);
    await emit(neighbour);
    expect(await deliveredTo(theirs)).toHaveLength(2);
  });

  test("the limit is that of the plan, with the operator's override", async () => {
    const workspace = await createWorkspace({ plan: "pro" });
    const endpoint = await listen(workspace);
    const made = "INSERT INTO visitor_counts (workspace_id, flow, starts_at, sender, count) VALUES (?, 'deliveries', ?, '', ?)";
    const dayMs = Date.now() - (Date.now() % DAY_MS);
    await query(workspace.id, made, workspace.id, dayMs, limitsOf("pro", {}).deliveries_per_day - 1);
    const [last] = [await emit(workspace), await emit(workspace)];
    expect(await deliveredTo(endpoint)).toEqual([last]);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { deliveries_per_day: 10_001 } });
    const [one] = [await emit(workspace), await emit(workspace)];
    expect(await deliveredTo(endpoint)).toEqual([last, one]);
  });

  test("tests and redeliveries are counted, and refused with 429 until the next day", async () => {
    const workspace = await createWorkspace({ limits: { deliveries_per_day: 2 } });
    const endpoint = await listen(workspace);
    const [path, missing] = [`/webhooks/${endpoint.id}/test`, newId(shardOf(workspace.id), Date.now())];
    await emit(workspace);
    expect(await workspace.call("POST", path)).toMatchObject({ status: 200 });
    const [delivery] = await query<{ id: string }>(
      workspace.id,
      `UPDATE deliveries SET status = 'failed' WHERE webhook_id = ? AND "trigger" = 'event' RETURNING id`,
      endpoint.id,
    );
    const log = () => query(workspace.id, "SELECT id FROM deliveries WHERE workspace_id = ?", workspace.id);
    const events = () => query(workspace.id, "SELECT id FROM events WHERE workspace_id = ?", workspace.id);
    const before = [await log(), await events()];
    for (const refused of [
      await workspace.call("POST", path),
      await workspace.call("POST", `/webhooks/deliveries/${delivery!.id}/redeliver`),
    ]) {
      expect(refused).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
      const left = Math.ceil((DAY_MS - (Date.now() % DAY_MS)) / 1000);
      expect(Math.abs(Number(refused.headers.get("Retry-After")) - left)).toBeLessThanOrEqual(60);
    }
    expect([await log(), await events()]).toEqual(before);
    expect(await workspace.call("POST", `/webhooks/${missing}/test`)).toMatchObject({ status: 404 });
    expect(await workspace.call("POST", `/webhooks/deliveries/${missing}/redeliver`)).toMatchObject({ status: 404 });
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { deliveries_per_day: 3 } });
    expect(await workspace.call("POST", `/webhooks/deliveries/${delivery!.id}/redeliver`)).toMatchObject({ status: 202 });
    expect(await usageOf(workspace)).toMatchObject({ deliveries_today: 3 });
  });

  test("the limit is exact for concurrent requests", async () => {
    const workspace = await createWorkspace({ limits: { deliveries_per_day: 2 } });
    const receiver = await addReceiver(workspace);
    await behaveAt(receiver.host, {});
    const sent = await Promise.all(Array.from({ length: 6 }, () => workspace.call("POST", `/webhooks/${receiver.id}/test`)));
    expect(sent.map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429, 429, 429]);
    expect(await receivedBy(receiver.host)).toHaveLength(2);
  });
});

test("a status that is set back and forth sends one event, and another one once somebody has written", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const endpoint = await listen(workspace, ["conversation.resolved"]);
  const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
  const path = `/conversations/${body.conversation_id}`;
  const flip = async () => {
    for (const status of ["resolved", "open", "resolved", "needs_human", "resolved", "human_active"])
      expect(await workspace.call("PATCH", path, { status })).toMatchObject({ status: 200, body: { status } });
  };
  await flip();
  expect(await deliveredTo(endpoint)).toHaveLength(1);
  await workspace.call("POST", `${path}/messages`, { content: "They are paid on Monday." });
  await flip();
  expect(await deliveredTo(endpoint)).toHaveLength(2);
  await workspace.call("POST", `${path}/messages`, { content: "Anything else?", resolve: true });
  await flip();
  expect(await deliveredTo(endpoint)).toHaveLength(3);
});

/** Makes the attempts of one delivery. */
async function deliverOnce(receiver: Receiver, startMs = Date.now(), untilMs = startMs): Promise<string> {
  const simulation = new DeliverySimulation(startMs);
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.runUntil(untilMs);
  return id;
}

/** The bytes that are counted, and those that the attempts of the workspace have. */
async function logBytesOf({ id }: Workspace): Promise<{ counted: number; bytes: number }> {
  const bytes =
    "SELECT coalesce(sum(200 + length(CAST(url AS BLOB)) + coalesce(length(CAST(response_body AS BLOB)), 0)), 0) FROM delivery_attempts";
  const [row] = await query<{ counted: number; bytes: number }>(
    id,
    `SELECT delivery_log_bytes AS counted, (${bytes} WHERE workspace_id = w.id) AS bytes FROM workspaces w WHERE id = ?`,
    id,
  );
  return row!;
}

describe("the delivery log", () => {
  test("its bytes are counted exactly, whatever adds and deletes them", async () => {
    const workspace = await createWorkspace();
    const receiver = await addReceiver(workspace);
    await behaveAt(receiver.host, { body: "Grüße 😀" }, { status: 500, body: "x".repeat(9000) }, { status: 500 }, { body: "ok" });
    const [, failed] = [await deliverOnce(receiver), await deliverOnce(receiver, Date.now(), Date.now() + HOUR)];
    expect(await attemptsOf(failed)).toHaveLength(3);
    const { counted, bytes } = await logBytesOf(workspace);
    expect(counted).toBe(bytes);
    expect(counted).toBeGreaterThan(4 * 200 + 8 * 1024);
    expect((await usageOf(workspace)).delivery_log_mb).toBe(Math.ceil((counted / MEGABYTE) * 100) / 100);
    await query(workspace.id, "UPDATE delivery_attempts SET response_body = NULL WHERE delivery_id = ? AND number = 1", failed);
    const less = await logBytesOf(workspace);
    expect(less).toEqual({ counted: counted - 8 * 1024, bytes: counted - 8 * 1024 });
    await workspace.call("DELETE", `/webhooks/${receiver.id}`);
    expect(await logBytesOf(workspace)).toEqual({ counted: 0, bytes: 0 });
  });

  test("when it is full, the status is kept without the body, and of a delivery only the latest attempt", async () => {
    const workspace = await createWorkspace({ limits: { delivery_log_mb: 1 } });
    const receiver = await addReceiver(workspace);
    await query(workspace.id, "UPDATE workspaces SET delivery_log_bytes = ? WHERE id = ?", MEGABYTE - 5, workspace.id);
    await behaveAt(receiver.host, { body: "12345" }, { body: "123456" }, { status: 500, body: "no" }, { status: 503, body: "no" });
    const fits = await deliverOnce(receiver);
    expect(await attemptsOf(fits)).toMatchObject([{ response_status: 200, response_body: "12345", response_truncated: 0 }]);
    const beyond = await deliverOnce(receiver);
    expect(await attemptsOf(beyond)).toMatchObject([{ response_status: 200, response_body: null, response_truncated: 1 }]);
    const failing = await deliverOnce(receiver, Date.now(), Date.now() + 2 * HOUR);
    expect(await attemptsOf(failing)).toMatchObject([{ number: 7, response_status: 503, response_body: null, error: "http_error" }]);
    const { data } = (await workspace.call("GET", `/webhooks/${receiver.id}/deliveries`)).body;
    expect(data.find(({ id }: { id: string }) => id === failing)).toMatchObject({ attempt_count: 7, attempts: [{ number: 7 }] });
  });

  test("a log with room keeps every attempt", async () => {
    const receiver = await addReceiver(await createWorkspace());
    await behaveAt(receiver.host, { status: 500, body: "no" });
    expect(await attemptsOf(await deliverOnce(receiver, Date.now(), Date.now() + 2 * HOUR))).toHaveLength(7);
  });

  test("the body of a success is kept for a day, and that of a failure as long as the delivery", async () => {
    const receiver = await addReceiver(await createWorkspace());
    await behaveAt(receiver.host, { status: 500, body: "no" }, { body: "ok" }, { body: "" });
    const startMs = Date.now();
    const [id, empty] = [await deliverOnce(receiver, startMs, startMs + HOUR), await deliverOnce(receiver, startMs)];
    const [failure, success] = await attemptsOf(id);
    await new DeliverySimulation(success!["started_at"] + DAY_MS).sweep();
    expect(await attemptsOf(id)).toEqual([failure, success]);
    await new DeliverySimulation(success!["started_at"] + DAY_MS + 1).sweep();
    expect(await attemptsOf(id)).toEqual([failure, { ...success, response_body: null, response_truncated: 1 }]);
    expect(await attemptsOf(empty)).toMatchObject([{ response_body: null, response_truncated: 0 }]);
    const { counted, bytes } = await logBytesOf(receiver.workspace);
    expect(counted).toBe(bytes);
  });

  test("a day's runs of the sweep delete more than a hundred of the largest workspaces may add", async () => {
    const runs = 24 * 60;
    expect(MAX_PRUNED_PER_RUN * runs).toBeGreaterThan(100 * limitsOf("enterprise", {}).deliveries_per_day);
    const receiver = await addReceiver(await createWorkspace());
    const nowMs = Date.now();
    const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO deliveries (id, workspace_id, webhook_id, event_id, event_type, status, "trigger", created_at)
      SELECT ? || i, ?, ?, 'none', 'lead.created', 'failed', 'event', 1 FROM n`;
    const prefix = firstIdAt(nowMs - 31 * DAY_MS);
    await query(receiver.id, many, MAX_PRUNED_PER_RUN + 1, prefix, receiver.workspace.id, receiver.id);
    const simulation = new DeliverySimulation(nowMs);
    await simulation.sweep();
    expect(await deliveredTo(receiver)).toHaveLength(1);
    await simulation.sweep();
    expect(await deliveredTo(receiver)).toEqual([]);
  });
});

test("a lead beyond the deliveries of a day is stored, and its event is listed", async () => {
  const workspace = await createWorkspace({ limits: { deliveries_per_day: 0 } });
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  const endpoint = await listen(workspace);
  const { body: lead } = await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body: { email: "ada@example.com" } });
  expect(await deliveredTo(endpoint)).toEqual([]);
  const { data } = (await workspace.call("GET", "/events")).body;
  expect(data).toMatchObject([{ type: "lead.created", data: { id: lead.id } }]);
  expect(await endpointOf(workspace, endpoint)).toMatchObject({ last_skipped_at: expect.any(String) });
});
