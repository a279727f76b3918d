import type { ConversationStatus, HandoffReason } from "../platform/db/columns.ts";

/** The statuses that a caller may set. */
export const SETTABLE_STATUSES = ["open", "resolved", "needs_human", "human_active"] as const satisfies ConversationStatus[];

export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

/** How many characters of the question a hand-off's summary holds. */
export const HANDOFF_SUMMARY_LENGTH = 500;

/** The statuses in which a human handles the conversation or is asked to. */
export const HUMAN_STATUSES = ["needs_human", "human_active"] as const satisfies ConversationStatus[];

/** Returns whether a human handles the conversation or is asked to. */
export function isForHumans(status: ConversationStatus): boolean {
  return (HUMAN_STATUSES as readonly ConversationStatus[]).includes(status);
}

/** The events that change a conversation's status. A caller can also set it. */
export const TRIGGERS = ["visitor_wrote", "agent_answered", "agent_handed_off", "team_replied", "team_resolved", "idled"] as const;

export type Trigger = (typeof TRIGGERS)[number];

/** The next status for each trigger and status. A status that is not listed does not change. */
const TRANSITIONS: Record<Trigger, Partial<Record<ConversationStatus, ConversationStatus>>> = {
  visitor_wrote: { resolved: "open" },
  // A human may have taken over while the model was generating.
  agent_answered: { open: "ai_handled" },
  // The visitor is told that a human takes over, also if the conversation was resolved while the answer was made.
  agent_handed_off: { open: "needs_human", ai_handled: "needs_human", resolved: "needs_human" },
  team_replied: { open: "human_active", ai_handled: "human_active", needs_human: "human_active", resolved: "human_active" },
  team_resolved: { open: "resolved", ai_handled: "resolved", needs_human: "resolved", human_active: "resolved" },
  idled: { ai_handled: "resolved" },
};

/** Returns the next status for the present one. */
export type Transition = (from: ConversationStatus) => ConversationStatus;

/** Returns the transition on a trigger. It keeps the statuses that the trigger does not change. */
export function transitionOn(trigger: Trigger): Transition {
  return (from) => TRANSITIONS[trigger][from] ?? from;
}

/** Returns the transition to a status that a caller sets, from any status. */
export function transitionTo(status: SettableStatus): Transition {
  return () => status;
}

/** The reasons after which the agent stays silent until a human replies, since the visitor was promised a human. */
export const SILENCING_REASONS = ["customer_request", "unsupported_request"] as const satisfies HandoffReason[];

/**
 * Whether the agent leaves a visitor's message to humans. After hand-offs for other reasons it answers until a human replies.
 * @param pendingReason the reason of a hand-off that no human has accepted yet; null if there is none.
 */
export function isAgentSilent(status: ConversationStatus, pendingReason: HandoffReason | null): boolean {
  if (status === "human_active") return true;
  return status === "needs_human" && (pendingReason === null || (SILENCING_REASONS as readonly HandoffReason[]).includes(pendingReason));
}

/** Returns the status of an open hand-off when its conversation gets this status; null if it does not change. */
export function handoffStatusAt(status: ConversationStatus): "accepted" | "resolved" | null {
  if (status === "needs_human") return null;
  return status === "human_active" ? "accepted" : "resolved";
}
