import { beforeAll, expect, test } from "vitest";
import { quotable } from "../../scripts/dev/quotable.ts";
import { ExtractiveEngine } from "../../src/extractive/engine.ts";
import { type Index, load, newIndex, search } from "../knowledge/agent-index.ts";

/* What a newcomer asks the demo agent, which knows the README and the guides and has no language model. */

const GUIDES = import.meta.glob<string>(
  ["../../README.md", "../../docs/*.md", "!../../docs/architecture.md", "!../../docs/measurements.md"],
  {
    query: "?raw",
    import: "default",
    eager: true,
  },
);
/** The default confidence threshold of an agent. */
const THRESHOLD = 0.5;

let index: Index;
beforeAll(async () => {
  index = newIndex();
  await load(index, Object.fromEntries(Object.entries(GUIDES).map(([file, text]) => [file.split("/").at(-1)!, quotable(text)])));
});

async function ask(question: string) {
  const retrieval = await search(index, question);
  const agent = { agentName: "Demo agent", welcomeMessage: "", instructions: null, language: "en", modelName: null };
  return new ExtractiveEngine().answer({ ...agent, question, retrieval, history: [], tools: [] });
}

test.each([
  ["Which plans include webhooks?", ["pro and enterprise"]],
  ["How do I rotate a webhook secret?", ["rotate-secret", "24 hours"]],
  ["How do I create an agent?", ["POST /operator/v1/workspaces/{id}/agents"]],
  ["how are webhooks signed", ["Standard Webhooks"]],
  ["How often are failed webhooks retried?", ["eight times"]],
  ["how do i create an api key", ["POST /operator/v1/workspaces/{id}/keys"]],
  ["How do I add a website as a source?", ["POST /api/v1/agents/{agent_id}/sources"]],
  ["can i upload pdfs", ["PDF", "source"]],
  ["whats the rate limit", ["sliding window"]],
  ["how many messages a month does pro have", ["10,000"]],
  ["how do I stream an answer", ["`stream`"]],
  ["how do I deploy to cloudflare", ["npm run deploy"]],
  ["how do I export a person's data", ["GET /api/v1/privacy/export"]],
  ["how do I delete a visitors data", ["DELETE /api/v1/privacy/visitors"]],
  ["how do I back up a workspace", ["npm run backup"]],
  ["how do I verify who a visitor is", ["identity"]],
  ["what is an idempotency key", ["Idempotency-Key", "safely"]],
  ["can I use my own openai key", ["OPENAI_API_KEY"]],
  ["which language models can I use", ["Ollama"]],
  ["what happens when the agent does not know the answer", ["human"]],
  ["what does it cost", ["A thousand questions cost"]],
  ["what languages does it speak", ["English", "Japanese"]],
  ["how long do you keep conversations", ["for ever"]],
  ["is it open source", ["Apache"]],
  ["can i host it myself", ["npm run deploy"]],
  ["do you have an ios app", ["no app"]],
])("%s", async (question, holds) => {
  const reply = await ask(question);
  const text = reply.outcome === "answered" ? (await Array.fromAsync(reply.text)).join("") : reply.outcome;
  for (const part of holds) expect(text).toContain(part);
  expect(reply).toMatchObject({ confidence: expect.toSatisfy((confidence: number) => confidence >= THRESHOLD) });
});

test.each([
  ["What is the price of a kettle?"],
  ["how much does a bicycle cost"],
  ["do you sell shoes"],
  ["what are your opening hours"],
  ["can i pay by paypal"],
  ["how do I install docker"],
  ["how to bake bread"],
  ["this is shit"],
])("%s is nothing that it knows", async (question) => {
  expect(await ask(question)).toMatchObject({ confidence: expect.toSatisfy((confidence: number) => confidence < THRESHOLD) });
});
