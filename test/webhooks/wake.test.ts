import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { changeConversation } from "../../src/conversations/conversations.ts";
import { failAfterRetries, ingest } from "../../src/knowledge/consumer.ts";
import { addLead } from "../../src/leads/leads.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { sendWakeUps } from "../../src/platform/queue.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { redeliver } from "../../src/webhooks/redeliver.ts";
import { requestHandoff } from "../../src/widget/lead-and-handoff.ts";
import { createAgent, createWorkspace, envWith, learn, listen, query } from "../harness.ts";

/** A queue that notes what it is sent. */
function noteQueue() {
  const sent: { deliveryId: string }[] = [];
  const sendBatch = async (messages: { body: { deliveryId: string } }[]) => void sent.push(...messages.map(({ body }) => body));
  return { sent, bindings: envWith({ DELIVERY_QUEUE: { sendBatch } }) };
}

async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const source = await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
  await listen(workspace);
  await listen(workspace);
  return { workspace, agent, source, conversationId: asked.body.conversation_id as string };
}

type Fixture = Awaited<ReturnType<typeof createFixture>>;

function operationOf({ workspace, conversationId }: Fixture, bindings: Env) {
  return { ...newOperation(bindings, new Meter(), workspace.id), conversationId };
}

const WAIT = { text: "Wait.", opensAtMs: null, routingText: { texts: [], language: "en" } };

const CAUSES: [name: string, run: (fixture: Fixture, bindings: Env) => Promise<unknown>][] = [
  ["a change of status", (fixture, bindings) => changeConversation(operationOf(fixture, bindings), { by: "api", status: "resolved" })],
  [
    "a visitor's wish for a human",
    (fixture, bindings) =>
      requestHandoff(operationOf(fixture, bindings), fixture.agent.id, WAIT, { flow: "messages", perDay: 1, sender: null }),
  ],
  ["silence", (_, bindings) => sweep(bindings, Date.now() + 1441 * 60_000)],
  [
    "a lead",
    (fixture, bindings) => {
      const fields = { agentId: fixture.agent.id, conversationId: null, visitorId: null, name: "Ada", email: "a@b.example", phone: null };
      return addLead(operationOf(fixture, bindings), { ...fields, message: null, customFields: {}, sourceUrl: null });
    },
  ],
  [
    "a sync",
    async ({ workspace, agent, source }, bindings) => {
      await workspace.call("POST", `/agents/${agent.id}/sources/${source.id}/sync`);
      await ingest(bindings, { workspaceId: workspace.id, agentId: agent.id, sourceId: source.id });
    },
  ],
  [
    "a sync that is given up",
    async ({ workspace, agent, source }, bindings) => {
      await workspace.call("POST", `/agents/${agent.id}/sources/${source.id}/sync`);
      await failAfterRetries(bindings, { workspaceId: workspace.id, agentId: agent.id, sourceId: source.id });
    },
  ],
];

test.for(CAUSES)("%s wakes each of its deliveries once", async ([, run]) => {
  const fixture = await createFixture();
  const { sent, bindings } = noteQueue();
  await run(fixture, bindings);
  const rows = await query<{ id: string }>(fixture.workspace.id, "SELECT id FROM deliveries WHERE workspace_id = ?", fixture.workspace.id);
  expect(rows).toHaveLength(2);
  const ours = sent.map(({ deliveryId }) => deliveryId).filter((id) => rows.some((row) => row.id === id));
  expect(ours.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
});

test("a redelivery is woken", async () => {
  const fixture = await createFixture();
  await changeConversation(operationOf(fixture, env), { by: "api", status: "resolved" });
  const { id: workspaceId } = fixture.workspace;
  const [delivery] = await query<{ id: string }>(
    workspaceId,
    "UPDATE deliveries SET status = 'failed' WHERE workspace_id = ? RETURNING id",
    workspaceId,
  );
  const { sent, bindings } = noteQueue();
  const redelivery = await redeliver(operationOf(fixture, bindings), delivery!.id, { unreadable: [], perDay: 9 });
  expect(redelivery).toMatchObject({ outcome: "queued", delivery: { trigger: "redelivery" } });
  expect(sent).toEqual([{ deliveryId: (redelivery as any).delivery.id }]);
});

test("a queue that is down fails no request: the deliveries wait for the sweep", async () => {
  const fixture = await createFixture();
  const down = envWith({ DELIVERY_QUEUE: { sendBatch: () => Promise.reject(new Error("it is down")) } });
  expect(await changeConversation(operationOf(fixture, down), { by: "api", status: "resolved" })).toMatchObject({
    status: "resolved",
  });
  const waiting = "SELECT id FROM deliveries WHERE workspace_id = ? AND status = 'pending' AND next_attempt_at <= ?";
  expect(await query(fixture.workspace.id, waiting, fixture.workspace.id, Date.now())).toHaveLength(2);
});

test("wake-ups are sent a hundred at a time, the platform's maximum", async () => {
  const sizes: number[] = [];
  const queue = { sendBatch: async (messages: unknown[]) => void sizes.push(messages.length) } as unknown as Queue;
  await sendWakeUps(
    queue,
    Array.from({ length: 250 }, (_, at) => ({ deliveryId: `${at}` })),
  );
  expect(sizes).toEqual([100, 100, 50]);
});
