import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ExtractiveEngine } from "../../src/extractive/engine.ts";
import { answerReader } from "../../src/models/encoder/load.ts";
import { type Index, load, newIndex } from "../knowledge/agent-index.ts";
import { bind, encodeAll } from "../knowledge/vectors/setup.ts";

/** The default confidence threshold of an agent. */
const DEFAULT_THRESHOLD = 0.5;

const TEXTS = {
  tickets: `# Tickets and prices

A single crossing costs 12 euros for an adult and 6 euros for a child from 4 to 11. People aged 65 and over pay 9 euros. Bicycles travel
for 3 euros, cars for 34 euros. Return tickets are valid for 30 days.`,
  changes: `# Changes and refunds

A ticket may be moved to another day free of charge until noon of the day before. Tickets are refunded up to 48 hours before
departure; a fee of 4 euros is kept. If we cancel a crossing because of the weather, you get the whole price back within a week.`,
  board: `# On board

Dogs are welcome on the open deck if they are on a lead. There is a café on deck 5, open during the whole crossing. Smoking is allowed at
the stern only. Prams can be left beside the stairs.`,
  check: `# Check-in

Foot passengers check in 20 minutes before departure, cars 45 minutes. Show the code from the mail on your phone, or a printed one.`,
};

describe("answers that the reader has chosen", () => {
  let index: Index;
  beforeAll(async () => {
    bind({ ENCODE_SENTENCES: "true" });
    index = newIndex();
    await load(index, TEXTS);
    await encodeAll(index);
  });
  afterAll(() => {
    bind({ ENCODE_SENTENCES: "false" });
    vi.restoreAllMocks();
  });

  async function ask(question: string, engine: ExtractiveEngine): Promise<{ text: string; confidence: number }> {
    const retrieval = await index.search({ question, previousQuestions: [], limit: 8 });
    const agent = { agentName: "Ada", welcomeMessage: "Hello!", instructions: null, language: "en", modelName: null };
    const reply = await engine.answer({ ...agent, question, retrieval, history: [], tools: [] });
    if (reply.outcome !== "answered") return { text: "", confidence: 0 };
    return { text: (await Array.fromAsync(reply.text)).join(""), confidence: reply.confidence };
  }

  const read = new ExtractiveEngine(() => answerReader(env));

  test.each([
    ["can i take my labrador", "Dogs are welcome on the open deck"],
    ["how much for pensioners", "People aged 65 and over pay 9 euros"],
    ["is there somewhere to get a coffee", "There is a café on deck 5"],
    ["storm warning, my ferry is off, do i get my money back", "you get the whole price back within a week"],
    ["what do you charge for my bike", "Bicycles travel for 3 euros"],
    ["how early do i have to be there with my car", "cars 45 minutes"],
  ])("answers %j, whose words are not those of the text", async (question, sentence) => {
    const { text, confidence } = await ask(question, read);
    expect(text).toContain(sentence);
    expect(confidence).toBeGreaterThan(DEFAULT_THRESHOLD);
  });

  test.each([
    "do dogs need a ticket of their own",
    "how long does the crossing take",
    "is there a student discount",
    "what does a coffee cost",
    "which number do i call if the ferry is late",
  ])("is not sure of an answer to %j, whose topic is in the texts", async (question) => {
    expect((await ask(question, read)).confidence).toBeLessThan(DEFAULT_THRESHOLD);
  });

  test("answers without the reader where its weights cannot be loaded", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const failing = new ExtractiveEngine(() => Promise.reject(new Error("no weights")));
    const question = "How long are return tickets valid?";
    expect(await ask(question, failing)).toEqual(await ask(question, new ExtractiveEngine()));
    expect((await ask(question, failing)).text).toContain("valid for 30 days");
  });
});
