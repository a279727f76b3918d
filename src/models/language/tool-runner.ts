import { Validator } from "@cfworker/json-schema";
import { jsonSchema, tool, type ToolSet } from "ai";
import type { HandoffReason } from "../../conversations/status.ts";
import { logProblem } from "../../telemetry/log.ts";
import { aborted } from "./aborted.ts";
import type { Evidence } from "./evidence.ts";
import { MAX_TOOL_CALLS, MAX_TOOL_ROUNDS, type ModelLimits } from "./limits.ts";
import { HandedOff } from "../model.ts";
import { describeFailure } from "./steady.ts";
import type { Tool, ToolOutcome } from "../tool.ts";

const NO_MORE = "No more tools can be used. Reply now.";
/** One try more than the first: a tool that fails twice is down, and the visitor waits. */
const MAX_FAILURES = 2;
const AFTER_FAILURE = "Try it once more if that can help. If you cannot answer without it, reply @unknown.";
/** How much is said of what does not fit. */
const MAX_COMPLAINTS = 5;

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

  /** The tools as the AI SDK calls them. */
  toToolSet(): ToolSet {
    return Object.fromEntries(
      this.tools.map((one) => [
        one.name,
        tool({
          description: one.description,
          inputSchema: jsonSchema<Record<string, unknown>>(one.parameters),
          execute: (input, { abortSignal }) => this.run(one, input, abortSignal),
        }),
      ]),
    );
  }

  /** Begins another call of the model; false where it has to answer without tools. */
  nextRound(): boolean {
    return this.round++ < MAX_TOOL_ROUNDS;
  }

  /** Why the turn is a human's where the model gives it up for this reason: for the tool that did not work, if there was one. */
  blame(reason: HandoffReason): HandoffReason {
    return this.failures.size > 0 && reason !== "customer_request" ? "tool_failure" : reason;
  }

  /** What the model reads of a tool's run. */
  private async run(one: Tool, input: Record<string, unknown>, stopped: AbortSignal | undefined): Promise<string> {
    if (this.handedOff || this.round > MAX_TOOL_ROUNDS || ++this.calls > MAX_TOOL_CALLS) return NO_MORE;
    const complaint = complaintAbout(one, input);
    if (complaint !== undefined) return complaint;
    const timer = AbortSignal.timeout(one.timeoutMs ?? this.limits.toolMs);
    const signal = stopped ? AbortSignal.any([timer, stopped]) : timer;
    try {
      return this.read(one, await Promise.race([one.run(input, signal), aborted(signal)]));
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

/** Why an input does not fit the tool, for the model to mend; undefined where it does. */
function complaintAbout({ parameters }: Tool, input: unknown): string | undefined {
  const { valid, errors } = new Validator(parameters as object, "2020-12", false).validate(input);
  if (valid) return undefined;
  const complaints = errors.slice(0, MAX_COMPLAINTS).map(({ keywordLocation }) => keywordLocation);
  return `The input breaks the tool's schema at ${complaints.join(", ")}. Nothing was done.`;
}
