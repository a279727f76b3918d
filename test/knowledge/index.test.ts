import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ExtractiveModel } from "../../src/models/extractive.ts";

const HANDBOOK = `# Webhooks

## Signatures

Webhook notifications are signed by Standard Webhooks: the headers webhook-id, webhook-timestamp and webhook-signature. The secret begins with whsec_.

## Retries

A delivery is retried after 5 s, 1 m, 5 m and 15 m. After nine attempts it is failed.

# Billing

Refunds are paid within five working days. Write to billing@example.com in capital letters.
`;

it("answers from a text", async () => {
  const index = env.INDEX.getByName("smoke/agent");
  await index.stageText("s1", "Handbook", HANDBOOK);
  expect(await index.ingestText("s1", "r1")).toEqual({ done: true, outcome: "ready", pagesIndexed: 1, chunksCount: 3, unchanged: false });
  for (const question of [
    "How are webhook notifications signed?",
    "What is the capital of France?",
    "when do i get my refund",
    "hello",
    "how often is a delivery retried?",
  ]) {
    const retrieval = await index.search({ question, previousQuestions: [], limit: 8 });
    const reply = await new ExtractiveModel().answer({ question, previousQuestions: [], retrieval, instructions: null, language: "en" });
    console.log(question, reply.outcome, reply.confidence, reply.outcome === "answered" && reply.text);
  }
  await index.putAnswer({ id: "a1", question: "How do I get a refund?", answer: "Ask us." });
  console.log((await index.search({ question: "how can I get my refund", previousQuestions: [], limit: 3 })).curated);
  await index.removeAnswer("a1");
  await index.removeSource("s1");
  await index.erase();
  expect((await index.search({ question: "refund", previousQuestions: [], limit: 8 })).passages).toEqual([]);
});
