import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { TurnRunner } from "../../src/chat/turn.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { createAgent, createKey, createWorkspace, envWith, learn, send } from "../harness.ts";
import { LIMITS } from "../grounded/converse.ts";
import { OpenAiStandIn } from "../stand-ins/openai.ts";
import { HANDBOOK, KNOWN } from "./handbook.ts";

/** An agent that is tried out in the playground. */
async function createPlayground(own: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, own);
  await learn(workspace, agent.id, HANDBOOK);
  const path = `/agents/${agent.id}/messages`;
  const ask = async (body: Record<string, unknown>) => {
    const { body: answer } = await workspace.call("POST", path, { message: KNOWN.message, channel: "playground", ...body });
    return answer;
  };
  const traceOf = async ({ conversation_id: conversationId, message_id: messageId }: Record<string, any>) =>
    (await workspace.call("GET", `/conversations/${conversationId}/messages/${messageId}/trace`)).body;
  return { workspace, agent, path, ask, traceOf };
}

test("settings of a question decide its answer alone: its trace names them, and the agent keeps its own", async () => {
  const { workspace, agent, ask, traceOf } = await createPlayground({ instructions: "Be brief." });
  const strict = await ask({ settings: { confidence_threshold: 1 } });
  expect(strict).toMatchObject({ needs_human: true, handoff_reason: "low_confidence", status: "ai_handled" });
  expect(await traceOf(strict)).toMatchObject({ changed_settings: ["confidence_threshold"], decision: { threshold: 1 } });
  const next = await ask({ conversation_id: strict.conversation_id });
  expect(next).toMatchObject({ needs_human: false, answer: expect.stringContaining(KNOWN.answer) });
  expect(await traceOf(next)).toMatchObject({ changed_settings: [], decision: { threshold: 0.5 } });
  const { body: after } = await workspace.call("GET", `/agents/${agent.id}`);
  expect(after).toMatchObject({ confidence_threshold: 0.5, instructions: "Be brief.", updated_at: agent["updated_at"] });
});

test("the model is asked with the question's instructions and by its name; null stands for none", async () => {
  const { workspace, ask, traceOf } = await createPlayground({ instructions: "Rhyme all you say.", model: "own-model" });
  const { conversation_id: conversationId } = await ask({});
  const standIn = new OpenAiStandIn(() => ({ text: ["@sources p1\n", "Within five working days."] }));
  const withModel = envWith({ OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer-4", OPENAI_API_KEY: "sk-model" });
  const runner = new TurnRunner(withModel, modelFor(withModel, { fetch: standIn.fetch, limits: LIMITS }));
  await runInDurableObject(env.SESSION.getByName(`${workspace.id}/${conversationId}`), (live) => void Object.assign(live, { runner }));
  const tried = await ask({ conversation_id: conversationId, settings: { instructions: "Whisper.", model: "answer-5" } });
  const bare = await ask({ conversation_id: conversationId, settings: { instructions: null, model: null } });
  expect(standIn.requests.map(({ model }) => model)).toEqual(["answer-5", "answer-4"]);
  const [first, second] = standIn.requests.map(({ messages }) => JSON.stringify(messages));
  expect([first!.includes("Whisper."), first!.includes("Rhyme")]).toEqual([true, false]);
  expect([second!.includes("Whisper."), second!.includes("Rhyme")]).toEqual([false, false]);
  for (const one of [tried, bare]) expect((await traceOf(one)).changed_settings).toEqual(["instructions", "model"]);
});

test("settings need the scope that changes agents", async () => {
  const { workspace, path } = await createPlayground();
  const { key } = await createKey(workspace, ["chat:write"]);
  const body = { message: KNOWN.message, channel: "playground" };
  expect((await send("POST", `/api/v1${path}`, { token: key, body })).status).toBe(200);
  const refused = await send("POST", `/api/v1${path}`, { token: key, body: { ...body, settings: { confidence_threshold: 0 } } });
  expect([refused.status, refused.body.error]).toMatchObject([403, { code: "insufficient_scope", message: /agents:write/ }]);
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(1);
});

test("an Idempotency-Key repeats no answer to a key without that scope, and no refusal to one that has it", async () => {
  const { workspace, path } = await createPlayground();
  const { key } = await createKey(workspace, ["chat:write"]);
  const body = { message: KNOWN.message, channel: "playground", settings: { confidence_threshold: 0 } };
  const headers = { "Idempotency-Key": "once" };
  const askWith = async (token: string) => (await send("POST", `/api/v1${path}`, { token, body, headers })).status;
  expect([await askWith(key), await askWith(workspace.key), await askWith(key)]).toEqual([403, 200, 403]);
});

test.each([
  { name: "on another channel", body: { channel: "api", settings: { model: "other" } }, loc: ["body", "settings"] },
  { name: "without a channel", body: { settings: {} }, loc: ["body", "settings"] },
  {
    name: "with a threshold over 1",
    body: { channel: "playground", settings: { confidence_threshold: 2 } },
    loc: ["body", "settings", "confidence_threshold"],
  },
  {
    name: "with instructions that are too long",
    body: { channel: "playground", settings: { instructions: "a".repeat(20_001) } },
    loc: ["body", "settings", "instructions"],
  },
  { name: "with a model without a name", body: { channel: "playground", settings: { model: "" } }, loc: ["body", "settings", "model"] },
])("settings $name are refused", async ({ body, loc }) => {
  const { workspace, path } = await createPlayground();
  const refused = await workspace.call("POST", path, { message: KNOWN.message, ...body });
  expect([refused.status, refused.body.detail.map((item: { loc: string[] }) => item.loc)]).toEqual([422, [loc]]);
});

test("OpenAI's clients have none", async () => {
  const { workspace, agent } = await createPlayground();
  const body = { model: agent.id, messages: [{ role: "user", content: KNOWN.message }], settings: { confidence_threshold: 1 } };
  const { body: completion, headers } = await workspace.call("POST", "/openai/chat/completions", body);
  expect([completion.needs_human, headers.get("X-Unknown-Fields")]).toEqual([false, "settings"]);
});
