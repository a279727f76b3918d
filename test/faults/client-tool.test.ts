import { expect } from "vitest";
import { createAgent, createWorkspace, listen } from "../harness.ts";
import type { ChatRequest } from "../stand-ins/openai.ts";
import { countBy, sendUntilAnswered, useModel, withEachFault } from "./scenario.ts";

const CANCEL = {
  type: "client",
  name: "cancel_order",
  description: "Cancels an order.",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
};
const REQUEST = "Please cancel my order A1.";

/** Asks for the tool, and answers once it has the result. */
function modelReply({ messages }: ChatRequest) {
  return messages.some(({ role }) => role === "tool")
    ? { text: ["@sources t1\nIt is cancelled."] }
    : { toolCalls: [{ name: "cancel_order", arguments: { order: "A1" } }] };
}

await withEachFault("a question whose answer needs a tool of the caller", {
  prepare: async () => {
    useModel(modelReply);
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace, { tools: [CANCEL] });
    await listen(workspace, ["message.ai_replied"]);
    return { workspace, agent, result: {} as Record<string, any> };
  },
  act: async (fixture) => {
    const { workspace, agent } = fixture;
    const ask = () => workspace.call("POST", `/agents/${agent.id}/messages`, { message: REQUEST }, { "Idempotency-Key": "once" });
    const { body: waiting } = await sendUntilAnswered(ask);
    fixture.result = waiting;
    // A model that fails hands the question to a human, and then there is nothing to run.
    if (!waiting.required_action) return;
    const path = `/conversations/${waiting.conversation_id}/messages/${waiting.message_id}/tool-results`;
    const results = waiting.required_action.tool_calls.map(({ id }: { id: string }) => ({ tool_call_id: id, content: "cancelled" }));
    fixture.result = (await sendUntilAnswered(() => workspace.call("POST", path, { results }))).body;
  },
  check: async ({ workspace, result }) => {
    const { conversation_id: id, message_id: messageId, answer, needs_human: isHandedOff, handoff_reason: reason } = result;
    const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
    expect(messages).toMatchObject([{ content: REQUEST }, { id: messageId, content: answer }]);
    expect((await workspace.call("GET", "/conversations")).body.data).toHaveLength(1);
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(reason === "model_failure" ? 0 : 1);
    if (!isHandedOff) expect(answer).toBe("It is cancelled.");
    expect(await countBy("events", "type", workspace.id)).toEqual({ "message.ai_replied": 1 });
  },
});
