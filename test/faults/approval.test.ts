import { expect } from "vitest";
import { createAgent, createWorkspace, listen } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import type { ChatRequest } from "../stand-ins/openai.ts";
import { awaitWithClock, countBy, sendUntilAnswered, useModel, withEachFault } from "./scenario.ts";

const REFUND = {
  name: "refund",
  description: "Pays money back.",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  method: "POST",
  requires_verified_visitor: false,
  requires_approval: true,
  timeout_seconds: 5,
};

/** Asks for the tool, and answers once it has the result. */
function modelReply({ messages }: ChatRequest) {
  return messages.some(({ role }) => role === "tool")
    ? { text: ["@sources t1\nIt is refunded."] }
    : { toolCalls: [{ name: "refund", arguments: { order: "A1" } }] };
}

await withEachFault("a tool call that the team approves", {
  prepare: async () => {
    useModel(modelReply);
    const [workspace, host] = [await createWorkspace(), newHost()];
    await behaveAt(host, { headers: { "Content-Type": "application/json" }, body: '{"refunded": true}' });
    const agent = await createAgent(workspace, { tools: [{ ...REFUND, url: `https://${host}/refunds/{order}` }] });
    await listen(workspace, ["tool_call.approval_requested", "tool_call.decided"]);
    return { workspace, agent, host, told: {} as Record<string, any> };
  },
  act: async (fixture) => {
    const { workspace, agent } = fixture;
    const ask = () => workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Refund A1." }, { "Idempotency-Key": "once" });
    fixture.told = (await sendUntilAnswered(ask)).body;
    const { data } = (await sendUntilAnswered(() => workspace.call("GET", "/approvals"))).body;
    // A model that fails hands the question to a human, and then there is nothing to approve.
    if (data.length === 0) return;
    await sendUntilAnswered(() => workspace.call("POST", `/approvals/${data[0].id}/approve`, {}));
    const path = `/conversations/${fixture.told["conversation_id"]}`;
    const isDone = async () => (await sendUntilAnswered(() => workspace.call("GET", path))).body.message_count === 3;
    await awaitWithClock(
      (async () => {
        while (!(await isDone())) await scheduler.wait(1);
      })(),
    );
  },
  check: async ({ workspace, host, told }) => {
    const { messages, status } = (await workspace.call("GET", `/conversations/${told["conversation_id"]}`)).body;
    const [requests, { data }] = [await receivedBy(host), (await workspace.call("GET", "/approvals")).body];
    const isAsked = told["handoff_reason"] === "approval_required";
    expect([messages.length, data.length]).toEqual(isAsked ? [3, 1] : [2, 0]);
    expect(requests.length).toBeLessThanOrEqual(1);
    // A call that may have been made is not made again: a human takes over.
    if (status === "ai_handled") expect([requests.length, messages.at(-1).content]).toEqual([1, "It is refunded."]);
    else expect(status).toBe("needs_human");
    const events = { "tool_call.approval_requested": 1, "tool_call.decided": 1 };
    expect(await countBy("events", "type", workspace.id)).toEqual(isAsked ? events : {});
  },
});
