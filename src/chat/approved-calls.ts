import { waitUntil } from "cloudflare:workers";
import { changeApprovalHandoff, decideApproval, type Decision, endApprovalHandoff, setOutcome } from "../conversations/approval-store.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import type { Tool, ToolOutcome, ToolRound } from "../models/model.ts";
import { describeFailure } from "../models/stream-with-retry.ts";
import { UnreadableSecretError } from "../platform/crypto/secrets.ts";
import type { Database, Operation } from "../platform/db/client.ts";
import type { ApprovalOutcome } from "../platform/db/columns.ts";
import type { Statement } from "../platform/db/sql.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import type { Answer } from "./answer.ts";
import type { Question } from "./question.ts";
import { callsToApprove, type SuspendedTurn } from "./suspended-turns.ts";

/*
 * Tool calls that wait for the team: what becomes of their hand-off, and what happens once the team has decided. Each step may be repeated by another attempt at the turn: a
 * decision is recorded once, and the journal of the tools keeps a call from being made again.
 */

/** Records the decisions in D1, unless the requests that made them have. */
export async function recordDecisions({ env, db }: Operation, { question, approvals = [] }: SuspendedTurn): Promise<void> {
  const [first, ...rest] = approvals.flatMap(({ id, decision }) => decideApproval(db, question, id, decision!));
  waitUntil(wakeDeliveries(env, await db.batch([first!, ...rest])));
}

/** Makes the calls that the team has approved, and returns the rounds of the turn with the outcomes of all calls. */
export async function decidedRounds(
  { db, workspaceId }: Operation,
  turn: SuspendedTurn,
  tools: readonly Tool[],
  signal: AbortSignal,
): Promise<ToolRound[]> {
  const last = turn.rounds.at(-1)!;
  const calls = [...last.calls];
  for (const { id, at, tool: name, input, decision } of callsToApprove(turn)) {
    const given = decision!.arguments ?? input;
    const { called, outcome } = await outcomeOf(
      tools.find((tool) => tool.name === name),
      decision!,
      given,
      signal,
    );
    calls[at] = { ...calls[at]!, call: { ...calls[at]!.call, input: JSON.stringify(given) }, outcome };
    if (called) await db.batch([setOutcome(db, workspaceId, id, called)]);
  }
  return [...turn.rounds.slice(0, -1), { ...last, calls }];
}

/**
 * Makes a call if the team has approved it.
 * @returns `called`, what the team sees of the call, or undefined if none was made; and the outcome for the model, or undefined if the
 * tool threw an error.
 */
async function outcomeOf(
  tool: Tool | undefined,
  { status, reason }: Decision,
  input: Record<string, unknown>,
  signal: AbortSignal,
): Promise<{ called?: ApprovalOutcome; outcome: ToolOutcome | undefined }> {
  if (status === "declined") return { outcome: { kind: "note", text: `A colleague declined this call: ${reason} Nothing was done.` } };
  if (status === "expired") return { outcome: { kind: "note", text: "No colleague decided about this call in time. Nothing was done." } };
  if (!tool) return { called: "failed", outcome: { kind: "note", text: "The tool can no longer be called. Nothing was done." } };
  try {
    const outcome = await (tool.runApproved?.(input) ?? tool.run(input, signal));
    if (outcome.kind === "handed_off") return { called: "unknown", outcome };
    return { called: outcome.kind === "data" ? "answered" : "failed", outcome };
  } catch (error) {
    // An attempt that was given up has no outcome.
    signal.throwIfAborted();
    logProblem("tool_failure", { tool: tool.name, detail: describeFailure(error) });
    // Without its secrets, nothing was sent.
    return { called: error instanceof UnreadableSecretError ? "failed" : "unknown", outcome: undefined };
  }
}

/**
 * Returns the writes with which an answer changes the hand-off of a conversation that waits for an approval: a hand-off for another
 * reason takes its place, and an answer that follows the decision ends it.
 */
export function approvalWrites(
  db: Database,
  question: Question,
  { isFollowUp, handoff, nowMs }: { isFollowUp: boolean; handoff: Answer["handoff"]; nowMs: number },
): Statement[] {
  if (handoff) return [changeApprovalHandoff(db, question, handoff.reason)];
  return isFollowUp ? endApprovalHandoff(db, question, nowMs) : [];
}
