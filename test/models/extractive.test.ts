import { beforeAll, describe, expect, it } from "vitest";
import webhooksGuide from "../../docs/webhooks.md?raw";
import { ExtractiveModel, type ExtractiveReply } from "../../src/models/extractive.ts";
import { type Index, load, newIndex } from "../knowledge/agent-index.ts";

/** An agent's, where the operator sets none. */
const DEFAULT_THRESHOLD = 0.5;

const TEXTS = {
  webhooks: `# Webhooks

Webhooks tell your server what happened. They are available from the plan "pro" on.

## Signatures

Webhook notifications are signed by Standard Webhooks. The signature stands in the header \`webhook-signature\` and is an HMAC-SHA256 of id, timestamp and body. Secrets begin with whsec_.

## Retries

A failed delivery is tried again after 5 s, 1 m, 5 m and 15 m. This goes on for about six hours. After that the delivery is given up.

## Setting up an endpoint

To create a webhook endpoint, follow these steps:

1. Open the settings and press "Add endpoint".
2. Enter the URL of your server. It must begin with https.
3. Copy the secret: it is shown only once.

Then send a test event:

\`\`\`sh
curl -X POST https://example.com/api/v1/webhooks/ID/test
\`\`\`
`,
  billing: `# Billing

Refunds are paid within five working days. Invoices are sent by mail on the first of each month, and names in them are printed in capital letters.

## Plans

| Plan | Price | Messages |
| --- | --- | --- |
| starter | 19 € | 2,000 |
| pro | 99 € | 10,000 |

The following ways to pay are accepted:

- credit card
- bank transfer, from 500 € on
- PayPal
`,
  privacy: `# Privacy

A data processing agreement is a contract on how personal data are handled. Personal data are deleted on request. Is it safe to send us personal data? Nobody but the support team can read them.`,
};

describe("the extractive model", () => {
  let index: Index;
  beforeAll(async () => {
    index = newIndex();
    await load(index, TEXTS);
  });

  async function ask(question: string, ...previousQuestions: string[]): Promise<ExtractiveReply> {
    const retrieval = await index.search({ question, previousQuestions, limit: 8 });
    return new ExtractiveModel().answer({ question, previousQuestions, retrieval, instructions: null, language: "en" });
  }

  async function answer(question: string, ...previousQuestions: string[]): Promise<{ text: string; sources: string[] }> {
    const reply = await ask(question, ...previousQuestions);
    if (reply.outcome === "no_answer") return { text: "(no answer)", sources: [] };
    return { text: reply.text, sources: [...new Set(reply.cited.map(({ sourceId }) => sourceId))] };
  }

  it.each([
    ["How are webhook notifications signed?", "Webhook notifications are signed by Standard Webhooks.", "webhooks"],
    ["when do I get my refund?", "Refunds are paid within five working days.", "billing"],
    ["when are invoices sent", "Invoices are sent by mail on the first of each month", "billing"],
    ["What is a data processing agreement?", "A data processing agreement is a contract", "privacy"],
    ["who can read personal data?", "Nobody but the support team can read them.", "privacy"],
    ["how often is a failed delivery retried?", "after 5 s, 1 m, 5 m and 15 m", "webhooks"],
    ["what does the pro plan cost, what is its price?", "| pro | 99 € | 10,000 |", "billing"],
  ])("answers %j with the sentence that says it", async (question, sentence, source) => {
    const { text, sources } = await answer(question);
    expect(text).toContain(sentence);
    expect(sources).toContain(source);
  });

  it("keeps steps together with the line that announces them", async () => {
    const { text } = await answer("How do I create a webhook endpoint?");
    expect(text).toContain(
      'To create a webhook endpoint, follow these steps:\n\n1. Open the settings and press "Add endpoint".\n2. Enter the URL of your server. It must begin with https.\n3. Copy the secret: it is shown only once.',
    );
  });

  it("keeps a list together with the line that announces it", async () => {
    const { text } = await answer("Which ways to pay are accepted?");
    expect(text).toContain("The following ways to pay are accepted:\n\n- credit card\n- bank transfer, from 500 € on\n- PayPal");
    expect((await answer("can I pay by PayPal")).text).toContain("The following ways to pay are accepted:");
  });

  it("keeps a code block together with the line that announces it", async () => {
    const { text } = await answer("How do I send a test event?");
    expect(text).toContain("Then send a test event:\n\n```sh\ncurl -X POST https://example.com/api/v1/webhooks/ID/test\n```");
  });

  it("gives a sentence that leans on the one before together with it", async () => {
    const { text } = await answer("for how many hours does it go on?", "When is a failed delivery tried again?");
    expect(text).toContain("A failed delivery is tried again after 5 s, 1 m, 5 m and 15 m. This goes on for about six hours.");
  });

  it("cites the passages that it took sentences from, and no others", async () => {
    const reply = await ask("when do I get my refund?");
    expect(reply).toMatchObject({ outcome: "answered", cited: [{ sourceId: "billing", heading: "Billing", title: "Title of billing" }] });
  });

  /** The answer from one text alone. */
  async function answerFrom(text: string | Record<string, string>, question: string): Promise<string> {
    const own = newIndex();
    await load(own, typeof text === "string" ? { text } : text);
    const retrieval = await own.search({ question, previousQuestions: [], limit: 8 });
    const reply = await new ExtractiveModel().answer({ question, previousQuestions: [], retrieval, instructions: null, language: "en" });
    return reply.outcome === "answered" ? reply.text : "(no answer)";
  }

  it("says what comes after a question in the knowledge, not the question", async () => {
    const text = "# Reports\n\nCharts are drawn hourly.\n\nWhy does the last point of a chart drop?\n\nIts interval is not over yet.";
    expect(await answerFrom(text, "Why does the last point of a chart drop?")).toBe("Its interval is not over yet.");
  });

  it("prefers what says something to what points elsewhere", async () => {
    const text = `# Exports\n\nFor more information, see how to export invoices as a file.\n\nPress "Download" to export invoices.`;
    expect(await answerFrom(text, "How do I export invoices?")).toMatch(/^Press "Download"/);
  });

  it("keeps answers short", async () => {
    const leaf = (at: number): string => Array.from({ length: 8 }, (_, word) => `leaf${at}x${word}`).join(" ");
    const sentences = Array.from({ length: 60 }, (_, at) => `The okapi eats ${leaf(at)}.`);
    const text = await answerFrom(sentences.join(" "), "What does the okapi eat?");
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(120);
    expect(text.split(/\s+/).length).toBeGreaterThan(30);
    expect(text).toMatch(/^The okapi .*\.$/);
  });

  it("says a thing once, however many sources say it", async () => {
    const sentence = "The okapi eats the leaves of a hundred plants.";
    const text = await answerFrom({ one: `${sentence} It is shy.`, two: `${sentence} It lives alone.` }, "What does the okapi eat?");
    expect(text.split(sentence)).toHaveLength(2);
  });

  it("answers with the answer, not with the question that stands before it", async () => {
    expect(
      await answerFrom("How long does the warranty last? The warranty of the okapi lasts two years.", "how long does the warranty last"),
    ).toBe("The warranty of the okapi lasts two years.");
  });

  it("answers with what a heading stands above, not with the heading", async () => {
    const text = "Waking the okapi\n\nPress the red button behind the left ear for ten seconds.\n\nCleaning the quagga\n\nUse water.";
    expect(await answerFrom(text, "waking the okapi")).toBe("Press the red button behind the left ear for ten seconds.");
  });

  it("prefers a sentence of the form that was asked for", async () => {
    const text = "Many okapis live in the zoo of Antwerp. The zoo of Antwerp has twelve okapis that live there.";
    expect(await answerFrom(text.replace(". The", ".\n\nThe"), "How many okapis live in the zoo of Antwerp?")).toMatch(
      /^The zoo of Antwerp has twelve/,
    );
  });

  it("gives a sentence that speaks of “it” together with the one before", async () => {
    const text = "The okapi is shy. It nibbles baobab bark at dawn. Nights are quiet in the forest of the Congo.";
    expect(await answerFrom(text, "nibbles baobab bark")).toMatch(/^The okapi is shy\. It nibbles baobab bark at dawn\./);
  });

  it("gives what an announcement announces", async () => {
    const text = "To greet the okapi on Sundays, run:\n\n```\nxyz --flag\n```\n\nThat is all.";
    expect(await answerFrom(text, "greet the okapi on Sundays")).toBe("To greet the okapi on Sundays, run:\n\n```\nxyz --flag\n```");
  });

  it("understands a follow-up by what was said before", async () => {
    expect((await answer("And what does it begin with?", "What is the secret of a webhook?")).text).toContain("Secrets begin with whsec_.");
  });

  it.each([
    ["What is the capital of France?"],
    ["what is the capital of france"],
    ["Do you have an office in Berlin?"],
    ["Does it work with Shopify?"],
    ["How do I sign a treaty between nations?"],
    ["Who wrote Faust?"],
    ["What is the price of gold on the moon?"],
    ["How do I train a puppy with treats?"],
    ["Is bitcoin mining legal in Norway?"],
    ["When are personal data deleted in Norway, Sweden, Iceland?"],
    ["hello"],
    ["Thank you very much!"],
    ["how are you"],
    ["what?"],
    ["asdf qwer"],
    [""],
    ['"'.repeat(2_000)],
  ])("refuses %j", async (question) => {
    expect((await ask(question)).confidence).toBeLessThan(DEFAULT_THRESHOLD);
  });

  it("refuses what an earlier question alone would answer", async () => {
    const { confidence } = await ask("What is the capital of France?", "How are webhook notifications signed?");
    expect(confidence).toBeLessThan(DEFAULT_THRESHOLD);
  });

  it("says that it has no answer where hardly anything was found", async () => {
    expect((await ask("Who wrote Faust?")).outcome).toBe("no_answer");
  });

  it("is surer of what the knowledge says than of what it touches", async () => {
    const sure = await ask("How are webhook notifications signed?");
    const unsure = await ask("How are webhook notifications translated into Finnish?");
    expect(sure.confidence).toBeGreaterThan(0.7);
    expect(unsure.confidence).toBeLessThan(sure.confidence - 0.2);
  });

  it("has no answer where nothing was taught", async () => {
    const retrieval = await newIndex().search({ question: "How are webhooks signed?", previousQuestions: [], limit: 8 });
    const request = { question: "How are webhooks signed?", previousQuestions: [], retrieval, instructions: null, language: "en" };
    expect((await new ExtractiveModel().answer(request)).outcome).toBe("no_answer");
  });
});

it("does not take a code example that holds the question for an answer to it", async () => {
  const index = newIndex();
  const example = 'curl /messages -d \'{"message": "What is the capital of France?"}\'';
  await load(index, { readme: `# Try it\n\nSend a question to the agent:\n\n\`\`\`sh\n${example}\n\`\`\`\n` });
  const question = "What is the capital of France?";
  const retrieval = await index.search({ question, previousQuestions: [], limit: 5 });
  const reply = await new ExtractiveModel().answer({ question, previousQuestions: [], retrieval, instructions: null, language: "en" });
  expect(reply.outcome).toBe("no_answer");
});

describe("confidence in a tiny knowledge", () => {
  const TINY = {
    shop: { text: "The shop in Graz is open from 9 to 18 on weekdays. Parking is free for customers.", known: "When is the shop open?" },
    mixed: {
      text: "Refunds take five days.\n\nOur office is in Vienna.\n\nPasswords are reset by mail.",
      known: "How do I reset my password?",
    },
    guide: { text: webhooksGuide, known: "How are webhooks signed?" },
  };
  const confidence = async (text: string, question: string): Promise<number> => {
    const index = newIndex();
    await load(index, { text });
    const retrieval = await index.search({ question, previousQuestions: [], limit: 5 });
    return (await new ExtractiveModel().answer({ question, previousQuestions: [], retrieval, instructions: null, language: "en" }))
      .confidence;
  };

  it.each(Object.values(TINY))("answers $known", async ({ text, known }) => {
    expect(await confidence(text, known)).toBeGreaterThan(DEFAULT_THRESHOLD);
  });

  it.each([
    ["shop", "What is the capital of France?"],
    ["shop", "Is there free wifi?"],
    ["shop", "Can I open a bank account?"],
    ["shop", "Do you sell shoes in the shop?"],
    ["mixed", "What mail provider does France use?"],
    ["mixed", "Is there an office party?"],
    ["mixed", "How many days has a leap year?"],
    ["guide", "What is the capital of France?"],
    ["guide", "How do I bake bread?"],
    ["guide", "Who won the world cup?"],
    ["guide", "How do I file my tax return?"],
  ] as const)("of %s, is not misled by the one word that is known: %s", async (name, question) => {
    expect(await confidence(TINY[name].text, question)).toBeLessThan(DEFAULT_THRESHOLD);
  });
});
