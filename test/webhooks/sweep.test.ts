import { expect, test, vi } from "vitest";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { createWorkspace, createWorkspaceOn, query } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import {
  addEvent,
  addReceiver,
  attemptsOf,
  createReceiver,
  deliveryOf,
  MINUTE,
  type Receiver,
  SECOND,
  DeliverySimulation,
} from "./simulation.ts";

const DAY = 24 * 60 * MINUTE;

for (const shard of [0, 1]) {
  test(`shard ${shard}: a delivery whose wake-up was lost is rescued after a minute`, async () => {
    const receiver = await addReceiver(await createWorkspaceOn(shard));
    await behaveAt(receiver.host, {});
    const startMs = Date.now();
    const [id] = (await addEvent([receiver], startMs)) as [string];
    const simulation = new DeliverySimulation(startMs + MINUTE, new Set([id]));
    await simulation.sweep();
    expect(simulation.queued).toEqual([]);
    simulation.nowMs++;
    await simulation.sweep();
    expect(simulation.queued).toMatchObject([{ queue: "fast", id }]);
    await simulation.runUntil(simulation.nowMs);
    expect(await deliveryOf(id)).toMatchObject({ status: "succeeded" });
    expect(await receivedBy(receiver.host)).toHaveLength(1);
    simulation.nowMs += 10 * MINUTE;
    await simulation.sweep();
    expect(simulation.queued).toHaveLength(1);
  });
}

test("wakes the deliveries of a dead consumer once their lease has expired, and later ones only when they are due", async () => {
  const receiver = await createReceiver();
  const now = Date.now();
  const old = { next_attempt_at: now - 10 * MINUTE };
  const [dead] = (await addEvent([receiver], now, { ...old, lease_until: now - 1 })) as [string];
  const [held] = (await addEvent([receiver], now, { ...old, lease_until: now })) as [string];
  const [later] = (await addEvent([receiver], now, { next_attempt_at: now + MINUTE })) as [string];
  const [over] = (await addEvent([receiver], now, { ...old, status: "failed" })) as [string];
  const simulation = new DeliverySimulation(now, new Set([dead, held, later, over]));
  await simulation.sweep();
  expect(simulation.queued.map(({ id }) => id)).toEqual([dead]);
});

test("no delivery is lost when a queue is down", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { status: 500 }, {});
  const simulation = new DeliverySimulation(Date.now());
  simulation.isQueueDown = true;
  const [id] = (await addEvent([receiver], simulation.nowMs)) as [string];
  simulation.track(id);
  await simulation.batch("fast", [id]);
  expect(await deliveryOf(id)).toMatchObject({ status: "pending", attempt_count: 1 });
  simulation.isQueueDown = false;
  await simulation.runUntil(simulation.nowMs + 2 * MINUTE);
  await simulation.sweep();
  // The endpoint fails, so that the slow queue gets the delivery.
  expect(simulation.queued).toMatchObject([{ queue: "slow", id }]);
  await simulation.runUntil(simulation.nowMs);
  expect(await deliveryOf(id)).toMatchObject({ status: "succeeded", attempt_count: 2 });
});

/** Many deliveries of one endpoint, older by a second each. */
async function strand(receiver: Receiver, count: number, sinceMs: number): Promise<string[]> {
  const [first] = (await addEvent([receiver], sinceMs)) as [string];
  const ids = Array.from({ length: count - 1 }, () => newId(shardOf(first), sinceMs));
  const columns = "workspace_id, webhook_id, event_id, event_type, status, trigger";
  await query(
    first,
    `INSERT INTO deliveries (id, ${columns}, next_attempt_at, created_at)
       SELECT value, ${columns}, next_attempt_at + key, created_at FROM deliveries, json_each(?) WHERE deliveries.id = ?`,
    JSON.stringify(ids),
    first,
  );
  return [first, ...ids];
}

test("an endpoint with thousands of orphaned deliveries does not delay the others", async () => {
  const workspace = await createWorkspace();
  const [crowd, failing, other] = [
    await addReceiver(workspace),
    await addReceiver(workspace, { failure_streak: 3 }),
    await addReceiver(workspace),
  ];
  // Long ago, so that they stand before whatever other tests left.
  const crowded = await strand(crowd, 1500, 1_000_000);
  const failed = await strand(failing, 600, 1_001_000);
  const [single] = (await addEvent([other], 1_002_600)) as [string];
  const simulation = new DeliverySimulation(Date.now(), new Set([...crowded, ...failed, single]));
  const woken = async () => {
    const before = simulation.queued.length;
    await simulation.sweep();
    const messages = simulation.queued.slice(before);
    simulation.nowMs += MINUTE + SECOND;
    const of = (ids: string[]) => messages.filter(({ id }) => ids.includes(id));
    return { crowd: of(crowded), failing: of(failed), other: of([single]) };
  };
  const runs = [await woken(), await woken(), await woken()];
  const [first] = runs;
  expect(first!.crowd.length + first!.failing.length + first!.other.length).toBeLessThanOrEqual(1000);
  for (const { crowd, failing } of runs) {
    expect(crowd.length).toBeLessThanOrEqual(250);
    expect(failing.length).toBeLessThanOrEqual(10);
  }
  expect(new Set(runs.flatMap(({ crowd }) => crowd.map(({ queue }) => queue)))).toEqual(new Set(["fast"]));
  expect(new Set(runs.flatMap(({ failing }) => failing.map(({ queue }) => queue)))).toEqual(new Set(["slow"]));
  expect(runs.flatMap(({ other }) => other)).toHaveLength(1);
});

test("finished deliveries are deleted after thirty days with their attempts, and an event with its last delivery", async () => {
  const receiver = await createReceiver();
  const now = Date.now();
  const over = { status: "succeeded", next_attempt_at: null };
  const cutMs = now - 30 * DAY;
  const [old] = (await addEvent([receiver], cutMs - SECOND, over)) as [string];
  const [fresh] = (await addEvent([receiver], cutMs + SECOND, over)) as [string];
  const [pending] = (await addEvent([receiver], cutMs - 2 * SECOND, { next_attempt_at: now + MINUTE })) as [string];
  const [kept] = (await addEvent([receiver], cutMs - 3 * SECOND, over)) as [string];
  const eventOf = async (id: string) =>
    (await query<{ event_id: string }>(id, "SELECT event_id FROM deliveries WHERE id = ?", id))[0]!.event_id;
  const events = { old: await eventOf(old), fresh: await eventOf(fresh), pending: await eventOf(pending), kept: await eventOf(kept) };
  // A redelivery of an old event keeps the event, not the delivery before it.
  const again = newId(shardOf(old), now);
  await query(again, "UPDATE deliveries SET id = ? WHERE id = ?", again, kept);
  for (const id of [old, fresh]) {
    const attempt =
      "INSERT INTO delivery_attempts (delivery_id, workspace_id, number, started_at, duration_ms, url) VALUES (?, ?, 1, 1, 1, 'u')";
    await query(id, attempt, id, receiver.workspace.id);
  }
  const simulation = new DeliverySimulation(now);
  await simulation.sweep();
  const idsOf = async (table: string) =>
    (await query<{ id: string }>(old, `SELECT id FROM ${table} WHERE workspace_id = ?`, receiver.workspace.id)).map(({ id }) => id);
  expect((await idsOf("deliveries")).sort()).toEqual([pending, fresh, again].sort());
  expect((await idsOf("events")).sort()).toEqual([events.fresh, events.pending, events.kept].sort());
  expect(await attemptsOf(old)).toEqual([]);
  expect(await attemptsOf(fresh)).toHaveLength(1);
});

test("the sweep logs how many deliveries it found", async () => {
  const receiver = await createReceiver();
  await addEvent([receiver], Date.now() - 2 * MINUTE);
  const log = vi.spyOn(console, "log");
  await new DeliverySimulation(Date.now()).sweep();
  const line = log.mock.calls.map(([text]) => JSON.parse(String(text))).find(({ job }) => job === "sweep");
  log.mockRestore();
  expect(line.deliveries).toBeGreaterThanOrEqual(1);
});
