import { describe, expect, test, vi } from "vitest";
import { ModelCallError } from "../../src/models/chat-model.ts";
import { MAX_RESPONSE_BYTES } from "../../src/models/limits.ts";
import { describeFailure } from "../../src/models/stream-with-retry.ts";
import { type ChatRequest, type Script, thinking } from "../stand-ins/openai.ts";
import { converse } from "./converse.ts";

const ANSWER = "Refunds are paid within five working days. The form is on our site.";
const text = ["@sources p1\n", "Refunds are paid ", "within five working days. The", " form is on our site."];
const good: Script = { text };

/** How often the model was called, and whether it answered in the end. */
async function tries(script: (request: ChatRequest, count: number) => Script, limits = {}) {
  let asked = 0;
  const counted = (request: ChatRequest, count: number) => script(request, (asked = count));
  const result = await converse(counted, { limits }).catch((error: unknown) => error);
  return { asked, answered: !(result instanceof Error) && (result as { text: string }).text === ANSWER, error: result };
}

describe("a failure before the first token", () => {
  test.each<[string, Script]>([
    ["status 500", { status: 500 }],
    ["status 503", { status: 503 }],
    ["status 503 with a Retry-After", { status: 503, headers: { "Retry-After": "1" } }],
    ["status 429 with a Retry-After", { status: 429, headers: { "Retry-After": "0" } }],
    ["an empty reply", { text: [] }],
    ["a page of HTML", { contentType: "text/html", body: "<html>Bad gateway</html>" }],
    ["a reply that is not streamed", { contentType: "application/json", body: '{"choices":[{"message":{"content":"Hi"}}]}' }],
    ["a stream cut off at once", { text, endAt: 0 }],
    ["a stream broken at once", { text, breakAt: 0 }],
    ["a malformed first chunk", { text, rawAt: { 0: "data: {not json\n\n" } }],
    ["an error within the stream", { rawAt: { 0: 'data: {"error":{"message":"overloaded"}}\n\n' } }],
  ])("is retried once: %s", async (_, fault) => {
    expect(await tries((_request, count) => (count === 1 ? fault : good))).toMatchObject({ asked: 2, answered: true });
    expect(await tries(() => fault)).toMatchObject({ asked: 2, answered: false });
  });

  test.each<[string, Script]>([
    ["status 400", { status: 400 }],
    ["status 401", { status: 401 }],
    ["status 404", { status: 404 }],
    ["status 307", { status: 307, headers: { Location: "https://evil.test/" } }],
    ["a Retry-After longer than a visitor waits", { status: 429, headers: { "Retry-After": "600" } }],
    ["a Retry-After far in the future", { status: 503, headers: { "Retry-After": new Date(Date.now() + 600_000).toUTCString() } }],
  ])("is not retried if it is permanent: %s", async (_, fault) => {
    expect(await tries((_request, count) => (count === 1 ? fault : good))).toMatchObject({ asked: 1, answered: false });
  });

  test("is retried after the Retry-After of the server", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    await tries((_request, count) => (count === 1 ? { status: 429, headers: { "Retry-After": "1" } } : good));
    expect(timers.mock.calls.map(([, ms]) => ms)).toContain(1_000);
    timers.mockRestore();
  });

  test("may be a timeout", async () => {
    const silent = { text, hangAt: 0 };
    expect(await tries((_request, count) => (count === 1 ? silent : good), { firstTokenMs: 30 })).toMatchObject({
      asked: 2,
      answered: true,
    });
    expect(await tries(() => ({ ...good, delayMs: Number.POSITIVE_INFINITY }), { firstTokenMs: 30 })).toMatchObject({
      asked: 2,
      answered: false,
    });
  });
});

describe("a failure after the first token", () => {
  test.each<[string, Script]>([
    ["the connection breaks", { text, breakAt: 3 }],
    ["the stream ends without its end", { text, endAt: 3 }],
    ["a chunk is malformed", { text, rawAt: { 3: "data: {not json\n\n" } }],
    ["the stream holds an error", { text, rawAt: { 3: 'data: {"error":{"message":"overloaded"}}\n\n' } }],
    ["it stalls", { text, hangAt: 3 }],
  ])("ends the answer without a retry: %s", async (_, fault) => {
    const talk = await converse(fault, { limits: { idleMs: 60 } });
    expect(talk).toMatchObject({ outcome: "answered", brokenBy: "fault" });
    expect(talk.requests).toHaveLength(1);
    expect(ANSWER.startsWith(talk.text)).toBe(true);
    expect(talk.text).toMatch(/^Refunds are paid/);
  });

  test("fails the whole reply where no text was sent yet", async () => {
    await expect(converse({ text: ["@sources p1", "\n", "Yes"], breakAt: 2 })).rejects.toThrow();
    await expect(converse({ text: ["@sources p1\n"] })).rejects.toThrow("wrote nothing");
    await expect(converse({ text: ["@smalltalk\n"] })).rejects.toThrow("wrote nothing");
  });

  test("may be an answer that takes too long although it streams", async () => {
    const slow = { text: ["@sources p1\n", ...Array.from({ length: 100 }, () => "word. Next ")], pieceMs: 20 };
    const talk = await converse(slow, { limits: { answerMs: 300 } });
    expect(talk.brokenBy).toBe("fault");
    expect(talk.text.split(" ").length).toBeLessThan(100);
  });

  test("may be an endless response without text", async () => {
    const comment = `: ${"x".repeat(1_000_000)}\n\n`;
    const rawAt = Object.fromEntries(Array.from({ length: 2 + MAX_RESPONSE_BYTES / 1_000_000 }, (_, at) => [at + 3, comment]));
    expect((await converse({ text: [...text, ...Array.from({ length: 10 }, () => "")], rawAt })).brokenBy).toBe("fault");
  });
});

test("a reply is complete at its end mark, although the server keeps the connection open", async () => {
  const talk = await converse({ text, hangAt: text.length + 2 }, { limits: { idleMs: 60 } });
  expect(talk).toMatchObject({ text: ANSWER, brokenBy: undefined });
});

describe("a reply that is all reasoning", () => {
  const thoughts: [string, Script][] = [
    ["in a field of its own", { reasoning: ["Hm."] }],
    ["in the text", { text: ["<think>", "Hm. Refunds"] }],
    ["that the server keeps back", { text: [] }],
  ];

  test.each(thoughts)("is asked for once more without reasoning: %s", async (_, thought) => {
    const talk = await converse(thinking(good, thought));
    expect(talk).toMatchObject({ text: ANSWER, cited: ["billing"] });
    const fields = talk.requests.map((request) => [request.chat_template_kwargs?.enable_thinking, request.reasoning_effort]);
    expect(fields).toEqual([
      [undefined, undefined],
      [false, "none"],
    ]);
  });

  test.each([
    "https://api.openai.com/v1",
    "https://generativelanguage.googleapis.com/v1beta/openai/",
    "https://europe-west1-aiplatform.googleapis.com/v1/projects/acme/locations/europe-west1/endpoints/openapi",
  ])("is asked for once more with the field that OpenAI's and Google's models take: %s", async (baseUrl) => {
    const script = (_: ChatRequest, count: number): Script => (count === 1 ? { reasoning: ["Hm."] } : good);
    const talk = await converse(script, { baseUrl });
    expect(talk).toMatchObject({ text: ANSWER, cited: ["billing"] });
    const fields = talk.requests.map((request) => [request.chat_template_kwargs, request.reasoning_effort]);
    expect(fields).toEqual([
      [undefined, undefined],
      [undefined, "low"],
    ]);
  });

  test.each(thoughts)("is told apart from one that is empty, if there is no other: %s", async (_, thought) => {
    const log = vi.spyOn(console, "error");
    const { asked, error } = await tries(() => ({ ...thought, finishReason: "length" }));
    expect([asked, describeFailure(error)]).toEqual([2, "the reply is all reasoning"]);
    expect(log.mock.calls.map(([line]) => JSON.parse(String(line)))).toContainEqual({ event: "model_reasoned_only", model: "answer" });
    expect(describeFailure((await tries(() => ({ text: [] }))).error)).toBe("the reply is empty: stop");
    log.mockRestore();
  });

  test("may follow a tool's result; the calls after it go without reasoning", async () => {
    const tool = { name: "order_status", description: "Says where an order is.", parameters: { type: "object" as const } };
    const run = async () => ({ kind: "data" as const, text: "In Rotterdam." });
    const answer: Script = { text: ["@sources t1\n", "In Rotterdam."] };
    const called: Script = { text: ["Let me look."], toolCalls: [{ name: "order_status", arguments: {} }] };
    const script = (request: ChatRequest, count: number) => (count === 1 ? called : thinking(answer)(request));
    const talk = await converse(script, { tools: [{ ...tool, run }] });
    expect([talk.text, talk.requests.length]).toEqual(["In Rotterdam.", 3]);
    const answered = await converse((_, count) => (count === 1 ? { ...good, ...called, text } : { reasoning: ["Done."] }), {
      tools: [{ ...tool, run }],
    });
    expect([answered.text, answered.requests.length, answered.brokenBy]).toEqual([ANSWER, 2, undefined]);
  });
});

test("the log gets the kind of a failure, and nothing of the server's response", () => {
  expect(describeFailure(new ModelCallError(401))).toBe("status 401");
  expect(describeFailure(new TypeError("secret"))).toBe("TypeError");
  expect(describeFailure("secret")).toBe("string");
});
