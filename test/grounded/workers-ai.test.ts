import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { ModelReply, ModelRequest } from "../../src/models/model.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { type ChatRequest, type Script, thinking } from "../stand-ins/openai.ts";
import { type Run, type Shape, WorkersAiStandIn } from "../stand-ins/workers-ai.ts";
import { LIMITS, requestOf, TEXTS } from "./converse.ts";

const ANSWER = "Refunds are paid within five working days.";
const good: Script = { text: ["@sources p1\n", "Refunds are paid ", "within five ", "working days."] };

const SHAPES: Shape[] = ["choices", "legacy", "both", "choices-whole", "legacy-whole"];

async function ask(
  shape: Shape,
  script: (request: ChatRequest, count: number) => Script,
  { gateway, ...changes }: Partial<ModelRequest> & { gateway?: string } = {},
) {
  const standIn = new WorkersAiStandIn(shape, script);
  const settings = { AI: standIn, ...(gateway && { AI_GATEWAY_ID: gateway }) };
  const model = modelFor({ ...env, ...settings } as unknown as Env, { limits: { ...LIMITS, maxRetryAfterMs: 10 } });
  return { reply: await model.answer(await requestOf(TEXTS, changes)), runs: standIn.runs };
}

const textOf = async (reply: ModelReply) => (reply.outcome === "answered" ? (await Array.fromAsync(reply.text)).join("") : reply.outcome);

describe.each(SHAPES)("Workers AI with responses of the form %s", (shape) => {
  test("answers from the passages", async () => {
    const { reply, runs } = await ask(shape, () => good);
    expect(await textOf(reply)).toBe(ANSWER);
    expect(runs[0]).toMatchObject({ model: "@cf/zai-org/glm-4.7-flash", inputs: { stream: true } });
    expect(runs[0]?.options?.gateway).toBeUndefined();
  });

  test("calls tools", async () => {
    const inputs: unknown[] = [];
    const tool = {
      name: "order_status",
      description: "Says where an order is.",
      parameters: { type: "object" as const },
      run: async (input: unknown) => (inputs.push(input), { kind: "data" as const, text: "In Rotterdam." }),
    };
    const script = (_: ChatRequest, count: number): Script =>
      count === 1 ? { toolCalls: [{ name: "order_status", arguments: { order: "A1" } }] } : { text: ["@sources t1\n", "In Rotterdam."] };
    const { reply } = await ask(shape, script, { tools: [tool] });
    expect(await textOf(reply)).toBe("In Rotterdam.");
    expect(inputs).toEqual([{ order: "A1" }]);
  });

  test("is retried once after a failure", async () => {
    const { reply, runs } = await ask(shape, (_, count) => (count === 1 ? { status: 3040 } : good));
    expect(await textOf(reply)).toBe(ANSWER);
    expect(runs).toHaveLength(2);
  });
});

test("a truncated stream is an error", async () => {
  const { reply } = await ask("choices", () => ({
    text: ["@sources p1\n", "Refunds are paid soon. The", " form ", "is on our site."],
    endAt: 3,
  }));
  await expect(textOf(reply)).rejects.toThrow();
});

test("the configured gateway is used, with the agent's own model", async () => {
  const { runs } = await ask("choices", () => good, { gateway: "support", modelName: "@cf/openai/gpt-oss-20b" });
  expect(runs[0]).toMatchObject({ model: "@cf/openai/gpt-oss-20b", options: { gateway: { id: "support" } } });
});

describe("thinking", () => {
  const fieldsOf = ({ inputs }: Run) => ({ thinks: inputs.chat_template_kwargs?.enable_thinking, effort: inputs.reasoning_effort });

  test.each<Shape>(["choices", "choices-whole"])(
    "of the default model, which it would do until its tokens are used up, is off: %s",
    async (shape) => {
      const { reply, runs } = await ask(shape, thinking(good));
      expect(await textOf(reply)).toBe(ANSWER);
      expect(runs.map(fieldsOf)).toEqual([{ thinks: false, effort: undefined }]);
    },
  );

  test.each<[string, ReturnType<typeof fieldsOf>]>([
    ["@cf/openai/gpt-oss-20b", { thinks: undefined, effort: "low" }],
    ["@cf/zai-org/glm-4.7-flash", { thinks: false, effort: undefined }],
    ["@cf/meta/llama-3.3-70b-instruct-fp8-fast", { thinks: undefined, effort: undefined }],
  ])("of an agent's own model is as little as it can do, and a model that is not known gets no field: %s", async (modelName, fields) => {
    const { reply, runs } = await ask("choices", () => good, { modelName });
    expect(await textOf(reply)).toBe(ANSWER);
    expect(runs.map(fieldsOf)).toEqual([fields]);
  });

  test.each<Shape>(["choices", "choices-whole"])("is switched off after a reply that is all reasoning: %s", async (shape) => {
    const { reply, runs } = await ask(shape, thinking(good), { modelName: "@cf/some/thinker" });
    expect(await textOf(reply)).toBe(ANSWER);
    expect(runs.map(fieldsOf)).toEqual([
      { thinks: undefined, effort: undefined },
      { thinks: false, effort: null },
    ]);
  });
});
