import type { JSONSchema7 } from "@ai-sdk/provider";
import type { HandoffReason } from "../conversations/status.ts";
import type { Retrieval } from "../knowledge/passage.ts";

/** What a tool's run comes to. What was found is quoted to the model as data. */
export type ToolOutcome =
  /** More of the agent's knowledge. */
  | { kind: "found"; query: string; retrieval: Retrieval }
  /** Anything else that the model may rest its answer on. */
  | { kind: "data"; text: string }
  /** That something was done, or why not: words of ours, which the model reads unquoted. */
  | { kind: "note"; text: string }
  /** It did not work: `note` is ours, `text` what the other side said of it, which no answer may rest on. */
  | { kind: "failed"; note: string; text: string }
  /** The end of the turn. */
  | { kind: "handed_off"; reason: HandoffReason };

/** Something that a model may ask for. Made for one turn, so that it knows whose conversation it acts in. */
export interface Tool {
  name: string;
  description: string;
  /** JSON Schema of an object; what does not fit it never reaches `run`. */
  parameters: JSONSchema7;
  /** For one run, where the runner's own limit does not hold. */
  timeoutMs?: number;
  /** @throws Error when it fails: a human takes over, by `tool_failure`. */
  run(input: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
}
