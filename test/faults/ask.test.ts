import { expect } from "vitest";
import { type Answer, createAgent, createWorkspace, listen, type Workspace } from "../harness.ts";
import { readEvents } from "../stream-client.ts";
import { coolGate, countBy, insist, withEachFault } from "./scenario.ts";

const QUESTION = "Are you open on Sundays?";
const EVENTS = { "conversation.created": 1, "message.ai_replied": 1 };

/** An agent with an answer, and a question that is asked with an Idempotency-Key. */
async function createDesk(body: object = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: QUESTION, answer: "Yes." });
  await listen(workspace, Object.keys(EVENTS));
  await coolGate(workspace);
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

await withEachFault("a question", {
  prepare: createDesk,
  act: async (desk) => {
    desk.result = (await insist(desk.ask)).body;
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
  prepare: () => createDesk({ stream: true }),
  act: async ({ workspace, ask, result }) => {
    let { body: events } = await insist(() => withEvents(ask()));
    const { conversation_id: id, message_id: messageId } = events[0].data.error ?? events[0].data;
    const path = `/conversations/${id}/messages/${messageId}/stream`;
    while (events.at(-1).event !== "done") {
      const headers = { "Last-Event-ID": events.at(-1).id };
      ({ body: events } = await insist(() => withEvents(workspace.call("GET", path, undefined, headers))));
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
