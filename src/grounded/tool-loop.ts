import { logProblem } from "../platform/telemetry/log.ts";
import type { ChatMessage, ChatModel, ModelCall, ModelPart, ReasoningField, ToolCall } from "../models/chat-model.ts";
import { MAX_OUTPUT_TOKENS, type ModelLimits } from "../models/limits.ts";
import { HandoffError, type ModelCallReport, type ModelObserver, type ToolRound, TurnSuspendedError } from "../models/model.ts";
import { leastReasoningOptions, REASONING_ONLY, ReasoningFilter, reasoningOptions } from "../models/reasoning.ts";
import { describeFailure, StreamError, streamWithRetry } from "../models/stream-with-retry.ts";
import type { ToolRunner } from "./tool-runner.ts";

/** An event of a model's reply, without its reasoning. */
export type ReplyEvent =
  | { type: "text"; text: string }
  /** The text so far was reasoning. */
  | { type: "restart" }
  /** The model called tools. The text that follows is another part of the reply. */
  | { type: "tool-round" }
  /** The reply ended at the limit of tokens. */
  | { type: "truncated" };

interface Engine {
  model: ChatModel;
  limits: ModelLimits;
  observer?: ModelObserver | undefined;
}

/**
 * Yields the events of a reply: calls the model, runs the tools that it asks for, and calls it again with their results until it asks
 * for none. A model that wrote nothing but reasoning is called once more and asked not to reason. Leaving the generator aborts the loop.
 * @param replayed the rounds of an earlier attempt at the turn, with which the reply begins.
 * @throws HandoffError if a tool or the server's content filter ends the turn; TurnSuspendedError if the result of a tool comes later;
 * any other error if the model fails.
 */
export async function* replyEvents(
  engine: Engine,
  prompt: readonly ChatMessage[],
  runner: ToolRunner,
  replayed: readonly ToolRound[] = [],
): AsyncGenerator<ReplyEvent, void> {
  const { model, limits, observer } = engine;
  const left = new AbortController();
  const abortSignal = AbortSignal.any([left.signal, AbortSignal.timeout(limits.answerMs)]);
  const messages = [...prompt];
  let hasText = false;
  let isLastTry = false;
  const rounds = [...replayed];
  try {
    for (const round of replayed) {
      runner.countReplayed(round);
      observer?.modelCalled(round.report);
      const step = new Step();
      yield* step.replay(round);
      hasText ||= step.hasText;
      yield { type: "tool-round" };
      messages.push(step.message(), ...runner.resultsOf(round.calls));
      if (runner.handoff) throw runner.handoff;
    }
    for (;;) {
      const mayUseTools = runner.startRound();
      const step = new Step();
      const options = isLastTry ? leastReasoningOptions(model) : reasoningOptions(model);
      const tools = runner.toolOptions(mayUseTools);
      const call: ModelCall = { messages, ...tools, ...options, maxOutputTokens: MAX_OUTPUT_TOKENS, abortSignal };
      yield* step.stream(call, engine);
      hasText ||= step.hasText;
      // A model that had answered before it called a tool may have nothing to add.
      if (step.isReasoningOnly && (step.isTruncated || !hasText)) {
        if (isLastTry) throw new StreamError(REASONING_ONLY);
        isLastTry = true;
        logProblem("model_reasoned_only", { model: model.name });
        continue;
      }
      if (!mayUseTools || step.toolCalls.length === 0) return;
      yield { type: "tool-round" };
      const calls = await runner.run(step.toolCalls, abortSignal);
      messages.push(step.message(), ...runner.resultsOf(calls));
      if (runner.handoff) throw runner.handoff;
      rounds.push(step.toRound(calls));
      if (calls.some(({ outcome }) => outcome?.kind === "awaited")) throw new TurnSuspendedError(rounds);
    }
  } finally {
    left.abort();
  }
}

/** One call of the model. */
class Step {
  toolCalls: readonly ToolCall[] = [];
  /** Whether the model wrote any text besides reasoning. */
  hasText = false;
  isTruncated = false;
  private text = "";
  private reasoning = "";
  private reasoningField: ReasoningField | undefined;
  private report: ModelCallReport | undefined;
  private readonly filter = new ReasoningFilter();

  /** Whether the model only reasoned. One that used up its tokens without any output did, too: some servers keep the reasoning back. */
  get isReasoningOnly(): boolean {
    const hasReasoned = this.reasoning !== "" || this.text.trim() !== "" || this.isTruncated;
    return hasReasoned && !this.hasText && this.toolCalls.length === 0;
  }

  async *stream(call: ModelCall, { model, limits, observer }: Engine): AsyncGenerator<ReplyEvent, void> {
    const startedMs = Date.now();
    const report: ModelCallReport = {
      model: model.name,
      durationMs: 0,
      firstTokenMs: null,
      usage: { input: null, output: null },
      finish: null,
      failure: null,
    };
    try {
      const stream = await streamWithRetry(model, call, limits);
      report.firstTokenMs = Date.now() - startedMs;
      for await (const parts of stream) for (const part of parts) yield* this.readPart(part, report);
    } catch (error) {
      report.failure = describeFailure(error);
      throw error;
    } finally {
      this.report = { ...report, durationMs: Date.now() - startedMs };
      observer?.modelCalled(this.report);
    }
    yield this.textEvent(this.filter.end());
    if (this.isTruncated && !this.isReasoningOnly) yield { type: "truncated" };
  }

  private *readPart(part: ModelPart, report: ModelCallReport): Generator<ReplyEvent, void> {
    if (part.type === "text") yield* this.readText(part.text);
    else if (part.type === "reasoning") {
      this.reasoning += part.text;
      this.reasoningField ??= part.field;
    } else if (part.type === "tool-call") this.toolCalls = [...this.toolCalls, part.call];
    else if (part.type === "error") throw part.error;
    else if (part.type === "finish") {
      Object.assign(report, { finish: part.reason, ...(part.usage && { usage: part.usage }) });
      if (part.reason === "content-filter") throw new HandoffError("unsupported_request");
      if (part.reason === "error") throw new Error("The model ended with an error");
      this.isTruncated = part.reason === "length" && this.toolCalls.length === 0;
    }
  }

  /** Yields the events of a call that an earlier attempt at the turn made. */
  *replay({ text, reasoning, reasoningField, calls, isRead }: ToolRound): Generator<ReplyEvent, void> {
    this.reasoning = reasoning;
    this.reasoningField = reasoningField;
    this.toolCalls = calls.map(({ call }) => call);
    if (isRead) {
      this.text = text;
      return;
    }
    yield* this.readText(text);
    yield this.textEvent(this.filter.end());
  }

  /** The call with what its tools returned. */
  toRound(calls: ToolRound["calls"]): ToolRound {
    const { text, reasoning, reasoningField } = this;
    return { text, reasoning, reasoningField, report: this.report!, calls };
  }

  /** The call as an assistant message. It has the reasoning, which some models need together with the results of their tool calls. */
  message(): ChatMessage {
    const { text, reasoning, reasoningField, toolCalls } = this;
    return { role: "assistant", text, reasoning, reasoningField, toolCalls };
  }

  private *readText(delta: string): Generator<ReplyEvent, void> {
    this.text += delta;
    const text = this.filter.push(delta);
    if (this.filter.startsOver) {
      this.hasText = false;
      yield { type: "restart" };
    }
    yield this.textEvent(text);
  }

  private textEvent(text: string): ReplyEvent {
    this.hasText ||= text.trim() !== "";
    return { type: "text", text };
  }
}
