import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { beginTurn, finishTurn } from "../../src/chat/store.ts";
import type { Question } from "../../src/chat/question.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import type { Model } from "../../src/models/model.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, createWorkspaceOn, learn, operate, query, unfinishedIn, type Workspace } from "../harness.ts";
import { HANDBOOK, KNOWN, UNKNOWN } from "./handbook.ts";
import { questionOf } from "./question.ts";

const thisMonth = () => new Date().toISOString().slice(0, 7);

async function createAgentWithQuota(limits: Record<string, unknown>, beside?: Workspace) {
  const workspace = await (beside ? createWorkspaceOn(shardOf(beside.id), { limits }) : createWorkspace({ limits }));
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, HANDBOOK);
  const ask = (body: Record<string, unknown> = {}) =>
    workspace.call("POST", `/agents/${agent.id}/messages`, { message: KNOWN.message, ...body });
  return { workspace, agent, ask };
}

const usageOf = async (workspace: Workspace) => (await workspace.call("GET", "/usage")).body;
const count = async ({ id }: Workspace, table: string) =>
  (await query<{ size: number }>(id, `SELECT count(*) AS size FROM ${table} WHERE workspace_id = ?`, id))[0]!.size;

/** A question that the handbook answers. */
const knownQuestion = (workspace: Workspace, agentId: string, changes: Partial<Question> = {}) =>
  questionOf(workspace.id, agentId, { message: KNOWN.message, ...changes });

const BROKEN: Model = { answer: () => Promise.reject(new Error("the model is down")) };

test("a hundred questions at once against a quota of ten: ten answers, ninety 402", async () => {
  const { workspace, ask } = await createAgentWithQuota({ messages: 10 });
  const asked = await Promise.all(Array.from({ length: 100 }, (_, at) => ask({ user: { id: `user-${at}` } })));
  const statuses = asked.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  expect(statuses.filter((status) => status === 402)).toHaveLength(90);
  expect(asked.find(({ status }) => status === 402)?.body.error.code).toBe("quota_exceeded");
  const usage = await usageOf(workspace);
  expect(usage.usage.messages).toBe(10);
  expect(usage.remaining.messages).toBe(0);
  expect(await count(workspace, "conversations")).toBe(10);
  expect(await count(workspace, "messages")).toBe(20);
  expect(await count(workspace, "visitors")).toBe(10);
});

test("thirty questions at once in one conversation that has nine messages of its quota left: nine answers, the others 402", async () => {
  const { workspace, ask } = await createAgentWithQuota({ messages: 10 });
  const { body } = await ask();
  const asked = await Promise.all(Array.from({ length: 30 }, () => ask({ conversation_id: body.conversation_id })));
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(9);
  expect(asked.filter(({ status }) => status === 402)).toHaveLength(21);
  expect((await usageOf(workspace)).usage.messages).toBe(10);
  expect(await count(workspace, "messages")).toBe(20);
  expect(await unfinishedIn(workspace.id, body.conversation_id)).toEqual({ entries: [], alarm: null });
});

test("a quota of 0 refuses all questions; a raised one answers immediately", async () => {
  const { workspace, ask } = await createAgentWithQuota({ messages: 0 });
  expect((await ask()).status).toBe(402);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 1 } });
  expect((await ask()).status).toBe(200);
  expect((await ask()).status).toBe(402);
});

test("one workspace's questions do not use another's quota", async () => {
  const one = await createAgentWithQuota({ messages: 1 });
  const two = await createAgentWithQuota({ messages: 1 }, one.workspace);
  expect([(await one.ask()).status, (await one.ask()).status, (await two.ask()).status]).toEqual([200, 402, 200]);
});

test("the next month starts with nothing used", async () => {
  const { workspace, agent, ask } = await createAgentWithQuota({ messages: 1 });
  const month = thisMonth();
  expect((await ask()).status).toBe(200);
  expect((await ask()).status).toBe(402);
  const runner = new TurnRunner(env, { answer: async () => ({ outcome: "no_answer", confidence: 0 }) });
  const inMonth = (period: string) => runner.run(knownQuestion(workspace, agent.id, { quota: { period, limit: 1 } }), new Meter());
  expect(await inMonth(month)).toEqual({ outcome: "quota_exceeded" });
  expect(await inMonth("2099-01")).toMatchObject({ outcome: "answered" });
  expect(await inMonth("2099-01")).toEqual({ outcome: "quota_exceeded" });
  const periods = await query(
    workspace.id,
    "SELECT period, messages FROM usage_periods WHERE workspace_id = ? ORDER BY period",
    workspace.id,
  );
  expect(periods).toEqual([
    { period: month, messages: 1 },
    { period: "2099-01", messages: 1 },
  ]);
});

test("a repeated first batch counts the question once, at the limit too", async () => {
  const { workspace, agent } = await createAgentWithQuota({ messages: 1 });
  const question = knownQuestion(workspace, agent.id, { quota: { period: thisMonth(), limit: 1 } });
  const { db } = newOperation(env, new Meter(), workspace.id);
  for (let run = 0; run < 3; run++) {
    const { stored } = await beginTurn(db, question);
    expect(stored.map(({ id }) => id)).toEqual([question.questionId]);
  }
  expect((await usageOf(workspace)).usage.messages).toBe(1);
  expect(await count(workspace, "messages")).toBe(1);
  expect(await count(workspace, "conversations")).toBe(1);
});

test("a model that fails is a hand-off, and the message is refunded", async () => {
  const { workspace, ask } = await createAgentWithQuota({ messages: 10 });
  const { body: first } = await ask();
  const id = first.conversation_id;
  await runInDurableObject(env.SESSION.getByName(`${workspace.id}/${id}`), (session) => {
    Object.assign(session, { runner: new TurnRunner(env, BROKEN) });
  });
  const asked = await ask({ conversation_id: id });
  expect(asked.status).toBe(200);
  expect(asked.body).toMatchObject({
    answer: expect.stringContaining("Something went wrong on our side."),
    handoff_reason: "model_failure",
    citations: [],
    confidence: 0,
    needs_human: true,
    status: "needs_human",
    message_id: expect.any(String),
  });
  expect((await usageOf(workspace)).usage.messages).toBe(1);
  const [handoff] = await query(id, "SELECT reason, trigger_message_id FROM handoffs WHERE conversation_id = ?", id);
  const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
  expect(messages).toHaveLength(4);
  expect(handoff).toEqual({ reason: "model_failure", trigger_message_id: messages[2].id });
});

test("a failing model in a new conversation leaves the last message of the quota unused", async () => {
  const { workspace, agent, ask } = await createAgentWithQuota({ messages: 1 });
  const question = knownQuestion(workspace, agent.id, { quota: { period: thisMonth(), limit: 1 } });
  expect(await new TurnRunner(env, BROKEN).run(question, new Meter())).toMatchObject({
    outcome: "answered",
    answer: { needs_human: true },
  });
  expect((await usageOf(workspace)).usage.messages).toBe(0);
  expect((await ask()).status).toBe(200);
  expect((await ask()).status).toBe(402);
});

test("a message that is refunded counts among the day's messages; where those have no room, it is not refunded", async () => {
  const { workspace, agent } = await createAgentWithQuota({ messages: 10 });
  const messageLimit = { flow: "messages" as const, perDay: 2, sender: null, onlyOutsideQuota: true as const };
  for (let asked = 0; asked < 5; asked++) {
    await new TurnRunner(env, BROKEN).run(knownQuestion(workspace, agent.id, { messageLimit }), new Meter());
  }
  expect((await usageOf(workspace)).usage).toMatchObject({ messages: 3, visitor_messages_today: 2 });
});

test("a repeated second batch changes nothing, and refunds a message once", async () => {
  const { workspace, agent } = await createAgentWithQuota({ messages: 10 });
  const { db } = newOperation(env, new Meter(), workspace.id);
  await beginTurn(db, knownQuestion(workspace, agent.id));
  const question = knownQuestion(workspace, agent.id, { message: UNKNOWN });
  await beginTurn(db, question);
  const outcome = {
    text: "Later.",
    citations: [],
    confidence: 0,
    handoff: {
      reason: "model_failure" as const,
      summary: UNKNOWN,
      isOff: false,
      opensAtMs: null,
      routingText: { texts: [], language: "en" },
    },
    agentName: "Ada",
    agentVersion: 1,
    nowMs: Date.now(),
  };
  for (let run = 0; run < 3; run++) await finishTurn(db, question, outcome);
  expect((await usageOf(workspace)).usage.messages).toBe(1);
  expect(await count(workspace, "handoffs")).toBe(1);
  expect(await count(workspace, "messages")).toBe(3);
});

test("a question that is refused leaves nothing in the storage of its conversation", async () => {
  const { workspace, agent, ask } = await createAgentWithQuota({ messages: 1 });
  const sizeOf = (conversationId: string) =>
    runInDurableObject(env.SESSION.getByName(`${workspace.id}/${conversationId}`), (_, { storage }) => storage.sql.databaseSize);
  const { conversation_id: answered } = (await ask()).body;
  expect(await sizeOf(answered)).toBeGreaterThan(0);
  const unknown = crypto.randomUUID();
  expect((await ask({ conversation_id: unknown })).status).toBe(404);
  expect(await sizeOf(unknown)).toBe(await sizeOf(crypto.randomUUID()));
  const question = knownQuestion(workspace, agent.id, { quota: { period: thisMonth(), limit: 1 } });
  const session = env.SESSION.getByName(`${workspace.id}/${question.conversationId}`);
  expect((await session.ask(question)).result.outcome).toBe("quota_exceeded");
  expect(await sizeOf(question.conversationId)).toBe(await sizeOf(unknown));
});

test("an accepted question is stored although others of its conversation are refused at the same time", async () => {
  const { workspace, agent } = await createAgentWithQuota({});
  for (let round = 0; round < 20; round++) {
    const refused = knownQuestion(workspace, crypto.randomUUID());
    const { conversationId } = refused;
    const session = env.SESSION.getByName(`${workspace.id}/${conversationId}`);
    const asked = [0, 1, 2, 3].map((at) =>
      session.ask(
        at % 2 === 0
          ? { ...refused, answerId: crypto.randomUUID() }
          : knownQuestion(workspace, agent.id, { conversationId, isNew: at === 1 }),
      ),
    );
    const outcomes = await Promise.all(asked.map(async (one) => (await one).result.outcome));
    expect(outcomes).toEqual(["agent_not_found", "answered", "agent_not_found", "answered"]);
    const traces = await session.listTraces("", 10);
    expect(traces).toHaveLength(2);
    expect((await unfinishedIn(workspace.id, conversationId)).entries).toEqual([]);
  }
});
