import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { engineFor } from "../../src/models/engine.ts";
import type { ModelRequest, Opening } from "../../src/models/model.ts";
import type { ChatRequest, Script } from "../stand-ins/openai.ts";
import { type Shape, WorkersAiStandIn } from "../stand-ins/workers-ai.ts";
import { LIMITS, requestOf, TEXTS } from "./converse.ts";

const ANSWER = "Refunds are paid within five working days.";
const good: Script = { text: ["@sources p1\n", "Refunds are paid ", "within five ", "working days."] };

async function ask(
  shape: Shape,
  script: (request: ChatRequest, count: number) => Script,
  { gateway, ...changes }: Partial<ModelRequest> & { gateway?: string } = {},
) {
  const standIn = new WorkersAiStandIn(shape, script);
  const settings = { AI: standIn, ...(gateway && { AI_GATEWAY_ID: gateway }) };
  const model = engineFor({ ...env, ...settings } as unknown as Env, { limits: { ...LIMITS, maxRetryAfterMs: 10 } });
  return { opening: await model.answer(await requestOf(TEXTS, changes)), runs: standIn.runs };
}

const textOf = async (opening: Opening) => (opening.outcome === "answered" ? (await piecesOf(opening.text)).join("") : opening.outcome);

async function piecesOf(text: AsyncIterable<string>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of text) pieces.push(piece);
  return pieces;
}

describe.each<Shape>(["choices", "legacy", "choices-whole", "legacy-whole"])("Workers AI, answering in the form %s", (shape) => {
  it("answers from the passages", async () => {
    const { opening, runs } = await ask(shape, () => good);
    expect(await textOf(opening)).toBe(ANSWER);
    expect(runs[0]).toMatchObject({ model: "@cf/zai-org/glm-4.7-flash", inputs: { stream: true, reasoning_effort: "low" } });
    expect(runs[0]?.options?.gateway).toBeUndefined();
  });

  it("calls tools", async () => {
    const inputs: unknown[] = [];
    const tool = {
      name: "order_status",
      description: "Says where an order is.",
      parameters: { type: "object" as const },
      run: async (input: unknown) => (inputs.push(input), { kind: "data" as const, text: "In Rotterdam." }),
    };
    const script = (_: ChatRequest, count: number): Script =>
      count === 1 ? { toolCalls: [{ name: "order_status", arguments: { order: "A1" } }] } : { text: ["@sources t1\n", "In Rotterdam."] };
    const { opening } = await ask(shape, script, { tools: [tool] });
    expect(await textOf(opening)).toBe("In Rotterdam.");
    expect(inputs).toEqual([{ order: "A1" }]);
  });

  it("is asked once more after a fault", async () => {
    const { opening, runs } = await ask(shape, (_, count) => (count === 1 ? { status: 3040 } : good));
    expect(await textOf(opening)).toBe(ANSWER);
    expect(runs).toHaveLength(2);
  });
});

it("names a truncated stream for what it is", async () => {
  const { opening } = await ask("choices", () => ({ ...good, endAt: 3 }));
  await expect(textOf(opening)).rejects.toThrow();
});

it("goes through the gateway that is named, with the agent's own model", async () => {
  const { runs } = await ask("choices", () => good, { gateway: "support", modelName: "@cf/openai/gpt-oss-20b" });
  expect(runs[0]).toMatchObject({ model: "@cf/openai/gpt-oss-20b", options: { gateway: { id: "support" } } });
  expect(runs[0]?.inputs.reasoning_effort).toBeUndefined();
});
