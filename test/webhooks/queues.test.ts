import { env, exports } from "cloudflare:workers";
import { expect, onTestFinished, test } from "vitest";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import type { SendableDelivery } from "../../src/webhooks/attempt.ts";
import { sendDeliveries } from "../../src/webhooks/consumer.ts";
import { createWorkspace, createWorkspaceOn, query } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import { addEvent, addReceiver, createReceiver, deliveryOf, endpointOf, MINUTE, SECOND, DeliverySimulation } from "./simulation.ts";

const idsOf = (queued: { id: string }[]) => queued.map(({ id }) => id).sort();

/** Answers at once but for one endpoint, which is still under way when the deliveries to the others have ended. */
function hangingAt(simulation: DeliverySimulation, webhookId: string, othersCount: number, started: string[]) {
  const { promise: othersEnded, resolve: endOthers } = Promise.withResolvers<void>();
  let left = othersCount;
  return async (delivery: SendableDelivery) => {
    started.push(delivery.id);
    if (delivery.webhookId === webhookId) {
      await othersEnded;
      return "running" as const;
    }
    const state = await simulation.send(delivery);
    if (--left === 0) endOthers();
    return state;
  };
}

test.each([
  ["has failed", { failure_streak: 1 }, "slow"],
  ["took longer than a second", { last_duration_ms: 1001 }, "slow"],
  ["took a second", { last_duration_ms: 1000 }, "fast"],
  ["never had a delivery", {}, "fast"],
])("a delivery to an endpoint that %s goes to the right queue", async (_, row, queue) => {
  const receiver = await createReceiver(row);
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.batch("fast", [id]);
  expect(simulation.queued.map((message) => [message.queue, message.id])).toEqual(
    queue === "slow"
      ? [
          ["fast", id],
          ["slow", id],
        ]
      : [["fast", id]],
  );
  expect(await receivedBy(receiver.host)).toHaveLength(queue === "slow" ? 0 : 1);
  expect((await deliveryOf(id)).lease_until).toBeNull();
  // The slow queue takes everyone, and who answers at once is served on the fast one again.
  await simulation.batch("slow", [id]);
  expect(await receivedBy(receiver.host)).toHaveLength(1);
  const [next] = (await simulation.emit([receiver])) as [string];
  await simulation.batch("fast", [next]);
  expect(await receivedBy(receiver.host)).toHaveLength(2);
});

test("a hanging endpoint delays no other, neither in its batch nor in the next ones", async () => {
  const workspace = await createWorkspace();
  const hanging = await addReceiver(workspace);
  const others = await Promise.all(Array.from({ length: 20 }, () => addReceiver(workspace)));
  for (const { host } of others) await behaveAt(host, {});
  const simulation = new DeliverySimulation(Date.now());
  const first = await simulation.emit([hanging, ...others]);
  const second = await simulation.emit([hanging, ...others]);
  const third = await simulation.emit([hanging, ...others]);
  const started: string[] = [];
  await simulation.batch("fast", [...first, ...second, ...third], hangingAt(simulation, hanging.id, 60, started));
  for (const { host } of others) expect(await receivedBy(host)).toHaveLength(3);
  // Two were open at a time; the third moves to the slow queue.
  expect(started.filter((id) => [first[0], second[0], third[0]].includes(id))).toHaveLength(2);
  const left = [first[0]!, second[0]!, third[0]!].filter((id) => !started.includes(id));
  expect(idsOf(simulation.queued.filter(({ queue }) => queue === "slow"))).toEqual(left);
  expect((await deliveryOf(left[0]!)).lease_until).toBeNull();
  expect(await endpointOf(hanging)).toMatchObject({ last_duration_ms: 1001 });
  // The next batch does not start it.
  const next = await simulation.emit([hanging, ...others]);
  started.length = 0;
  await simulation.batch("fast", next, hangingAt(simulation, hanging.id, 20, started));
  expect(started).not.toContain(next[0]);
  expect(simulation.queued.filter(({ queue, id }) => queue === "slow" && id === next[0])).toHaveLength(1);
});

test("a database that cannot mark a slow endpoint stops no delivery of the batch", async () => {
  const workspace = await createWorkspace();
  const [hanging, other] = [await addReceiver(workspace), await addReceiver(workspace)];
  await behaveAt(other.host, {});
  const fails = `BEFORE UPDATE OF last_duration_ms ON webhook_endpoints WHEN NEW.id = '${hanging.id}'`;
  await query(workspace.id, `CREATE TRIGGER unmarked ${fails} BEGIN SELECT raise(ABORT, 'it is down'); END`);
  onTestFinished(async () => void (await query(workspace.id, "DROP TRIGGER unmarked")));
  const simulation = new DeliverySimulation(Date.now());
  const ids = [...(await simulation.emit([hanging, other])), ...(await simulation.emit([hanging])), ...(await simulation.emit([hanging]))];
  const started: string[] = [];
  await simulation.batch("fast", ids, hangingAt(simulation, hanging.id, 1, started));
  expect(await receivedBy(other.host)).toHaveLength(1);
  const left = ids.filter((id) => !started.includes(id));
  expect(left).toHaveLength(1);
  expect((await deliveryOf(left[0]!)).lease_until).toBeNull();
});

test("at most six requests are open, and two to one endpoint", async () => {
  const workspace = await createWorkspace();
  const receivers = await Promise.all(Array.from({ length: 5 }, () => addReceiver(workspace)));
  const simulation = new DeliverySimulation(Date.now());
  const ids: string[] = [];
  for (let at = 0; at < 8; at++) ids.push(...(await simulation.emit(receivers)));
  const open: string[] = [];
  const most = { all: 0, ofOne: 0 };
  await simulation.batch("fast", ids, async ({ webhookId }) => {
    open.push(webhookId);
    most.all = Math.max(most.all, open.length);
    most.ofOne = Math.max(most.ofOne, open.filter((id) => id === webhookId).length);
    await new Promise((resolve) => setTimeout(resolve, 1));
    open.splice(open.indexOf(webhookId), 1);
    return "finished";
  });
  expect(most).toEqual({ all: 6, ofOne: 2 });
});

test("when all connections hang, the remaining deliveries are woken again", async () => {
  const workspace = await createWorkspace();
  const receivers = await Promise.all(Array.from({ length: 8 }, () => addReceiver(workspace)));
  const simulation = new DeliverySimulation(Date.now());
  const ids = await simulation.emit(receivers);
  const started: string[] = [];
  await simulation.batch("fast", ids, async ({ id }) => {
    started.push(id);
    return "running";
  });
  expect(started).toHaveLength(6);
  const left = ids.filter((id) => !started.includes(id)).sort();
  expect(idsOf(simulation.queued.slice(ids.length))).toEqual(left);
  expect(simulation.queued.slice(ids.length).map(({ queue }) => queue)).toEqual(["fast", "fast"]);
  for (const id of left) expect((await deliveryOf(id)).lease_until).toBeNull();
});

test("a delivery that cannot be attempted within the lease is released", async () => {
  const receiver = await createReceiver();
  const simulation = new DeliverySimulation(Date.now());
  const ids = await simulation.emit([receiver, receiver, receiver]);
  const started: string[] = [];
  await simulation.batch("slow", ids, async ({ id }) => {
    started.push(id);
    simulation.nowMs += 61 * SECOND;
    return "finished";
  });
  expect(started.length).toBeLessThan(3);
  const left = ids.filter((id) => !started.includes(id));
  expect(simulation.queued.slice(ids.length).map(({ queue, id }) => [queue, id])).toEqual(left.map((id) => ["slow", id]));
});

test.each([
  ["is sent to the endpoint's new address", "UPDATE webhook_endpoints SET url = 'https://new.example/' WHERE id = ?1", true, "pending"],
  ["is cancelled if the endpoint was disabled", "UPDATE webhook_endpoints SET enabled = FALSE WHERE id = ?1", false, "failed"],
  ["is cancelled if the endpoint was deleted", "DELETE FROM webhook_endpoints WHERE id = ?1", false, "failed"],
  ["is not sent if it was erased", "DELETE FROM deliveries WHERE webhook_id = ?1", false, undefined],
  ["is left to another run that leased it", "UPDATE deliveries SET lease_until = 1 WHERE webhook_id = ?1", false, "pending"],
])("a delivery that waits in its batch for longer than a second %s", async (_, change, isSent, status) => {
  const receiver = await createReceiver();
  const simulation = new DeliverySimulation(Date.now());
  const ids = await simulation.emit([receiver, receiver, receiver]);
  const sent = new Map<string, string>();
  const changed = Promise.withResolvers<void>();
  await simulation.batch("slow", ids, async ({ id, endpoint }) => {
    sent.set(id, endpoint.url);
    // Two are open at a time.
    if (sent.size === 2) {
      simulation.nowMs += 2 * SECOND;
      await query(receiver.id, change, receiver.id);
      changed.resolve();
    }
    await changed.promise;
    return "finished";
  });
  expect([...sent.values()]).toEqual([receiver.url, receiver.url, ...(isSent ? ["https://new.example/"] : [])]);
  const third = ids.find((id) => ![...sent.keys()].slice(0, 2).includes(id))!;
  expect((await deliveryOf(third))?.status).toBe(status);
});

test("a batch of a hundred deliveries is claimed in one round trip for each database", async () => {
  const simulation = new DeliverySimulation(Date.now());
  const ids: string[] = [];
  for (const shard of [0, 1]) {
    const workspace = await createWorkspaceOn(shard);
    const receivers = await Promise.all(Array.from({ length: 50 }, () => addReceiver(workspace)));
    ids.push(...(await addEvent(receivers, simulation.nowMs)));
  }
  const meter = new Meter();
  const sent = new Set<string>();
  const send = async ({ id }: SendableDelivery) => {
    sent.add(id);
    return "finished" as const;
  };
  await sendDeliveries({ env: simulation.env, meter, queue: "fast", now: () => simulation.nowMs, send }, ids);
  expect(sent).toHaveLength(100);
  expect(meter.cost.d1Trips).toBe(2);
});

test("the sender returns after the maximum wait, and the attempt continues in the background", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { waits: true });
  const [id] = (await addEvent([receiver], Date.now())) as [string];
  const states: string[] = [];
  await sendDeliveries(
    {
      env,
      meter: new Meter(),
      queue: "fast",
      now: Date.now,
      send: async (delivery) => {
        const state = await exports.DeliverySender.send(delivery, 50);
        states.push(state);
        return state;
      },
    },
    [id],
  );
  expect(states).toEqual(["running"]);
  expect(await deliveryOf(id)).toMatchObject({ status: "pending" });
  await behaveAt(receiver.host, {});
  await expect.poll(async () => (await deliveryOf(id)).status).toBe("succeeded");
});

test("a delivery to a slow endpoint waits for the sweep while its workspace is imported", async () => {
  const receiver = await createReceiver({ failure_streak: 1 });
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const ids = await simulation.emit([receiver]);
  const { id } = receiver.workspace;
  await query(id, "INSERT INTO workspace_imports (workspace_id, export_id, created_at) VALUES (?, 'x', 1)", id);
  await simulation.batch("slow", ids);
  expect(simulation.queued).toMatchObject([{ queue: "fast" }]);
  await query(id, "UPDATE workspace_imports SET completed_at = 2 WHERE workspace_id = ?", id);
  simulation.crash();
  simulation.nowMs += MINUTE + SECOND;
  await simulation.sweep();
  await simulation.runUntil(simulation.nowMs);
  expect(await receivedBy(receiver.host)).toHaveLength(1);
});

test("a slow endpoint that responds quickly is fast again", async () => {
  const receiver = await createReceiver({ last_duration_ms: 9000 });
  await behaveAt(receiver.host, {});
  const simulation = new DeliverySimulation(Date.now());
  const [id] = (await simulation.emit([receiver])) as [string];
  await simulation.batch("slow", [id]);
  expect((await endpointOf(receiver))["last_duration_ms"]).toBeLessThan(1000);
});
