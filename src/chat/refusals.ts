import { ApiError, notFound } from "../platform/http/errors.ts";
import { flowLimited } from "../workspaces/checks.ts";
import type { VisitorWindow } from "../workspaces/visitor-limits.ts";
import type { Question } from "./question.ts";
import type { TurnState } from "./store.ts";

/**
 * Why a question is not answered. Before a turn runs, a request is refused by its key, rate limit and scope
 * (workspaces/checks.ts), by a visitor's token, origin and rate (widget/access.ts), or as mail that gets no answer
 * (email/inbound.ts). answer.ts decides when an agent hands over
 * instead of answering.
 */
export type Refusal = { outcome: "rate_limited"; full: VisitorWindow } | { outcome: SimpleRefusal };

type SimpleRefusal =
  | "agent_not_found"
  | "conversation_not_found"
  | "other_agent"
  | "other_channel"
  | "other_user"
  | "conversation_full"
  | "agent_paused"
  | "quota_exceeded";

/**
 * Why the first batch of a turn did not store its question; undefined when it did. The checks are those of `isAdmitted` in
 * store.ts, in the order in which the caller is told: existence, state, limits of visitors, quota.
 * @param ignoresLimits whether the batch ignored the limits.
 */
export function refusalOf(question: Question, { agent, continued, full, stored }: TurnState, ignoresLimits: boolean): Refusal | undefined {
  if (stored.length > 0) return undefined;
  if (!agent) return { outcome: "agent_not_found" };
  if (!question.isNew) {
    if (!continued) return { outcome: "conversation_not_found" };
    if (continued.agentId !== question.agentId) return { outcome: "other_agent" };
    if (continued.channel !== question.channel) return { outcome: "other_channel" };
    if (!continued.belongsToVisitor) return { outcome: "other_user" };
    if (!continued.hasRoom) return { outcome: "conversation_full" };
  }
  // Without limits, only the erasure of its visitor is left as the reason.
  if (ignoresLimits) return { outcome: "conversation_not_found" };
  if (agent.status === "paused") return { outcome: "agent_paused" };
  return full ? { outcome: "rate_limited", full } : { outcome: "quota_exceeded" };
}

/** Whether only a limit, or that the agent is paused, refuses the question. */
export function isByLimit({ outcome }: Refusal): boolean {
  return ["conversation_full", "agent_paused", "rate_limited", "quota_exceeded"].includes(outcome);
}

/** What the caller reads. */
export function refusalError(refusal: Refusal): ApiError {
  switch (refusal.outcome) {
    case "agent_not_found":
      return notFound("agent");
    case "conversation_not_found":
      return notFound("conversation");
    case "other_agent":
      return new ApiError("conflict", "The conversation is with another agent. Leave conversation_id out to start a new one.");
    case "other_channel":
      return new ApiError("conflict", "The conversation was not started over the API. Leave conversation_id out to start a new one.");
    case "other_user":
      return new ApiError("conflict", "The conversation is another user's. Leave conversation_id out to start a new one.");
    case "conversation_full":
      return new ApiError(
        "plan_required",
        "The conversation has as many messages as the plan allows in one. Leave conversation_id out to start a new one, or ask the operator for a larger plan.",
      );
    case "agent_paused":
      return new ApiError(
        "conflict",
        "The agent is paused and answers no questions. Ask another agent, or ask its operator to activate it.",
      );
    case "rate_limited":
      return flowLimited(refusal.full, Date.now());
    case "quota_exceeded":
      return new ApiError(
        "quota_exceeded",
        "The month's message quota is used up. Wait for the next month, or ask the operator for a larger plan.",
      );
  }
}
