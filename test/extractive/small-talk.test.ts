import { expect, test } from "vitest";
import { createAgent, createWorkspace, learn } from "../harness.ts";

async function createShop(settings: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, settings);
  await learn(workspace, agent.id, "Refunds are paid within five days. Shipping to Norway takes nine days.", "Refunds and shipping");
  let id: string | undefined;
  const say = async (message: string) => {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, {
      message,
      ...(id !== undefined && { conversation_id: id }),
    });
    id = body.conversation_id;
    return body;
  };
  return { agent, workspace, say };
}

test("small talk of each kind gets a reply that fits, and no hand-off", async () => {
  const { say } = await createShop({ name: "Ada", welcome_message: "Welcome to the shop." });
  for (const [message, reply] of [
    ["Hi there!", "Welcome to the shop."],
    ["Thanks!", "You're welcome!"],
    ["ok great", "Alright."],
    ["👍", "Alright."],
    ["?", "I did not quite get that."],
    ["who are you", "I am Ada, an automated assistant."],
    ["are you a bot?", "I am Ada, an automated assistant."],
    ["what can you do", "I answer questions about Refunds and shipping."],
    ["danke schön", "Gern geschehen!"],
    ["bye", "Goodbye!"],
  ] as const) {
    const expected = {
      answer: expect.stringContaining(reply),
      citations: [],
      needs_human: false,
      status: "ai_handled",
      handoff_reason: null,
    };
    expect(await say(message), message).toMatchObject(expected);
  }
});

test("an agent without an own welcome message greets in the visitor's language", async () => {
  const { agent, say } = await createShop({ language: "de" });
  expect(agent.welcome_message).toBe("Hallo! Wie kann ich helfen?");
  expect((await say("Buenos días")).answer).toBe("¡Hola! ¿En qué puedo ayudarle?");
  expect((await say("hallo")).answer).toBe("Hallo! Wie kann ich helfen?");
});

test("small talk around a question does not hide it", async () => {
  const { say } = await createShop();
  expect((await say("When are refunds paid?")).answer).toContain("five days");
  await say("thanks");
  expect((await say("Thanks, and how long does shipping to Norway take?")).answer).toContain("nine days");
});
