import type { HandoffReason } from "../platform/db/columns.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import type { ChatMessage, ModelCall, ToolCall } from "../models/chat-model.ts";
import type { Evidence } from "./evidence.ts";
import { MAX_TOOL_CALLS, MAX_TOOL_ROUNDS, type ModelLimits } from "../models/limits.ts";
import { type CalledTool, HandoffError, type ModelObserver, type Tool, type ToolOutcome, type ToolRound } from "../models/model.ts";
import { describeFailure, rejectOnAbort } from "../models/stream-with-retry.ts";
import { inputProblem } from "./tool-input.ts";
import { parsedJson } from "../platform/json.ts";

const NO_MORE_TOOLS = "No more tools can be used. Reply now.";
/** A tool that failed is called once more. A tool that fails twice is down, and the visitor waits. */
const MAX_FAILURES = 2;
const AFTER_FAILURE = "Try it once more if that can help. If you cannot answer without it, reply @unknown.";

/** Runs the tool calls of one turn. It validates their input, and limits their time and number. */
export class ToolRunner {
  /** Set once a tool has ended the turn. */
  handoff: HandoffError | undefined;
  private readonly failuresByTool = new Map<string, number>();
  private calls = 0;
  private rounds = 0;

  constructor(
    private readonly tools: readonly Tool[],
    private readonly evidence: Evidence,
    private readonly limits: Pick<ModelLimits, "toolMs">,
    private readonly observer?: ModelObserver,
  ) {}

  /** Returns the tools for a call of the model. They are listed even where none may be called, since earlier messages name them. */
  toolOptions(mayUse: boolean): Pick<ModelCall, "tools" | "toolChoice"> {
    if (this.tools.length === 0) return {};
    const tools = this.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
    return { tools, toolChoice: mayUse ? "auto" : "none" };
  }

  /** Counts a call of the model. @returns whether it may use tools. */
  startRound(): boolean {
    return this.rounds++ < MAX_TOOL_ROUNDS;
  }

  /** Returns the reason to record for a hand-off: a model that gives up after a tool failed does so because of that tool. */
  handoffReason(reason: HandoffReason): HandoffReason {
    return this.failuresByTool.size > 0 && reason !== "customer_request" ? "tool_failure" : reason;
  }

  /** Runs the tool calls of one round in parallel. */
  run(calls: readonly ToolCall[], abortSignal: AbortSignal): Promise<CalledTool[]> {
    return Promise.all(
      calls.map(async (call) => {
        const startedMs = Date.now();
        const tool = this.tools.find(({ name }) => name === call.name);
        const outcome = await this.outcomeOf(call, tool, abortSignal);
        return { call, outcome, durationMs: Date.now() - startedMs };
      }),
    );
  }

  /** Counts the calls of a round that an earlier attempt at the turn ran. */
  countReplayed({ calls }: ToolRound): void {
    this.rounds++;
    this.calls += calls.length;
  }

  /** Returns the results of a round as messages for the model. An awaited result has none yet. */
  resultsOf(called: readonly CalledTool[]): ChatMessage[] {
    return called
      .filter(({ outcome }) => outcome?.kind !== "awaited")
      .map(({ call, outcome, durationMs }) => {
        this.observer?.toolCalled({ name: call.name, input: call.input, durationMs, outcome });
        return { role: "tool", call, text: outcome ? this.resultOf(call.name, outcome) : this.endTurn("tool_failure") };
      });
  }

  /** Runs a call, or returns a note why it was not run; undefined if the tool threw an error. */
  private async outcomeOf(call: ToolCall, tool: Tool | undefined, abortSignal: AbortSignal): Promise<ToolOutcome | undefined> {
    if (this.handoff || ++this.calls > MAX_TOOL_CALLS) return { kind: "note", text: NO_MORE_TOOLS };
    if (!tool) return { kind: "note", text: "There is no tool of that name. Nothing was done." };
    const input = inputOf(call);
    const problem = await inputProblem(tool, input);
    if (problem !== undefined) return { kind: "note", text: problem };
    const signal = AbortSignal.any([AbortSignal.timeout(tool.timeoutMs ?? this.limits.toolMs), abortSignal]);
    try {
      return await Promise.race([tool.run(input as Record<string, unknown>, signal), rejectOnAbort(signal)]);
    } catch (error) {
      logProblem("tool_failure", { tool: tool.name, detail: describeFailure(error) });
      return undefined;
    }
  }

  private resultOf(name: string, outcome: ToolOutcome): string {
    switch (outcome.kind) {
      case "found":
        return this.evidence.addPassages({ question: outcome.query, retrieval: outcome.retrieval }) || "No passage was found.";
      case "data":
        return this.evidence.addResult(outcome.text);
      case "note":
        return outcome.text;
      case "failed":
        return this.countFailure(name, outcome);
      case "handed_off":
        return this.endTurn(outcome.reason);
      case "awaited":
        throw new Error("A result that is awaited cannot be read");
    }
  }

  private countFailure(name: string, { note, text }: Extract<ToolOutcome, { kind: "failed" }>): string {
    const failures = (this.failuresByTool.get(name) ?? 0) + 1;
    this.failuresByTool.set(name, failures);
    if (failures >= MAX_FAILURES) return this.endTurn("tool_failure");
    return [`${note} ${AFTER_FAILURE}`, ...(text === "" ? [] : [this.evidence.quoteFailure(text)])].join("\n");
  }

  private endTurn(reason: HandoffReason): string {
    this.handoff ??= new HandoffError(reason);
    return NO_MORE_TOOLS;
  }
}

/** Parses the input of a call; undefined if it is not JSON. An empty input counts as an empty object. */
function inputOf({ input }: ToolCall): unknown {
  return input.trim() === "" ? {} : parsedJson(input);
}
