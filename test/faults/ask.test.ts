import { expect } from "vitest";
import { type Answer, createAgent, createWorkspace, listen, type Workspace } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import type { ChatRequest } from "../stand-ins/openai.ts";
import { readEvents } from "../stream-client.ts";
import { evictGate, countBy, sendUntilAnswered, useModel, withEachFault } from "./scenario.ts";

const QUESTION = "Are you open on Sundays?";
const EVENTS = { "conversation.created": 1, "message.ai_replied": 1 };

/** An agent with an answer, and a question that is asked with an Idempotency-Key. */
async function createFixture(body: object = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: QUESTION, answer: "Yes." });
  await listen(workspace, Object.keys(EVENTS));
  await evictGate(workspace);
  const path = `/agents/${agent.id}/messages`;
  const ask = () => workspace.call("POST", path, { message: QUESTION, ...body }, { "Idempotency-Key": "once" });
  return { workspace, ask, result: {} as Record<string, any> };
}

async function expectOneAnswer(workspace: Workspace, { conversation_id: id, message_id: messageId }: Record<string, any>) {
  expect((await workspace.call("GET", "/conversations")).body.data).toMatchObject([{ id, status: "ai_handled", message_count: 2 }]);
  const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
  expect(messages).toMatchObject([{ content: QUESTION }, { id: messageId, content: "Yes." }]);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(1);
  expect(await countBy("events", "type", workspace.id)).toEqual(EVENTS);
  expect(await countBy("deliveries", "event_type", workspace.id)).toEqual(EVENTS);
}

/** Excludes the write that marks a curated answer as indexed, which happens at any time after it was added. */
const only = /^(?!D1 writes answers )/;

await withEachFault("a question", {
  only,
  prepare: createFixture,
  act: async (fixture) => {
    fixture.result = (await sendUntilAnswered(fixture.ask)).body;
  },
  check: async ({ workspace, ask, result }) => {
    expect(result).toMatchObject({ answer: "Yes.", status: "ai_handled" });
    await expectOneAnswer(workspace, result);
    expect((await ask()).body).toEqual(result);
  },
});

/** A response whose body is a stream, with its events. */
async function withEvents(response: Promise<Answer>): Promise<Answer> {
  const answer = await response;
  if (answer.status !== 200) return answer;
  return { ...answer, body: await readEvents(new Response(answer.body).body).rest() };
}

await withEachFault("a streamed question", {
  only,
  prepare: () => createFixture({ stream: true }),
  act: async ({ workspace, ask, result }) => {
    let { body: events } = await sendUntilAnswered(() => withEvents(ask()));
    const { conversation_id: id, message_id: messageId } = events[0].data.error ?? events[0].data;
    const path = `/conversations/${id}/messages/${messageId}/stream`;
    while (events.at(-1).event !== "done") {
      const headers = { "Last-Event-ID": events.at(-1).id };
      ({ body: events } = await sendUntilAnswered(() => withEvents(workspace.call("GET", path, undefined, headers))));
    }
    Object.assign(result, events.at(-1).data);
  },
  check: async ({ workspace, ask, result }) => {
    expect(result).toMatchObject({ answer: "Yes.", status: "ai_handled" });
    await expectOneAnswer(workspace, result);
    const { body: events } = await withEvents(ask());
    expect(events.at(-1).data).toEqual(result);
  },
});

const ORDER = {
  name: "cancel_order",
  description: "Cancels an order.",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  method: "POST",
  requires_verified_visitor: false,
  timeout_seconds: 5,
};
const REQUEST = "Please cancel my order A1, and write to ann@example.com.";
const toolCalls = [
  { name: "collect_lead", arguments: { email: "ann@example.com" } },
  { name: "cancel_order", arguments: { order: "A1" } },
];

/** Asks for both tools, and answers once it has their results. */
function modelReply({ messages }: ChatRequest) {
  return messages.some(({ role }) => role === "tool") ? { text: ["@sources t1\nIt is cancelled."] } : { toolCalls };
}

await withEachFault("a question whose answer needs tools", {
  prepare: async () => {
    useModel(modelReply);
    const [workspace, host] = [await createWorkspace(), newHost()];
    await behaveAt(host, { headers: { "Content-Type": "application/json" }, body: `{"cancelled": true}` });
    const agent = await createAgent(workspace, { tools: [{ ...ORDER, url: `https://${host}/orders/{order}/cancel` }] });
    await listen(workspace, ["lead.created", "message.ai_replied"]);
    return { workspace, agent, host, result: {} as Record<string, any> };
  },
  act: async (fixture) => {
    const path = `/agents/${fixture.agent.id}/messages`;
    fixture.result = (
      await sendUntilAnswered(() => fixture.workspace.call("POST", path, { message: REQUEST }, { "Idempotency-Key": "once" }))
    ).body;
  },
  check: async ({ workspace, host, result }) => {
    const { conversation_id: id, message_id: messageId, answer, needs_human: isHandedOff, handoff_reason: reason } = result;
    const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
    expect(messages).toMatchObject([{ content: REQUEST }, { id: messageId, content: answer }]);
    expect((await workspace.call("GET", "/conversations")).body.data).toHaveLength(1);
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(reason === "model_failure" ? 0 : 1);
    const [requests, { data: leads }] = [await receivedBy(host), (await workspace.call("GET", "/leads")).body];
    // A call that may have been made is not made again: a human takes over.
    if (!isHandedOff) expect([answer, requests.length, leads.length]).toEqual(["It is cancelled.", 1, 1]);
    expect(Math.max(requests.length, leads.length)).toBeLessThanOrEqual(1);
    const events = { "message.ai_replied": 1, ...(leads.length > 0 && { "lead.created": 1 }) };
    expect(await countBy("events", "type", workspace.id)).toEqual(events);
  },
});
