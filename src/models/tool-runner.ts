import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import { Validator } from "@cfworker/json-schema";
import type { HandoffReason } from "../platform/db/columns.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import type { Evidence } from "./evidence.ts";
import { MAX_TOOL_CALLS, MAX_TOOL_ROUNDS, type ModelLimits } from "./limits.ts";
import { HandedOff, type Tool, type ToolOutcome } from "./model.ts";
import { aborted, describeFailure } from "./stream-with-retry.ts";

const NO_MORE = "No more tools can be used. Reply now.";
/** One try more than the first: a tool that fails twice is down, and the visitor waits. */
const MAX_FAILURES = 2;
const AFTER_FAILURE = "Try it once more if that can help. If you cannot answer without it, reply @unknown.";
/** How much is said of what does not fit. */
const MAX_COMPLAINTS = 5;

/** What a model asks for, its input as the JSON that it wrote. */
export type ToolCall = Extract<LanguageModelV4StreamPart, { type: "tool-call" }>;

/** Runs what a model asks for in one turn: validated, within its time, and no more than so often. */
export class ToolRunner {
  /** Set where a tool ended the turn. */
  handedOff: HandedOff | undefined;
  /** How often each tool did not work. */
  private readonly failures = new Map<string, number>();
  private calls = 0;
  private round = 0;

  constructor(
    private readonly tools: readonly Tool[],
    private readonly evidence: Evidence,
    private readonly limits: Pick<ModelLimits, "toolMs">,
  ) {}

  /** The tools as a model is told of them; one that may use no more still has to know what it has used. */
  offer(mayUse: boolean): Pick<LanguageModelV4CallOptions, "tools" | "toolChoice"> {
    if (this.tools.length === 0) return {};
    const tools = this.tools.map(({ name, description, parameters }) => ({
      type: "function" as const,
      name,
      description,
      inputSchema: parameters,
    }));
    return { tools, toolChoice: { type: mayUse ? "auto" : "none" } };
  }

  /** Begins another call of the model; false where it has to answer without tools. */
  nextRound(): boolean {
    return this.round++ < MAX_TOOL_ROUNDS;
  }

  /** Why the turn is a human's where the model gives it up for this reason: for the tool that did not work, if there was one. */
  blame(reason: HandoffReason): HandoffReason {
    return this.failures.size > 0 && reason !== "customer_request" ? "tool_failure" : reason;
  }

  /** Runs what was asked for in one call of the model, side by side. Returns what the model reads of it. */
  async answer(calls: readonly ToolCall[], stopped: AbortSignal): Promise<LanguageModelV4Message> {
    const content = calls.map(async (call): Promise<LanguageModelV4ToolResultPart> => {
      const { toolCallId, toolName } = call;
      return { type: "tool-result", toolCallId, toolName, output: { type: "text", value: await this.run(call, stopped) } };
    });
    return { role: "tool", content: await Promise.all(content) };
  }

  private async run(call: ToolCall, stopped: AbortSignal): Promise<string> {
    if (this.handedOff || ++this.calls > MAX_TOOL_CALLS) return NO_MORE;
    const one = this.tools.find(({ name }) => name === call.toolName);
    if (!one) return "There is no tool of that name. Nothing was done.";
    const input = inputOf(call);
    const complaint = complaintAbout(one, input);
    if (complaint !== undefined) return complaint;
    const signal = AbortSignal.any([AbortSignal.timeout(one.timeoutMs ?? this.limits.toolMs), stopped]);
    try {
      return this.read(one, await Promise.race([one.run(input as Record<string, unknown>, signal), aborted(signal)]));
    } catch (error) {
      logProblem("tool_failure", { tool: one.name, detail: describeFailure(error) });
      return this.end("tool_failure");
    }
  }

  private read(one: Tool, outcome: ToolOutcome): string {
    switch (outcome.kind) {
      case "found":
        return this.evidence.givePassages({ question: outcome.query, retrieval: outcome.retrieval }) || "No passage was found.";
      case "data":
        return this.evidence.giveResult(outcome.text);
      case "note":
        return outcome.text;
      case "failed":
        return this.fail(one, outcome);
      case "handed_off":
        return this.end(outcome.reason);
    }
  }

  private fail({ name }: Tool, { note, text }: Extract<ToolOutcome, { kind: "failed" }>): string {
    const times = (this.failures.get(name) ?? 0) + 1;
    this.failures.set(name, times);
    if (times >= MAX_FAILURES) return this.end("tool_failure");
    return [`${note} ${AFTER_FAILURE}`, ...(text === "" ? [] : [this.evidence.quoteFailure(text)])].join("\n");
  }

  private end(reason: HandoffReason): string {
    this.handedOff ??= new HandedOff(reason);
    return NO_MORE;
  }
}

/** The input of a call; undefined where it is no JSON. A tool without parameters may be called with nothing. */
export function inputOf({ input }: ToolCall): unknown {
  try {
    return input.trim() === "" ? {} : JSON.parse(input);
  } catch {
    return undefined;
  }
}

/** Why an input does not fit the tool, for the model to mend; undefined where it does. */
function complaintAbout({ parameters }: Tool, input: unknown): string | undefined {
  if (input === undefined) return "The input is not JSON. Nothing was done.";
  const { valid, errors } = new Validator(parameters as object, "2020-12", false).validate(input);
  if (valid) return undefined;
  const complaints = errors.slice(0, MAX_COMPLAINTS).map(({ keywordLocation }) => keywordLocation);
  return `The input breaks the tool's schema at ${complaints.join(", ")}. Nothing was done.`;
}
