import type { LanguageModelV4 } from "@ai-sdk/provider";
import { isStepCount, streamText } from "ai";
import { Evidence } from "./evidence.ts";
import { MAX_OUTPUT_TOKENS, MAX_TOOL_ROUNDS, MODEL_LIMITS, type ModelLimits } from "./limits.ts";
import type { Model, ModelRequest, Opening } from "../model.ts";
import { type Prompt, promptOf } from "./prompt.ts";
import { Quotation } from "./quote.ts";
import { type ReplyEvent, replyEvents } from "./reply-events.ts";
import { Reply } from "./reply.ts";
import { steadied } from "./steady.ts";
import { ToolRunner } from "./tool-runner.ts";

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
    const events = this.start(request, prompt, runner);
    const links = () => [...own, ...evidence.texts()];
    return new Reply(events, evidence, { secrets: prompt.secrets, links, blame: (reason) => runner.blame(reason) }).open();
  }

  /** The model's run; leaving it ends it. */
  private async *start({ modelName, tools }: ModelRequest, prompt: Prompt, runner: ToolRunner): AsyncGenerator<ReplyEvent> {
    const stop = new AbortController();
    const { stream } = streamText({
      model: steadied(this.languageModel(modelName), this.limits),
      instructions: prompt.instructions,
      messages: prompt.messages,
      ...(tools.length > 0 && { tools: runner.toToolSet() }),
      prepareStep: () => (runner.nextRound() ? undefined : { toolChoice: "none" as const }),
      stopWhen: isStepCount(MAX_TOOL_ROUNDS + 1),
      maxOutputTokens: MAX_OUTPUT_TOKENS,
      maxRetries: 0,
      timeout: { totalMs: this.limits.answerMs, chunkMs: this.limits.idleMs },
      abortSignal: stop.signal,
      // Errors are read from the stream; by default the SDK prints them whole.
      onError: () => undefined,
    });
    try {
      yield* replyEvents(stream, runner);
    } finally {
      stop.abort();
    }
  }
}
