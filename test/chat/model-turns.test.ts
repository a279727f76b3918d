import { expect, test } from "vitest";
import type { Question } from "../../src/chat/question.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, envWith, learn, listen, query } from "../harness.ts";
import { LIMITS } from "../grounded/converse.ts";
import { type ChatRequest, OpenAiStandIn, quotationsOf, type Script } from "../stand-ins/openai.ts";
import { HANDBOOK, KNOWN } from "./handbook.ts";
import { questionOf } from "./question.ts";

const ANSWER = "Refunds are paid within five working days. The form is on our site.";
const good: Script = { text: ["@sources p1\n", "Refunds are paid ", "within five working days. The", " form is on our site."] };

/** An agent whose model does what the script says. */
async function createAgentWithModel(
  script: Script | ((request: ChatRequest, count: number) => Script),
  settings: Record<string, unknown> = {},
) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { handoff_message: "A colleague takes over.", ...settings });
  await learn(workspace, agent.id, HANDBOOK);
  const standIn = new OpenAiStandIn(typeof script === "function" ? script : () => script);
  const env = envWith({ OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer" });
  const model = modelFor(env, { fetch: standIn.fetch, limits: { ...LIMITS, firstTokenMs: 1_000 } });
  const runner = new TurnRunner(env, model);
  const conversationId = newId(shardOf(workspace.id), Date.now());
  const questionWith = (message: string, isNew = true) => questionOf(workspace.id, agent.id, { conversationId, message, isNew });
  const run = async (question: Question) => {
    const deltas: string[] = [];
    const result = await runner.run(question, new Meter(), undefined, {
      onStart: () => undefined,
      onText: (text) => void deltas.push(text),
      onTrace: () => undefined,
      onSuspend: () => undefined,
    });
    if (result.outcome !== "answered") throw new Error(result.outcome);
    return { ...result.answer, deltas };
  };
  return {
    workspace,
    agent,
    conversationId,
    requests: standIn.requests,
    questionWith,
    run,
    ask: (message = KNOWN.message, isNew = true) => run(questionWith(message, isNew)),
    used: async () => (await workspace.call("GET", "/usage")).body.usage.messages as number,
    reasons: () => query(conversationId, "SELECT reason FROM handoffs WHERE conversation_id = ?", conversationId),
  };
}

test("an answer streams, and its deltas joined are the stored answer", async () => {
  const { ask, workspace, conversationId, used } = await createAgentWithModel(good);
  const { deltas, ...answer } = await ask();
  expect(deltas.length).toBeGreaterThan(1);
  expect(deltas.join("")).toBe(ANSWER);
  expect(answer).toMatchObject({
    answer: ANSWER,
    needs_human: false,
    status: "ai_handled",
    citations: [{ title: expect.any(String), type: "text" }],
  });
  const { messages } = (await workspace.call("GET", `/conversations/${conversationId}`)).body;
  expect(messages[1]).toMatchObject({ role: "assistant", content: ANSWER, confidence: answer.confidence });
  expect(await used()).toBe(1);
});

test("no delta of an answer below the threshold is sent", async () => {
  const { ask, reasons } = await createAgentWithModel(good, { confidence_threshold: 1 });
  const answer = await ask();
  expect(answer).toMatchObject({ answer: "A colleague takes over.", citations: [], needs_human: true, deltas: [] });
  expect(answer.confidence).toBeGreaterThan(0.5);
  expect(await reasons()).toEqual([{ reason: "low_confidence" }]);
});

test.each<[Script, string, number]>([
  [{ text: ["@unknown"] }, "missing_knowledge", 1],
  [{ text: ["@human"] }, "customer_request", 1],
  [{ text: ["@unsupported"] }, "unsupported_request", 1],
  [{ text: ["@sources p9\nCheese."] }, "low_confidence", 1],
  [{ status: 401 }, "model_failure", 0],
  [{ status: 500 }, "model_failure", 0],
  [{ text: [] }, "model_failure", 0],
])("%j hands off by %s, and uses %d of the quota", async (script, reason, cost) => {
  const { ask, reasons, used } = await createAgentWithModel(script);
  expect(await ask()).toMatchObject({
    answer: "A colleague takes over.",
    citations: [],
    confidence: 0,
    needs_human: true,
    status: "needs_human",
    deltas: [],
  });
  expect(await reasons()).toEqual([{ reason }]);
  expect(await used()).toBe(cost);
});

test.each<[Script, string | null]>([
  [{ reasoning: ["Hm."], finishReason: "length" }, "the reply is all reasoning"],
  [{ text: [] }, "the reply is empty: stop"],
  [{ text: ["@sources p1\n"] }, "the model wrote nothing"],
  [{ ...good, breakAt: 3 }, "the model's stream broke off"],
  [{ text: ["@unknown"] }, null],
])("the hand-off after %j says how the model failed: %s", async (script, failure) => {
  const { ask, workspace } = await createAgentWithModel(script);
  await ask();
  expect(await query(workspace.id, "SELECT failure FROM handoffs WHERE workspace_id = ?", workspace.id)).toEqual([{ failure }]);
});

test("an error in the middle ends the answer with the hand-off message, and uses no quota", async () => {
  const { ask, reasons, used, workspace, conversationId } = await createAgentWithModel({ ...good, breakAt: 3 });
  const { deltas, ...answer } = await ask();
  expect(deltas.join("")).toMatch(/^Refunds are paid/);
  expect(answer.answer).toBe(`${deltas.join("")}\n\nA colleague takes over.`);
  expect(answer).toMatchObject({ citations: [], confidence: 0, needs_human: true, status: "needs_human" });
  expect(await reasons()).toEqual([{ reason: "model_failure" }]);
  expect(await used()).toBe(0);
  const { messages } = (await workspace.call("GET", `/conversations/${conversationId}`)).body;
  expect(messages[1].content).toBe(answer.answer);
});

test("the model reads the conversation, the team's messages too, and nothing from before a resolution", async () => {
  const { ask, requests, workspace, conversationId } = await createAgentWithModel(good);
  const reply = (body: object) => workspace.call("POST", `/conversations/${conversationId}/messages`, body);
  await ask();
  await reply({ content: "A colleague: by card." });
  await workspace.call("PATCH", `/conversations/${conversationId}`, { status: "open" });
  await ask("And to Norway?", false);
  const said = requests[1]!.messages;
  expect(said.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(said[2]?.content).toBe(`${ANSWER}\n\nA colleague: by card.`);
  expect(
    quotationsOf(requests[1]!)
      .filter(({ label }) => label === "visitor")
      .map(({ text }) => text),
  ).toEqual([KNOWN.message, "And to Norway?"]);
  await reply({ content: "Done.", resolve: true });
  await ask("How long is the warranty of a kettle?", false);
  await ask("And the lid?", false);
  expect(requests[2]!.messages.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(JSON.stringify(requests[3]!.messages)).not.toContain("And to Norway?");
  expect(requests[3]!.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
});

test("the model gets the agent's own model name, name, language and instructions", async () => {
  const { ask, requests } = await createAgentWithModel(good, {
    model: "own-model",
    name: "Grace",
    language: "de",
    instructions: "Say “Servus”.",
  });
  await ask();
  expect(requests[0]?.model).toBe("own-model");
  expect(requests[0]?.messages[0]?.content).toMatch(/Grace[\s\S]*"de"[\s\S]*Say “Servus”\./);
});

const SURE = "@smalltalk\nYou are welcome! We are here 24/7.";

test.each<[string, Script, number]>([
  ["Hello", { text: ["@smalltalk\nHello!"] }, 0.95],
  ["Thanks!", { text: [SURE] }, 0.5],
  ["Who are you?", { text: ["@unknown"] }, 0.5],
  ["Hi", { status: 500 }, 0.5],
])("small talk is never handed over: %s", async (message, script, threshold) => {
  const { ask, reasons } = await createAgentWithModel(script, { confidence_threshold: threshold });
  const { answer, ...more } = await ask(message);
  expect(more).toMatchObject({ citations: [], confidence: 0.9, needs_human: false, status: "ai_handled" });
  expect(answer).not.toContain("A colleague takes over.");
  expect(await reasons()).toEqual([]);
});

test.each(["Hello, what is the capital of France?", "Yes"])("what may be more than small talk is handed over: %s", async (message) => {
  const { ask } = await createAgentWithModel({ text: ["@unknown"] });
  expect(await ask(message)).toMatchObject({ answer: "A colleague takes over.", needs_human: true });
});

test("a thank-you is answered in kind", async () => {
  const { ask } = await createAgentWithModel({ text: ["@smalltalk\n", "You are welcome!"] });
  expect(await ask("Thank you!")).toMatchObject({ answer: "You are welcome!", citations: [], needs_human: false, status: "ai_handled" });
});

test("a model can search the agent's knowledge", async () => {
  const { ask } = await createAgentWithModel((request, count) =>
    count === 1
      ? { toolCalls: [{ name: "search_knowledge", arguments: { query: "warranty of a kettle" } }] }
      : { text: [`@sources ${/passage (p\d)/.exec(String(request.messages.at(-1)?.content))?.[1]}\n`, "Three years."] },
  );
  const answer = await ask("Wie lange habe ich Garantie?");
  expect(answer).toMatchObject({ answer: "Three years.", needs_human: false });
  expect(answer.citations[0]?.snippet).toContain("warranty of three years");
});

test("a model can hand a conversation off", async () => {
  const { ask, reasons } = await createAgentWithModel({ toolCalls: [{ name: "request_human", arguments: {} }] });
  expect(await ask("Ich möchte mit jemandem sprechen.")).toMatchObject({ needs_human: true });
  expect(await reasons()).toEqual([{ reason: "customer_request" }]);
});

test("contact details that the visitor wrote are stored once, however often the turn runs", async () => {
  const details = { email: "ann@example.com", phone: "+43 (316) 555-11", name: "Ann", message: "Wants an offer." };
  const { questionWith, run, workspace, conversationId, agent } = await createAgentWithModel((_, count) =>
    count % 2 === 1
      ? { toolCalls: [{ name: "collect_lead", arguments: details }] }
      : count === 2
        ? { text: ["@sources t1\nThanks!"], breakAt: 0 }
        : { text: ["@sources t1\nThanks, noted."] },
  );
  await listen(workspace);
  const question = questionWith("Send me an offer: Ann@Example.com or 0043 316 55511, that is +4331655511.");
  await run(question);
  const again = await run(question);
  const leads = (await workspace.call("GET", "/leads")).body;
  expect(leads.total).toBe(1);
  expect(leads.data[0]).toMatchObject({ ...details, agent_id: agent.id, conversation_id: conversationId });
  expect(again.answer).toBeTruthy();
  const events = await query(
    conversationId,
    "SELECT count(*) AS size FROM events WHERE type = 'lead.created' AND workspace_id = ?",
    workspace.id,
  );
  expect(events).toEqual([{ size: 1 }]);
});

test("contact details in the playground are not stored, and the model goes on as if they were", async () => {
  const { questionWith, run, requests, workspace } = await createAgentWithModel((_, count) =>
    count === 1
      ? { toolCalls: [{ name: "collect_lead", arguments: { email: "ann@example.com" } }] }
      : { text: ["@sources t1\nThanks, noted."] },
  );
  await run({ ...questionWith("Send me an offer: ann@example.com"), channel: "playground" });
  expect((await workspace.call("GET", "/leads")).body.total).toBe(0);
  expect(requests[1]?.messages.at(-1)?.content).toContain("The contact details are kept");
});

test.each([
  { email: "else@example.com" },
  { phone: "+43 1 9999999" },
  { phone: "1" },
  { name: "Ann" },
  { email: "ann@example.com", phone: "+49 30 77777" },
])("contact details that the visitor did not write are not stored: %j", async (details) => {
  const { ask, requests, workspace } = await createAgentWithModel((_, count) =>
    count === 1 ? { toolCalls: [{ name: "collect_lead", arguments: details }] } : { text: ["@unknown"] },
  );
  await ask("Write to ann@example.com about kettle 1.");
  expect((await workspace.call("GET", "/leads")).body.total).toBe(0);
  expect(requests[1]?.messages.at(-1)?.content).toContain("Nothing was kept");
});
