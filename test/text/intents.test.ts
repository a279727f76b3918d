import { describe, expect, test } from "vitest";
import { humanRequestLanguage, smallTalkOf, withoutSmallTalk } from "../../src/text/intents.ts";
import { LANGUAGES } from "../../src/text/languages.ts";

/** Messages that people type, written independently of the tables of phrases. */
interface Messages {
  human: string[];
  not_human: string[];
  talk: Record<string, string[]>;
}

const files = import.meta.glob(["./intents/*.json"], { eager: true }) as unknown as Record<string, { default: Messages }>;
const languages = Object.entries(files).map(([path, { default: messages }]) => ({ code: /(\w+)\.json$/.exec(path)![1]!, ...messages }));

const asksForHuman = (message: string, agentLanguage: string) => humanRequestLanguage(message, agentLanguage) !== undefined;

/** The share of messages that must be recognised. */
const MIN_SHARE = 0.95;

test("every language has messages", () => {
  expect(languages.map(({ code }) => code).sort()).toEqual(Object.keys(LANGUAGES).sort());
});

describe.each(languages)("in $code", ({ code, human, not_human, talk }) => {
  test("a request for a human is recognised, whatever the agent's language", () => {
    expect(human.length).toBeGreaterThanOrEqual(60);
    const missed = human.filter((message) => !asksForHuman(message, "en"));
    expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(human.length * (1 - MIN_SHARE) + 1e-9);
  });

  test("a question about people, agents or support is none", () => {
    expect(not_human.length).toBeGreaterThanOrEqual(60);
    for (const agentLanguage of ["en", code]) {
      expect(not_human.filter((message) => asksForHuman(message, agentLanguage))).toEqual([]);
      expect(not_human.filter((message) => smallTalkOf(message, agentLanguage))).toEqual([]);
    }
  });

  test.each(Object.entries(talk))("small talk is recognised: %s", (kind, messages) => {
    expect(messages.length).toBeGreaterThanOrEqual(10);
    const wrong = messages.filter((message) => smallTalkOf(message, code)?.kind !== kind);
    expect(wrong.length, wrong.join("\n")).toBeLessThanOrEqual(messages.length * (1 - MIN_SHARE) + 1e-9);
    expect(messages.filter((message) => asksForHuman(message, code))).toEqual([]);
  });
});

describe("a request for a human", () => {
  test.each([
    "talk to a human",
    "I want to talk to a human!",
    "Can I speak to a real person please?",
    "agent",
    "Agent please!",
    "operator",
    "representative please",
    "I need a human",
    "get me a real person",
    "connect me to an agent",
    "Could you please transfer me to a representative?",
    "I'd like to speak with someone from support",
    "How do I talk to a human?",
    "This is not helping, let me talk to a real person",
    "put me through to an operator",
    "can someone call me?",
    "Is there a human I can talk to?",
    "Are there any humans here?",
    "I want to speak to your manager",
    "please escalate this to a human",
    "Please connect me with your support team.",
    "No, I want to chat with a real human being.",
    "no i want a human",
    "I'd prefer to speak to a human about my refund",
    "are you a bot? i want a real person",
    "Can a human help me?",
    "have someone contact me",
    "Your answers are useless. Talk to a human!",
    "I have a problem with my order and I want to talk to a human",
    "Hand me over to a human",
    "live agent",
    "speak with an agent about my bill",
  ])("is %j", (message) => expect(asksForHuman(message, "en")).toBe(true));

  test.each([
    "How does the human hand-off work?",
    "What happens when a visitor asks for a human?",
    "What happens if I want to talk to a human?",
    "Can customers talk to a human agent?",
    "How do visitors talk to a person?",
    "When does the agent hand over to a human?",
    "How do I create an agent?",
    "I want an agent that answers in German",
    "Which agent plan do I need?",
    "I need the operator token",
    "What does the operator surface do?",
    "How do I configure the agent to talk to customers?",
    "I don't want to talk to a human",
    "I do not need a human",
    "human resources policy",
    "Do I need a person's consent?",
    "Can I contact the API from a browser?",
    "can I connect an agent to Shopify?",
    "How do I transfer an agent to another workspace?",
    "How many people are on the team?",
    "I need support for webhooks",
    "Does a human review the answers?",
    "why did a human reply?",
    "Can a human reply to a conversation through the API?",
    "Can a conversation be handed to a human?",
    "Can I delete a person and all their data?",
    "What does needs_human mean?",
    "",
    "",
    "please ".repeat(10_000),
    "i want to ".repeat(16),
  ])("is not %j", (message) => expect(asksForHuman(message, "en")).toBe(false));
});

describe("small talk", () => {
  test.each([
    ["?", "unclear"],
    ["...", "unclear"],
    ["", "unclear"],
    ["👍👍", "agreement"],
    [":)", "agreement"],
    ["thanks, that helped :)", "thanks"],
    ["Perfect, thank you. Bye!", "thanks"],
    ["danke schön", "thanks"],
    ["¡Hola, buenos días!", "greeting"],
  ])("%j is %s", (message, kind) => expect(smallTalkOf(message, "en")?.kind).toBe(kind));

  test.each([
    "hi, where is my order?",
    "hello world program",
    "Is this ok?",
    "morning hours on Sundays",
    "thanks but that is wrong",
    "hi ".repeat(500),
  ])("%j is none", (message) => expect(smallTalkOf(message, "en")).toBeUndefined());

  test("is in the agent's language where several have the phrase", () => {
    expect(smallTalkOf("ok", "de-AT")).toEqual({ kind: "agreement", language: "de" });
    expect(smallTalkOf("hallo", "nl")).toEqual({ kind: "greeting", language: "nl" });
    expect(smallTalkOf("tusen takk", "nb-NO")).toEqual({ kind: "thanks", language: "no" });
  });
});

test.each([
  ["thanks, and what about Norway?", "and what about Norway?"],
  ["Hi, how do I reset my password?", "how do I reset my password?"],
  ["How long do refunds take? Thanks!", "How long do refunds take?"],
  ["你好，运费是多少？", "运费是多少？"],
  ["thanks!", "thanks!"],
  ["Refunds, returns and repairs", "Refunds, returns and repairs"],
])("without small talk %j is %j", (message, rest) => expect(withoutSmallTalk(message, "en")).toBe(rest));
