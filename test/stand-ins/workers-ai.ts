import { type ChatRequest, eventsOf, type Script } from "./openai.ts";

/** The response formats of Workers AI's models: the newer one is OpenAI's, and some write both. Some models ignore `stream`. */
export type Shape = "choices" | "legacy" | "both" | "choices-whole" | "legacy-whole";

/** One call of the binding. */
export interface Run {
  model: string;
  inputs: Omit<ChatRequest, "model">;
  options: { gateway?: { id: string } } | undefined;
}

/** The Workers AI binding with a model that follows a script. */
export class WorkersAiStandIn {
  readonly runs: Run[] = [];

  constructor(
    private readonly shape: Shape,
    private readonly scriptOf: (request: ChatRequest, count: number) => Script,
  ) {}

  async run(model: string, inputs: Run["inputs"], options?: Run["options"]): Promise<unknown> {
    this.runs.push({ model, inputs, options });
    const script = this.scriptOf({ model, ...inputs }, this.runs.length);
    if (script.status !== undefined) throw new Error(`${script.status}: the stand-in refuses`);
    if (this.shape.endsWith("-whole")) return whole(script, this.shape === "legacy-whole");
    const events = this.shape === "legacy" ? legacyEvents(script) : eventsOf(model, script);
    const toShape = this.shape === "both" ? withLegacyFields : (event: string) => event;
    let at = 0;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        const { done, value } = events.next();
        if (done || at++ === script.endAt) controller.close();
        else controller.enqueue(new TextEncoder().encode(toShape(value)));
      },
    });
  }
}

function* legacyEvents({ text = [], toolCalls = [] }: Script): Generator<string, void> {
  for (const response of text) yield `data: ${JSON.stringify({ response, p: "abcd" })}\n\n`;
  const calls = toolCalls.map(({ name, arguments: input }) => ({ name, arguments: input }));
  if (calls.length > 0) yield `data: ${JSON.stringify({ response: "", tool_calls: calls })}\n\n`;
  yield `data: ${JSON.stringify({ response: "", usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\n`;
  yield "data: [DONE]\n\n";
}

/** Repeats the text and the tool calls of an event in the fields of the older format. */
function withLegacyFields(event: string): string {
  const data = event.slice("data: ".length);
  if (data.startsWith("[DONE]")) return event;
  const chunk = JSON.parse(data) as { choices: { delta: { content?: string; tool_calls?: unknown } }[] };
  const { content: response = "", tool_calls } = chunk.choices[0]!.delta;
  return `data: ${JSON.stringify({ response, tool_calls, ...chunk })}\n\n`;
}

function whole({ text = [], toolCalls = [], reasoning, finishReason }: Script, isLegacy: boolean): unknown {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const content = reasoning && text.length === 0 ? null : text.join("");
  if (isLegacy)
    return { response: content, tool_calls: toolCalls.map(({ name, arguments: input }) => ({ name, arguments: input })), usage };
  const calls = toolCalls.map((call, at) => ({
    id: `call_${at}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const message = {
    role: "assistant",
    content,
    ...(reasoning && { reasoning_content: reasoning.join("") }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return { choices: [{ index: 0, message, finish_reason: finishReason ?? (calls.length > 0 ? "tool_calls" : "stop") }], usage };
}
