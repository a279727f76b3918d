import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { parseJsonEventStream, uiMessageChunkSchema } from "ai";
import OpenAI from "openai";
import { expect, test, vi } from "vitest";
import { clientOf } from "../client/network.ts";
import { createWorkspace, unfinishedIn } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import type { Script } from "../stand-ins/openai.ts";
import { openStream } from "../stream-client.ts";
import { visitorOf } from "../widget/widget.ts";
import { createScriptedAgent } from "./scripted-agent.ts";

const CANCEL = {
  type: "client",
  name: "cancel_order",
  description: "Cancels an order.",
  parameters: { type: "object", properties: { order: { type: "string", minLength: 2 } }, required: ["order"] },
};
const calls = (...orders: unknown[]): Script => ({
  toolCalls: orders.map((order) => ({ name: "cancel_order", arguments: { order } })),
});
const says = (text: string): Script => ({ text: [`@sources t1\n${text}`] });
const CANCELLED = says("It is cancelled.");
const DONE = { content: '{"cancelled": true}' };

/** An agent with the client tool. */
const createCanceller = (scripts: [Script, ...Script[]] = [calls("A1"), CANCELLED], settings: Record<string, unknown> = {}) =>
  createScriptedAgent({ tools: [CANCEL], ...settings }, scripts);

const resultsOf = ({ required_action: action }: any, result: Record<string, unknown> = DONE) =>
  action.tool_calls.map(({ id }: { id: string }) => ({ tool_call_id: id, ...result }));

test("an answer waits for the caller's tool, and goes on with its result", async () => {
  const { ask, sendResults, workspace, requests } = await createCanceller();
  const { status, body: waiting } = await ask();
  expect([status, waiting]).toEqual([
    200,
    {
      answer: null,
      citations: [],
      confidence: 0,
      needs_human: false,
      conversation_id: expect.any(String),
      message_id: expect.any(String),
      status: "open",
      handoff_reason: null,
      required_action: {
        expires_at: expect.any(String),
        tool_calls: [{ id: expect.any(String), name: "cancel_order", arguments: { order: "A1" } }],
      },
    },
  ]);
  expect(Date.parse(waiting.required_action.expires_at) - Date.now()).toBeGreaterThan(3_500_000);
  const { status: sent, body: answer } = await sendResults(waiting, resultsOf(waiting));
  expect([sent, answer]).toMatchObject([
    200,
    { answer: "It is cancelled.", message_id: waiting.message_id, status: "ai_handled", required_action: null, needs_human: false },
  ]);
  const { messages } = (await workspace.call("GET", `/conversations/${waiting.conversation_id}`)).body;
  expect(messages).toMatchObject([{ role: "user" }, { id: waiting.message_id, content: "It is cancelled." }]);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(1);
  const [first, second, ...more] = await requests();
  expect([first?.tools?.map(({ function: { name } }) => name), more]).toEqual([expect.arrayContaining(["cancel_order"]), []]);
  expect(second!.messages.at(-1)).toMatchObject({ role: "tool", content: expect.stringContaining('{"cancelled": true}') });
});

test("all results of a round are needed, and those of other calls are refused", async () => {
  const { ask, sendResults } = await createCanceller([calls("A1", "B2"), CANCELLED]);
  const { body: waiting } = await ask();
  const results = resultsOf(waiting);
  expect(results).toHaveLength(2);
  const missing = await sendResults(waiting, results.slice(1));
  expect([missing.status, missing.body.detail]).toMatchObject([422, [{ msg: expect.stringContaining(results[0].tool_call_id) }]]);
  const unknown = await sendResults(waiting, [...results, { tool_call_id: "call_x", ...DONE }]);
  expect([unknown.status, unknown.body.detail]).toMatchObject([422, [{ loc: ["body", "results", 2, "tool_call_id"] }]]);
  for (const wrong of [{}, { content: "a", error: "b" }, { content: 5 }, { error: "" }]) {
    expect((await sendResults(waiting, [{ tool_call_id: results[0].tool_call_id, ...wrong }])).status).toBe(422);
  }
  expect((await sendResults(waiting, results)).body.answer).toBe("It is cancelled.");
});

test("results that are sent again get the same answer, and the model is not asked again", async () => {
  const { ask, sendResults, requests } = await createCanceller();
  const { body: waiting } = await ask();
  const [first, second] = await Promise.all([sendResults(waiting, resultsOf(waiting)), sendResults(waiting, resultsOf(waiting))]);
  expect(first.body).toEqual(second.body);
  const third = await sendResults(waiting, resultsOf(waiting, { content: "something else" }));
  expect([third.status, third.body]).toEqual([200, first.body]);
  const madeUp = [{ tool_call_id: "call_x", content: "made up" }];
  expect((await sendResults(waiting, madeUp)).status).toBe(422);
  expect((await sendResults({ ...waiting, message_id: waiting.conversation_id }, madeUp)).status).toBe(404);
  expect(await requests()).toHaveLength(2);
});

test("results of an earlier round that are sent again get the calls for which the answer waits now", async () => {
  const { ask, sendResults, requests } = await createCanceller([calls("A1"), calls("B2", "C3"), CANCELLED]);
  const { body: first } = await ask();
  const { body: second } = await sendResults(first, resultsOf(first));
  expect(second.required_action.tool_calls).toHaveLength(2);
  const again = await sendResults(first, resultsOf(first));
  expect([again.status, again.body]).toEqual([200, second]);
  expect((await sendResults(first, [...resultsOf(first), resultsOf(second)[0]])).status).toBe(422);
  expect((await sendResults(second, resultsOf(second))).body.answer).toBe("It is cancelled.");
  expect(await requests()).toHaveLength(3);
});

test("a model may call tools again, and earlier rounds are not run twice", async () => {
  const host = newHost();
  await behaveAt(host, { headers: { "Content-Type": "application/json" }, body: '{"status":"packed"}' });
  const lookUp = { name: "order_status", description: "Finds an order.", method: "POST", url: `https://${host}/orders` };
  const both: Script = { toolCalls: [{ name: "order_status", arguments: {} }, ...calls("A1").toolCalls!] };
  const { ask, sendResults, requests } = await createScriptedAgent({ tools: [{ ...lookUp, requires_verified_visitor: false }, CANCEL] }, [
    both,
    calls("B2"),
    says("Both are cancelled."),
  ]);
  const { body: one } = await ask();
  const { body: two } = await sendResults(one, resultsOf(one));
  expect(two).toMatchObject({
    answer: null,
    message_id: one.message_id,
    required_action: { tool_calls: [{ arguments: { order: "B2" } }] },
  });
  await abortAllDurableObjects();
  // The results of the first round are known already.
  const { body: answer } = await sendResults(two, [...resultsOf(one), ...resultsOf(two)]);
  expect(answer.answer).toBe("Both are cancelled.");
  expect(await receivedBy(host)).toHaveLength(1);
  const { messages } = (await requests()).at(-1)!;
  expect(messages.filter(({ role }) => role === "tool")).toHaveLength(3);
});

test("an error of a tool is told to the model", async () => {
  const { ask, sendResults, requests } = await createCanceller([calls("A1"), { text: ["@unknown"] }]);
  const { body: waiting } = await ask();
  const { body: answer } = await sendResults(waiting, resultsOf(waiting, { error: "The order is on its way." }));
  expect(answer).toMatchObject({ answer: "A colleague takes over.", handoff_reason: "tool_failure" });
  expect((await requests())[1]!.messages.at(-1)!.content).toContain("The order is on its way.");
});

test("arguments that break the schema do not reach the caller", async () => {
  const { ask, requests } = await createCanceller([calls(7), calls("A1")]);
  const { body: waiting } = await ask();
  expect(waiting.required_action.tool_calls).toMatchObject([{ arguments: { order: "A1" } }]);
  expect((await requests())[1]!.messages.at(-1)!.content).toContain("breaks the tool's schema");
});

test("while a turn waits, its conversation takes no other question", async () => {
  const { ask, sendResults } = await createCanceller([calls("A1"), CANCELLED, { text: ["@smalltalk\nYou are welcome."] }]);
  const { body: waiting } = await ask();
  const next = () => ask({ message: "Thanks!", conversation_id: waiting.conversation_id });
  const refused = await next();
  expect([refused.status, refused.body.error]).toMatchObject([409, { code: "conflict", message: expect.stringContaining("tool-results") }]);
  await sendResults(waiting, resultsOf(waiting));
  expect((await next()).body).toMatchObject({ answer: "You are welcome." });
});

test("a turn whose results do not come in time is handed to a human", async () => {
  const { ask, sendResults, session, workspace } = await createCanceller();
  const { body: waiting } = await ask();
  const expired = Date.parse(waiting.required_action.expires_at);
  const clock = vi.spyOn(Date, "now").mockReturnValue(expired);
  await runDurableObjectAlarm(session(waiting.conversation_id));
  clock.mockRestore();
  const { body: conversation } = await workspace.call("GET", `/conversations/${waiting.conversation_id}`);
  expect(conversation).toMatchObject({ status: "needs_human", handoff: { reason: "tool_failure" } });
  const late = await sendResults(waiting, resultsOf(waiting));
  expect([late.status, late.body]).toMatchObject([200, { answer: "A colleague takes over.", handoff_reason: "tool_failure" }]);
  await runInDurableObject(session(waiting.conversation_id), (_, { storage }) => {
    expect([...storage.kv.list({ prefix: "suspended:" })]).toEqual([]);
  });
});

test("a turn whose results do not come in time ends without a message in a resolved conversation", async () => {
  const { ask, sendResults, session, workspace } = await createCanceller();
  const { body: waiting } = await ask();
  const path = `/conversations/${waiting.conversation_id}`;
  await workspace.call("PATCH", path, { status: "resolved" });
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.parse(waiting.required_action.expires_at));
  const late = await sendResults(waiting, resultsOf(waiting));
  await runDurableObjectAlarm(session(waiting.conversation_id));
  clock.mockRestore();
  expect([late.status, late.body]).toMatchObject([200, { answer: "", needs_human: false, message_id: null, status: "resolved" }]);
  expect((await workspace.call("GET", path)).body).toMatchObject({ status: "resolved", message_count: 1, handoff: null });
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(0);
  expect((await unfinishedIn(workspace.id, waiting.conversation_id)).entries).toEqual([]);
});

test("the alarm of a waiting turn is set to its expiry", async () => {
  const { ask, session } = await createCanceller();
  const { body: waiting } = await ask();
  const atMs = await runInDurableObject(session(waiting.conversation_id), (_, { storage }) => storage.getAlarm());
  expect(atMs).toBe(Date.parse(waiting.required_action.expires_at));
});

test("a human who takes the conversation over keeps it", async () => {
  const { ask, sendResults, workspace } = await createCanceller();
  const { body: waiting } = await ask();
  await workspace.call("POST", `/conversations/${waiting.conversation_id}/messages`, { content: "I take care of it." });
  const { status, body } = await sendResults(waiting, resultsOf(waiting));
  expect([status, body]).toMatchObject([200, { answer: "", message_id: null, status: "human_active", required_action: null }]);
});

test("results for another workspace's conversation, or for an erased one, find nothing", async () => {
  const { ask, workspace } = await createCanceller();
  const { body: waiting } = await ask({ user: { id: "ann" } });
  const path = `/conversations/${waiting.conversation_id}/messages/${waiting.message_id}/tool-results`;
  const stranger = await createWorkspace();
  expect((await stranger.call("POST", path, { results: resultsOf(waiting) })).status).toBe(404);
  expect((await workspace.call("DELETE", "/privacy/visitors?external_id=ann")).status).toBe(200);
  expect((await workspace.call("POST", path, { results: resultsOf(waiting) })).status).toBe(404);
});

test("a stream shows the calls, and the stream of the results has the answer", async () => {
  const { agent, workspace, sendResults } = await createCanceller();
  const open = (path: string, body: object) => openStream("POST", `/api/v1${path}`, { token: workspace.key, body });
  const first = await (await open(`/agents/${agent.id}/messages`, { message: "Please cancel A1.", stream: true })).rest();
  expect(first.map(({ event }) => event)).toEqual(["start", "tool_call", "done"]);
  const waiting = first.at(-1)!.data;
  expect(first[1]!.data).toEqual(waiting.required_action.tool_calls[0]);
  const path = `/conversations/${waiting.conversation_id}/messages/${waiting.message_id}`;
  const again = await (await openStream("GET", `/api/v1${path}/stream`, { token: workspace.key })).rest();
  expect(again.map(({ event }) => event)).toEqual(["start", "tool_call", "done"]);
  const second = await (await open(`${path}/tool-results`, { results: resultsOf(waiting), stream: true })).rest();
  expect(second.map(({ event }) => event)).toEqual(["start", "delta", "done"]);
  expect(second.at(-1)!.data).toMatchObject({ answer: "It is cancelled.", required_action: null });
  expect((await sendResults(waiting, resultsOf(waiting), { stream: false })).body).toEqual(second.at(-1)!.data);
});

test("callers who run no tools get an answer without them", async () => {
  const { ask, requests } = await createCanceller([{ text: ["@unknown"] }]);
  await ask({ client_tools: [] });
  await ask({ client_tools: ["another"] });
  await ask({ channel: "playground" });
  const offered = (await requests()).flatMap(({ tools = [] }) => tools.map(({ function: { name } }) => name));
  expect(offered).not.toContain("cancel_order");
});

/** The official client, pointed at the service. */
const openAiClient = (apiKey: string) =>
  new OpenAI({
    baseURL: "http://service.test/api/v1/openai",
    apiKey,
    dangerouslyAllowBrowser: true,
    fetch: async (url, init) => exports.default.fetch(new Request(url, init)),
  });

test("the official OpenAI client runs its tool loop", async () => {
  const { agent, workspace } = await createCanceller([calls("A1", "B2"), CANCELLED]);
  const client = openAiClient(workspace.key);
  const cancelled: string[] = [];
  const runner = client.chat.completions.runTools({
    model: agent.id,
    messages: [{ role: "user", content: "Please cancel A1." }],
    tools: [
      {
        type: "function",
        function: {
          name: "cancel_order",
          description: "Cancels an order.",
          parameters: CANCEL.parameters,
          parse: JSON.parse as (text: string) => { order: string },
          function: ({ order }: { order: string }) => {
            cancelled.push(order);
            return DONE.content;
          },
        },
      },
    ],
  });
  expect(await runner.finalContent()).toBe("It is cancelled.");
  expect(cancelled).toEqual(["A1", "B2"]);
});

test("OpenAI's streams have the calls in the last chunk", async () => {
  const { agent, workspace } = await createCanceller();
  const client = openAiClient(workspace.key);
  const question = { role: "user", content: "Please cancel A1." } as const;
  const first = await client.chat.completions.stream({ model: agent.id, messages: [question] }).finalChatCompletion();
  const { message, finish_reason: reason } = first.choices[0]!;
  expect([reason, message.tool_calls]).toMatchObject(["tool_calls", [{ function: { name: "cancel_order", arguments: '{"order":"A1"}' } }]]);
  const result = { role: "tool", tool_call_id: message.tool_calls![0]!.id, content: DONE.content } as const;
  const second = client.chat.completions.stream({ model: agent.id, messages: [question, message, result] });
  expect(await second.finalContent()).toBe("It is cancelled.");
  const foreign = { ...result, tool_call_id: "call_made_up" };
  await expect(client.chat.completions.create({ model: agent.id, messages: [question, foreign] })).rejects.toMatchObject({ status: 422 });
});

test("the AI SDK's stream has the calls as tool parts", async () => {
  const { agent, workspace } = await createCanceller();
  const headers = {
    Authorization: `Bearer ${workspace.key}`,
    "Content-Type": "application/json",
    Accept: "text/event-stream; profile=ai-sdk",
  };
  const body = JSON.stringify({ message: "Please cancel A1." });
  const request = new Request(`http://service.test/api/v1/agents/${agent.id}/messages`, { method: "POST", headers, body });
  const { body: stream } = await exports.default.fetch(request);
  const chunks = await Array.fromAsync(
    parseJsonEventStream({ stream: stream!, schema: uiMessageChunkSchema }) as unknown as AsyncIterable<any>,
  );
  expect(chunks.every(({ success }) => success)).toBe(true);
  const call = chunks.map(({ value }) => value).find(({ type }) => type === "tool-input-available");
  expect(call).toMatchObject({ toolName: "cancel_order", input: { order: "A1" } });
  expect(chunks.at(-1).value).toMatchObject({ type: "finish", finishReason: "tool-calls" });
});

const LOOK_UP = { ...CANCEL, name: "order_status", description: "Finds an order.", runs_in: "browser" };

/** A visitor of an agent with a tool of the page and one of the integrator's program. */
async function createVisitor(...scripts: [Script, ...Script[]]) {
  const fixture = await createScriptedAgent({ tools: [CANCEL, LOOK_UP] }, scripts);
  const visitor = visitorOf(fixture.agent.id);
  const write = async (body: Record<string, unknown> = {}) =>
    (await visitor.write({ message: "Where is A1?", client_tools: ["order_status", "cancel_order"], ...body })).body;
  const sendPageResults = ({ visitor_token: token, conversation_id: id, message_id: messageId }: any, results: object[]) =>
    visitor.on(token, id, "POST", `messages/${messageId}/tool-results`, { results });
  return { ...fixture, visitor, write, sendPageResults };
}

const LOOKED_UP: Script = { toolCalls: [{ name: "order_status", arguments: { order: "A1" } }] };

test("a visitor's page runs only its own tools, and only those that it names", async () => {
  const { write, sendPageResults, sendResults, requests } = await createVisitor(LOOKED_UP, says("It is packed."), { text: ["@unknown"] });
  const waiting = await write();
  expect(waiting).toMatchObject({ answer: null, required_action: { tool_calls: [{ name: "order_status" }] } });
  expect((await sendResults(waiting, resultsOf(waiting))).status).toBe(404);
  const other = await write({ client_tools: [] });
  expect((await sendPageResults({ ...waiting, visitor_token: other.visitor_token }, resultsOf(waiting))).status).toBe(404);
  const { status, body } = await sendPageResults(waiting, resultsOf(waiting, { content: "packed" }));
  expect([status, body]).toMatchObject([200, { answer: expect.any(String), visitor_token: expect.any(String), required_action: null }]);
  const offered = (await requests()).map(({ tools = [] }) => tools.map(({ function: { name } }) => name));
  expect(offered[0]).toContain("order_status");
  expect(offered[0]).not.toContain("cancel_order");
  expect(offered[1]).not.toContain("order_status");
});

test("a visitor who writes again need not wait for a page that was closed", async () => {
  const { write, workspace } = await createVisitor(LOOKED_UP, { text: ["@unknown"] }, { text: ["@smalltalk\nYou are welcome."] });
  const waiting = await write();
  const next = await write({ message: "Thanks!", conversation_id: waiting.conversation_id, visitor_token: waiting.visitor_token });
  expect(next).toMatchObject({ answer: "You are welcome.", required_action: null });
  const { messages } = (await workspace.call("GET", `/conversations/${waiting.conversation_id}`)).body;
  expect(messages.map(({ content }: { content: string }) => content)).toEqual([
    "Where is A1?",
    "A colleague takes over.",
    "Thanks!",
    "You are welcome.",
  ]);
});

test("an assistant that asks over MCP runs no tools", async () => {
  const { agent, workspace, requests } = await createCanceller([{ text: ["@unknown"] }]);
  const params = { name: "ask_agent", arguments: { agent_id: agent.id, message: "Please cancel A1." } };
  const headers = {
    Authorization: `Bearer ${workspace.key}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const response = await exports.default.fetch(new Request("http://service.test/mcp", { method: "POST", headers, body }));
  expect(await response.text()).toContain("A colleague takes over.");
  expect((await requests())[0]!.tools!.map(({ function: { name } }) => name)).not.toContain("cancel_order");
});

test("the client runs the tools that it is given, also for a stream", async () => {
  const { agent, workspace, requests } = await createCanceller([
    calls("A1", "B2"),
    CANCELLED,
    calls("C3"),
    says("It is cancelled, too."),
    calls("D4"),
    { text: ["@unknown"] },
  ]);
  const { client } = clientOf(workspace.key);
  const question = { agent_id: agent.id, body: { message: "Please cancel A1." } };
  const cancelled: string[] = [];
  const tools = { cancel_order: ({ order }: { order: string }) => ({ cancelled: cancelled.push(order) > 0 }) };
  expect((await client.askAgent(question, { tools })).answer).toBe("It is cancelled.");
  const events = await Array.fromAsync(client.streamAnswer(question, { tools }));
  expect(events.map(({ type }) => type)).toEqual(["start", "tool_call", "start", "delta", "done"]);
  expect(events.at(-1)).toMatchObject({ answer: { answer: "It is cancelled, too.", required_action: null } });
  expect(cancelled).toEqual(["A1", "B2", "C3"]);
  const failing = { cancel_order: () => Promise.reject(new Error("It is on its way.")) };
  expect((await client.askAgent(question, { tools: failing })).needs_human).toBe(true);
  expect((await requests()).at(-1)!.messages.at(-1)!.content).toContain("It is on its way.");
});
