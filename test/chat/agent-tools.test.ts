import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import type { Question } from "../../src/chat/question.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, d1WithFailingBatches, envWith, learn, query, unfinishedIn } from "../harness.ts";
import { LIMITS } from "../grounded/converse.ts";
import { channelOf, INJECTIONS, followInjections, ORDER } from "../grounded/injections.ts";
import type { Behaviour } from "../outbound-protocol.ts";
import { behaveAt, newHost, receivedBy, RESOLVER, resolveTo } from "../outbound.ts";
import { type ChatRequest, OpenAiStandIn, quotationsOf, type Script } from "../stand-ins/openai.ts";
import { HANDBOOK } from "./handbook.ts";
import { questionOf } from "./question.ts";

const SECRET = "Bearer s3cr3t-of-the-operator";
const HANDED_OFF = "A colleague takes over.";
const JSON_TYPE = { "Content-Type": "application/json" };

/** Looks an order up. */
const lookUp = (host: string) => ({
  name: "order_status",
  description: "Says where an order is.",
  parameters: {
    type: "object",
    properties: {
      order: { type: "string", minLength: 2, maxLength: 40 },
      detail: { type: "string" },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["order"],
  },
  method: "GET",
  url: `https://${host}/orders/{order}?v=2`,
  headers: { Authorization: SECRET },
  timeout_seconds: 1,
});

/** Cancels one, for good. */
const cancel = (host: string, method = "POST") => ({
  name: "cancel_order",
  description: "Cancels an order.",
  parameters: { type: "object", properties: { order: { type: "string" }, reason: { type: "string" } }, required: ["order"] },
  method,
  url: `https://${host}/orders/{order}/cancel`,
  headers: { Authorization: SECRET },
  timeout_seconds: 1,
});

type Model = Script | ((request: ChatRequest, count: number) => Script);
const asks = (input: unknown, name = "order_status"): Script => ({ toolCalls: [{ name, arguments: input }] });
const says = (text: string): Script => ({ text: [`@sources t1\n${text}`] });
/** Asks for a tool, and then answers. */
const callThen =
  (input: unknown, then: Script, name?: string): Model =>
  (_, count) =>
    count === 1 ? asks(input, name) : then;
const lastMessage = (request: ChatRequest | undefined) => String(request?.messages.at(-1)?.content);

const ANN = {
  anonId: "api:ann",
  externalId: "ann",
  name: "Ann Visitor",
  email: "ann@example.com",
  verified: true,
  isProfileVerified: true,
  joins: null,
};

/** An agent with these tools at a host of its own, whose model does what the script says. */
async function createFixture(
  script: Model,
  {
    tools = (host) => [lookUp(host), cancel(host)],
    bindings = {},
  }: { tools?: (host: string) => object[]; bindings?: Record<string, unknown> } = {},
) {
  const host = newHost();
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { handoff_message: HANDED_OFF, tools: tools(host) });
  await learn(workspace, agent.id, HANDBOOK);
  const standIn = new OpenAiStandIn(typeof script === "function" ? script : () => script);
  const withModel = envWith({ OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer", ...bindings });
  const runnerOf = (model = standIn, storage?: DurableObjectStorage) =>
    new TurnRunner(withModel, modelFor(withModel, { fetch: model.fetch, limits: LIMITS }), storage?.kv);
  const conversationId = newId(shardOf(workspace.id), Date.now());
  const ask = (changes: Partial<Question> = {}) =>
    questionOf(workspace.id, agent.id, {
      conversationId,
      message: "When are refunds paid for my order A1? I am Ann, ann@example.com.",
      visitor: ANN,
      ...changes,
    });
  const run = async (question = ask(), runner = runnerOf()) => {
    const result = await runner.run(question, new Meter());
    if (result.outcome !== "answered") throw new Error(result.outcome);
    return result.answer;
  };
  return {
    host,
    workspace,
    agent,
    conversationId,
    ask,
    run,
    runnerOf,
    requests: standIn.requests,
    behave: (...behaviours: [Behaviour, ...Behaviour[]]) => behaveAt(host, ...behaviours),
    received: () => receivedBy(host),
    reasons: async () =>
      (await query<{ reason: string }>(conversationId, "SELECT reason FROM handoffs WHERE conversation_id = ?", conversationId)).map(
        ({ reason }) => reason,
      ),
  };
}

const bodyOf = ({ body }: { body: Uint8Array }) => new TextDecoder().decode(body);

describe("a tool of an agent", () => {
  test("is called with the model's arguments, and the agent answers from its response", async () => {
    const { run, behave, received, requests } = await createFixture(callThen({ order: "A 1-x", tags: ["a", "b"] }, says("In Rotterdam.")));
    await behave({ headers: JSON_TYPE, body: '{ "place": "Rotterdam" }' });
    expect(await run()).toMatchObject({ answer: "In Rotterdam.", needs_human: false, citations: [] });
    const [call, ...more] = await received();
    expect(more).toEqual([]);
    expect(call).toMatchObject({ method: "GET", place: expect.stringMatching(/\/orders\/A%201-x\?v=2&tags=a&tags=b$/) });
    expect(call!.headers).toMatchObject({ authorization: SECRET, "user-agent": "Support-Agent-Tools/1.0" });
    expect(call!.headers).not.toHaveProperty("idempotency-key");
    expect(bodyOf(call!)).toBe("");
    const offered = requests[0]!.tools!.map(({ function: tool }) => tool.name);
    expect(offered).toEqual(["search_knowledge", "request_human", "collect_lead", "order_status", "cancel_order"]);
    expect(quotationsOf(requests[1]!).at(-1)).toEqual({ label: "result t1", text: '{"place":"Rotterdam"}' });
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])("that changes something is a %s with an Idempotency-Key of its own", async (method) => {
    const { run, behave, received } = await createFixture(callThen({ order: "A1", reason: "late & cold" }, says("Done."), "cancel_order"), {
      tools: (host) => [cancel(host, method)],
    });
    await behave({ status: 204 });
    expect(await run()).toMatchObject({ answer: "Done." });
    const [call] = await received();
    const isDelete = method === "DELETE";
    expect(call!.method).toBe(method);
    expect(call!.place.endsWith(isDelete ? "/orders/A1/cancel?reason=late%20%26%20cold" : "/orders/A1/cancel")).toBe(true);
    expect(bodyOf(call!)).toBe(isDelete ? "" : '{"reason":"late & cold"}');
    expect(call!.headers["idempotency-key"]).toMatch(/^[0-9a-f]{64}$/);
    if (!isDelete) expect(call!.headers["content-type"]).toBe("application/json");
  });

  test("gets only what the model wrote, and nothing else about the visitor", async () => {
    const { run, behave, received, agent, workspace, conversationId } = await createFixture(callThen({ order: "A1" }, says("There.")));
    await behave({ body: "There." });
    await run();
    const sent = JSON.stringify((await received()).map((call) => ({ ...call, body: bodyOf(call) })));
    for (const word of ["Ann", "ann@example.com", "api:ann", agent.id, workspace.id, conversationId]) expect(sent).not.toContain(word);
  });

  test.each<[string, unknown]>([
    ["too short", { order: "A" }],
    ["missing", {}],
    ["of another type", { order: 7 }],
    ["not declared", { order: "A1", email: "ann@example.com" }],
    ["no object", ["A1"]],
    ["no JSON", '{"order": "A1"'],
    ["out of its place", { order: "../admin" }],
    ["a dot segment", { order: ".." }],
  ])("is not called with an argument that is %s: the model gets the problem, and may correct it", async (_, input) => {
    const { run, behave, received, requests } = await createFixture((_, count) =>
      count === 1 ? asks(input) : count === 2 ? asks({ order: "A1" }) : says("There."),
    );
    await behave({ body: "There." });
    expect(await run()).toMatchObject({ answer: "There." });
    expect(await received()).toHaveLength(1);
    expect(requests[1]!.messages.at(-1)!.role).toBe("tool");
    expect(quotationsOf(requests[1]!).some(({ label }) => label.startsWith("result"))).toBe(false);
  });

  test("is called in at most five rounds", async () => {
    const { run, behave, received } = await createFixture((request, count) =>
      request.tool_choice === "none" ? { text: ["@unknown"] } : asks({ order: `A${count}` }),
    );
    await behave({ body: "Nothing yet." });
    expect(await run()).toMatchObject({ answer: HANDED_OFF });
    expect(await received()).toHaveLength(5);
  });

  test("is not called by the extractive engine", async () => {
    const { workspace, agent, received, behave } = await createFixture({});
    await behave({ body: "There." });
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
    expect(asked.body.needs_human).toBe(false);
    expect(await received()).toEqual([]);
  });
});

/** Tells of the visitor's own orders, whatever the model writes. */
const ownOrders = (host: string) => ({
  name: "own_orders",
  description: "Lists the visitor's orders.",
  parameters: { type: "object", properties: { state: { type: "string" }, customer: { type: "string" } } },
  method: "POST",
  url: `https://${host}/customers/{visitor.external_id}/orders?email={visitor.email}&ref={conversation.id}`,
  headers: { Authorization: SECRET, "X-Customer": "id={visitor.external_id}; role=customer", "X-Format": '{"v":1}' },
  body: { asked_by: "{visitor.email}", nested: { list: ["<{visitor.external_id}>", 7, "{other}"] } },
  timeout_seconds: 1,
});
const orderOf = (host: string) => ({ ...lookUp(host), requires_verified_visitor: true });

describe("a tool acts for the visitor", () => {
  const BUILT_IN = ["search_knowledge", "request_human", "collect_lead"];
  const calls = callThen({ state: "open", customer: "{visitor.email}" }, says("There."), "own_orders");
  const createOwnFixture = async (script: Model = calls) => {
    const fixture = await createFixture(script, { tools: (host) => [ownOrders(host), orderOf(host)] });
    await fixture.behave({ body: "There." });
    const asVisitor = (visitor: object | null, changes: Partial<Question> = {}) =>
      fixture.ask({ visitor: visitor && { ...ANN, ...visitor }, ...changes });
    const offered = () =>
      fixture.requests
        .at(-1)!
        .tools!.map(({ function: tool }) => tool.name)
        .slice(BUILT_IN.length);
    return { ...fixture, asVisitor, offered };
  };
  const anonymous = { anonId: "anon_1", externalId: null, verified: false, isProfileVerified: false };

  test("with what the service knows of them, which the model neither sees nor writes", async () => {
    const { run, received, requests, conversationId } = await createOwnFixture();
    expect(await run()).toMatchObject({ answer: "There." });
    const [call, ...more] = await received();
    expect(more).toEqual([]);
    expect(call!.place).toMatch(new RegExp(`/customers/ann/orders\\?email=ann%40example\\.com&ref=${conversationId}$`));
    expect(call!.headers).toMatchObject({ authorization: SECRET, "x-customer": "id=ann; role=customer", "x-format": '{"v":1}' });
    expect(JSON.parse(bodyOf(call!))).toEqual({
      state: "open",
      customer: "{visitor.email}",
      asked_by: "ann@example.com",
      nested: { list: ["<ann>", 7, "{other}"] },
    });
    expect(JSON.stringify(requests[0]!.tools)).not.toMatch(/visitor\.|conversation\.id|ann/);
  });

  test("with values that stay in their place", async () => {
    const { run, received, asVisitor } = await createOwnFixture();
    await run(asVisitor({ anonId: "api:x", externalId: 'é"; role=admin, %\u2028{visitor.email}', email: 'a"b&c=d@example.com' }));
    const [call] = await received();
    const id = "%C3%A9%22%3B%20role%3Dadmin%2C%20%25%E2%80%A8%7Bvisitor.email%7D";
    expect(call!.place).toContain(`/customers/${id}/orders?email=a%22b%26c%3Dd%40example.com&ref=`);
    expect(call!.headers["x-customer"]).toBe("id=%C3%A9%22%3B%20role=admin%2C%20%25%E2%80%A8{visitor.email}; role=customer");
    expect(JSON.parse(bodyOf(call!))).toMatchObject({ asked_by: 'a"b&c=d@example.com' });
  });

  test.each<[string, object | null]>([
    ["who is nobody", null],
    ["who is anonymous", { ...anonymous, email: null }],
    ["whose address somebody typed", { ...anonymous, email: "ann@example.com" }],
  ])("and is not there for a visitor %s, so that the model cannot call it", async (_, visitor) => {
    const { run, received, asVisitor, offered, requests } = await createOwnFixture((_, count) =>
      count === 1
        ? { toolCalls: ["own_orders", "order_status"].map((name) => ({ name, arguments: { order: "A1" } })) }
        : { text: ["@sources p1\nWithin five working days."] },
    );
    expect(await run(asVisitor(visitor))).toMatchObject({ answer: "Within five working days." });
    expect(offered()).toEqual([]);
    expect(JSON.stringify(requests[1]!.messages)).toContain("There is no tool of that name");
    expect(await received()).toEqual([]);
  });

  test("and is not there for a visitor who is not verified if it changes something, unless the team decides otherwise", async () => {
    const decided = (host: string) => ({ ...cancel(host), name: "cancel_any", requires_verified_visitor: false });
    const { run, ask, requests } = await createFixture(
      { text: ["@sources p1\nWithin five working days."] },
      { tools: (host) => [cancel(host), decided(host), lookUp(host)] },
    );
    await run(ask({ visitor: { ...ANN, ...anonymous, email: null } }));
    expect(requests[0]!.tools!.map(({ function: tool }) => tool.name).slice(BUILT_IN.length)).toEqual(["cancel_any", "order_status"]);
  });

  test("and is not there where one of its variables is not known, or cannot stand in its path", async () => {
    const { run, asVisitor, offered } = await createOwnFixture({ text: ["@sources p1\nWithin five working days."] });
    const next = () => ({ conversationId: newId(shardOf(newId(0, 0)), Date.now()) });
    await run(asVisitor({ anonId: "api:no-email", externalId: "no-email", email: null }, next()));
    expect(offered()).toEqual(["order_status"]);
    await run(asVisitor({ anonId: "api:a/b", externalId: "../admin" }, next()));
    expect(offered()).toEqual(["order_status"]);
    await run(asVisitor({ anonId: "user:typed", externalId: "typed", isProfileVerified: false }, next()));
    expect(offered()).toEqual(["order_status"]);
    await run(asVisitor({ anonId: "user:typed", externalId: "typed" }, next()));
    expect(offered()).toEqual(["own_orders", "order_status"]);
  });

  test("in later turns too, by what was proven before; the token that a visitor had before does not prove them", async () => {
    const { run, asVisitor, offered } = await createOwnFixture({ text: ["@sources p1\nWithin five working days."] });
    const continued = { isNew: false };
    await run(asVisitor({ ...anonymous, email: null }));
    const [{ id } = { id: "" }] = await query<{ id: string }>(
      asVisitor(null).workspaceId,
      "SELECT id FROM visitors WHERE workspace_id = ? AND anon_id = 'anon_1'",
      asVisitor(null).workspaceId,
    );
    await run(asVisitor({ anonId: "user:ann", joins: id }, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor({ anonId: "user:ann", email: null, isProfileVerified: false }, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor({ anonId: "user:ann", email: "eve@example.com", isProfileVerified: false }, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor(null, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor({ ...anonymous, email: null }, continued));
    expect(offered()).toEqual([]);
  });
});

test("what a tool reads is never taken from a cache", async () => {
  const { run, behave, received } = await createFixture(callThen({ order: "A1" }, says("There.")));
  await behave({ headers: { "Cache-Control": "public, max-age=3600" }, body: "There." });
  await run();
  expect((await received())[0]!.headers).toMatchObject({ "cache-control": "no-cache" });
});

describe("a tool's response", () => {
  test.each<[string, Behaviour, string | RegExp]>([
    ["nothing", { status: 204 }, "Status 204."],
    ["text", { headers: { "Content-Type": "text/plain" }, body: "In Rotterdam" }, "In Rotterdam"],
    ["HTML", { headers: { "Content-Type": "text/html" }, body: "<p>In Rotterdam</p>" }, "<p>In Rotterdam</p>"],
    [
      "that there is none",
      { status: 404, headers: JSON_TYPE, body: '{"error": "no such order"}' },
      'Status 404. {"error":"no such order"}',
    ],
    ["that it will not", { status: 422, body: "too late" }, "Status 422. too late"],
    ["too much", { body: "long ".repeat(1_000), times: 2_000 }, /^(?:long )+l?o?n?g?…$/],
    ["too much, compressed", { body: "long ".repeat(1_000), times: 2_000, gzip: true }, /^(?:long )+l?o?n?g?…$/],
  ])("%s is quoted as data", async (_, behaviour, text) => {
    const { run, behave, requests } = await createFixture(callThen({ order: "A1" }, says("So it is.")));
    await behave(behaviour);
    expect(await run()).toMatchObject({ answer: "So it is." });
    const quoted = quotationsOf(requests[1]!).at(-1)!;
    expect(quoted).toEqual({ label: "result t1", text: text instanceof RegExp ? expect.stringMatching(text) : text });
    expect(quoted.text.length).toBeLessThan(3_100);
  });

  describe("cannot give the model instructions", () => {
    test.each(Object.entries(INJECTIONS))("%s", async (_, injection) => {
      const { run, behave, received, requests } = await createFixture((request, count) =>
        count === 1 ? asks({ order: "A1" }) : followInjections(request),
      );
      await behave({ headers: { "Content-Type": "text/plain; charset=utf-8" }, body: injection.replaceAll("\0", "") });
      expect(await run()).toMatchObject({ answer: "Refunds are paid within five working days." });
      expect(channelOf(requests[1]!)).not.toContain(ORDER);
      expect(quotationsOf(requests[1]!).at(-1)!.text).toContain(ORDER);
      expect(await received()).toHaveLength(1);
    });

    test("cannot give the model instructions when it fails either", async () => {
      const injection = INJECTIONS["the end of the quotation"]!;
      const { run, behave, requests } = await createFixture((request, count) =>
        count === 1 ? asks({ order: "A1" }) : followInjections(request),
      );
      await behave({ status: 500, body: injection });
      await run();
      expect(channelOf(requests[1]!)).not.toContain(ORDER);
      expect(quotationsOf(requests[1]!).at(-1)).toMatchObject({ label: "failure", text: expect.stringContaining(ORDER) });
    });
  });
});

describe("a tool that fails", () => {
  test.each<[string, Behaviour, string]>([
    ["fails", { status: 500, body: "stack trace" }, "It answered with status 500."],
    ["is not let in", { status: 401, body: "who are you" }, "It answered with status 401."],
    ["is asked too often", { status: 429 }, "It answered with status 429."],
    [
      "redirects to the inside",
      { status: 302, headers: { Location: "http://169.254.169.254/latest/meta-data" } },
      "It answered with status 302.",
    ],
    ["redirects to itself", { status: 307, headers: { Location: "/orders/A1" } }, "It answered with status 307."],
    ["answers with a picture", { headers: { "Content-Type": "image/png" }, bytes: "iVBORw0KGgo=" }, "with a body that is not text"],
    ["breaks off", { fails: "reset" }, "It could not be reached."],
    ["breaks off in its answer", { body: "In Rot", fails: "reset_in_body" }, "It could not be reached."],
    ["says nothing", { fails: "silent" }, "It did not answer in time."],
    ["trickles", { body: ".", times: 1_000, everyMs: 100 }, "It did not answer in time."],
  ])("by %s is reported to the model, and hands off when it fails again", async (_, behaviour, problem) => {
    const { run, behave, received, requests, reasons } = await createFixture((_, count) => asks({ order: `A${count}` }));
    await behave(behaviour);
    expect(await run()).toMatchObject({ answer: HANDED_OFF, needs_human: true, citations: [] });
    expect(lastMessage(requests[1])).toContain(problem);
    expect(requests).toHaveLength(2);
    expect(await received()).toHaveLength(2);
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test.each(["@unknown", "@unsupported", "@sources t1\nIn Rotterdam."])("hands off when the model then says %s", async (text) => {
    const { run, behave, reasons } = await createFixture(callThen({ order: "A1" }, { text: [text] }));
    await behave({ status: 503 });
    expect(await run()).toMatchObject({ answer: HANDED_OFF });
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test("hands off in the middle of an answer too", async () => {
    const { run, behave, reasons } = await createFixture((_, count) =>
      count === 1 ? { text: ["@sources p1\nLet me look."], ...asks({ order: "A1" }) } : { text: ["@unknown"] },
    );
    await behave({ status: 503 });
    expect((await run()).answer).toContain(HANDED_OFF);
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test("does not keep the model from answering from the passages, nor the visitor from a human", async () => {
    const passages = await createFixture(callThen({ order: "A1" }, { text: ["@sources p1\nWithin five working days."] }));
    await passages.behave({ status: 503 });
    expect(await passages.run()).toMatchObject({ answer: "Within five working days.", needs_human: false });
    const human = await createFixture(callThen({ order: "A1" }, { text: ["@human"] }));
    await human.behave({ status: 503 });
    await human.run();
    expect(await human.reasons()).toEqual(["customer_request"]);
  });

  test("may work the second time", async () => {
    const { run, behave } = await createFixture((_, count) => (count <= 2 ? asks({ order: "A1" }) : says("There.")));
    await behave({ status: 503 }, { body: "There." });
    expect(await run()).toMatchObject({ answer: "There." });
  });

  test("because its host now resolves to a private address is not called", async () => {
    const { run, host, behave, received, requests } = await createFixture(
      (_, count) => (count === 1 ? asks({ order: "A1" }) : { text: ["@unknown"] }),
      {
        bindings: { DNS_OVER_HTTPS_URL: RESOLVER },
      },
    );
    await behave({ body: "There." });
    await resolveTo(host, { A: ["10.0.0.7"] });
    await run();
    expect(lastMessage(requests[1])).toContain("It may not be called.");
    expect(await received()).toEqual([]);
  });

  test("because its secret was encrypted with a key that is gone hands off", async () => {
    const { run, received, reasons } = await createFixture(callThen({ order: "A1" }, says("There.")), {
      bindings: { ENCRYPTION_KEY: "another key" },
    });
    await run();
    expect([await received(), await reasons()]).toEqual([[], ["tool_failure"]]);
  });
});

test("the log has the tool, its status and its duration, but no arguments, secrets or responses", async () => {
  const logs = (["log", "error", "warn"] as const).map((level) => vi.spyOn(console, level).mockReturnValue());
  const { run, behave, workspace, conversationId } = await createFixture((_, count) =>
    count === 1
      ? asks({ order: "PRIVATE-1" })
      : count === 2
        ? asks({ order: "A1", reason: "PRIVATE-2" }, "cancel_order")
        : { text: ["@unknown"] },
  );
  await behave({ body: "PRIVATE-3" }, { status: 500, body: "PRIVATE-4" });
  await run();
  const lines = logs.flatMap(({ mock }) => mock.calls.map(([line]) => String(line)));
  for (const log of logs) log.mockRestore();
  const calls = lines.filter((line) => line.includes('"tool_call"')).map((line) => JSON.parse(line));
  const who = {
    event: "tool_call",
    workspace_id: workspace.id,
    conversation_id: conversationId,
    outcome: "answered",
    duration_ms: expect.any(Number),
  };
  expect(calls).toEqual([
    { ...who, tool: "order_status", status: 200 },
    { ...who, tool: "cancel_order", status: 500 },
  ]);
  expect(lines.join("\n")).not.toMatch(/PRIVATE|s3cr3t|\/orders/);
});

test("a header's value is sent only to the tool's host", async () => {
  const { run, behave, requests, workspace, conversationId, agent } = await createFixture(callThen({ order: "A1" }, says("There.")));
  await behave({ body: "There." });
  await run();
  const transcript = await workspace.call("GET", `/conversations/${conversationId}`);
  const exported = await workspace.call("GET", "/privacy/export?external_id=ann");
  const rows = await query(agent.id, "SELECT * FROM agents WHERE id = ?", agent.id);
  expect(JSON.stringify([requests, transcript.body, exported.body, rows])).not.toContain("s3cr3t");
  expect(exported.body.visitors).toHaveLength(1);
});

describe("a call that changes something is made once", () => {
  /** The turn in the conversation's own object, as the ask operation begins it. */
  async function createSession(first: Model, later: Model, bindings: Record<string, unknown> = {}) {
    const fixture = await createFixture(first, { bindings });
    const { workspace, conversationId, runnerOf } = fixture;
    const session = () => env.SESSION.getByName(`${workspace.id}/${conversationId}`);
    const runWith = (standIn?: OpenAiStandIn) =>
      runInDurableObject(session(), (live, { storage }) => void Object.assign(live, { runner: runnerOf(standIn, storage) }));
    const second = new OpenAiStandIn(typeof later === "function" ? later : () => later);
    await runWith();
    return {
      ...fixture,
      ask: async (changes: Partial<Question> = {}) => session().ask(fixture.ask(changes)),
      until: async (isReached: () => boolean | Promise<boolean>) => {
        // Each poll is a round trip, in which the object can run.
        while (!(await isReached())) await fixture.received();
      },
      /** The object dies; the next one runs what was left. */
      dieAndResume: async () => {
        await abortAllDurableObjects();
        await runWith(second);
        await runDurableObjectAlarm(session());
      },
      answers: async () => {
        const { messages } = (await workspace.call("GET", `/conversations/${conversationId}`)).body;
        return messages.slice(1).map(({ content }: { content: string }) => content);
      },
      storage: () => unfinishedIn(workspace.id, conversationId),
    };
  }
  const cancelled = asks({ order: "A1", reason: "late" }, "cancel_order");

  test("when the object dies after it: the next attempt gets the same response", async () => {
    const hangs = (_: ChatRequest, count: number): Script => (count === 1 ? cancelled : { text: ["x"], hangAt: 0 });
    const { ask, behave, received, requests, until, dieAndResume, answers, storage } = await createSession(
      hangs,
      // The same arguments, in another order.
      (_, count) => (count === 1 ? asks({ reason: "late", order: "A1" }, "cancel_order") : says("Cancelled.")),
    );
    await behave({ body: "It is cancelled." });
    const caller = ask().catch(() => undefined);
    await until(() => requests.length === 2);
    expect((await storage()).entries.map(([name]) => name.split(":")[0])).toEqual(["call", "turn"]);
    await dieAndResume();
    await caller;
    expect(await answers()).toEqual(["Cancelled."]);
    expect(await received()).toHaveLength(1);
    expect(await storage()).toEqual({ entries: [], alarm: null });
  });

  test("when two attempts fail after it, and the client repeats its request: a human takes over, rather than call in other words", async () => {
    // A turn has two batches: the first stores its question, the second its answer.
    const { ask, behave, received, answers, reasons, workspace } = await createSession(
      (_, count) =>
        count === 1 ? cancelled : count === 3 ? asks({ order: "A1", reason: "too late" }, "cancel_order") : says("Cancelled."),
      says("Cancelled."),
      d1WithFailingBatches(2, 3),
    );
    await behave({ body: "It is cancelled." });
    const [questionId, answerId] = [newId(shardOf(workspace.id), Date.now()), newId(shardOf(workspace.id), Date.now())];
    await expect(ask({ questionId, answerId })).rejects.toThrow();
    // The repeated request waits for the attempt before it, which fails too.
    await ask({ questionId, answerId });
    expect(await received()).toHaveLength(1);
    expect(await answers()).toEqual([HANDED_OFF]);
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test.each<[string, Script]>([
    ["the same", cancelled],
    ["the same in other words", asks({ order: "A1", reason: "too late" }, "cancel_order")],
  ])("when the object dies during it: a human takes over, even if the model asks for %s", async (_, again) => {
    const { ask, behave, received, until, dieAndResume, answers, reasons, storage } = await createSession(cancelled, again);
    await behave({ fails: "silent" });
    const caller = ask().catch(() => undefined);
    await until(async () => (await received()).length === 1);
    await dieAndResume();
    await caller;
    expect(await answers()).toEqual([HANDED_OFF]);
    expect(await reasons()).toEqual(["tool_failure"]);
    expect(await received()).toHaveLength(1);
    expect(await storage()).toEqual({ entries: [], alarm: null });
  });

  test("when an attempt fails after it, in the same object", async () => {
    const { run, runnerOf, ask, behave, received } = await createFixture(
      (_, count) => (count % 2 === 1 ? asks({ order: "A1" }, "cancel_order") : says("Cancelled.")),
      { bindings: d1WithFailingBatches(2) },
    );
    await behave({ body: "It is cancelled." });
    const [runner, question] = [runnerOf(), ask()];
    await expect(run(question, runner)).rejects.toThrow("D1_ERROR");
    expect(await run(question, runner)).toMatchObject({ answer: "Cancelled." });
    expect(await received()).toHaveLength(1);
  });

  test("when the model asks for it repeatedly", async () => {
    const { run, behave, received, requests } = await createFixture((_, count) =>
      count <= 3 ? { toolCalls: [...cancelled.toolCalls!, ...cancelled.toolCalls!] } : says("Cancelled."),
    );
    await behave({ body: "It is cancelled." });
    expect(await run()).toMatchObject({ answer: "Cancelled." });
    expect(requests).toHaveLength(4);
    expect(await received()).toHaveLength(1);
  });

  test.each<[string, Behaviour]>([
    ["no answer came", { fails: "silent" }],
    ["the connection broke", { fails: "reset" }],
  ])("when %s: a human takes over", async (_, behaviour) => {
    const { run, behave, received, requests, reasons } = await createFixture(() => cancelled);
    await behave(behaviour);
    expect(await run()).toMatchObject({ answer: HANDED_OFF });
    expect([(await received()).length, requests.length, await reasons()]).toEqual([1, 1, ["tool_failure"]]);
  });

  test("in each turn, with a key of its own", async () => {
    const { run, ask, behave, received } = await createFixture((_, count) => (count % 2 === 1 ? cancelled : says("Cancelled.")));
    await behave({ body: "It is cancelled." });
    await run();
    await run(ask({ isNew: false }));
    const keys = (await received()).map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(2);
  });
});
