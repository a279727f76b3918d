import { beforeAll, describe, expect, test } from "vitest";
import webhooksGuide from "../../docs/webhooks.md?raw";
import { draftAnswer, ExtractiveEngine } from "../../src/extractive/engine.ts";
import type { Retrieval } from "../../src/models/retrieval.ts";
import { type Index, load, newIndex } from "../knowledge/agent-index.ts";

/** The default confidence threshold of an agent. */
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

/** Returns the answer of the engine from these passages, or "(no answer)". */
async function answerFrom(question: string, retrieval: Retrieval): Promise<{ text: string; cited: { sourceId: string }[] }> {
  const agent = { agentName: "Ada", welcomeMessage: "Hello!", instructions: null, language: "en", modelName: null };
  const reply = await new ExtractiveEngine().answer({ ...agent, question, retrieval, history: [], tools: [] });
  if (reply.outcome !== "answered") return { text: "(no answer)", cited: [] };
  const deltas = await Array.fromAsync(reply.text);
  return { text: deltas.join(""), cited: reply.cited };
}

describe("the extractive engine", () => {
  let index: Index;
  beforeAll(async () => {
    index = newIndex();
    await load(index, TEXTS);
  });

  const retrieve = (question: string, previousQuestions: string[]) => index.search({ question, previousQuestions, limit: 8 });

  async function confidence(question: string, ...previousQuestions: string[]): Promise<number> {
    return draftAnswer(question, await retrieve(question, previousQuestions)).confidence;
  }

  async function answer(question: string, ...previousQuestions: string[]): Promise<{ text: string; sources: string[] }> {
    const { text, cited } = await answerFrom(question, await retrieve(question, previousQuestions));
    return { text, sources: [...new Set(cited.map(({ sourceId }) => sourceId))] };
  }

  test.each([
    ["How are webhook notifications signed?", "Webhook notifications are signed by Standard Webhooks.", "webhooks"],
    ["when do I get my refund?", "Refunds are paid within five working days.", "billing"],
    ["when are invoices sent", "Invoices are sent by mail on the first of each month", "billing"],
    ["What is a data processing agreement?", "A data processing agreement is a contract", "privacy"],
    ["who can read personal data?", "Nobody but the support team can read them.", "privacy"],
    ["how often is a failed delivery retried?", "after 5 s, 1 m, 5 m and 15 m", "webhooks"],
    ["what does the pro plan cost, what is its price?", "pro: Price 99 €, Messages 10,000", "billing"],
  ])("answers %j with the sentence that states it", async (question, sentence, source) => {
    const { text, sources } = await answer(question);
    expect(text).toContain(sentence);
    expect(sources).toContain(source);
  });

  test("quotes steps together with their lead-in", async () => {
    const { text } = await answer("How do I create a webhook endpoint?");
    expect(text).toContain(
      'To create a webhook endpoint, follow these steps:\n\n1. Open the settings and press "Add endpoint".\n2. Enter the URL of your server. It must begin with https.\n3. Copy the secret: it is shown only once.',
    );
  });

  test("quotes a list together with its lead-in", async () => {
    const { text } = await answer("Which ways to pay are accepted?");
    expect(text).toContain("The following ways to pay are accepted:\n\n- credit card\n- bank transfer, from 500 € on\n- PayPal");
    expect((await answer("can I pay by PayPal")).text).toContain("The following ways to pay are accepted:");
  });

  test("quotes a code block together with its lead-in", async () => {
    const { text } = await answer("How do I send a test event?");
    expect(text).toContain("Then send a test event:\n\n```sh\ncurl -X POST https://example.com/api/v1/webhooks/ID/test\n```");
  });

  test("quotes a sentence that refers to the one before together with it", async () => {
    const { text } = await answer("for how many hours does it go on?", "When is a failed delivery tried again?");
    expect(text).toContain("A failed delivery is tried again after 5 s, 1 m, 5 m and 15 m. This goes on for about six hours.");
  });

  test("cites only the passages that it quotes", async () => {
    const question = "when do I get my refund?";
    const { cited } = await answerFrom(question, await retrieve(question, []));
    expect(cited).toMatchObject([{ sourceId: "billing", heading: "Billing", title: "Title of billing" }]);
  });

  /** The answer of an agent that knows only this. */
  async function answerFromText(text: string | Record<string, string>, question: string): Promise<string> {
    const own = newIndex();
    await load(own, typeof text === "string" ? { text } : text);
    const retrieval = await own.search({ question, previousQuestions: [], limit: 8 });
    return (await answerFrom(question, retrieval)).text;
  }

  test.each([["Why does the last point of a chart drop?"], ["**Why does the last point of a chart drop?**"]])(
    "answers with what follows a question in the knowledge, not with the question: %s",
    async (question) => {
      const text = `# Reports\n\nCharts are drawn hourly.\n\n${question}\n\nIts interval is not over yet.`;
      expect(await answerFromText(text, "Why does the last point of a chart drop?")).toBe("Its interval is not over yet.");
    },
  );

  test("answers from a passage whose code has the words of a short question", async () => {
    const text = "# Helper\n\nTo install the helper, run this command once:\n\n```sh\nnpm install helper\n```";
    expect(await answerFromText(text, "How do I install it?")).toContain("npm install helper");
  });

  test.each(["For more information,", "For exports of invoices,"])("prefers a statement to a pointer elsewhere: %s", async (opening) => {
    const text = `# Exports\n\n${opening} see how to export invoices as a file.\n\nPress "Download" to export invoices.`;
    expect(await answerFromText(text, "How do I export invoices?")).toMatch(/^Press "Download"/);
  });

  test("keeps answers short", async () => {
    const leaf = (at: number): string => Array.from({ length: 8 }, (_, word) => `leaf${at}x${word}`).join(" ");
    const sentences = Array.from({ length: 60 }, (_, at) => `The okapi eats ${leaf(at)}.`);
    const text = await answerFromText(sentences.join(" "), "What does the okapi eat?");
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(120);
    expect(text.split(/\s+/).length).toBeGreaterThan(30);
    expect(text).toMatch(/^The okapi .*\.$/);
  });

  test("does not repeat a sentence that several sources have", async () => {
    const sentence = "The okapi eats the leaves of a hundred plants.";
    const text = await answerFromText({ one: `${sentence} It is shy.`, two: `${sentence} It lives alone.` }, "What does the okapi eat?");
    expect(text.split(sentence)).toHaveLength(2);
  });

  test("answers with the sentence after a question, not with the question", async () => {
    expect(
      await answerFromText(
        "How long does the warranty last? The warranty of the okapi lasts two years.",
        "how long does the warranty last",
      ),
    ).toBe("The warranty of the okapi lasts two years.");
  });

  test("answers with the text under a heading, not with the heading", async () => {
    const text = "Waking the okapi\n\nPress the red button behind the left ear for ten seconds.\n\nCleaning the quagga\n\nUse water.";
    expect(await answerFromText(text, "waking the okapi")).toBe("Press the red button behind the left ear for ten seconds.");
  });

  test("prefers a sentence of the expected answer type", async () => {
    const text = "Many okapis live in the zoo of Antwerp. The zoo of Antwerp has twelve okapis that live there.";
    expect(await answerFromText(text.replace(". The", ".\n\nThe"), "How many okapis live in the zoo of Antwerp?")).toMatch(
      /^The zoo of Antwerp has twelve/,
    );
  });

  test("quotes a sentence about “it” together with the one before", async () => {
    const text = "The okapi is shy. It nibbles baobab bark at dawn. Nights are quiet in the forest of the Congo.";
    expect(await answerFromText(text, "nibbles baobab bark")).toMatch(/^The okapi is shy\. It nibbles baobab bark at dawn\./);
  });

  test("quotes what a lead-in introduces", async () => {
    const text = "To greet the okapi on Sundays, run:\n\n```\nxyz --flag\n```\n\nThat is all.";
    expect(await answerFromText(text, "greet the okapi on Sundays")).toBe("To greet the okapi on Sundays, run:\n\n```\nxyz --flag\n```");
  });

  test("answers a follow-up question in its context", async () => {
    expect((await answer("And what does it begin with?", "What is the secret of a webhook?")).text).toContain("Secrets begin with whsec_.");
  });

  test.each([
    ["What is the capital of France?"],
    ["what is the capital of france"],
    ["Do you have an office in Berlin?"],
    ["Does it work with Shopify?"],
    ["How do I sign a treaty between nations?"],
    ["Who wrote Faust?"],
    ["What is the price of gold on the moon?"],
    ["How do I train a puppy with treats?"],
    ["Is bitcoin mining legal in Norway?"],
    ["hello"],
    ["Thank you very much!"],
    ["how are you"],
    ["what?"],
    ["asdf qwer"],
    [""],
    ['"'.repeat(2_000)],
  ])("is unsure of %j", async (question) => {
    expect(await confidence(question)).toBeLessThan(DEFAULT_THRESHOLD);
  });

  test("is unsure where only an earlier question would be answered", async () => {
    const unsure = await confidence("What is the capital of France?", "How are webhook notifications signed?");
    expect(unsure).toBeLessThan(DEFAULT_THRESHOLD);
  });

  test("has no answer where hardly anything was found", async () => {
    expect((await answer("Who wrote Faust?")).text).toBe("(no answer)");
  });

  test("is surer of what the knowledge states than of what it mentions", async () => {
    const sure = await confidence("How are webhook notifications signed?");
    const unsure = await confidence("How are webhook notifications translated into Finnish?");
    expect(sure).toBeGreaterThan(0.7);
    expect(unsure).toBeLessThan(sure - 0.2);
  });

  test("is less sure the more of the question's words the knowledge lacks", async () => {
    const [all, some] = [
      await confidence("When are personal data deleted?"),
      await confidence("When are personal data deleted in Norway?"),
    ];
    expect(some).toBeLessThan(all);
    expect(await confidence("When are personal data deleted in Norway, Sweden, Iceland?")).toBeLessThan(some);
  });

  test("judges a question about a word that is a property of every object", async () => {
    const own = newIndex();
    await load(own, { costs: "# Costs\n\nThe price of a delivery is 5 euros, and that of a parcel 3 euros." });
    const retrieval = await own.search({ question: "What is the price of a constructor?", previousQuestions: [], limit: 8 });
    expect(draftAnswer("What is the price of a constructor?", retrieval).confidence).toBeGreaterThan(0);
  });

  test("is much less sure of a question about a thing that no text is about, unless the thing is beside the question", async () => {
    const own = newIndex();
    await load(own, {
      costs: "# Costs\n\nThe price of a delivery is 5 euros, and that of a parcel 3 euros.",
      returns: "# Returns\n\nA parcel is taken back within 14 days. Put the label on it.",
      payment: "# Payment\n\nYou can pay by card or by invoice. What an express delivery costs is shown there.",
    });
    const sureness = async (question: string): Promise<number> =>
      draftAnswer(question, await own.search({ question, previousQuestions: [], limit: 8 })).confidence;
    const sure = await sureness("What is the price of a parcel?");
    for (const question of [
      "What is the price of a kettle?",
      "how much does a bicycle cost",
      "kettle price",
      "tell me the price of a kettle",
    ])
      expect(await sureness(question), question).toBeLessThan(sure - 0.4);
    for (const question of [
      "what is teh price of a parcle",
      "what does a parcel cost",
      "my landlord has a kettle for me, what is the price of a parcel",
    ])
      expect(await sureness(question), question).toBeGreaterThan(sure - 0.1);
  });

  test("has no answer where nothing was taught", async () => {
    const question = "How are webhooks signed?";
    const retrieval = await newIndex().search({ question, previousQuestions: [], limit: 8 });
    expect((await answerFrom(question, retrieval)).text).toBe("(no answer)");
  });
});

test("does not answer with a code example that contains the question", async () => {
  const index = newIndex();
  const example = 'curl /messages -d \'{"message": "What is the capital of France?"}\'';
  await load(index, { readme: `# Try it\n\nSend a question to the agent:\n\n\`\`\`sh\n${example}\n\`\`\`\n` });
  const question = "What is the capital of France?";
  const retrieval = await index.search({ question, previousQuestions: [], limit: 5 });
  expect((await answerFrom(question, retrieval)).text).toBe("(no answer)");
});

describe("confidence with little knowledge", () => {
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
    return draftAnswer(question, retrieval).confidence;
  };

  test.each(Object.values(TINY))("answers $known", async ({ text, known }) => {
    expect(await confidence(text, known)).toBeGreaterThan(DEFAULT_THRESHOLD);
  });

  test.each([
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
  ] as const)("of %s stays low where only one word is known: %s", async (name, question) => {
    expect(await confidence(TINY[name].text, question)).toBeLessThan(DEFAULT_THRESHOLD);
  });
});
