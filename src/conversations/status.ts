import type { ConversationStatus } from "../platform/db/columns.ts";

/** The statuses that a caller may ask for. */
export const SETTABLE_STATUSES = ["open", "resolved", "needs_human", "human_active"] as const satisfies ConversationStatus[];

export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

/** How many characters of a question a hand-off's summary repeats. */
export const HANDOFF_SUMMARY_LENGTH = 500;

/** The statuses in which a human has the conversation, so that the agent stays silent. */
export const HUMAN_STATUSES = ["needs_human", "human_active"] as const satisfies ConversationStatus[];

/** What moves a conversation, beside a status that is asked for. */
export const TRIGGERS = ["visitor_wrote", "agent_answered", "agent_handed_off", "team_replied", "team_resolved", "idled"] as const;

export type Trigger = (typeof TRIGGERS)[number];

/** Where each trigger moves a conversation from each status; from one that is not named it moves nothing. */
const MOVES: Record<Trigger, Partial<Record<ConversationStatus, ConversationStatus>>> = {
  visitor_wrote: { resolved: "open" },
  // A human who took over while the model was still thinking keeps the conversation.
  agent_answered: { open: "ai_handled" },
  agent_handed_off: { open: "needs_human", ai_handled: "needs_human" },
  team_replied: { open: "human_active", ai_handled: "human_active", needs_human: "human_active", resolved: "human_active" },
  team_resolved: { open: "resolved", ai_handled: "resolved", needs_human: "resolved", human_active: "resolved" },
  idled: { ai_handled: "resolved" },
};

/** A rule that says where a conversation goes from a status. */
export type Move = (from: ConversationStatus) => ConversationStatus;

/** The move that a trigger makes. */
export function moveBy(trigger: Trigger): Move {
  return (from) => MOVES[trigger][from] ?? from;
}

/** The move to a status that a caller asks for: from anywhere. */
export function moveTo(status: SettableStatus): Move {
  return () => status;
}

/** Whether a human has it. */
export function isWithHuman(status: ConversationStatus): boolean {
  return (HUMAN_STATUSES as readonly string[]).includes(status);
}

/** What becomes of a hand-off that is not resolved when its conversation has reached a status; null: nothing. */
export function handoffAt(status: ConversationStatus): "accepted" | "resolved" | null {
  if (status === "needs_human") return null;
  return status === "human_active" ? "accepted" : "resolved";
}
