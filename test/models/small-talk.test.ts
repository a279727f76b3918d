import { expect, it, test } from "vitest";
import { replyToThanks, smallTalkOf } from "../../src/models/intent.ts";
import { createAgent, createWorkspace, learn } from "../harness.ts";

it.each([
  "hi",
  "Hello!",
  "Hi there 👋",
  "hey team",
  "Good morning",
  "Guten Tag!",
  "Bonjour à tous",
  "¡Hola, buenos días!",
  "Olá, boa tarde",
])("%s is a greeting", (message) => expect(smallTalkOf(message)).toBe("greeting"));

it.each(["thanks!", "Thank you so much for your help", "ok great, thanks", "Vielen Dank!", "merci beaucoup", "Perfect, thank you. Bye!"])(
  "%s is thanks",
  (message) => expect(smallTalkOf(message)).toBe("thanks"),
);

it.each([
  "hi, where is my order?",
  "hello world program",
  "help",
  "ok",
  "good",
  "Is this ok?",
  "morning hours on Sundays",
  "thanks but that is wrong",
  "hi ".repeat(20),
  "",
  "👋",
])("%j is neither", (message) => expect(smallTalkOf(message)).toBeUndefined());

it.each([
  ["en", "You're welcome!"],
  ["de-AT", "Gern geschehen!"],
  ["tlh", "You're welcome!"],
])("thanks are answered in %s", (language, reply) => expect(replyToThanks(language)).toBe(reply));

test("a greeting and thanks are answered without a hand-off", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { welcome_message: "Welcome to the shop." });
  await learn(workspace, agent.id, "Refunds are paid within five days.");
  const say = (message: string, conversation_id?: string) =>
    workspace.call("POST", `/agents/${agent.id}/messages`, { message, ...(conversation_id !== undefined && { conversation_id }) });
  const greeted = await say("Hi there!");
  expect(greeted.body).toMatchObject({ answer: "Welcome to the shop.", citations: [], needs_human: false, status: "ai_handled" });
  const thanked = await say("Thanks!", greeted.body.conversation_id);
  expect(thanked.body).toMatchObject({ answer: "You're welcome!", needs_human: false });
});
