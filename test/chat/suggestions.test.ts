import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { openQuestionOf, readConversation, suggestReply } from "../../src/chat/suggestion.ts";
import { composeSummary, writeSummary } from "../../src/chat/summary.ts";
import type { Model, ModelRequest } from "../../src/models/model.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, learn, operate, query, send, type Workspace } from "../harness.ts";
import { behaveAt, newHost } from "../outbound.ts";
import { eventsOf } from "../stand-ins/openai.ts";

afterEach(() => {
  Reflect.set(env, "OPENAI_BASE_URL", "");
  Reflect.set(env, "OPENAI_MODEL", "");
});

const REFUNDS = "# Refunds\n\nRefunds are paid within five working days.";

/** A workspace whose agent is asked these questions in one conversation. */
async function converse(messages: readonly string[]) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { confidence_threshold: 1 });
  await learn(workspace, agent.id, REFUNDS);
  let id: string | undefined;
  for (const message of messages) {
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message, conversation_id: id });
    id = asked.body.conversation_id;
  }
  return { workspace, agentId: agent.id, id: id! };
}

const usedBy = async (workspace: Workspace) => (await workspace.call("GET", "/usage")).body.usage.messages;

async function read(workspace: Workspace, id: string) {
  const op = newOperation(env, new Meter(), workspace.id);
  return { op, conversation: (await readConversation(op, id))! };
}

test("a reply to the last question is suggested from the knowledge, however unsure, and nothing is written", async () => {
  const { workspace, id } = await converse(["When are refunds paid?", "I want to talk to a human"]);
  const before = (await workspace.call("GET", `/conversations/${id}`)).body;
  const used = await usedBy(workspace);
  const { status, body } = await workspace.call("POST", `/conversations/${id}/suggested-reply`);
  expect([status, body.content, body.citations[0].title]).toEqual([200, "Refunds are paid within five working days.", expect.any(String)]);
  expect(body.confidence).toBeLessThan(1);
  expect((await workspace.call("GET", `/conversations/${id}`)).body).toEqual(before);
  expect(await usedBy(workspace)).toBe(used + 1);
});

test("a streamed suggestion has its parts and ends with the whole", async () => {
  const { workspace, id } = await converse(["When are refunds paid?"]);
  const answer = await send("POST", `/api/v1/conversations/${id}/suggested-reply`, { token: workspace.key, body: { stream: true } });
  expect(answer.headers.get("Content-Type")).toMatch(/^text\/event-stream/);
  const events = (answer.body as string).split("\n\n").map((event) => event.split("\n"));
  expect(events.map(([name]) => name)).toEqual(["event: delta", "event: done", ""]);
  expect(JSON.parse(events[1]![1]!.slice("data: ".length))).toMatchObject({ content: "Refunds are paid within five working days." });
});

test("a streamed suggestion that is repeated with its key is written and counted once", async () => {
  const { workspace, id } = await converse(["When are refunds paid?"]);
  const used = await usedBy(workspace);
  const model = newHost();
  Reflect.set(env, "OPENAI_BASE_URL", `http://${model}/v1`);
  Reflect.set(env, "OPENAI_MODEL", "answer");
  const stream = () => workspace.call("POST", `/conversations/${id}/suggested-reply`, { stream: true }, { "Idempotency-Key": "k-1" });
  // A failed one is not kept.
  await behaveAt(model, { status: 400 });
  expect((await stream()).body).toContain("event: error");
  await vi.waitFor(async () => expect(await leaseOf(workspace)).toBe(0));

  await behaveAt(model, { waits: true });
  const first = stream();
  await vi.waitFor(async () => expect(await usedBy(workspace)).toBe(used + 1));
  // It may be written for longer than other requests run.
  expect(await leaseOf(workspace)).toBeGreaterThan(Date.now() + 90_000);
  const early = await stream();
  expect([early.status, early.body.error?.code]).toEqual([409, "conflict"]);
  const events = [...eventsOf("answer", { text: ["Refunds are paid within five working days."] })].join("");
  await behaveAt(model, { headers: { "Content-Type": "text/event-stream" }, body: events });
  const { body } = await first;
  expect(body).toContain("event: done");
  await vi.waitFor(async () => expect((await stream()).status).toBe(200));
  const replayed = await stream();
  expect([replayed.body, replayed.headers.get("Content-Type")]).toEqual([body, "text/event-stream; charset=utf-8"]);
  expect(replayed.headers.get("Idempotent-Replayed")).toBe("true");
  expect(await usedBy(workspace)).toBe(used + 1);
});

/** The time until which the workspace's only Idempotency-Key is held. */
async function leaseOf({ id }: Workspace): Promise<number> {
  return (await query<{ lease: number }>(id, "SELECT lease_until AS lease FROM idempotency_records WHERE workspace_id = ?", id))[0]!.lease;
}

test("a suggestion is empty without knowledge, and refused without a question, beyond the quota and for an unknown conversation", async () => {
  const { workspace, agentId, id } = await converse(["How is bread baked in the mountains?"]);
  const suggest = (conversation: string) => workspace.call("POST", `/conversations/${conversation}/suggested-reply`);
  expect((await suggest(id)).body).toMatchObject({ content: "", citations: [] });
  const started = await workspace.call("POST", "/conversations", { agent_id: agentId, channel: "api", content: "Hello" });
  expect((await suggest(started.body.id)).body.error.code).toBe("conflict");
  expect((await suggest(agentId)).status).toBe(404);
  const used = await usedBy(workspace);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: used } });
  const refused = await suggest(id);
  expect([refused.status, refused.body.error.code]).toEqual([402, "quota_exceeded"]);
  expect(await usedBy(workspace)).toBe(used);
});

test("a model writes a suggestion with the conversation and without the agent's tools", async () => {
  const { workspace, id } = await converse(["Hello", "When are refunds paid?"]);
  const { op, conversation } = await read(workspace, id);
  const requests: ModelRequest[] = [];
  const model: Model = {
    answer: async (request) => {
      requests.push(request);
      const text = (async function* () {
        yield "Within ";
        yield "five days.";
      })();
      return { outcome: "answered", confidence: 0.1, cited: request.retrieval.passages.slice(0, 1), text };
    },
  };
  const pieces: string[] = [];
  const asked = { agent: conversation.agent, conversationId: id, question: openQuestionOf(conversation)! };
  const suggestion = await suggestReply(op, model, asked, (piece) => pieces.push(piece));
  expect(suggestion).toMatchObject({ text: "Within five days.", confidence: 0.1, handoff: null, citations: [{ type: "text" }] });
  expect(pieces).toEqual(["Within ", "five days."]);
  expect(requests[0]!.history[0]).toEqual({ role: "visitor", text: "Hello" });
  expect(requests[0]!.tools.map(({ name }) => name)).toEqual(["search_knowledge"]);
  const broken: Model = { answer: () => Promise.reject(new Error("down")) };
  expect((await suggestReply(op, broken, asked, () => undefined)).handoff?.reason).toBe("model_failure");
});

test("a suggestion has the history and the version of the agent's own turn", async () => {
  const { workspace, agentId, id } = await converse(["When are refunds paid?", "And in cash?"]);
  const questionNow = async () => openQuestionOf((await read(workspace, id)).conversation)!;
  const { history } = await questionNow();
  expect(history.map(({ role }) => role)).toEqual(["visitor", "agent"]);
  await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
  expect(await questionNow()).toEqual({ message: "And in cash?", history });

  // A reply after the resolution begins a new context, which the question before is not part of.
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "One more thing." });
  expect(await questionNow()).toEqual({ message: "And in cash?", history });
  const ask = (body: object) => workspace.call("POST", `/agents/${agentId}/messages`, body);
  await ask({ message: "How are cakes sent?", conversation_id: id });
  expect(await questionNow()).toEqual({ message: "How are cakes sent?", history: [{ role: "agent", text: "One more thing." }] });

  await workspace.call("PATCH", `/agents/${agentId}/versions/draft`, { instructions: "Rhyme." });
  await workspace.call("POST", `/agents/${agentId}/versions/publish`, { rollout: 1 });
  const begun = (await ask({ message: "When are refunds paid?" })).body.conversation_id;
  expect((await read(workspace, begun)).conversation.agent).toMatchObject({ version: 2, instructions: "Rhyme." });
  expect((await read(workspace, id)).conversation.agent).toMatchObject({ version: 1 });
});

test("a summary says what was asked, what was answered and why it was handed over", async () => {
  const { workspace, id } = await converse(["Hello", "When are refunds paid?", "Can you pay mine today?"]);
  await workspace.call("POST", `/conversations/${id}/notes`, { content: "A secret note." });
  const used = await usedBy(workspace);
  const { body } = await workspace.call("POST", `/conversations/${id}/summary`);
  expect(body.content.split("\n")).toEqual([
    "Asked: When are refunds paid?",
    "Asked last: Can you pay mine today?",
    expect.stringMatching(/^Answered: |^Nothing was answered\.$/),
    "Handed over: the agent was not sure of its answer.",
  ]);
  expect(await usedBy(workspace)).toBe(used);
  const { conversation } = await read(workspace, id);
  expect(composeSummary({ ...conversation, messages: [], handoff: undefined })).toBe(
    "The visitor has asked nothing.\nNothing was answered.",
  );
  const tasks: { rules: string; material: string }[] = [];
  const write = (task: (typeof tasks)[number]) => Promise.resolve(tasks.push(task) ? "Wants a refund." : "");
  expect(await writeSummary(write, conversation)).toBe("Wants a refund.");
  const [mark] = /\S+(?=\.$)/.exec(tasks[0]!.rules)!;
  expect(tasks[0]!.material).toContain(`<<visitor ${mark}>>\nCan you pay mine today?\n<<end ${mark}>>`);
  expect(tasks[0]!.material).not.toContain("secret");
});

test("what was written before the workspace masked it is masked in a summary and in the question of a suggestion", async () => {
  const { workspace, id } = await converse(["When are refunds paid to my card 4111 1111 1111 1111?"]);
  await workspace.call("PATCH", "/privacy/redaction", { card: true });
  const { body } = await workspace.call("POST", `/conversations/${id}/summary`);
  expect(body.content).toContain("Asked: When are refunds paid to my card [redacted: card]?");
  const op = newOperation(env, new Meter(), workspace.id);
  const read = (await readConversation(op, id, (text) => text.replaceAll("4111 1111 1111 1111", "masked")))!;
  expect(openQuestionOf(read)!.message).toBe("When are refunds paid to my card masked?");
});

test("a question with a word that hands off gets a suggestion too", async () => {
  const { workspace, agentId, id } = await converse(["When are refunds paid?"]);
  await workspace.call("PATCH", `/agents/${agentId}`, { handoff_words: ["refunds"] });
  const { body } = await workspace.call("POST", `/conversations/${id}/suggested-reply`);
  expect(body.content).toBe("Refunds are paid within five working days.");
});

test("what the model fails to write is not counted, and what it writes is", async () => {
  const { workspace, id } = await converse(["When are refunds paid?"]);
  const used = await usedBy(workspace);
  const model = newHost();
  Reflect.set(env, "OPENAI_BASE_URL", `http://${model}/v1`);
  Reflect.set(env, "OPENAI_MODEL", "answer");
  const post = (path: string, body?: object) => workspace.call("POST", `/conversations/${id}/${path}`, body);
  await behaveAt(model, { status: 400 });
  const failed = await post("suggested-reply");
  expect([failed.status, failed.body.error?.code]).toEqual([503, "unavailable"]);
  expect((await post("suggested-reply", { stream: true })).body).toContain("event: error");
  const composed = await post("summary");
  expect([composed.status, composed.body.content]).toEqual([200, expect.stringContaining("Asked: When are refunds paid?")]);
  expect(await usedBy(workspace)).toBe(used);

  const written = "Refunds are paid within five working days.";
  const events = [...eventsOf("answer", { text: [written] })].join("");
  await behaveAt(model, { headers: { "Content-Type": "text/event-stream" }, body: events });
  expect((await post("suggested-reply")).body.content).toBe(written);
  expect(await usedBy(workspace)).toBe(used + 1);
  expect((await post("summary")).body.content).toBe(written);
  expect(await usedBy(workspace)).toBe(used + 2);
});
