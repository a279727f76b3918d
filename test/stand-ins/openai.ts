/** A model's response to a request, failures included. */
export interface Script {
  /** The text deltas, in order. */
  text?: string[];
  reasoning?: string[];
  /** Where the reasoning is; Mistral's is in parts of the content. */
  reasoningIn?: "reasoning_content" | "reasoning" | "thinking";
  toolCalls?: { name: string; arguments: unknown }[];
  finishReason?: string | null;
  /** An error status. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  contentType?: string;
  /** Delays before the response and before each event, and the event before which it hangs forever. */
  delayMs?: number;
  pieceMs?: number;
  hangAt?: number;
  /** The event before which the connection breaks with an error, or ends as if it were complete. */
  breakAt?: number;
  endAt?: number;
  /** Raw text to send in place of the event with this number. */
  rawAt?: Record<number, string>;
  /** Streams text without end. */
  isEndless?: boolean;
}

export interface ChatMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool";
  content: string | null;
  reasoning_content?: string;
  reasoning?: string;
  tool_calls?: { function: { name: string; arguments: string } }[];
}

/** A chat completions request, as far as tests read it. */
export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream: boolean;
  tools?: { function: { name: string; description: string; parameters: unknown } }[];
  tool_choice?: string;
  max_tokens?: number;
  max_completion_tokens?: number;
  reasoning_effort?: string | null;
  chat_template_kwargs?: { enable_thinking?: boolean };
}

const encoder = new TextEncoder();
const ENDLESS_PIECE = "la ".repeat(500);

/** An OpenAI-compatible server whose model follows a script. It records its requests. */
export class OpenAiStandIn {
  readonly requests: ChatRequest[] = [];
  readonly keys: (string | null)[] = [];

  private readonly scriptOf: (request: ChatRequest, count: number) => Script;

  constructor(scriptOf: (request: ChatRequest, count: number) => Script) {
    this.scriptOf = scriptOf;
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const asked: ChatRequest = JSON.parse(await request.text());
    this.keys.push(request.headers.get("Authorization"));
    this.requests.push(asked);
    if (!asked.messages.every(hasObjects)) return refusal({ status: 400 });
    const script = this.scriptOf(asked, this.requests.length);
    await wait(script.delayMs, request.signal);
    if (script.status !== undefined && script.status !== 200) return refusal(script);
    const headers = { "Content-Type": script.contentType ?? "text/event-stream", ...script.headers };
    return new Response(script.body ?? streamOf(asked.model, script, request.signal), { headers });
  };
}

/** Whether the arguments of all calls of a message are JSON objects: Ollama refuses others. */
function hasObjects({ tool_calls: calls = [] }: ChatMessage): boolean {
  return calls.every(({ function: { arguments: input } }) => {
    try {
      const value: unknown = JSON.parse(input);
      return value instanceof Object && !Array.isArray(value);
    } catch {
      return false;
    }
  });
}

function refusal({ status = 500, headers = {}, body }: Script): Response {
  const error = JSON.stringify({ error: { message: "The stand-in refuses", type: "stand_in", code: status } });
  return new Response(body ?? error, { status, headers: { "Content-Type": "application/json", ...headers } });
}

function streamOf(model: string, script: Script, signal: AbortSignal): ReadableStream<Uint8Array> {
  const pieces = eventsOf(model, script);
  let at = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        if (script.hangAt === at) await wait(Number.POSITIVE_INFINITY, signal);
        await wait(script.pieceMs, signal);
        if (script.breakAt === at) return controller.error(new Error("The stand-in broke off"));
        const { done, value } = script.endAt === at ? { done: true, value: undefined } : pieces.next();
        at++;
        if (done || value === undefined) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        controller.error(error);
      }
    },
  });
}

/** A model that thinks by default until its tokens are used up, and answers where its thinking is switched off. */
export function thinking(answer: Script, thought: Script = { reasoning: ["The visitor asks. ", "Let me think. "] }) {
  return ({ chat_template_kwargs: options }: ChatRequest): Script =>
    options?.enable_thinking === false ? answer : { ...thought, finishReason: "length" };
}

/** The events of a chat completions stream. */
export function* eventsOf(model: string, script: Script): Generator<string, void> {
  const { text = [], reasoning = [], toolCalls = [], rawAt = {}, isEndless, finishReason } = script;
  const chunk = (delta: object, reason: string | null = null) =>
    `data: ${JSON.stringify({ id: "stand-in", object: "chat.completion.chunk", created: 1, model, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  let at = 0;
  const next = (written: string) => rawAt[at++] ?? written;
  for (const piece of reasoning) yield next(chunk(reasoningDelta(piece, script.reasoningIn)));
  for (const piece of text) yield next(chunk({ role: "assistant", content: piece }));
  while (isEndless) yield next(chunk({ content: ENDLESS_PIECE }));
  for (const [index, call] of toolCalls.entries()) {
    const written = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
    yield next(
      chunk({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name: call.name, arguments: written } }] }),
    );
  }
  if (finishReason !== null) yield next(chunk({}, finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop")));
  yield next("data: [DONE]\n\n");
}

function reasoningDelta(text: string, field: Script["reasoningIn"] = "reasoning_content"): object {
  return field === "thinking" ? { content: [{ type: "thinking", thinking: [{ type: "text", text }] }] } : { [field]: text };
}

async function wait(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (ms === undefined) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : null;
  const stop = () => reject(signal.reason as Error);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  await promise.finally(() => timer !== null && clearTimeout(timer));
}

/** The quotations of a prompt, in order. */
export function quotationsOf(request: ChatRequest): { label: string; text: string }[] {
  const mark = markOf(request);
  const all = request.messages.map(({ content }) => content ?? "").join("\n");
  return [...all.matchAll(new RegExp(`<<([a-z]+(?: [a-z]\\d+)?) ${mark}>>\\n([\\s\\S]*?)\\n<<end ${mark}>>`, "g"))].map(
    ([, label, text]) => ({
      label: label!,
      text: text!,
    }),
  );
}

/** The mark of the quotations, as the prompt states it. */
export function markOf({ messages }: ChatRequest): string {
  const system = messages.filter(({ role }) => role === "system" || role === "developer");
  return /mark of this turn's quotations is ([\w-]+)/.exec(system.map(({ content }) => content).join("\n"))?.[1] ?? "none";
}
