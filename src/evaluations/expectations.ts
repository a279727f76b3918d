import { canonical } from "../agents/mcp-pins.ts";
import type { ExpectedCall, Expectation, HandoffReason, Verdict } from "../platform/db/columns.ts";

/** The kinds of checks. */
export const CHECKS = [
  "answered",
  "handed_off",
  "handoff_reason",
  "source_id",
  "answer_contains",
  "said",
  "not_said",
  "tool_called",
  "unexpected_tool",
  "criterion",
  "goal_reached",
] as const;

/** One expectation, and whether it is met. */
export interface Check {
  kind: (typeof CHECKS)[number];
  expected: string;
  /** Whether the expectation is met; null if the model that judges it failed. */
  holds: boolean | null;
  /** Why the model judges so; null for other checks. */
  reason: string | null;
}

/** A tool that the agent called, with the arguments. */
export interface ToolUse {
  name: string;
  input: Record<string, unknown>;
}

/** The outcome of a question, or of a whole conversation. */
export interface Outcome {
  answer: string;
  handoffReason: HandoffReason | null;
  /** The ids of the sources and curated answers that are cited. */
  cited: readonly string[];
  calls: readonly ToolUse[];
}

/** Checks what was expected, apart from what a model judges. */
export function checksOf(expect: Expectation, { answer, handoffReason, cited, calls }: Outcome): Check[] {
  const { source_id: sourceId, answer_contains: contained, refusal, handoff_reason: reason } = expect;
  const { said = [], not_said: notSaid = [], tools_called: expectedCalls = [] } = expect;
  const text = plain(answer);
  const contains = (part: string) => text.includes(plain(part));
  const expectsAnswer = sourceId !== undefined || contained !== undefined || refusal === false;
  return [
    ...(expectsAnswer ? [toCheck("answered", "an answer", handoffReason === null)] : []),
    ...(refusal === true ? [toCheck("handed_off", "a hand-off", handoffReason !== null)] : []),
    ...(reason === undefined ? [] : [toCheck("handoff_reason", reason, handoffReason === reason)]),
    ...(sourceId === undefined ? [] : [toCheck("source_id", sourceId, cited.includes(sourceId))]),
    ...(contained === undefined ? [] : [toCheck("answer_contains", contained, contains(contained))]),
    ...said.map((part) => toCheck("said", part, contains(part))),
    ...notSaid.map((part) => toCheck("not_said", part, !contains(part))),
    ...expectedCalls.map((call) =>
      toCheck(
        "tool_called",
        textOf(call),
        calls.some((made) => isCall(made, call)),
      ),
    ),
  ];
}

/** Returns a check that no model judges. */
export function toCheck(kind: Check["kind"], expected: string, holds: boolean): Check {
  return { kind, expected, holds, reason: null };
}

/** Returns the verdict of a question or a conversation from its checks. */
export function verdictOf(
  { refusal, handoff_reason: reason }: Expectation,
  handoffReason: HandoffReason | null,
  checks: readonly Check[],
): Verdict {
  if (handoffReason === "model_failure" || checks.some(({ holds }) => holds === null)) return "failed";
  if (checks.every(({ holds }) => holds)) return "right";
  const expectsHandoff = refusal === true || reason !== undefined;
  return handoffReason !== null && !expectsHandoff ? "refused" : "wrong";
}

/** The verdicts, the one that decides about a case of several turns first. */
const BY_WEIGHT = ["failed", "wrong", "refused", "right"] as const satisfies Verdict[];

/** Returns the verdict of a case from those of its turns and of its end. */
export function worstOf(verdicts: readonly Verdict[]): Verdict {
  return BY_WEIGHT.find((one) => verdicts.includes(one)) ?? "right";
}

/** Whether a call has the expected arguments, with others or without. */
function isCall({ name, input }: ToolUse, expected: ExpectedCall): boolean {
  return name === expected.name && Object.entries(expected.arguments ?? {}).every(([key, value]) => isEqual(input[key], value));
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(canonical(one)) === JSON.stringify(canonical(other));
}

function textOf({ name, arguments: given }: ExpectedCall): string {
  return given === undefined ? name : `${name} ${JSON.stringify(given)}`;
}

/** Returns a text in the form in which texts are compared: case and white space do not matter. */
function plain(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim();
}
