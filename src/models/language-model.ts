import type { LanguageModelV4, LanguageModelV4FinishReason, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { Evidence, Quotation } from "./evidence.ts";
import { MAX_OUTPUT_TOKENS, MODEL_LIMITS, type ModelLimits } from "./limits.ts";
import { HandedOff, type Model, type ModelRequest, type Opening } from "./model.ts";
import { promptOf } from "./prompt.ts";
import { Reply } from "./reply.ts";
import { type Call, callSteadily } from "./stream-with-retry.ts";
import { inputOf, type ToolCall, ToolRunner } from "./tool-runner.ts";

/** Answers with a language model, from the passages alone: what it says without naming them is not said to anybody. */
export class ConversationalModel implements Model {
  /** @param languageModel the engine by an agent's own choice of a model, null where it has none. */
  constructor(
    private readonly languageModel: (name: string | null) => LanguageModelV4,
    private readonly limits: ModelLimits = MODEL_LIMITS,
  ) {}

  async answer(request: ModelRequest): Promise<Opening> {
    const quotation = new Quotation();
    const evidence = new Evidence(quotation);
    const runner = new ToolRunner(request.tools, evidence, this.limits);
    const prompt = promptOf(request, quotation, evidence);
    const own = [request.instructions ?? "", request.question, ...request.history.map(({ text }) => text)];
    const events = replyEvents({ model: this.languageModel(request.modelName), limits: this.limits }, prompt.messages, runner);
    const links = () => [...own, ...evidence.texts()];
    return new Reply(events, evidence, { secrets: prompt.secrets, links, blame: (reason) => runner.blame(reason) }).open();
  }
}

/** What a model does, as far as its reply is concerned. */
export type ReplyEvent =
  | { type: "text"; text: string }
  /** It asked for tools: what it writes next is another part of the reply. */
  | { type: "round" }
  /** It was stopped by the limit of its length. */
  | { type: "cut" };

/** An engine, and how long it may take. */
interface Engine {
  model: LanguageModelV4;
  limits: ModelLimits;
}

/**
 * The events of a model's whole run, its tools between them: it is called, what it asks for is done, and it is called again
 * with the results, until it asks for nothing more. Leaving the events ends the run.
 * @throws HandedOff where a tool, or the server's own filter, ends the turn; any other error where the model fails.
 */
async function* replyEvents(
  { model, limits }: Engine,
  prompt: LanguageModelV4Prompt,
  runner: ToolRunner,
): AsyncGenerator<ReplyEvent, void> {
  const left = new AbortController();
  const abortSignal = AbortSignal.any([left.signal, AbortSignal.timeout(limits.answerMs)]);
  const messages = [...prompt];
  try {
    for (;;) {
      const mayUseTools = runner.nextRound();
      const step = new Step();
      const call: Call = { prompt: messages, ...runner.offer(mayUseTools), maxOutputTokens: MAX_OUTPUT_TOKENS, abortSignal };
      yield* step.read(call, { model, limits });
      if (!mayUseTools || step.calls.length === 0) return;
      yield { type: "round" };
      messages.push(step.said(), await runner.answer(step.calls, abortSignal));
      if (runner.handedOff) throw runner.handedOff;
    }
  } finally {
    left.abort();
  }
}

/** One call of the model. */
class Step {
  readonly calls: ToolCall[] = [];
  private text = "";
  private reasoning = "";

  async *read(call: Call, { model, limits }: Engine): AsyncGenerator<ReplyEvent, void> {
    for await (const part of await callSteadily(model, call, limits)) {
      switch (part.type) {
        case "text-delta":
          this.text += part.delta;
          yield { type: "text", text: part.delta };
          break;
        case "reasoning-delta":
          this.reasoning += part.delta;
          break;
        case "tool-call":
          this.calls.push(part);
          break;
        case "finish":
          if (this.isCut(part.finishReason)) yield { type: "cut" };
          break;
        case "error":
          throw asError(part.error);
        default:
      }
    }
  }

  /** The same as the model is told of it: some want to read their own thoughts before the results that they asked for. */
  said(): LanguageModelV4Message {
    return {
      role: "assistant",
      content: [
        ...(this.reasoning === "" ? [] : [{ type: "reasoning" as const, text: this.reasoning }]),
        ...(this.text === "" ? [] : [{ type: "text" as const, text: this.text }]),
        ...this.calls.map(toPart),
      ],
    };
  }

  private isCut({ unified: reason }: LanguageModelV4FinishReason): boolean {
    if (reason === "content-filter") throw new HandedOff("unsupported_request");
    if (reason === "error") throw new Error("The model ended with an error");
    return reason === "length" && this.calls.length === 0;
  }
}

function toPart(call: ToolCall) {
  const { toolCallId, toolName, providerMetadata } = call;
  // Some servers want their signature of a call back.
  const signed = providerMetadata && { providerOptions: providerMetadata };
  return { type: "tool-call" as const, toolCallId, toolName, input: inputOf(call) ?? call.input, ...signed };
}

/** Servers send errors of every form within a stream. */
function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error("The model's stream holds an error");
}
