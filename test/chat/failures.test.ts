import { createExecutionContext, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import { ExtractiveEngine } from "../../src/extractive/engine.ts";
import { type Answer, createAgent, createWorkspace, envWith, evict, query, send } from "../harness.ts";
import { openStream } from "../stream-client.ts";

const KNOWN = "Are you open on Sundays?";

async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: KNOWN, answer: "Yes." });
  return {
    workspace,
    path: `/agents/${agent.id}/messages`,
    used: async () => (await workspace.call("GET", "/usage")).body.usage.messages,
    conversations: async () => (await workspace.call("GET", "/conversations")).body.data.map(({ id }: { id: string }) => id),
  };
}

type Session = ReturnType<typeof env.SESSION.getByName>;

/** Sessions whose D1 fails so; the sessions that were asked are kept in the list. */
function sessionsWithFailingD1(asked: Session[], text = "D1_ERROR: it is down"): Env {
  const failing = { prepare: (sql: string) => env.DB.prepare(sql), batch: () => Promise.reject(new Error(text)) };
  const runner = new TurnRunner(envWith({ DB: failing, DB_1: failing }), new ExtractiveEngine());
  const prepare = async (session: Session) => {
    if (asked.push(session) === 1) await runInDurableObject(session, (live) => void Object.assign(live, { runner }));
  };
  return sessionsWith((session) => ({
    ask: async (...args: Parameters<Session["ask"]>) => {
      await prepare(session);
      return session.ask(...args);
    },
    stream: async (...args: Parameters<Session["stream"]>) => {
      await prepare(session);
      return session.stream(...args);
    },
    isUnfinished: (answerId: string) => session.isUnfinished(answerId),
  }));
}

/** The environment with sessions that behave so. */
function sessionsWith(behave: (session: Session) => object): Env {
  return envWith({ SESSION: { getByName: (name: string) => behave(env.SESSION.getByName(name)) } });
}

/** Asks in that environment, as an integrator or, without a key, as a visitor. */
async function ask(path: string, body: object, bindings: Env, headers: Record<string, string> = {}): Promise<Answer> {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } };
  const response = await app.fetch(new Request(`https://service.test${path}`, init), bindings, createExecutionContext());
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const bearer = ({ key }: { key: string }) => ({ Authorization: `Bearer ${key}` });

/** Lets a session run its turns with a database that works again. */
async function recover([session]: Session[]): Promise<void> {
  await evict(session!);
  expect(await runDurableObjectAlarm(session!)).toBe(true);
}

test.for([
  ["D1_ERROR: it is down", 500, "internal_error"],
  ["D1_ERROR: database is locked: SQLITE_BUSY", 503, "unavailable"],
] as const)("a question that is kept although D1 says %s is named by its error, and answered once", async ([text, status, code]) => {
  const { workspace, path, used, conversations } = await createFixture();
  const asked: Session[] = [];
  const failed = await ask(`/api/v1${path}`, { message: KNOWN }, sessionsWithFailingD1(asked, text), bearer(workspace));
  expect([failed.status, failed.body.error.code]).toEqual([status, code]);
  expect(failed.body.error.message).toContain("instead of asking again");
  const { conversation_id: id, message_id: messageId } = failed.body.error;
  expect(await conversations()).toEqual([]);
  await recover(asked);
  expect(await conversations()).toEqual([id]);
  const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
  expect(messages.map(({ content }: { content: string }) => content)).toEqual([KNOWN, "Yes."]);
  expect(messages[1].id).toBe(messageId);
  expect(await used()).toBe(1);
});

test("the stream of a kept question can be resumed before its conversation is stored", async () => {
  const { workspace, path } = await createFixture();
  const asked: Session[] = [];
  const failed = await ask(`/api/v1${path}`, { message: KNOWN }, sessionsWithFailingD1(asked), bearer(workspace));
  const { conversation_id: id, message_id: messageId } = failed.body.error;
  const stream = await openStream("GET", `/api/v1/conversations/${id}/messages/${messageId}/stream`, { token: workspace.key });
  expect(stream.status).toBe(200);
  await runInDurableObject(asked[0]!, (live) => void Object.assign(live, { runner: new TurnRunner(env, new ExtractiveEngine()) }));
  await runDurableObjectAlarm(asked[0]!);
  expect((await stream.rest()).at(-1)).toMatchObject({
    event: "done",
    data: { answer: "Yes.", conversation_id: id, message_id: messageId },
  });
});

test("a streamed question that fails before its first event is named too", async () => {
  const { workspace, path } = await createFixture();
  const asked: Session[] = [];
  const failed = await ask(`/api/v1${path}`, { message: KNOWN, stream: true }, sessionsWithFailingD1(asked), bearer(workspace));
  expect([failed.status, failed.headers.get("Content-Type")]).toEqual([500, expect.stringContaining("application/json")]);
  await recover(asked);
  expect((await workspace.call("GET", `/conversations/${failed.body.error.conversation_id}`)).body.message_count).toBe(2);
});

test("an answer that is lost on its way is named, since the question is stored", async () => {
  const { workspace, path, conversations } = await createFixture();
  const bindings = sessionsWith((session) => ({
    ask: async (...args: Parameters<Session["ask"]>) => {
      await session.ask(...args);
      throw new Error("Network connection lost.");
    },
    isUnfinished: (answerId: string) => session.isUnfinished(answerId),
  }));
  const failed = await ask(`/api/v1${path}`, { message: KNOWN }, bindings, bearer(workspace));
  expect(failed.status).toBe(503);
  expect(await conversations()).toEqual([failed.body.error.conversation_id]);
});

test("a question that never reached its session leaves nothing, and its error names nothing", async () => {
  const { workspace, path, used, conversations } = await createFixture();
  const bindings = sessionsWith((session) => ({
    ask: () => Promise.reject(new Error("Durable Object is overloaded.")),
    isUnfinished: (answerId: string) => session.isUnfinished(answerId),
  }));
  const failed = await ask(`/api/v1${path}`, { message: KNOWN }, bindings, bearer(workspace));
  expect([failed.status, Object.keys(failed.body.error).toSorted()]).toEqual([503, ["code", "message", "request_id"]]);
  expect([await conversations(), await used()]).toEqual([[], 0]);
});

test("where nobody knows whether a question is kept, its error names it", async () => {
  const { workspace, path } = await createFixture();
  const lost = () => Promise.reject(new Error("Network connection lost."));
  const failed = await ask(
    `/api/v1${path}`,
    { message: KNOWN },
    sessionsWith(() => ({ ask: lost, isUnfinished: lost })),
    bearer(workspace),
  );
  expect(failed.body.error).toMatchObject({ conversation_id: expect.any(String), message_id: expect.any(String) });
});

test("a request that is repeated with its Idempotency-Key after the error makes no second conversation and no second charge", async () => {
  const { workspace, path, used, conversations } = await createFixture();
  const asked: Session[] = [];
  const headers = { ...bearer(workspace), "Idempotency-Key": "once" };
  const failed = await ask(`/api/v1${path}`, { message: KNOWN }, sessionsWithFailingD1(asked), headers);
  await evict(asked[0]!);
  const { conversation_id: id, message_id: messageId } = failed.body.error;
  const again = await workspace.call("POST", path, { message: KNOWN }, { "Idempotency-Key": "once" });
  expect([again.status, again.body.conversation_id, again.body.message_id]).toEqual([200, id, messageId]);
  expect([await conversations(), await used()]).toEqual([[id], 1]);
});

test("a new visitor's error holds the token with which they read the answer", async () => {
  const { workspace, path } = await createFixture();
  const asked: Session[] = [];
  const failed = await ask(`/widget/v1${path}`, { message: KNOWN }, sessionsWithFailingD1(asked));
  expect(failed.status).toBe(500);
  const { conversation_id: id, message_id: messageId, visitor_token: token, anon_id: anonId } = failed.body.error;
  await recover(asked);
  const read = await send("GET", `/widget/v1/conversations/${id}/messages`, { token });
  expect([read.status, read.body.data?.at(-1)]).toMatchObject([200, { id: messageId, content: "Yes." }]);
  const next = await send("POST", `/widget/v1${path}`, { body: { message: KNOWN, conversation_id: id, visitor_token: token } });
  expect([next.status, next.body.conversation_id, next.body.anon_id]).toEqual([200, id, anonId]);
  expect(await query(workspace.id, "SELECT id FROM visitors WHERE workspace_id = ?", workspace.id)).toHaveLength(1);
});
