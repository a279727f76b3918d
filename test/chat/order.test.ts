import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { beginTurn } from "../../src/chat/store.ts";
import type { Question } from "../../src/chat/question.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import { ExtractiveEngine } from "../../src/extractive/engine.ts";
import type { Model } from "../../src/models/model.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { DAY_MS } from "../../src/platform/time.ts";
import { eraseConversationRows } from "../../src/privacy/erasure-store.ts";
import { createAgent, createWorkspace, d1WithFailingBatches, databases, envWith, evict, query, unfinishedIn } from "../harness.ts";
import { questionOf } from "./question.ts";

const thisMonth = () => new Date().toISOString().slice(0, 7);
const NOTHING = { entries: [], alarm: null };

afterEach(() => void vi.useRealTimers());

/** A conversation with one answered question, in an agent that answers every one of "Question <n>?" with "Yes." */
async function createConversation() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Are you open on Sundays?", answer: "Yes." });
  const ask = (message: string) =>
    workspace.call("POST", `/agents/${agent.id}/messages`, { message, ...(conversationId && { conversation_id: conversationId }) });
  let conversationId: string | undefined;
  const first = await ask("Are you open on Sundays? 0");
  conversationId = first.body.conversation_id as string;
  const id = conversationId;
  const session = env.SESSION.getByName(`${workspace.id}/${id}`);
  const questionWith = (message: string, changes: Partial<Question> = {}) =>
    questionOf(workspace.id, agent.id, { conversationId: id, isNew: false, message, ...changes });
  return {
    workspace,
    id,
    session,
    ask,
    questionWith,
    /** Questions and answers as the transcript has them, without the first pair. */
    transcript: async (): Promise<[string, string][]> => {
      const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
      return messages.slice(2).map(({ role, content }: { role: string; content: string }) => [role, content]);
    },
    /** When so many messages are stored after the first pair: each look is a round trip, so the object gets its turn. */
    stored: async (count: number): Promise<void> => {
      const statement = "SELECT count(*) AS size FROM messages WHERE conversation_id = ?";
      for (let size = 0; size < count + 2;) size = (await query<{ size: number }>(id, statement, id))[0]!.size;
    },
    /** The messages that were counted after the first, in whichever month: a test may last beyond its own. */
    used: async (): Promise<number> => {
      const statement = "SELECT coalesce(sum(messages), 0) AS messages FROM usage_periods WHERE workspace_id = ?";
      return (await query<{ messages: number }>(workspace.id, statement, workspace.id))[0]!.messages - 1;
    },
    storage: () => unfinishedIn(workspace.id, id),
    /** Lets the live object run its turns so. */
    runWith: (runner: TurnRunner) => runInDurableObject(session, (live) => void Object.assign(live, { runner })),
    /** Leaves questions in the storage of an object that died, as the queue writes them. */
    leave: async (...left: { question: Question; attempts?: number; crashes?: number }[]) => {
      await runInDurableObject(session, async (_, { storage }) => {
        for (const [at, one] of left.entries()) storage.kv.put(queueKey(at + 1), { attempts: 0, crashes: 0, ...one });
        await storage.setAlarm(Date.now() + 60_000);
      });
      await evict(session);
    },
  };
}

const queueKey = (at: number) => `turn:${String(at).padStart(12, "0")}`;

const textOf = (at: number) => `Are you open on Sundays? ${at}`;
const pairs = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at): [string, string][] => [
    ["user", textOf(from + at)],
    ["assistant", "Yes."],
  ]).flat();

/** Questions and answers whatever their order. */
const anyOrder = (all: [string, string][]) => all.map(([role, content]) => `${role}: ${content}`).toSorted();

const FAILING_D1 = { prepare: (text: string) => env.DB.prepare(text), batch: () => Promise.reject(new Error("D1_ERROR: it is down")) };

// --- In order --------------------------------------------------------------------------------------------------------

test("forty messages at once are stored once each, each answered before the next", async () => {
  const { ask, transcript, used, storage } = await createConversation();
  const asked = await Promise.all(Array.from({ length: 40 }, (_, at) => ask(textOf(at + 1))));
  expect(asked.map(({ status }) => status)).toEqual(Array.from({ length: 40 }, () => 200));
  expect(new Set(asked.map(({ body }) => body.message_id)).size).toBe(40);
  const stored = await transcript();
  expect(stored.map(([role]) => role)).toEqual(pairs(1, 40).map(([role]) => role));
  expect(anyOrder(stored)).toEqual(anyOrder(pairs(1, 40)));
  expect(await used()).toBe(40);
  expect(await storage()).toEqual(NOTHING);
});

test("the transcript is in the order of arrival, also across an eviction", async () => {
  const { session, questionWith, transcript, storage } = await createConversation();
  const arrive = (from: number, to: number) =>
    Promise.all(Array.from({ length: to - from + 1 }, (_, at) => session.ask(questionWith(textOf(from + at)))));
  await arrive(1, 20);
  await evict(session);
  await arrive(21, 40);
  expect(await transcript()).toEqual(pairs(1, 40));
  expect(await storage()).toEqual(NOTHING);
});

test("questions with an Idempotency-Key are in the order of their turns, though their identifiers are older", async () => {
  const { workspace, id, transcript } = await createConversation();
  const { agent_id: agentId } = (await workspace.call("GET", `/conversations/${id}`)).body;
  const ask = (key: number) =>
    workspace.call(
      "POST",
      `/agents/${agentId}/messages`,
      { message: `Are you open on Sundays? ${key}`, conversation_id: id },
      { "Idempotency-Key": `key-${key}` },
    );
  await Promise.all(Array.from({ length: 20 }, (_, key) => ask(key)));
  const roles = (await transcript()).map(([role]) => role);
  expect(roles).toEqual(Array.from({ length: 20 }, () => ["user", "assistant"]).flat());
});

test("the transcript's times ascend", async () => {
  const { workspace, id, session, questionWith } = await createConversation();
  await Promise.all(Array.from({ length: 10 }, (_, at) => session.ask(questionWith(textOf(at)))));
  const { messages, ...conversation } = (await workspace.call("GET", `/conversations/${id}`)).body;
  const times = messages.map(({ created_at: at }: { created_at: string }) => at);
  expect(times).toEqual(times.toSorted());
  expect(conversation.last_message_at).toBe(times.at(-1));
});

test("a turn is in storage while it runs, and its alarm does not run it a second time", async () => {
  const { session, ask, runWith, stored, transcript, used, storage } = await createConversation();
  const { model, release } = waitingModel();
  await runWith(new TurnRunner(env, model));
  const running = ask("Something else entirely");
  await stored(1);
  const waiting = ask("And another thing");
  const { entries, alarm } = await storage();
  expect(entries[0]).toMatchObject([expect.stringMatching(/^turn:/), { attempts: 1, question: { message: "Something else entirely" } }]);
  expect(alarm).not.toBeNull();
  expect(await runDurableObjectAlarm(session)).toBe(true);
  expect((await storage()).alarm).not.toBeNull();
  await runInDurableObject(session, release);
  expect([(await running).status, (await waiting).status]).toEqual([200, 200]);
  const spoken = (await transcript()).map(([role, text]) => (role === "user" ? text : role));
  expect(spoken).toEqual(["Something else entirely", "assistant", "And another thing", "assistant"]);
  expect(await used()).toBe(2);
  expect(await storage()).toEqual(NOTHING);
});

/** A model that takes its time, until it is released inside the session's object. */
function waitingModel(): { model: Model; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const answer: Model["answer"] = async () => {
    // A model that waits for nothing of the platform would be taken for hung.
    await Promise.race([promise, scheduler.wait(60_000)]);
    return { outcome: "no_answer", confidence: 0 };
  };
  return { model: { answer }, release: resolve };
}

// --- Death -----------------------------------------------------------------------------------------------------------

test("a turn that never started is run by the alarm", async () => {
  const { session, questionWith, leave, transcript, used, storage } = await createConversation();
  await leave({ question: questionWith(textOf(1)) });
  expect(await runDurableObjectAlarm(session)).toBe(true);
  expect(await transcript()).toEqual(pairs(1, 1));
  expect(await used()).toBe(1);
  expect(await storage()).toEqual(NOTHING);
});

test("several orphaned turns are run in their order", async () => {
  const { session, questionWith, leave, transcript, used, storage } = await createConversation();
  await leave(...Array.from({ length: 12 }, (_, at) => ({ question: questionWith(textOf(at + 1)) })));
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 12));
  expect(await used()).toBe(12);
  expect(await storage()).toEqual(NOTHING);
});

test("a message after the object's death comes after the orphaned turns", async () => {
  const { session, questionWith, leave, transcript, storage } = await createConversation();
  await leave({ question: questionWith(textOf(1)) });
  await session.ask(questionWith(textOf(2)));
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 2));
  expect(await storage()).toEqual(NOTHING);
});

test("a turn that died before its first batch is run with its own identifiers", async () => {
  const { session, workspace, id, questionWith, leave, transcript, used } = await createConversation();
  const question = questionWith(textOf(1));
  await leave({ question });
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 1));
  const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
  expect(messages.slice(2).map((message: { id: string }) => message.id)).toEqual([question.questionId, question.answerId]);
  expect(await used()).toBe(1);
});

test("a turn that died after its first batch is answered once and counted once", async () => {
  const { session, workspace, questionWith, leave, transcript, used, storage } = await createConversation();
  const question = questionWith(textOf(1));
  const { db } = newOperation(env, new Meter(), workspace.id);
  await beginTurn(db, question);
  expect(await transcript()).toEqual([["user", textOf(1)]]);
  await leave({ question });
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 1));
  expect(await used()).toBe(1);
  expect(await storage()).toEqual(NOTHING);
});

test("a question that used the last message of the quota is answered after the object's death", async () => {
  const { session, workspace, questionWith, leave, transcript, used } = await createConversation();
  // The first question is counted already, so this one is the last.
  const question = questionWith(textOf(1), { quota: { period: thisMonth(), limit: 2 } });
  const { db } = newOperation(env, new Meter(), workspace.id);
  await beginTurn(db, question);
  await leave({ question });
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 1));
  expect(await used()).toBe(1);
});

test("a turn that died after its first batch is neither answered nor counted when a human took over meanwhile", async () => {
  const { session, workspace, id, questionWith, leave, transcript, used, storage } = await createConversation();
  const question = questionWith(textOf(1));
  const { db } = newOperation(env, new Meter(), workspace.id);
  await beginTurn(db, question);
  await query(id, "UPDATE conversations SET status = 'human_active' WHERE id = ?", id);
  await leave({ question });
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual([["user", textOf(1)]]);
  expect(await used()).toBe(0);
  expect(await storage()).toEqual(NOTHING);
});

test("a turn that died after its second batch is not stored twice", async () => {
  const { session, workspace, id, questionWith, leave, transcript, used, storage } = await createConversation();
  const question = questionWith("I want to talk to a human");
  const answered = await new TurnRunner(env, new ExtractiveEngine()).run(question, new Meter());
  const before = (await workspace.call("GET", `/conversations/${id}`)).body;
  await leave({ question });
  await runDurableObjectAlarm(session);
  expect((await workspace.call("GET", `/conversations/${id}`)).body).toEqual(before);
  expect(await transcript()).toHaveLength(2);
  expect(await query(id, "SELECT trigger_message_id FROM handoffs WHERE conversation_id = ?", id)).toEqual([
    { trigger_message_id: question.questionId },
  ]);
  expect(await used()).toBe(1);
  expect(await storage()).toEqual(NOTHING);
  // And whoever runs it again is answered the same.
  expect(await new TurnRunner(env, new ExtractiveEngine()).run(question, new Meter())).toEqual(answered);
});

test("a new conversation whose object died before its first batch is created by the alarm", async () => {
  const { workspace, questionWith } = await createConversation();
  const conversationId = newId(shardOf(workspace.id), Date.now());
  const question = questionWith(textOf(1), { isNew: true, conversationId });
  const session = env.SESSION.getByName(`${workspace.id}/${conversationId}`);
  await runInDurableObject(session, async (_, { storage }) => {
    storage.kv.put(queueKey(1), { question, attempts: 0, crashes: 0 });
    await storage.setAlarm(Date.now() + 60_000);
  });
  await evict(session);
  await runDurableObjectAlarm(session);
  const { messages } = (await workspace.call("GET", `/conversations/${conversationId}`)).body;
  expect(messages.map(({ content }: { content: string }) => content)).toEqual([textOf(1), "Yes."]);
  expect(await unfinishedIn(workspace.id, conversationId)).toEqual(NOTHING);
});

test("a turn whose object is killed during the model call is named by the error, and finished by the next object", async () => {
  const { id, ask, runWith, stored, transcript, used, storage } = await createConversation();
  await runWith(new TurnRunner(env, waitingModel().model));
  const caller = ask("Opening on Sundays, are you open?");
  await stored(1);
  await abortAllDurableObjects();
  const { status, body } = await caller;
  expect([status >= 500, body.error.conversation_id]).toEqual([true, id]);
  await stored(2);
  expect((await transcript()).map(([role]) => role)).toEqual(["user", "assistant"]);
  expect(await used()).toBe(1);
  while ((await storage()).entries.length > 0);
  expect(await storage()).toEqual(NOTHING);
});

// --- Failure ---------------------------------------------------------------------------------------------------------

test("a turn whose database fails answers an error, and stays stored for the alarm", async () => {
  const { session, ask, runWith, transcript, used, storage } = await createConversation();
  await runWith(new TurnRunner(envWith({ DB: FAILING_D1, DB_1: FAILING_D1 }), new ExtractiveEngine()));
  const failed = await ask(textOf(1));
  expect(failed.status).toBe(500);
  expect(failed.body.error).toMatchObject({ code: "internal_error", message: expect.not.stringContaining("D1") });
  expect(await transcript()).toEqual([]);
  const { entries, alarm } = await storage();
  expect(entries).toMatchObject([[expect.stringMatching(/^turn:/), { attempts: 1, question: { message: textOf(1) } }]]);
  expect(alarm).not.toBeNull();
  // The database is back.
  await evict(session);
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 1));
  expect(await used()).toBe(1);
  expect(await storage()).toEqual(NOTHING);
});

test("an attempt that hangs fails in the end, and the turn is answered later", async () => {
  const { session, ask, runWith, transcript, used, storage } = await createConversation();
  const hanging = { prepare: (text: string) => env.DB.prepare(text), batch: () => new Promise(() => undefined) };
  await runWith(new TurnRunner(envWith({ DB: hanging, DB_1: hanging }), new ExtractiveEngine()));
  await runInDurableObject(session, (live) => void Object.assign(live, { attemptLimitMs: 20 }));
  expect((await ask(textOf(1))).status).toBe(500);
  expect((await storage()).entries).toMatchObject([[expect.any(String), { attempts: 1, crashes: 0 }]]);
  await evict(session);
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 1));
  expect(await used()).toBe(1);
  expect(await storage()).toEqual(NOTHING);
});

test("a turn that fails does not block the ones behind it, and is run before the next message", async () => {
  const { ask, runWith, transcript, used, storage } = await createConversation();
  await runWith(new TurnRunner(envWith(d1WithFailingBatches(1)), new ExtractiveEngine()));
  const asked = await Promise.all([1, 2, 3].map((at) => ask(textOf(at))));
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(2);
  expect(asked.filter(({ status }) => status === 500)).toHaveLength(1);
  expect((await ask(textOf(4))).status).toBe(200);
  const stored = await transcript();
  expect(anyOrder(stored)).toEqual(anyOrder(pairs(1, 4)));
  expect(stored.slice(-2)).toEqual(pairs(4, 4));
  expect(await used()).toBe(4);
  expect(await storage()).toEqual(NOTHING);
});

test("a turn that fails is tried again after pauses as long as it has waited, from 15 seconds to an hour", async () => {
  const { session, ask, runWith, transcript, used, storage } = await createConversation();
  let batches = 0;
  const failing = { ...FAILING_D1, batch: () => (batches++, FAILING_D1.batch()) };
  await runWith(new TurnRunner(envWith({ DB: failing, DB_1: failing }), new ExtractiveEngine()));
  const takenMs = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now: takenMs });
  expect((await ask(textOf(1))).status).toBe(500);
  const pauses: number[] = [];
  for (let run = 1; run <= 12; run++) {
    expect(batches).toBe(run);
    const { entries, alarm } = await storage();
    expect(entries).toMatchObject([[expect.any(String), { attempts: run, crashes: 0, question: { nowMs: takenMs } }]]);
    pauses.push(Math.round((alarm! - Date.now()) / 1_000));
    vi.setSystemTime(alarm!);
    expect(await runDurableObjectAlarm(session)).toBe(true);
  }
  expect(pauses).toEqual([15, 15, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
  expect(await transcript()).toEqual([]);
  // The database is back.
  await evict(session);
  await runDurableObjectAlarm(session);
  expect(await transcript()).toEqual(pairs(1, 1));
  expect(await used()).toBe(1);
  expect(await storage()).toEqual(NOTHING);
});

/** When a question was asked that has waited so long. */
const askedBefore = (ms: number) => ({ nowMs: Date.now() - ms });

test("a turn that failed for 24 hours is stored and handed to a human, and counts nothing", async () => {
  const { session, id, questionWith, leave, transcript, used, storage } = await createConversation();
  await leave(
    { question: questionWith(textOf(1), askedBefore(DAY_MS)), attempts: 30 },
    { question: questionWith(textOf(2), askedBefore(DAY_MS - 60_000)), attempts: 30 },
  );
  await runDurableObjectAlarm(session);
  const spoken = (await transcript()).map(([role, content]) => (content === "Yes." || role === "user" ? content : role));
  expect(spoken).toEqual([textOf(1), "assistant", textOf(2), "Yes."]);
  expect(await query(id, "SELECT reason FROM handoffs WHERE conversation_id = ?", id)).toEqual([{ reason: "model_failure" }]);
  expect(await used()).toBe(1);
  expect(await storage()).toEqual(NOTHING);
});

test("a question that was stored and counted 24 hours ago is handed to a human, and its quota is given back", async () => {
  const { session, workspace, id, questionWith, leave, transcript, used } = await createConversation();
  const question = questionWith(textOf(1), askedBefore(DAY_MS));
  await beginTurn(newOperation(env, new Meter(), workspace.id).db, question);
  expect(await used()).toBe(1);
  await leave({ question, attempts: 30 });
  await runDurableObjectAlarm(session);
  expect((await transcript()).map(([role]) => role)).toEqual(["user", "assistant"]);
  expect(await query(id, "SELECT reason FROM handoffs WHERE conversation_id = ?", id)).toEqual([{ reason: "model_failure" }]);
  expect(await used()).toBe(0);
});

test("a turn whose quota is used up by its second attempt is stored and handed to a human, and counts nothing", async () => {
  const { session, id, questionWith, leave, transcript, used, storage } = await createConversation();
  const spent = questionWith(textOf(1), { quota: { period: thisMonth(), limit: 1 } });
  const full = questionWith(textOf(2), { maxMessages: 2 });
  await leave({ question: spent, attempts: 1 }, { question: full, attempts: 1 });
  await runDurableObjectAlarm(session);
  const roles = (await transcript()).map(([role, content]) => (role === "user" ? content : role));
  expect(roles).toEqual([textOf(1), "assistant", textOf(2), "assistant"]);
  expect(await query(id, "SELECT reason FROM handoffs WHERE conversation_id = ?", id)).toEqual([{ reason: "model_failure" }]);
  expect(await used()).toBe(0);
  expect(await storage()).toEqual(NOTHING);
});

test("a question that its quota refuses at the first attempt leaves nothing", async () => {
  const { session, questionWith, transcript, storage } = await createConversation();
  const { result } = await session.ask(questionWith(textOf(1), { quota: { period: thisMonth(), limit: 1 } }));
  expect(result).toEqual({ outcome: "quota_exceeded" });
  expect(await transcript()).toEqual([]);
  expect(await storage()).toEqual(NOTHING);
});

test("a turn that cannot even be handed to a human is never dropped, and the log says so", async () => {
  const { workspace, session, id, questionWith, leave, runWith, transcript, storage } = await createConversation();
  await leave({ question: questionWith(textOf(1), askedBefore(2 * DAY_MS)), attempts: 30 });
  await runWith(new TurnRunner(envWith({ DB: FAILING_D1, DB_1: FAILING_D1 }), new ExtractiveEngine()));
  const log = vi.spyOn(console, "error");
  for (let run = 31; run <= 33; run++) {
    await runDurableObjectAlarm(session);
    const { entries, alarm } = await storage();
    expect(entries).toMatchObject([[expect.any(String), { attempts: run }]]);
    expect(alarm).toBeGreaterThan(Date.now() + 59 * 60_000);
  }
  const lines = log.mock.calls.map(([line]) => JSON.parse(String(line))).filter(({ event }) => event === "dead_letter");
  log.mockRestore();
  expect(lines).toHaveLength(3);
  const { agentId: agent_id } = questionWith(textOf(1));
  expect(lines[0]).toMatchObject({ from: "turn", attempts: 31, workspace_id: workspace.id, agent_id, conversation_id: id });
  await evict(session);
  await runDurableObjectAlarm(session);
  expect((await transcript()).map(([role]) => role)).toEqual(["user", "assistant"]);
});

test("a turn that its object did not survive five times is handed to a human", async () => {
  const { session, questionWith, leave, transcript, storage } = await createConversation();
  const crashing = { question: questionWith(textOf(1)), attempts: 5, crashes: 5 };
  const failing = { question: questionWith(textOf(2)), attempts: 9, crashes: 4 };
  await leave(crashing, failing);
  await runDurableObjectAlarm(session);
  const spoken = (await transcript()).map(([role, content]) => (content === "Yes." || role === "user" ? content : role));
  expect(spoken).toEqual([textOf(1), "assistant", textOf(2), "Yes."]);
  expect(await storage()).toEqual(NOTHING);
});

test("a turn whose search fails for 24 hours ends with a human too", async () => {
  const { session, id, ask, runWith, transcript, used, storage } = await createConversation();
  const failing = { getByName: () => ({ search: () => Promise.reject(new Error("the object is overloaded")) }) };
  await runWith(new TurnRunner(envWith({ INDEX: failing }), new ExtractiveEngine()));
  const takenMs = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now: takenMs });
  expect((await ask(textOf(1))).status).toBeGreaterThanOrEqual(500);
  for (let alarm = (await storage()).alarm; alarm !== null; alarm = (await storage()).alarm) {
    vi.setSystemTime(alarm);
    await runDurableObjectAlarm(session);
  }
  expect(Date.now() - takenMs).toBeGreaterThanOrEqual(DAY_MS);
  expect(Date.now() - takenMs).toBeLessThan(DAY_MS + 60 * 60_000);
  expect((await transcript()).map(([role]) => role)).toEqual(["user", "assistant"]);
  expect(await query(id, "SELECT reason FROM handoffs WHERE conversation_id = ?", id)).toEqual([{ reason: "model_failure" }]);
  expect(await used()).toBe(0);
});

test("erasing a session deletes its stored turns", async () => {
  const { session, questionWith, leave, transcript, storage } = await createConversation();
  await leave({ question: questionWith(textOf(1)) });
  await session.erase();
  expect(await storage()).toEqual(NOTHING);
  expect(await runDurableObjectAlarm(session)).toBe(false);
  expect(await transcript()).toEqual([]);
});

/** Erases a conversation like the erasure of a person does: the object, then the rows. */
async function eraseConversation(session: { erase(): Promise<void> }, workspaceId: string, id: string) {
  await session.erase();
  const { db } = newOperation(env, new Meter(), workspaceId);
  const rows = eraseConversationRows(db, workspaceId, [id], 100);
  await db.batch([rows.delivery_attempts, rows.deliveries, rows.events, rows.handoffs, rows.messages, rows.conversations]);
}

test("a turn that waits while its conversation is erased does not recreate it, and its caller gets a 404", async () => {
  const { workspace, id, session, questionWith, runWith, ask, stored, storage } = await createConversation();
  const thinking = waitingModel();
  await runWith(new TurnRunner(env, thinking.model));
  const running = ask("Something else entirely");
  await stored(1);
  // The second try of the request that began the conversation: it would begin it once more.
  const waiting = session.ask(questionWith(textOf(1), { isNew: true }));
  while ((await storage()).entries.length < 2);
  await eraseConversation(session, workspace.id, id);
  await runInDurableObject(session, thinking.release);
  expect((await running).status).toBe(200);
  expect((await waiting).result).toEqual({ outcome: "conversation_not_found" });
  expect((await workspace.call("GET", `/conversations/${id}`)).status).toBe(404);
  expect(await query(id, "SELECT id FROM messages WHERE conversation_id = ?", id)).toEqual([]);
  expect(await storage()).toEqual(NOTHING);
});

test("erasing a session waits until the running turn has stored its question", async () => {
  const { workspace, id, session, questionWith, runWith } = await createConversation();
  const database = databases[shardOf(id)]!;
  let isStoring = false;
  const batch = async (statements: D1PreparedStatement[]) => {
    isStoring = true;
    await scheduler.wait(50);
    return database.batch(statements);
  };
  const slow = { prepare: (text: string) => database.prepare(text), batch };
  await runWith(new TurnRunner(envWith({ DB: slow, DB_1: slow }), new ExtractiveEngine()));
  const running = session.ask(questionWith(textOf(1), { isNew: true }));
  while (!isStoring) await scheduler.wait(1);
  await eraseConversation(session, workspace.id, id);
  await running;
  expect(await query(id, "SELECT id FROM messages WHERE conversation_id = ?", id)).toEqual([]);
});
