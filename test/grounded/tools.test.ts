import { describe, expect, test, vi } from "vitest";
import { MAX_TOOL_ROUNDS, PASSAGE_TOKENS, TOOL_RESULT_TOKENS } from "../../src/models/limits.ts";
import type { Tool, ToolOutcome, TurnSuspendedError } from "../../src/models/model.ts";
import { load, newIndex } from "../knowledge/agent-index.ts";
import { type ChatRequest, quotationsOf, type Script } from "../stand-ins/openai.ts";
import { converse, requestOf, TEXTS } from "./converse.ts";

/** A tool with this function, and the inputs of its calls. */
function toolOf(run: (input: Record<string, unknown>, signal: AbortSignal) => Promise<ToolOutcome> | ToolOutcome, name = "order_status") {
  const inputs: Record<string, unknown>[] = [];
  const parameters = { type: "object" as const, properties: { order: { type: "string" as const, maxLength: 10 } }, required: ["order"] };
  const tool: Tool = {
    name,
    description: "Says where an order is.",
    parameters,
    run: async (input, signal) => {
      inputs.push(input);
      return run(input, signal);
    },
  };
  return { tool, inputs };
}

const call = (input: unknown, name = "order_status"): Script => ({ toolCalls: [{ name, arguments: input }] });
const lastOf = ({ messages }: ChatRequest) => messages.at(-1)!;

describe("a tool", () => {
  test("is run with input that fits its schema, and its result can be cited", async () => {
    const { tool, inputs } = toolOf(() => ({ kind: "data", text: "It is in Rotterdam." }));
    const talk = await converse(
      (_, count) => (count === 1 ? call({ order: "A1" }) : { text: ["@sources t1\n", "It is in Rotterdam [t1]."] }),
      { tools: [tool] },
    );
    expect(inputs).toEqual([{ order: "A1" }]);
    expect(talk).toMatchObject({ outcome: "answered", text: "It is in Rotterdam.", cited: [] });
    expect(talk.confidence).toBeGreaterThan(0.7);
    expect(talk.requests[0]!.tools?.[0]?.function).toMatchObject({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters,
    });
    expect(lastOf(talk.requests[1]!).role).toBe("tool");
    expect(quotationsOf(talk.requests[1]!).at(-1)).toEqual({ label: "result t1", text: "It is in Rotterdam." });
  });

  test.each([{}, { order: 7 }, { order: "much too long for it" }, [], "text", null])(
    "is not run with %j, and the model reads why",
    async (input) => {
      const { tool, inputs } = toolOf(() => ({ kind: "data", text: "" }));
      const talk = await converse((_, count) => (count === 1 ? call(input) : { text: ["@unknown"] }), { tools: [tool] });
      expect(inputs).toEqual([]);
      expect(talk.outcome).toBe("no_answer");
      expect(lastOf(talk.requests[1]!)).toMatchObject({ role: "tool" });
    },
  );

  test.each(['{"order": "A1"', "nonsense"])("is not run with arguments that are not JSON: %s", async (input) => {
    const { tool, inputs } = toolOf(() => ({ kind: "data", text: "" }));
    expect((await converse((_, count) => (count === 1 ? call(input) : { text: ["@unknown"] }), { tools: [tool] })).outcome).toBe(
      "no_answer",
    );
    expect(inputs).toEqual([]);
  });

  test("is called as often as a server says that numbers all calls alike", async () => {
    const { tool, inputs } = toolOf(({ order }) => ({ kind: "data", text: `${String(order)} is in Rotterdam.` }));
    const piece = (id: string, name: string | undefined, input: string) =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: input } }] } }] })}\n\n`;
    const pieces = [piece("a", tool.name, '{"order": "A1"}'), piece("b", tool.name, '{"order"'), piece("b", undefined, ': "B2"}')];
    const talk = await converse(
      (_, count) => (count === 1 ? { ...call({}), rawAt: { 0: pieces.join("") } } : { text: ["@sources t1\n", "A1 is in Rotterdam."] }),
      { tools: [tool] },
    );
    expect(inputs).toEqual([{ order: "A1" }, { order: "B2" }]);
    expect(talk.text).toBe("A1 is in Rotterdam.");
  });

  test("that does not exist is not called", async () => {
    const { tool, inputs } = toolOf(() => ({ kind: "data", text: "" }));
    const talk = await converse((_, count) => (count === 1 ? call({}, "delete_everything") : { text: ["@unknown"] }), { tools: [tool] });
    expect({ outcome: talk.outcome, inputs }).toEqual({ outcome: "no_answer", inputs: [] });
  });

  test.each([
    ["reasoning_content", { reasoning_content: "Hm. Look it up." }],
    ["reasoning", { reasoning: "Hm. Look it up." }],
    ["thinking", {}],
  ] as const)("is called with reasoning that goes back in the field that it came in: %s", async (reasoningIn, sentBack) => {
    const called: Script = { ...call({ order: "A1" }), reasoning: ["Hm. ", "Look it up."], reasoningIn };
    const answer: Script = { text: ["@sources t1\n", "It is in Rotterdam."] };
    const script = (_: ChatRequest, count: number) => (count === 1 ? called : answer);
    const outcome: ToolOutcome = { kind: "data", text: "It is in Rotterdam." };
    const ended = await converse(script, { tools: [toolOf(() => outcome).tool] });
    // A turn that waited for the result goes on from the stored round.
    const { tool } = toolOf(() => ({ kind: "awaited", from: "caller" }));
    const { rounds } = (await converse(called, { tools: [tool] }).catch((error: unknown) => error)) as TurnSuspendedError;
    const settled = rounds.map((round) => ({ ...round, calls: round.calls.map((one) => ({ ...one, outcome })) }));
    const resumed = await converse(answer, { tools: [tool], rounds: settled });
    for (const { text, requests } of [ended, resumed]) {
      const { reasoning_content, reasoning } = requests.at(-1)!.messages.at(-2)!;
      expect([text, { reasoning_content, reasoning }]).toEqual(["It is in Rotterdam.", sentBack]);
    }
  });

  test("that fails hands off", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    const { tool } = toolOf(() => Promise.reject(new Error("secret of the server")));
    const talk = await converse((_, count) => (count === 1 ? call({ order: "A1" }) : { text: ["@sources p1\nYes."] }), { tools: [tool] });
    expect(talk).toMatchObject({ outcome: "handed_off", reason: "tool_failure" });
    expect(JSON.stringify(log.mock.calls)).toContain("tool_failure");
    expect(JSON.stringify(log.mock.calls)).not.toContain("secret");
    log.mockRestore();
  });

  test("that takes too long is aborted and hands off", async () => {
    let isStopped = false;
    const { tool } = toolOf((_, signal) => new Promise<never>(() => signal.addEventListener("abort", () => (isStopped = true))));
    const talk = await converse((_, count) => (count === 1 ? call({ order: "A1" }) : { text: ["@unknown"] }), {
      tools: [tool],
      limits: { toolMs: 20 },
    });
    expect(talk).toMatchObject({ outcome: "handed_off", reason: "tool_failure" });
    expect(isStopped).toBe(true);
  });

  test("may set a longer timeout of its own", async () => {
    const slow = toolOf(async () => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return { kind: "data", text: "It is in Rotterdam." };
    });
    const talk = await converse((_, count) => (count === 1 ? call({ order: "A1" }) : { text: ["@sources t1\nIn Rotterdam."] }), {
      tools: [{ ...slow.tool, timeoutMs: 5_000 }],
      limits: { toolMs: 20, idleMs: 100 },
    });
    expect(talk).toMatchObject({ outcome: "answered", text: "In Rotterdam." });
  });

  test("may end the turn", async () => {
    const { tool } = toolOf(() => ({ kind: "handed_off", reason: "customer_request" }));
    expect(await converse(() => call({ order: "A1" }), { tools: [tool] })).toMatchObject({
      outcome: "handed_off",
      reason: "customer_request",
    });
  });

  test("that ends the turn interrupts the answer", async () => {
    const { tool } = toolOf(() => ({ kind: "handed_off", reason: "customer_request" }));
    const talk = await converse(() => ({ text: ["@sources p1\nOne moment."], ...call({ order: "A1" }) }), { tools: [tool] });
    expect(talk).toMatchObject({ text: "One moment.", brokenBy: "customer_request" });
  });

  test("has its result truncated", async () => {
    const { tool } = toolOf(() => ({ kind: "data", text: "x".repeat(100_000) }));
    const talk = await converse((_, count) => (count === 1 ? call({ order: "A1" }) : { text: ["@unknown"] }), { tools: [tool] });
    expect(lastOf(talk.requests[1]!).content!.length).toBeLessThan(TOOL_RESULT_TOKENS * 3 + 200);
  });
});

describe("tool rounds", () => {
  test("are limited to five; then the model has to answer", async () => {
    const { tool, inputs } = toolOf(() => ({ kind: "data", text: "Nothing yet." }));
    const talk = await converse((request) => (request.tool_choice === "none" ? { text: ["@unknown"] } : call({ order: "A1" })), {
      tools: [tool],
    });
    expect(inputs).toHaveLength(MAX_TOOL_ROUNDS);
    expect(talk.requests).toHaveLength(MAX_TOOL_ROUNDS + 1);
    expect(talk.outcome).toBe("no_answer");
  });

  test("end even if the model does not stop calling tools", async () => {
    const { tool, inputs } = toolOf(() => ({ kind: "data", text: "Nothing yet." }));
    await expect(converse(() => call({ order: "A1" }), { tools: [tool] })).rejects.toThrow();
    expect(inputs).toHaveLength(MAX_TOOL_ROUNDS);
  });

  test("run at most ten calls in parallel", async () => {
    const { tool, inputs } = toolOf(() => ({ kind: "data", text: "Nothing yet." }));
    const many = { toolCalls: Array.from({ length: 40 }, () => ({ name: tool.name, arguments: { order: "A1" } })) };
    await converse((_, count) => (count === 1 ? many : { text: ["@unknown"] }), { tools: [tool] });
    expect(inputs).toHaveLength(10);
  });

  test("drop the text before the header and join the text after it", async () => {
    const { tool } = toolOf(() => ({ kind: "data", text: "In Rotterdam." }));
    const before = await converse(
      (_, count) => (count === 1 ? { text: ["Let me look."], ...call({ order: "A1" }) } : { text: ["@sources t1\nThere."] }),
      { tools: [tool] },
    );
    expect(before.text).toBe("There.");
    const after = await converse(
      (_, count) => (count === 1 ? { text: ["@sources p1\nLet me look."], ...call({ order: "A1" }) } : { text: ["@sources t1\nThere."] }),
      { tools: [tool] },
    );
    expect(after.text).toBe("Let me look.\n\nThere.");
  });

  test("are retried one by one, so that no tool runs twice", async () => {
    const { tool, inputs } = toolOf(() => ({ kind: "data", text: "In Rotterdam." }));
    const talk = await converse(
      (_, count) => (count === 1 ? call({ order: "A1" }) : count === 2 ? { status: 503 } : { text: ["@sources t1\nThere."] }),
      { tools: [tool] },
    );
    expect(talk.text).toBe("There.");
    expect(inputs).toHaveLength(1);
  });
});

test("passages that a tool finds get new ids and can be cited", async () => {
  const index = newIndex();
  await load(index, TEXTS);
  const search = toolOf(async ({ order }) => {
    const query = String(order);
    return { kind: "found", query, retrieval: await index.search({ question: query, previousQuestions: [], limit: 5 }) };
  });
  const talk = await converse(
    (request, count) =>
      count === 1 ? call({ order: "parcels" }) : { text: [`@sources ${/passage (p\d)/.exec(lastOf(request).content!)?.[1]}\nAt six.`] },
    { tools: [search.tool] },
  );
  expect(quotationsOf(talk.requests[1]!).at(-1)).toMatchObject({ label: "passage p2" });
  expect(talk).toMatchObject({ outcome: "answered", text: "At six.", cited: [expect.any(String)] });
});

test("the searches of a turn have a common budget, and the model reads that it is used up", async () => {
  const { retrieval } = await requestOf(TEXTS);
  let searches = 0;
  const search = toolOf(() => {
    searches++;
    const passages = [1, 2, 3, 4, 5].map((at) => ({ ...retrieval.passages[0]!, content: `${searches} ${at} ${"word ".repeat(400)}` }));
    return { kind: "found", query: "words", retrieval: { ...retrieval, passages } };
  });
  const script = (_: ChatRequest, count: number): Script => (count <= 4 ? call({ order: "words" }) : { text: ["@unknown"] });
  const { requests } = await converse(script, { tools: [search.tool] });
  const results = requests.at(-1)!.messages.filter(({ role }) => role === "tool");
  expect(new TextEncoder().encode(results.map(({ content }) => content).join("")).length).toBeLessThan(3 * 2.2 * PASSAGE_TOKENS);
  expect(results.map(({ content }) => content!.includes("<<passage"))).toEqual([true, true, true, false]);
  expect(results.at(-1)!.content).toContain("no more passages fit");
});
