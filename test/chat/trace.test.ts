import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Trace } from "../../src/chat/trace-wire.ts";
import { TraceRecorder } from "../../src/chat/trace.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import type { Model } from "../../src/models/model.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, envWith, evict, learn, query, sessionStorage, type Workspace } from "../harness.ts";
import { LIMITS } from "../grounded/converse.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import { type ChatRequest, OpenAiStandIn, type Script } from "../stand-ins/openai.ts";
import { HANDBOOK } from "./handbook.ts";
import { questionOf } from "./question.ts";

afterEach(() => vi.useRealTimers());

const DAY_MS = 24 * 60 * 60_000;
const QUESTION = "When are refunds paid?";

async function createFixture(settings: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, settings);
  const source = await learn(workspace, agent.id, HANDBOOK);
  return { workspace, agent, source, ask: (message: string) => askIn(workspace, agent.id, message) };
}

async function askIn(workspace: Workspace, agentId: string, message: string) {
  const { body } = await workspace.call("POST", `/agents/${agentId}/messages`, { message, user: { id: "ann" } });
  const path = `/conversations/${body.conversation_id}/messages/${body.message_id}/trace`;
  return { answer: body, read: () => workspace.call("GET", path), path };
}

describe("without a language model", () => {
  let fixture: Awaited<ReturnType<typeof createFixture>>;
  beforeAll(async () => void (fixture = await createFixture()));

  test("an answer's trace says what was found, with which scores, what is cited, and what the threshold said", async () => {
    const { answer, read } = await fixture.ask(QUESTION);
    const { status, body } = await read();
    expect(status).toBe(200);
    const { conversation_id, message_id, confidence } = answer;
    expect(body).toMatchObject({ conversation_id, message_id, agent_id: fixture.agent.id, tool_calls: [] });
    expect(body.decision).toMatchObject({ outcome: "answered", reason: "confident", confidence, threshold: 0.5 });
    expect(body.decision.explanation).toMatch(/^The confidence of 0\.\d+ reaches the threshold of 0\.5\.$/);
    const [search, ...more] = body.searches;
    expect(more).toEqual([]);
    expect(search).toMatchObject({ by: "question", query: QUESTION, previous_question: null, language: "en", answers: [] });
    expect(search.terms).toContain("refund");
    const cited = search.passages.filter(({ is_cited }: { is_cited: boolean }) => is_cited);
    expect(cited).toHaveLength(1);
    expect(cited[0]).toMatchObject({ source_id: fixture.source.id, type: "text", title: "Handbook", heading: "Refunds" });
    expect(cited[0].content).toContain("efund");
    for (const { score, scores } of search.passages) expect(scores).toEqual({ lexical: score, semantic: null, reranker: null });
    expect(body.model_calls).toMatchObject([{ model: "extractive", finish: "stop", input_tokens: null, output_tokens: null }]);
  });

  test.each([
    {
      name: "what nothing answers",
      message: "Do you sell rockets to Mars?",
      reason: "missing_knowledge",
      explanation: "Nothing that was found answers the question.",
    },
    {
      name: "a wish for a person",
      message: "I want to talk to a human",
      reason: "customer_request",
      explanation: "The visitor asked for a person.",
    },
  ])("the hand-off of $name has a trace", async ({ message, reason, explanation }) => {
    const { read } = await fixture.ask(message);
    expect((await read()).body.decision).toMatchObject({ outcome: "handed_off", reason, explanation });
  });

  test("an answer that is too unsure says so", async () => {
    const strict = await createAgent(fixture.workspace, { name: "Strict", confidence_threshold: 1 });
    await learn(fixture.workspace, strict.id, HANDBOOK);
    const { answer, read } = await askIn(fixture.workspace, strict.id, QUESTION);
    const { decision, searches } = (await read()).body;
    expect(decision).toMatchObject({ outcome: "handed_off", reason: "low_confidence", threshold: 1, confidence: answer.confidence });
    expect(decision.explanation).toMatch(/^The confidence of 0\.\d+ is below the threshold of 1\.$/);
    expect(searches[0].passages[0].is_cited).toBe(false);
  });

  test("a curated answer is named, and no model was asked", async () => {
    const curated = { question: "How do I cancel my plan?", answer: "Open Billing and choose Cancel plan." };
    const { body: added } = await fixture.workspace.call("POST", `/agents/${fixture.agent.id}/answers`, curated);
    const { read } = await fixture.ask(curated.question);
    const { body } = await read();
    expect(body).toMatchObject({ decision: { outcome: "answered", reason: "curated_answer" }, model_calls: [] });
    expect(body.searches[0].answers[0]).toEqual({ answer_id: added.id, question: curated.question, score: 1, is_cited: true });
  });

  test("the trace of a follow-up names the question that it was understood with", async () => {
    const first = await fixture.ask(QUESTION);
    const { conversation_id: conversationId } = first.answer;
    const followUp = { message: "And how long does it take?", user: { id: "ann" }, conversation_id: conversationId };
    const { body } = await fixture.workspace.call("POST", `/agents/${fixture.agent.id}/messages`, followUp);
    const trace = await fixture.workspace.call("GET", `/conversations/${conversationId}/messages/${body.message_id}/trace`);
    expect(trace.body.searches[0].previous_question).toBe(QUESTION);
  });

  test("only an agent's answer has one, and only in its own conversation", async () => {
    const { answer, path } = await fixture.ask(QUESTION);
    const other = await fixture.ask(QUESTION);
    const { messages } = (await fixture.workspace.call("GET", `/conversations/${answer.conversation_id}`)).body;
    const wrong = [
      path.replace(answer.message_id, messages[0].id),
      path.replace(answer.message_id, other.answer.message_id),
      path.replace(answer.message_id, newId(shardOf(fixture.workspace.id), Date.now())),
    ];
    for (const one of wrong) expect((await fixture.workspace.call("GET", one)).status, one).toBe(404);
  });

  test("a trace survives its object, and is gone after 30 days with all that is left in it", async () => {
    const { answer, read } = await fixture.ask(QUESTION);
    const session = env.SESSION.getByName(`${fixture.workspace.id}/${answer.conversation_id}`);
    await evict(session);
    const { body } = await read();
    expect(body.message_id).toBe(answer.message_id);
    const { alarm } = await sessionStorage(fixture.workspace.id, answer.conversation_id);
    expect(alarm! - Date.parse(body.created_at)).toBeGreaterThan(30 * DAY_MS - 60_000);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(body.created_at) + 30 * DAY_MS - 60_000 });
    expect((await read()).status).toBe(200);
    vi.setSystemTime(alarm!);
    const expired = await read();
    expect([expired.status, expired.body.error.message]).toEqual([404, expect.stringContaining("30 days")]);
    await runDurableObjectAlarm(session);
    expect(await sessionStorage(fixture.workspace.id, answer.conversation_id)).toEqual({ entries: [], alarm: null });
  });

  test("an answer that ends after its conversation was erased leaves no trace", async () => {
    const { answer } = await fixture.ask(QUESTION);
    const session = env.SESSION.getByName(`${fixture.workspace.id}/${answer.conversation_id}`);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const waits: Model["answer"] = async () => {
      await Promise.race([released, scheduler.wait(60_000)]);
      return { outcome: "no_answer", confidence: 0 };
    };
    await runInDurableObject(session, (live) => void Object.assign(live, { runner: new TurnRunner(env, { answer: waits }) }));
    const body = { message: "And parcels?", user: { id: "ann" }, conversation_id: answer.conversation_id };
    const asking = fixture.workspace.call("POST", `/agents/${fixture.agent.id}/messages`, body);
    const stored = "SELECT count(*) AS size FROM messages WHERE conversation_id = ?";
    while ((await query<{ size: number }>(body.conversation_id, stored, body.conversation_id))[0]!.size < 3);
    // An erasure empties the object first, while its rows still exist.
    await session.erase();
    await runInDurableObject(session, () => release());
    expect((await asking).status).toBe(200);
    expect(await sessionStorage(fixture.workspace.id, answer.conversation_id)).toEqual({ entries: [], alarm: null });
  });
});

// --- With a language model -------------------------------------------------------------------------------------------

const SECRET = "s3cr3t-of-the-operator";
const CUSTOMER = "customer-4711";

/** A tool with a secret in its header, and with variables of the visitor in its address, headers and body. */
const orderTool = (host: string, method = "POST") => ({
  name: "order_status",
  description: "Says where an order is.",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  method,
  url: `https://${host}/customers/{visitor.external_id}/orders`,
  headers: { Authorization: `Bearer ${SECRET}`, "X-Customer": "{visitor.email}" },
  ...(method === "POST" && { body: { conversation: "{conversation.id}" } }),
  timeout_seconds: 1,
});

const usage = (prompt: number, completion: number) =>
  `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } })}\n\n`;

/** The trace of an answer by a model that does what the script says. */
async function traceWith(
  scriptOf: (request: ChatRequest, count: number) => Script,
  tools: (host: string) => object[] = () => [],
  variables: Record<string, string> = {},
) {
  const host = newHost();
  const { workspace, agent } = await createFixture({ tools: tools(host) });
  const standIn = new OpenAiStandIn(scriptOf);
  const withModel = envWith({
    OPENAI_BASE_URL: "http://stand-in.test/v1",
    OPENAI_MODEL: "answer-4",
    OPENAI_API_KEY: "sk-model",
    ...variables,
  });
  const runner = new TurnRunner(withModel, modelFor(withModel, { fetch: standIn.fetch, limits: LIMITS }));
  const ann = { anonId: `api:${CUSTOMER}`, externalId: CUSTOMER, name: "Ann", email: "ann@example.com", verified: true };
  const visitor = { ...ann, isProfileVerified: true, joins: null };
  const question = questionOf(workspace.id, agent.id, { message: QUESTION, visitor });
  const run = async (): Promise<Trace> => {
    const { promise, resolve } = Promise.withResolvers<Trace>();
    const listener = { onStart: () => undefined, onText: () => undefined, onSuspend: () => undefined, onTrace: resolve };
    await runner.run(question, new Meter(), undefined, listener);
    return promise;
  };
  return { host, run, requests: standIn.requests };
}

test("the calls of a model are listed with their tokens and times", async () => {
  const answers: Script = { text: ["@sources p1\n", "Within five working days."], rawAt: { 3: usage(812, 21) + "data: [DONE]\n\n" } };
  const { run } = await traceWith(() => answers);
  const { decision, model_calls: calls, duration_ms: total } = await run();
  expect(decision).toMatchObject({ outcome: "answered", reason: "confident" });
  expect(calls).toMatchObject([{ model: "answer-4", input_tokens: 812, output_tokens: 21, finish: "stop", failure: null }]);
  expect(calls[0]!.first_token_ms).toBeLessThanOrEqual(calls[0]!.duration_ms);
  expect(calls[0]!.duration_ms).toBeLessThanOrEqual(total);
});

describe("the decision for an answer", () => {
  const citation = { title: "Refunds", url: null, source_id: "a1", type: "answer" as const, snippet: "In May.", score: 0.6 };
  const given = { text: "In May.", citations: [citation], confidence: 0.4, handoff: null };
  const call = {
    model: "answer-4",
    durationMs: 1,
    firstTokenMs: 1,
    usage: { input: 1, output: 1 },
    finish: "stop",
    failure: null,
  } as const;

  test("of a model is its confidence before the first text, also where it cites a curated answer", () => {
    const trace = new TraceRecorder();
    trace.modelCalled(call);
    const { decision } = trace.factsOf({ ...given, openingConfidence: 0.8 }, 0.5, 10_000);
    const explanation = "The confidence of 0.8 reaches the threshold of 0.5.";
    expect(decision).toEqual({ outcome: "answered", reason: "confident", explanation, confidence: 0.4, threshold: 0.5 });
  });

  test("to small talk names no threshold", () => {
    const { decision } = new TraceRecorder().factsOf({ ...given, citations: [], isSmallTalk: true }, 0.95, 10_000);
    expect(decision).toMatchObject({ reason: "confident", explanation: "The message is small talk, which is never handed over." });
  });
});

test("a turn is exported as spans by OTLP, without what anybody said", async () => {
  const collector = newHost();
  await behaveAt(collector, { status: 200, body: "{}" });
  const answers: Script = { text: ["@sources p1\n", "Within five working days."], rawAt: { 3: usage(812, 21) + "data: [DONE]\n\n" } };
  const { run } = await traceWith(() => answers, undefined, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `https://${collector}/v1/traces`,
    OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=secret,x-tenant=a%20b",
  });
  const { message_id: answerId } = await run();
  await expect.poll(async () => (await receivedBy(collector)).length).toBe(1);
  const [request] = await receivedBy(collector);
  expect(request!.headers).toMatchObject({ "x-api-key": "secret", "x-tenant": "a b" });
  const sent = new TextDecoder().decode(request!.body);
  for (const said of [QUESTION, "five working days"]) expect(sent).not.toContain(said);
  const [{ spans }] = JSON.parse(sent).resourceSpans[0].scopeSpans;
  expect(spans.map(({ name }: any) => name)).toEqual(["invoke_agent", "search_knowledge", "chat answer-4"]);
  const [root, ...steps] = spans;
  expect(root.traceId).toBe(answerId.replaceAll("-", ""));
  for (const step of steps) {
    expect(step).toMatchObject({ traceId: root.traceId, parentSpanId: root.spanId });
    expect(BigInt(step.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(root.startTimeUnixNano));
    expect(BigInt(step.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(root.endTimeUnixNano));
  }
  expect(steps[1].attributes).toEqual(
    expect.arrayContaining([
      { key: "gen_ai.request.model", value: { stringValue: "answer-4" } },
      { key: "gen_ai.usage.input_tokens", value: { intValue: "812" } },
    ]),
  );
});

test("spans that nobody takes keep no answer back", async () => {
  const collector = newHost();
  await behaveAt(collector, { status: 500, body: "" });
  const { run } = await traceWith(() => ({ status: 401, body: "" }), undefined, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `https://${collector}/v1/traces`,
  });
  expect((await run()).decision).toMatchObject({ reason: "model_failure" });
  await expect.poll(async () => (await receivedBy(collector)).length).toBe(1);
  const [request] = await receivedBy(collector);
  const [{ spans }] = JSON.parse(new TextDecoder().decode(request!.body)).resourceSpans[0].scopeSpans;
  expect(spans.at(-1)).toMatchObject({ name: "chat answer-4", status: { code: 2 } });
});

test("a model that fails is named with its failure, and nothing that its server said", async () => {
  const { run } = await traceWith(() => ({ status: 401, body: "your key sk-model is wrong" }));
  const trace = await run();
  expect(trace.decision).toMatchObject({ reason: "model_failure", explanation: "The model failed: status 401." });
  expect(trace.model_calls).toMatchObject([{ model: "answer-4", failure: "status 401", finish: null, first_token_ms: null }]);
  expect(JSON.stringify(trace)).not.toContain("sk-model");
});

test("a trace distinguishes what a model writes without support from an answer that is too unsure", async () => {
  const { run } = await traceWith(() => ({ text: ["The moon is made of cheese, and it is sold by the kilo on Sundays."] }));
  const { decision } = await run();
  expect(decision).toMatchObject({ reason: "low_confidence", explanation: "Nothing that was found supports what the model wrote." });
});

test.each(["POST", "GET"])("the %s of a tool is listed without its headers, variables and response", async (method) => {
  const asks: Script = { toolCalls: [{ name: "order_status", arguments: { order: "A-17" } }] };
  const { host, run } = await traceWith(
    (_, count) => (count === 1 ? asks : { text: ["@sources t1\nIt is in Rotterdam."] }),
    (at) => [orderTool(at, method)],
  );
  // The host tells all that it got.
  await behaveAt(host, { body: `Rotterdam. You sent Bearer ${SECRET} for ${CUSTOMER}, ann@example.com` });
  const trace = await run();
  const [call] = await receivedBy(host);
  expect(call!.headers["authorization"]).toBe(`Bearer ${SECRET}`);
  expect(trace.decision.outcome).toBe("answered");
  expect(trace.tool_calls).toEqual([
    {
      name: "order_status",
      arguments: '{"order":"A-17"}',
      outcome: "answered",
      note: null,
      status: 200,
      response_length: expect.any(Number),
      duration_ms: expect.any(Number),
    },
  ]);
  const text = JSON.stringify(trace);
  for (const hidden of [SECRET, "Bearer", "Authorization", CUSTOMER, "ann@example.com", host]) expect(text).not.toContain(hidden);
});

test("a tool that fails, one with a wrong argument and a search by the model are listed too", async () => {
  const steps: Script[] = [
    { toolCalls: [{ name: "search_knowledge", arguments: { query: "opening hours" } }] },
    { toolCalls: [{ name: "order_status", arguments: {} }] },
    { toolCalls: [{ name: "order_status", arguments: { order: "A-17" } }] },
    { text: ["@unknown"] },
  ];
  const { host, run } = await traceWith(
    (_, count) => steps[count - 1]!,
    (at) => [orderTool(at, "GET")],
  );
  await behaveAt(host, { status: 500, body: `stack trace with ${SECRET}` });
  const trace = await run();
  expect(trace.tool_calls).toMatchObject([
    { name: "search_knowledge", outcome: "answered", status: null },
    { name: "order_status", arguments: "{}", outcome: "refused", note: expect.stringContaining("breaks the tool's schema") },
    { name: "order_status", outcome: "failed", note: "It answered with status 500." },
  ]);
  expect(trace.searches.map(({ by, query }) => [by, query])).toEqual([
    ["question", QUESTION],
    ["tool", "opening hours"],
  ]);
  expect(trace.decision.reason).toBe("tool_failure");
  expect(trace.model_calls).toHaveLength(4);
  expect(JSON.stringify(trace)).not.toContain(SECRET);
});

test("a trace has at most 32 KB, whatever a model asks for", async () => {
  const long = (at: number) => "語".repeat(280) + at;
  const { run } = await traceWith((_, count) =>
    count > 5
      ? { text: ["@unknown"] }
      : { toolCalls: [1, 2].map((at) => ({ name: "search_knowledge", arguments: { query: `refunds parcels ${long(count * 2 + at)}` } })) },
  );
  const trace = await run();
  expect(new TextEncoder().encode(JSON.stringify(trace)).length).toBeLessThanOrEqual(32 * 1024);
  expect(trace.searches[0]).toMatchObject({ by: "question", query: QUESTION });
});
