export const CONVERSATION_STATUSES = ["open", "ai_handled", "needs_human", "human_active", "resolved"] as const;

export type ConversationStatus = (typeof CONVERSATION_STATUSES)[number];

/** Why an agent handed a conversation to a human. */
export const HANDOFF_REASONS = [
  "customer_request",
  "missing_knowledge",
  "low_confidence",
  "unsupported_request",
  "tool_failure",
  "model_failure",
] as const;

export type HandoffReason = (typeof HANDOFF_REASONS)[number];

/** The statuses in which a human has the conversation, so that the agent stays silent. */
export const HUMAN_STATUSES = ["needs_human", "human_active"] as const satisfies ConversationStatus[];

/** The statuses in which the agent's own answer moves a conversation. */
export const AGENT_STATUSES = ["open", "ai_handled"] as const satisfies ConversationStatus[];

/** Whether a human has it. */
export function isWithHuman(status: ConversationStatus): boolean {
  return (HUMAN_STATUSES as readonly string[]).includes(status);
}

/** Where a visitor's message moves a conversation before anyone answers: writing to a resolved one reopens it. */
export function afterVisitorMessage(status: ConversationStatus): ConversationStatus {
  return status === "resolved" ? "open" : status;
}

/** Where the agent's answer moves a conversation that a human has not taken meanwhile. */
export function afterAgentAnswer(needsHuman: boolean): ConversationStatus {
  return needsHuman ? "needs_human" : "ai_handled";
}
