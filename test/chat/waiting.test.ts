import { describe, expect, test } from "vitest";
import { createAgent, createWorkspace, learn, operate, query } from "../harness.ts";
import { HANDBOOK, KNOWN, UNKNOWN } from "./handbook.ts";

async function createConversation(settings: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, settings);
  await learn(workspace, agent.id, HANDBOOK);
  let id: string | undefined;
  const ask = async (message: string) => {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, {
      message,
      ...(id !== undefined && { conversation_id: id }),
    });
    id = body.conversation_id;
    return body;
  };
  const handoffs = () => query(id!, "SELECT reason, status FROM handoffs WHERE conversation_id = ?", id!);
  const usedMessages = async () => (await workspace.call("GET", "/usage")).body.usage.messages;
  return {
    workspace,
    agent,
    ask,
    handoffs,
    usedMessages,
    conversation: async () => (await workspace.call("GET", `/conversations/${id}`)).body,
  };
}

test("in the playground nobody waits: what the agent does not know is no hand-off and no gap, and it goes on answering", async () => {
  const { workspace, agent } = await createConversation();
  const path = `/agents/${agent.id}/messages`;
  const { body: refused } = await workspace.call("POST", path, { message: UNKNOWN, channel: "playground" });
  expect(refused).toMatchObject({ needs_human: true, handoff_reason: "missing_knowledge", status: "ai_handled" });
  const { conversation_id: id } = refused;
  const { body: conversation } = await workspace.call("GET", `/conversations/${id}`);
  expect(conversation).toMatchObject({ channel: "playground", status: "ai_handled", handoff: null, unread_count: 0 });
  expect(await query(id, "SELECT reason FROM handoffs WHERE conversation_id = ?", id)).toEqual([]);
  const { body: overview } = await workspace.call("GET", "/analytics/overview?days=7");
  expect(overview.top_unanswered).toEqual([]);
  const next = { message: KNOWN.message, conversation_id: id };
  expect((await workspace.call("POST", path, { ...next, channel: "playground" })).body).toMatchObject({ needs_human: false });
  expect((await workspace.call("POST", path, next)).status).toBe(409);
});

describe("while a conversation waits for a human", () => {
  test("the agent answers what it can, and the hand-off stays pending", async () => {
    const { ask, handoffs, usedMessages, conversation } = await createConversation();
    const refused = await ask(UNKNOWN);
    expect(refused).toMatchObject({ needs_human: true, status: "needs_human", handoff_reason: "missing_knowledge" });
    const answered = await ask(KNOWN.message);
    expect(answered).toMatchObject({ needs_human: false, status: "needs_human", handoff_reason: null, message_id: expect.any(String) });
    expect(answered.answer).toContain(KNOWN.answer);
    expect(await ask("thanks!")).toMatchObject({ needs_human: false, status: "needs_human", handoff_reason: null });
    expect(await handoffs()).toEqual([{ reason: "missing_knowledge", status: "pending" }]);
    expect(await usedMessages()).toBe(3);
    expect(await conversation()).toMatchObject({ status: "needs_human", message_count: 6, handoff: { status: "pending" } });
  });

  test("what it cannot answer gets the hand-off message again, and no second hand-off", async () => {
    const { ask, handoffs, conversation } = await createConversation();
    const first = await ask(UNKNOWN);
    const second = await ask("Who won the world cup in Brazil?");
    expect(second).toMatchObject({ answer: first.answer, needs_human: true, handoff_reason: "missing_knowledge", status: "needs_human" });
    expect(second.message_id).not.toBeNull();
    expect(await handoffs()).toHaveLength(1);
    expect((await conversation()).messages.filter((message: any) => message.role === "assistant")).toHaveLength(2);
  });

  test("a visitor who asks for a human reads that one will reply, and the agent continues to answer", async () => {
    const { ask, handoffs } = await createConversation();
    await ask(UNKNOWN);
    const told = await ask("¿puedo hablar con una persona?");
    expect(told).toMatchObject({
      needs_human: true,
      status: "needs_human",
      answer: expect.stringContaining("He pedido a una persona del equipo"),
    });
    expect(await handoffs()).toEqual([{ reason: "missing_knowledge", status: "pending" }]);
    expect(await ask(KNOWN.message)).toMatchObject({ needs_human: false, answer: expect.stringContaining(KNOWN.answer) });
  });

  test("one that waits because the visitor asked for a human is left to humans", async () => {
    const { ask } = await createConversation();
    expect(await ask("kann ich mit einem Menschen sprechen?")).toMatchObject({ needs_human: true, handoff_reason: "customer_request" });
    expect(await ask(KNOWN.message)).toMatchObject({
      answer: "",
      message_id: null,
      needs_human: true,
      confidence: 0,
      handoff_reason: "customer_request",
    });
  });

  test("a human who replies silences the agent", async () => {
    const { workspace, ask, conversation } = await createConversation();
    await ask(UNKNOWN);
    const { id } = await conversation();
    await workspace.call("POST", `/conversations/${id}/messages`, { content: "I am looking into it." });
    expect(await ask(KNOWN.message)).toMatchObject({ message_id: null, status: "human_active", needs_human: true });
  });

  test("messages past the quota, or to a paused agent, are stored for the human", async () => {
    const { workspace, agent, ask, usedMessages } = await createConversation();
    await ask(UNKNOWN);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 1 } });
    expect(await ask(KNOWN.message)).toMatchObject({ message_id: null, needs_human: true, status: "needs_human" });
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 100 } });
    await operate("PATCH", `/workspaces/${workspace.id}/agents/${agent.id}`, { status: "paused" });
    expect(await ask(KNOWN.message)).toMatchObject({ message_id: null, needs_human: true, status: "needs_human" });
    expect(await usedMessages()).toBe(1);
  });

  test("a follow-up to a refused question is understood, and one that names a new thing is not answered with the old one", async () => {
    const { ask } = await createConversation();
    expect(await ask("How long does shipping to Atlantis by submarine take?")).toBeDefined();
    const followUp = await ask("And shipping to Norway?");
    expect(followUp.answer).toContain("nine days");
    expect((await ask("And what is the capital of France?")).answer).not.toContain("nine days");
  });
});

describe("the hand-off message", () => {
  test("fits the reason and the visitor's language", async () => {
    const { agent, ask } = await createConversation({ language: "de" });
    expect(agent.handoff_message).toContain("Da bin ich mir nicht sicher.");
    expect((await ask("Was ist die Hauptstadt von Frankreich?")).answer).toContain("Da bin ich mir nicht sicher.");
    expect((await ask("What is the capital of France and where is it?")).answer).toContain("I am not sure about that");
    expect((await ask("je voudrais parler à un humain")).answer).toContain("J'ai demandé à une personne de l'équipe");
  });

  test("is the operator's own for every reason and language", async () => {
    const { ask } = await createConversation({ handoff_message: "Ben takes over." });
    expect((await ask("Was ist die Hauptstadt von Frankreich?")).answer).toBe("Ben takes over.");
    expect((await ask("quiero hablar con una persona")).answer).toBe("Ben takes over.");
  });
});
