import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { TurnRunner } from "../../../src/chat/turn.ts";
import { ExtractiveEngine } from "../../../src/extractive/engine.ts";
import { newId } from "../../../src/platform/db/ids.ts";
import { consume } from "../../../src/queues.ts";
import { sweep } from "../../../src/sweep/sweep.ts";
import wrangler from "../../../wrangler.toml?raw";
import { receive, createMailbox, mailService, outbox } from "../../email/mailbox.ts";
import { questionOf } from "../../chat/question.ts";
import { createAgent, createWorkspace, deliver, envWith, learn, operate, query } from "../../harness.ts";
import { behaveAt } from "../../outbound.ts";
import { handleQueue } from "../../queue-handler.ts";
import { addEvent, createReceiver } from "../../webhooks/simulation.ts";
import { jobIn, watch, type Watched } from "./watch.ts";

const FAILING_D1 = { prepare: (text: string) => env.DB.prepare(text), batch: () => Promise.reject(new Error("D1_ERROR: it is down")) };
const DOWN = { DB: FAILING_D1, DB_1: FAILING_D1 };
const COST = {
  object_hops: expect.any(Number),
  d1_trips: expect.any(Number),
  rows_read: expect.any(Number),
  rows_written: expect.any(Number),
};

async function createSource() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const source = { type: "text", name: "Handbook", text: "Refunds are paid." };
  const { body } = await workspace.call("POST", `/agents/${agent.id}/sources`, source);
  return { workspace, agent, message: { workspaceId: workspace.id, agentId: agent.id, sourceId: body.id as string } };
}

const pointsOf = ({ points }: Watched, workspaceId: string) => points.filter(({ indexes }) => indexes?.[0] === workspaceId);

/** One message, as the platform hands it over after so many tries. */
function batchOf(queue: string, body: unknown, attempts = 1) {
  const fates: unknown[] = [];
  const message = {
    id: "m-1",
    timestamp: new Date(),
    attempts,
    body,
    ack: () => fates.push("ack"),
    retry: (how: unknown) => fates.push(how),
  };
  return { fates, batch: { queue, messages: [message] } as unknown as MessageBatch };
}

test("a message's log line has its job, workspace, ids, outcome, attempts and cost", async () => {
  const { message } = await createSource();
  const watched = await watch(() => deliver("support-agent-ingestion", message, 3));
  expect(jobIn(watched, "ingestion", message.workspaceId)).toEqual({
    event: "job",
    job: "ingestion",
    outcome: "ready",
    attempts: 3,
    messages: 1,
    workspace_id: message.workspaceId,
    queue_message_id: expect.any(String),
    agent_id: message.agentId,
    source_id: message.sourceId,
    duration_ms: expect.any(Number),
    ...COST,
    object_hops: 1,
    d1_trips: 2,
  });
  const { rows_read, rows_written, duration_ms } = jobIn(watched, "ingestion", message.workspaceId);
  expect([rows_read > 0, rows_written > 0]).toEqual([true, true]);
  const blobs = ["job", "ingestion", "ready", "", "", ""];
  expect(pointsOf(watched, message.workspaceId)).toEqual([
    { indexes: [message.workspaceId], blobs, doubles: [duration_ms, 1, 2, rows_read, rows_written, 3, 1] },
  ]);
  expect(jobIn(await watch(() => deliver("support-agent-ingestion", message)), "ingestion", message.workspaceId)).toMatchObject({
    outcome: "nothing_to_do",
  });
});

test("a failed message is one log line with its error, and one data point", async () => {
  const { message } = await createSource();
  const { batch, fates } = batchOf("support-agent-ingestion", message, 2);
  const watched = await watch(() => consume(batch, envWith(DOWN)));
  expect(watched.lines.filter((line) => line["workspace_id"] === message.workspaceId)).toMatchObject([
    { event: "job", job: "ingestion", outcome: "failed", attempts: 2, workspace_id: message.workspaceId, detail: "D1_ERROR: it is down" },
  ]);
  expect(pointsOf(watched, message.workspaceId)).toMatchObject([{ blobs: ["job", "ingestion", "failed", "", "", ""] }]);
  expect(fates).toEqual([{ delaySeconds: 10 }]);
});

test("a message from elsewhere is logged without its content", async () => {
  for (const body of [null, "lovelace", { workspaceId: "lovelace", name: "lovelace" }, ["lovelace"]]) {
    const { texts, points } = await watch(() => consume(batchOf("support-agent-ingestion", body).batch, env));
    expect(texts).toHaveLength(1);
    expect(JSON.stringify([texts, points])).not.toContain("lovelace");
  }
});

test("the erasure of a workspace", async () => {
  const workspace = await createWorkspace();
  await createAgent(workspace);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  const watched = await watch(() => deliver("support-agent-erasure", { workspaceId: workspace.id }));
  expect(jobIn(watched, "erasure", workspace.id)).toMatchObject({ outcome: "erased", workspace_id: workspace.id });
  const { object_hops, d1_trips } = jobIn(watched, "erasure", workspace.id);
  // The index of the agent, those of leads and conversations, the files, and the gate.
  expect(object_hops).toBe(5);
  expect(d1_trips).toBeGreaterThanOrEqual(5);
});

test("a batch of deliveries is reported, and each attempt", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { status: 500 });
  const [id] = await addEvent([receiver], Date.now());
  const watched = await watch(() => deliver("support-agent-deliveries", { deliveryId: id }));
  expect(jobIn(watched, "deliveries")).toMatchObject({ outcome: "done", messages: 1, failed: 0, workspace_id: null, d1_trips: 1 });
  expect(jobIn(watched, "webhook_attempt")).toMatchObject({
    outcome: "pending",
    attempts: 1,
    workspace_id: receiver.workspace.id,
    webhook_id: receiver.id,
    delivery_id: id,
    response_status: 500,
    d1_trips: 1,
  });
  expect(watched.points.map(({ blobs }) => blobs![1]).sort()).toEqual(["deliveries", "webhook_attempt"]);
  const { batch } = batchOf("support-agent-slow-deliveries", { deliveryId: id });
  expect(jobIn(await watch(() => consume(batch, envWith(DOWN))), "slow-deliveries")).toMatchObject({ outcome: "partly_failed", failed: 1 });
});

test("an attempt whose record fails is logged once, and fails no batch", async () => {
  const receiver = await createReceiver();
  const [id] = await addEvent([receiver], Date.now());
  await behaveAt(receiver.host, { status: 200 });
  const trigger = `CREATE TRIGGER no_record BEFORE INSERT ON delivery_attempts WHEN NEW.delivery_id = '${id}'
    BEGIN SELECT RAISE(ABORT, 'no record'); END`;
  await query(receiver.id, trigger);
  const watched = await watch(() => deliver("support-agent-deliveries", { deliveryId: id }));
  expect(jobIn(watched, "webhook_attempt")).toMatchObject({ outcome: "failed", delivery_id: id, error: "Error" });
  expect(jobIn(watched, "deliveries")).toMatchObject({ outcome: "done" });
});

test("an endpoint's test is reported as an attempt; the request's cost includes it", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { status: 200 });
  const watched = await watch(() => receiver.workspace.call("POST", `/webhooks/${receiver.id}/test`));
  expect(jobIn(watched, "webhook_attempt")).toMatchObject({ outcome: "succeeded", d1_trips: 1 });
  expect(watched.lines.find(({ event }) => event === "request")).toMatchObject({ operation: "testWebhook", d1_trips: 2 });
});

test("the sweep reports what it found; a failing shard does not stop it", async () => {
  const { message } = await createSource();
  await query(message.sourceId, "UPDATE sources SET updated_at = 1 WHERE id = ?", message.sourceId);
  const nowMs = Date.now();
  const well = jobIn(await watch(() => sweep(env, nowMs)), "sweep");
  expect(well).toMatchObject({ outcome: "done", failed: 0, workspace_id: null, attempts: 1, ...COST });
  expect(well["sources"]).toBeGreaterThanOrEqual(1);
  const down = message.sourceId.endsWith("00") ? { DB_1: FAILING_D1 } : { DB: FAILING_D1 };
  const watched = await watch(() => sweep(envWith(down), nowMs));
  expect(jobIn(watched, "sweep")).toMatchObject({ outcome: "partly_failed", failed: 1 });
  expect(jobIn(watched, "sweep")["sources"]).toBeGreaterThanOrEqual(1);
  expect(watched.lines).toContainEqual(expect.objectContaining({ event: "database_not_swept", detail: "D1_ERROR: it is down" }));
});

test("inbound and outbound mails are reported", async () => {
  const mailbox = await createMailbox();
  const { workspace } = mailbox;
  const { environment } = mailService();
  const arrival = await watch(() => receive({ to: mailbox.address }, { environment }));
  expect(jobIn(arrival, "inbound_email")).toMatchObject({ outcome: "taken", reason: null, workspace_id: workspace.id, messages: 1 });
  expect(jobIn(arrival, "turn")).toMatchObject({ outcome: "answered", channel: "email" });
  const [mail] = await outbox(mailbox);
  const sent = await watch(() => consume(batchOf("support-agent-email", { messageId: mail!.message_id }).batch, environment));
  expect(jobIn(sent, "email")).toMatchObject({ outcome: "sent", message_id: mail!.message_id, d1_trips: 2 });
  const refused = await watch(() => receive({ to: "nobody@example.com" }));
  expect(jobIn(refused, "inbound_email")).toMatchObject({ outcome: "refused", reason: "no_mailbox", workspace_id: null });
});

test("an index that syncs its vectors is reported", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const index = env.INDEX.getByName(`${workspace.id}/${agent.id}`);
  await runInDurableObject(index, (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
  const watched = await watch(() => runDurableObjectAlarm(index));
  expect(jobIn(watched, "index_alarm")).toMatchObject({ outcome: "done", workspace_id: workspace.id, agent_id: agent.id });
});

// --- Turns -----------------------------------------------------------------------------------------------------------

async function ask(more: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const send = (body: Record<string, unknown>) =>
    workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", ...more, ...body });
  const first = await send({});
  const id: string = first.body.conversation_id ?? /"conversation_id":"([^"]+)"/.exec(first.body)![1]!;
  const session = env.SESSION.getByName(`${workspace.id}/${id}`);
  const runWith = (bindings: Record<string, unknown>) =>
    runInDurableObject(session, (live) => void Object.assign(live, { runner: new TurnRunner(envWith(bindings), new ExtractiveEngine()) }));
  return { workspace, agent, id, session, runWith, again: () => send({ conversation_id: id }) };
}

test.each([
  ["plain", {}],
  ["streamed", { stream: true }],
])("a turn, %s: with its request, how it ended and what it cost", async (_, more) => {
  const { workspace, agent, id, again } = await ask(more);
  const watched = await watch(again);
  const request = watched.lines.find(({ event }) => event === "request")!;
  expect(jobIn(watched, "turn")).toMatchObject({
    outcome: "answered",
    attempts: 1,
    workspace_id: workspace.id,
    agent_id: agent.id,
    conversation_id: id,
    channel: "api",
    request_id: request["request_id"],
    d1_trips: 2,
    duration_ms: expect.any(Number),
  });
  expect(watched.points.map(({ blobs }) => blobs!.slice(0, 3)).sort()).toEqual([
    ["job", "turn", "answered"],
    ["request", "askAgent", "200"],
  ]);
});

test("a refused turn is reported with its reason, and a failed one is retried by the alarm", async () => {
  const { workspace, id, session, runWith, again } = await ask();
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 0 } });
  expect(jobIn(await watch(again), "turn")).toMatchObject({ outcome: "quota_exceeded" });
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 100 } });
  await runWith(DOWN);
  const failed = await watch(again);
  expect(jobIn(failed, "turn")).toMatchObject({ outcome: "failed", attempts: 1, detail: "D1_ERROR: it is down" });
  expect(await watch(() => runDurableObjectAlarm(session))).toMatchObject({
    lines: [
      { job: "turn", outcome: "failed", attempts: 2 },
      { job: "session_alarm", outcome: "done", workspace_id: workspace.id, conversation_id: id },
    ],
  });
  await runWith({});
  const { lines, points } = await watch(() => runDurableObjectAlarm(session));
  expect(lines).toMatchObject([{ job: "turn", outcome: "answered", attempts: 3 }, { job: "session_alarm" }]);
  expect(points.map(({ blobs }) => blobs![1])).toEqual(["turn", "session_alarm"]);
});

test("errors thrown by a session hold no personal data, since the platform logs them", async () => {
  const { runWith, session, workspace, agent, id } = await ask();
  const thrownWith = async (text: string) => {
    const failing = { ...FAILING_D1, batch: () => Promise.reject(new Error(text)) };
    await runWith({ DB: failing, DB_1: failing });
    const asked = questionOf(workspace.id, agent.id, { conversationId: id, isNew: false });
    let thrown: unknown;
    await watch(() => session.ask(asked).catch((error: unknown) => (thrown = error)));
    return (thrown as Error).message;
  };
  expect(await thrownWith("Failed query: insert\nparams: lovelace")).toBe("It failed with Error");
  expect(await thrownWith("D1_ERROR: D1 DB is overloaded.")).toBe("D1_ERROR: D1 DB is overloaded.");
});

// --- Dead letters ----------------------------------------------------------------------------------------------------

test("every queue's dead letters are consumed and logged with ids and an action", async () => {
  const [development, production] = wrangler.split("\n[env.production]\n") as [string, string];
  for (const config of [development, production]) {
    const consumed = [...config.matchAll(/^queue = "(.*)"$/gm)].map(([, name]) => name!);
    const dead = [...new Set([...config.matchAll(/^dead_letter_queue = "(.*)"$/gm)].map(([, name]) => name!))];
    expect(consumed.filter((name) => name.endsWith("-dlq")).sort()).toEqual(dead.sort());
    expect(consumed.filter((name) => !name.endsWith("-dlq"))).toHaveLength(config.split("dead_letter_queue = ").length - 1);
    for (const queue of dead) {
      const { message } = await createSource();
      const ids = { ...message, deliveryId: newId(0, Date.now()) };
      const watched = await watch(() => deliver(queue, { ...ids, name: "lovelace" }, 2));
      expect(watched.lines[0]).toEqual({
        event: "dead_letter",
        from: queue,
        queue_message_id: expect.any(String),
        workspace_id: ids.workspaceId,
        agent_id: ids.agentId,
        source_id: ids.sourceId,
        delivery_id: ids.deliveryId,
        attempts: 2,
        action: expect.stringMatching(/\w{3,}.*\.$/),
      });
      expect(jobIn(watched, queue.slice("support-agent-".length))).toMatchObject({ outcome: "done" });
    }
  }
});

test("a dead letter whose handler fails is logged each time", async () => {
  const { message } = await createSource();
  const { batch, fates } = batchOf("support-agent-crawls-dlq", message);
  const { lines } = await watch(() => consume(batch, envWith(DOWN)));
  expect(lines).toMatchObject([
    { event: "dead_letter", source_id: message.sourceId },
    { job: "crawls-dlq", outcome: "failed" },
  ]);
  expect(fates).toEqual([{ delaySeconds: 5 }]);
});

test("the Worker's own handlers report", async () => {
  const { message } = await createSource();
  const { batch } = batchOf("support-agent-ingestion", message);
  expect(jobIn(await watch(() => handleQueue(batch, env)), "ingestion", message.workspaceId)).toMatchObject({ outcome: "ready" });
});
