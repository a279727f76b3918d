import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import type { SuspendedTurn } from "../../src/chat/suspended-turns.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { createWorkspace, d1WithFailingBatches, envWith, learn, listen, query, unfinishedIn } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import type { Script } from "../stand-ins/openai.ts";
import { createScriptedAgent } from "./scripted-agent.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const refund = (host: string, more: Record<string, unknown> = {}) => ({
  name: "refund",
  description: "Pays money back.",
  parameters: {
    type: "object",
    properties: { order: { type: "string" }, amount: { type: "number", maximum: 100 } },
    required: ["order", "amount"],
  },
  method: "POST",
  url: `https://${host}/refunds/{order}`,
  requires_verified_visitor: false,
  requires_approval: true,
  ...more,
});
const asks = (...calls: object[]): Script => ({ toolCalls: calls.map((input) => ({ name: "refund", arguments: input })) });
const REFUND = asks({ order: "A1", amount: 48 });
const PAID: Script = { text: ["@sources t1\nYour refund of 48 euros is on its way."] };
const SORRY: Script = { text: ["@smalltalk\nI am sorry, that is not possible."] };
/** A tool that the caller runs. */
const CANCEL = { type: "client", name: "cancel_order", description: "Cancels an order.", parameters: { type: "object", properties: {} } };
const CALLS_CANCEL: Script = { toolCalls: [{ name: "cancel_order", arguments: {} }] };

/** An agent whose refunds need an approval, and the first approval that its answer asked for. */
async function createFixture(
  scripts: [Script, ...Script[]] = [REFUND, PAID],
  tool: Record<string, unknown> = {},
  otherTools: readonly object[] = [],
  knowledge?: string,
) {
  const host = newHost();
  await behaveAt(host, { headers: JSON_TYPE, body: '{"refund": "48 euros", "state": "on its way"}' });
  const fixture = await createScriptedAgent({ tools: [refund(host, tool), ...otherTools] }, scripts);
  const { workspace, agent, ask } = fixture;
  if (knowledge !== undefined) await learn(workspace, agent.id, knowledge);
  const { body: told } = await ask({ message: "Please refund my order A1.", user: { id: "ann" } });
  const list = async (filter = "") => (await workspace.call("GET", `/approvals${filter}`)).body;
  const id: string = (await list()).data[0]?.id;
  const decide = (action: "approve" | "decline", body: Record<string, unknown> = {}, approvalId = id) =>
    workspace.call("POST", `/approvals/${approvalId}/${action}`, body);
  const conversation = async () => (await workspace.call("GET", `/conversations/${told.conversation_id}`)).body;
  /** Waits until the agent has written another message. */
  const answered = async (count = 3) => {
    await vi.waitFor(async () => expect((await conversation()).messages).toHaveLength(count), { timeout: 10_000 });
    return conversation();
  };
  return { ...fixture, host, told, list, id, decide, conversation, answered, paid: async () => (await receivedBy(host)).length };
}

test("the visitor is told that a colleague is asked, and nothing is called before the approval", async () => {
  const { told, list, conversation, paid } = await createFixture();
  expect(told).toMatchObject({
    answer: "A colleague takes over.",
    needs_human: true,
    status: "needs_human",
    handoff_reason: "approval_required",
  });
  expect(await list("?status=pending")).toMatchObject({
    total: 1,
    data: [
      {
        conversation_id: told.conversation_id,
        message_id: told.message_id,
        tool: "refund",
        arguments: { order: "A1", amount: 48 },
        status: "pending",
        decided_by: null,
        outcome: null,
      },
    ],
  });
  expect(await conversation()).toMatchObject({ status: "needs_human", handoff: { reason: "approval_required", status: "pending" } });
  expect(await paid()).toBe(0);
});

test("an approved call is made once, and the agent answers with its result", async () => {
  const { decide, answered, paid, list, workspace, requests } = await createFixture();
  const grace = { id: "grace", name: "Grace Hopper" };
  const { status, body } = await decide("approve", { author: grace });
  expect([status, body]).toMatchObject([200, { status: "approved", decided_by: grace, decided_at: expect.any(String) }]);
  const conversation = await answered();
  expect(conversation).toMatchObject({ status: "ai_handled", handoff: { status: "resolved" }, unread_count: 0 });
  expect(conversation.messages.at(-1)).toMatchObject({ role: "assistant", content: "Your refund of 48 euros is on its way." });
  expect(await paid()).toBe(1);
  expect((await list()).data).toMatchObject([{ status: "approved", outcome: "answered" }]);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(1);
  expect(await requests()).toHaveLength(2);
  expect((await decide("approve", { author: grace })).status).toBe(200);
  const other = await decide("decline", { reason: "Too late." });
  expect([other.status, other.body.error.code]).toEqual([409, "conflict"]);
  expect(await paid()).toBe(1);
});

test("an approved call whose secret cannot be read hands over at once", async () => {
  const { decide, conversation, paid, list } = await createFixture([REFUND], { headers: { Authorization: "Bearer secret" } });
  const key = env.ENCRYPTION_KEY;
  onTestFinished(() => void Reflect.set(env, "ENCRYPTION_KEY", key));
  Reflect.set(env, "ENCRYPTION_KEY", "another key");
  await decide("approve");
  await expect.poll(async () => (await conversation()).handoff, { timeout: 10_000 }).toMatchObject({ reason: "tool_failure" });
  expect((await list()).data).toMatchObject([{ status: "approved", outcome: "failed" }]);
  expect(await paid()).toBe(0);
});

test("the answer after an approval does not repeat what the visitor has read", async () => {
  const read = "Refunds take five days, so I ask a colleague.";
  const scripts: [Script, Script] = [{ text: [`@sources p1\n${read}`], ...REFUND }, PAID];
  const { decide, answered, requests } = await createFixture(scripts, {}, [], "# Refund of orders\n\nRefunds of orders take five days.");
  await decide("approve");
  expect((await answered()).messages.map(({ content }: { content: string }) => content)).toEqual([
    "Please refund my order A1.",
    `${read}\n\nA colleague takes over.`,
    "Your refund of 48 euros is on its way.",
  ]);
  // The model reads what it wrote.
  expect((await requests()).at(-1)!.messages.at(-2)!.content).toContain(read);
});

test("a member may change the arguments within the tool's schema", async () => {
  const { decide, answered, host, requests } = await createFixture();
  const wrong = await decide("approve", { arguments: { order: "A1", amount: 500 } });
  expect([wrong.status, wrong.body.detail]).toMatchObject([422, [{ loc: ["body", "arguments"], msg: expect.stringContaining("maximum") }]]);
  expect((await decide("approve", { arguments: { order: "A1", amount: 30 } })).body.arguments).toEqual({ order: "A1", amount: 30 });
  await answered();
  const sent = (await receivedBy(host)).map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as object);
  expect(sent).toEqual([{ amount: 30 }]);
  expect(JSON.stringify((await requests())[1]!.messages)).toContain('\\"amount\\":30');
});

test("the model reads why a call was declined", async () => {
  const { decide, answered, paid, requests } = await createFixture([REFUND, SORRY]);
  expect((await decide("decline", {})).status).toBe(422);
  const { body } = await decide("decline", { reason: "The order is too old." });
  expect(body).toMatchObject({ status: "declined", reason: "The order is too old.", decided_by: { id: null, name: "All" } });
  expect((await answered()).messages.at(-1).content).toBe("I am sorry, that is not possible.");
  expect((await requests())[1]!.messages.at(-1)!.content).toContain("The order is too old.");
  expect(await paid()).toBe(0);
});

test("the turn goes on once all calls of its round are decided", async () => {
  const { list, decide, answered, paid, conversation } = await createFixture([
    asks({ order: "A1", amount: 48 }, { order: "B2", amount: 7 }),
    PAID,
  ]);
  const [second, first] = (await list("?status=pending")).data;
  await decide("decline", { reason: "Not this one." }, second.id);
  expect((await conversation()).messages).toHaveLength(2);
  await decide("approve", {}, first.id);
  expect(await answered()).toMatchObject({ status: "ai_handled" });
  expect(await paid()).toBe(1);
});

test("a call on which nobody decides expires, and a human takes over", async () => {
  const { told, session, answered, list, decide, paid } = await createFixture();
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_000);
  await runDurableObjectAlarm(session(told.conversation_id));
  clock.mockRestore();
  const conversation = await answered();
  expect(conversation).toMatchObject({ status: "needs_human", handoff: { reason: "approval_expired", status: "pending" } });
  expect((await list()).data).toMatchObject([{ status: "expired", decided_by: null }]);
  expect((await decide("approve")).status).toBe(409);
  expect(await paid()).toBe(0);
});

test("an approved call beside an expired one is made, and a human takes over", async () => {
  const { told, session, list, decide, answered, paid } = await createFixture([
    asks({ order: "A1", amount: 48 }, { order: "B2", amount: 7 }),
    PAID,
  ]);
  const [second] = (await list("?status=pending")).data;
  await decide("approve", {}, second.id);
  expect(await paid()).toBe(0);
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_000);
  await runDurableObjectAlarm(session(told.conversation_id));
  clock.mockRestore();
  expect(await answered()).toMatchObject({ status: "needs_human", handoff: { reason: "approval_expired", status: "pending" } });
  expect(await paid()).toBe(1);
  expect((await list()).data).toMatchObject([
    { id: second.id, status: "approved", outcome: "answered" },
    { status: "expired", decided_by: null, outcome: null },
  ]);
});

test("a decision survives that the service is killed", async () => {
  const { decide, answered, paid, told, session } = await createFixture();
  await abortAllDurableObjects();
  await decide("approve");
  await abortAllDurableObjects();
  await runDurableObjectAlarm(session(told.conversation_id));
  expect((await answered()).messages.at(-1).role).toBe("assistant");
  expect(await paid()).toBeLessThanOrEqual(1);
});

test("a member who takes the conversation over gets the call's outcome, and the agent stays silent", async () => {
  const { decide, told, workspace, paid, list, conversation } = await createFixture();
  await workspace.call("POST", `/conversations/${told.conversation_id}/messages`, { content: "I look into it." });
  await decide("approve");
  await vi.waitFor(async () => expect((await list()).data).toMatchObject([{ outcome: "answered" }]), { timeout: 10_000 });
  expect(await paid()).toBe(1);
  expect(await conversation()).toMatchObject({ status: "human_active", message_count: 3 });
});

test("a rescued turn that has asked the team before a human took over leaves the call to the decision", async () => {
  const { decide, told, session, workspace, paid, list, conversation } = await createFixture();
  // What is left if the object dies after it has stored its answer, and before its queue has let the question go.
  await runInDurableObject(session(told.conversation_id), (_, { storage }) => {
    const { question } = storage.kv.get<SuspendedTurn>(`suspended:${told.message_id}`)!;
    storage.kv.put("turn:000000000001", { question, attempts: 1, crashes: 1 });
  });
  await workspace.call("POST", `/conversations/${told.conversation_id}/messages`, { content: "I look into it." });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(session(told.conversation_id));
  expect([(await list()).data, await paid()]).toMatchObject([[{ status: "pending" }], 0]);
  await decide("approve");
  await vi.waitFor(async () => expect((await list()).data).toMatchObject([{ outcome: "answered" }]), { timeout: 10_000 });
  expect(await paid()).toBe(1);
  expect(await conversation()).toMatchObject({ status: "human_active", message_count: 3 });
});

test("a rescued turn that could not ask the team before a human took over calls nothing", async () => {
  const { told, ask, session, workspace, paid, list, conversation } = await createFixture([SORRY, REFUND, SORRY]);
  const { conversation_id: id } = told;
  // The second batch stores the answer and asks the team.
  await runInDurableObject(session(id), (live, { storage }) => {
    Object.assign(live, { runner: new TurnRunner(envWith(d1WithFailingBatches(2)), modelFor(env), storage.kv) });
  });
  expect((await ask({ conversation_id: id })).status).toBe(500);
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "I look into it." });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(session(id));
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_000);
  await runDurableObjectAlarm(session(id));
  clock.mockRestore();
  expect([(await list()).total, await paid()]).toEqual([0, 0]);
  expect((await unfinishedIn(workspace.id, id)).entries).toEqual([]);
  expect(await conversation()).toMatchObject({ status: "human_active", message_count: 4 });
});

test("while a call waits, the agent answers other questions of the visitor", async () => {
  const thanks: Script = { text: ["@smalltalk\nYou are welcome."] };
  const { ask, told, decide, answered } = await createFixture([REFUND, thanks, PAID]);
  const { body } = await ask({ message: "Thanks!", conversation_id: told.conversation_id });
  expect(body).toMatchObject({ answer: "You are welcome.", status: "needs_human" });
  await decide("approve");
  expect((await answered(5)).messages.at(-1).content).toBe("Your refund of 48 euros is on its way.");
});

test("a decision is carried out while another question waits for its caller's tool", async () => {
  const { ask, told, decide, answered, paid, sendResults } = await createFixture([REFUND, CALLS_CANCEL, PAID, SORRY], {}, [CANCEL]);
  const { body: waiting } = await ask({ message: "Please cancel it too.", conversation_id: told.conversation_id });
  await decide("approve");
  expect((await answered(4)).messages.at(-1).content).toBe("Your refund of 48 euros is on its way.");
  expect(await paid()).toBe(1);
  const [{ id }] = waiting.required_action.tool_calls;
  expect((await sendResults(waiting, [{ tool_call_id: id, content: "done" }])).body.answer).toBe("I am sorry, that is not possible.");
});

test("a call expires while another question waits for its caller's tool", async () => {
  const { ask, told, list, session, answered } = await createFixture([REFUND, CALLS_CANCEL], {}, [CANCEL]);
  const almostExpired = Date.now() + 86_300_000;
  const clock = vi.spyOn(Date, "now").mockReturnValue(almostExpired);
  await ask({ message: "Please cancel it too.", conversation_id: told.conversation_id });
  clock.mockReturnValue(almostExpired + 100_000);
  await runDurableObjectAlarm(session(told.conversation_id));
  clock.mockRestore();
  await answered(4);
  expect((await list()).data).toMatchObject([{ status: "expired" }]);
});

test("receivers of events are told of the request and the decision", async () => {
  const host = newHost();
  const { workspace, ask } = await createScriptedAgent({ tools: [refund(host)] }, [REFUND, SORRY]);
  await listen(workspace, ["tool_call.approval_requested", "tool_call.decided"]);
  await ask({ message: "Please refund my order A1." });
  const { data } = (await workspace.call("GET", "/approvals")).body;
  const { body: declined } = await workspace.call("POST", `/approvals/${data[0].id}/decline`, { reason: "No." });
  const events = await query<{ payload: string }>(
    workspace.id,
    "SELECT payload FROM events WHERE workspace_id = ? ORDER BY sequence",
    workspace.id,
  );
  expect(events.map(({ payload }) => JSON.parse(payload))).toMatchObject([
    { type: "tool_call.approval_requested", data: data[0] },
    { type: "tool_call.decided", data: declined },
  ]);
});

test("in the playground nobody is asked, and nothing is called", async () => {
  const host = newHost();
  const { ask, requests, workspace } = await createScriptedAgent({ tools: [refund(host)] }, [REFUND, SORRY]);
  const { body } = await ask({ message: "Please refund my order A1.", channel: "playground" });
  expect(body.answer).toBe("I am sorry, that is not possible.");
  expect((await requests())[1]!.messages.at(-1)!.content).toContain("nobody can be asked here");
  expect((await workspace.call("GET", "/approvals")).body.total).toBe(0);
});

test("approvals of another workspace are not found, and an erasure removes them", async () => {
  const { id, workspace, told, list, decide, paid } = await createFixture();
  const stranger = await createWorkspace();
  expect((await stranger.call("POST", `/approvals/${id}/approve`, {})).status).toBe(404);
  expect((await stranger.call("GET", "/approvals")).body.total).toBe(0);
  expect((await workspace.call("DELETE", "/privacy/visitors?external_id=ann")).body.deleted.approvals).toBe(1);
  expect((await decide("approve")).status).toBe(404);
  expect(await list(`?conversation_id=${told.conversation_id}`)).toMatchObject({ total: 0, data: [] });
  expect(await paid()).toBe(0);
});

test("an approval of a conversation that was resolved meanwhile is still carried out", async () => {
  const { decide, told, workspace, paid, answered } = await createFixture();
  await workspace.call("PATCH", `/conversations/${told.conversation_id}`, { status: "resolved" });
  expect((await decide("approve")).status).toBe(200);
  expect(await answered()).toMatchObject({ status: "resolved" });
  expect(await paid()).toBe(1);
});

test("a call that expires in a resolved conversation ends its turn without a message", async () => {
  const { told, session, workspace, list, conversation, paid } = await createFixture();
  await workspace.call("PATCH", `/conversations/${told.conversation_id}`, { status: "resolved" });
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_000);
  await runDurableObjectAlarm(session(told.conversation_id));
  clock.mockRestore();
  expect((await list()).data).toMatchObject([{ status: "expired" }]);
  const handoff = { reason: "approval_required", status: "resolved" };
  expect(await conversation()).toMatchObject({ status: "resolved", message_count: 2, reopened_count: 0, handoff });
  expect((await unfinishedIn(workspace.id, told.conversation_id)).entries).toEqual([]);
  expect(await paid()).toBe(0);
});

test("a call that is approved after a resolution and hands over reopens the conversation", async () => {
  const unsure: Script = { text: ["@unknown"] };
  const { decide, told, workspace, paid, answered } = await createFixture([REFUND, unsure]);
  await listen(workspace, ["handoff.created"]);
  await workspace.call("PATCH", `/conversations/${told.conversation_id}`, { status: "resolved" });
  await decide("approve");
  const { handoff, ...conversation } = await answered();
  expect(conversation).toMatchObject({ status: "needs_human", resolved_at: null, resolved_by: null, reopened_count: 1, unread_count: 1 });
  expect(conversation.messages.at(-1)).toMatchObject({ content: "A colleague takes over.", needs_human: true });
  expect(handoff).toMatchObject({ reason: "missing_knowledge", status: "pending" });
  const events = await query<{ payload: string }>(workspace.id, "SELECT payload FROM events WHERE workspace_id = ?", workspace.id);
  expect(events.map(({ payload }) => JSON.parse(payload))).toMatchObject([{ type: "handoff.created", data: { id: handoff.id } }]);
  expect(await paid()).toBe(1);
});

test("an answer that follows a decision may ask the team again", async () => {
  const { conversation, list, decide, answered, paid } = await createFixture([REFUND, asks({ order: "A1", amount: 30 }), PAID]);
  await decide("decline", { reason: "At most 30." });
  await answered();
  const { data, total } = await list("?status=pending");
  expect([total, data]).toMatchObject([1, [{ arguments: { order: "A1", amount: 30 } }]]);
  expect(await conversation()).toMatchObject({ status: "needs_human", handoff: { reason: "approval_required", status: "pending" } });
  await decide("approve", {}, data[0].id);
  expect(await answered(4)).toMatchObject({ status: "ai_handled", handoff: { status: "resolved" } });
  expect(await paid()).toBe(1);
});

test("a visitor who asks for a human while a call waits gets one, whatever is decided", async () => {
  const { ask, told, list, decide, conversation } = await createFixture();
  const { body: answer } = await ask({ message: "I want to talk to a human", conversation_id: told.conversation_id });
  expect(answer).toMatchObject({ needs_human: true, handoff_reason: "customer_request" });
  await decide("approve");
  await vi.waitFor(async () => expect((await list()).data).toMatchObject([{ outcome: "answered" }]), { timeout: 10_000 });
  expect(await conversation()).toMatchObject({ status: "needs_human", handoff: { reason: "customer_request", status: "pending" } });
});

test("after a decision the agent has no tools that the caller runs", async () => {
  const host = newHost();
  const { ask, workspace, requests } = await createScriptedAgent({ tools: [refund(host), CANCEL] }, [REFUND, SORRY]);
  const { body: told } = await ask({ message: "Please refund and cancel my order A1.", user: { id: "ann" } });
  const [{ id }] = (await workspace.call("GET", "/approvals")).body.data;
  await workspace.call("POST", `/approvals/${id}/decline`, { reason: "No." });
  await vi.waitFor(async () =>
    expect((await workspace.call("GET", `/conversations/${told.conversation_id}`)).body.messages).toHaveLength(3),
  );
  const offered = (await requests()).map(({ tools }) => tools?.map((tool) => tool.function.name));
  expect(offered[0]).toContain("cancel_order");
  expect(offered[1]).not.toContain("cancel_order");
});

test("changed arguments are checked against the draft, if that has asked", async () => {
  const { workspace, agent, ask } = await createScriptedAgent({}, [REFUND, PAID]);
  await workspace.call("PATCH", `/agents/${agent.id}/versions/draft`, { tools: [refund(newHost())] });
  await ask({ message: "Please refund my order A1.", user: { id: "ann" }, version: "draft" });
  const [{ id }] = (await workspace.call("GET", "/approvals")).body.data;
  const approve = (amount: number) => workspace.call("POST", `/approvals/${id}/approve`, { arguments: { order: "A1", amount } });
  expect((await approve(500)).body.detail[0].msg).toContain("maximum");
  expect((await approve(30)).status).toBe(200);
});

test("changed arguments are checked against the version that asked", async () => {
  const { workspace, agent, ask } = await createScriptedAgent({}, [REFUND, PAID]);
  const host = newHost();
  await workspace.call("PATCH", `/agents/${agent.id}/versions/draft`, { tools: [refund(host)] });
  await workspace.call("POST", `/agents/${agent.id}/versions/publish`, { rollout: 1 });
  await ask({ message: "Please refund my order A1.", user: { id: "ann" } });
  const [{ id }] = (await workspace.call("GET", "/approvals")).body.data;
  const approve = (amount: number) => workspace.call("POST", `/approvals/${id}/approve`, { arguments: { order: "A1", amount } });
  expect((await approve(500)).body.detail[0].msg).toContain("maximum");
  expect(await approve(30)).toMatchObject({ status: 200, body: { arguments: { order: "A1", amount: 30 } } });
});
