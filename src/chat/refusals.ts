import { isForHumans } from "../conversations/status.ts";
import { ApiError, type ErrorCode, invalid, notFound } from "../platform/http/errors.ts";
import { valueError } from "../platform/http/validation.ts";
import { limitReached } from "../workspaces/checks.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import type { Question } from "./question.ts";
import type { TurnState } from "./store.ts";

/**
 * Why a turn does not answer a question. Other checks come before a turn: those of the key, rate limit and scope
 * (workspaces/checks.ts), of a visitor's token, origin and rate (widget/access.ts), and of mail that gets no answer
 * (email/inbound.ts). In answer.ts it is decided whether an agent answers or hands the question over.
 */
export type Refusal =
  | { outcome: "rate_limited"; full: LimitWindow }
  | { outcome: "unknown_files"; positions: number[] }
  | { outcome: SimpleRefusal };

type SimpleRefusal =
  | "agent_not_found"
  | "conversation_not_found"
  | "other_agent"
  | "other_channel"
  | "other_user"
  | "conversation_full"
  | "waits_for_tools"
  | "agent_paused"
  | "quota_exceeded";

/**
 * Returns why the first batch of a turn did not store its question; undefined when it did. The checks are those of `isAdmitted` in
 * store.ts. If several of them fail, the first one is reported, in this order: existence, state, limits of visitors, quota.
 * @param ignoresLimits whether the batch ignored the limits.
 */
export function refusalOf(question: Question, state: TurnState, ignoresLimits: boolean): Refusal | undefined {
  const { agent, continued, full, stored, unknownFiles: positions } = state;
  if (stored.length > 0) return undefined;
  if (!agent) return { outcome: "agent_not_found" };
  if (!question.isNew) {
    if (!continued) return { outcome: "conversation_not_found" };
    if (continued.agentId !== question.agentId) return { outcome: "other_agent" };
    if (continued.channel !== question.channel) return { outcome: "other_channel" };
    if (!continued.belongsToVisitor) return { outcome: "other_user" };
    if (!continued.hasRoom) return { outcome: "conversation_full" };
  }
  // The only other condition is that the visitor was not erased.
  if (ignoresLimits) return { outcome: "conversation_not_found" };
  if (positions.length > 0) return { outcome: "unknown_files", positions };
  // The quota and the agent matter only to questions for the agent.
  if (full && continued && isForHumans(continued.status)) return { outcome: "rate_limited", full };
  if (agent.status === "paused") return { outcome: "agent_paused" };
  return full && !question.messageLimit?.onlyOutsideQuota ? { outcome: "rate_limited", full } : { outcome: "quota_exceeded" };
}

/** Whether a limit or a pause of the agent is the reason, so that the question may be stored nevertheless. */
export function isByLimit({ outcome }: Refusal): boolean {
  return ["conversation_full", "agent_paused", "rate_limited", "quota_exceeded", "unknown_files"].includes(outcome);
}

const START_NEW = "Leave conversation_id out to start a new one.";

const ERRORS: Record<Exclude<SimpleRefusal, `${string}_not_found`>, [code: ErrorCode, message: string]> = {
  other_agent: ["conflict", `The conversation is with another agent. ${START_NEW}`],
  other_channel: ["conflict", `The conversation has another channel than the question. ${START_NEW}`],
  other_user: ["conflict", `The conversation belongs to another user. ${START_NEW}`],
  conversation_full: [
    "plan_required",
    "The conversation has as many messages as the plan allows in one. Leave conversation_id out to start a new one, or ask the operator for a larger plan.",
  ],
  waits_for_tools: [
    "conflict",
    "The conversation waits for the results of tool calls. Send them with POST /conversations/{conversation_id}/messages/{message_id}/tool-results, or leave conversation_id out to start a new one.",
  ],
  agent_paused: ["conflict", "The agent is paused and answers no questions. Ask another agent, or ask its operator to activate it."],
  quota_exceeded: [
    "quota_exceeded",
    "The month's message quota is used up. Wait for the next month, or ask the operator for a larger plan.",
  ],
};

/** Returns a refusal as the error of the API. */
export function refusalError(refusal: Refusal): ApiError {
  if (refusal.outcome === "rate_limited") return limitReached(refusal.full, Date.now());
  if (refusal.outcome === "unknown_files") return unknownFiles(refusal.positions)!;
  if (refusal.outcome === "agent_not_found") return notFound("agent");
  if (refusal.outcome === "conversation_not_found") return notFound("conversation");
  return new ApiError(...ERRORS[refusal.outcome]);
}

/** Returns the 422 error for files that a message cannot take, by their positions; undefined if there are none. */
export function unknownFiles(positions: readonly number[]): ApiError | undefined {
  const problem = valueError("no uploaded file with this id that a message can take: upload it again, and send the new id");
  return positions.length > 0 ? invalid(positions.map((at) => ({ loc: ["body", "attachments", at], ...problem }))) : undefined;
}
