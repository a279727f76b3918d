import type { Schemas } from "../api.ts";

type Conversation = Schemas["Conversation"];

export const STATUS_WORDS: Record<Conversation["status"], string> = {
  open: "Open",
  ai_handled: "Agent",
  needs_human: "Waiting",
  human_active: "Team",
  resolved: "Resolved",
};

/** Whether the team answers a conversation, or its visitor waits for the team. */
export function isWithTeam(status: Conversation["status"]): status is "needs_human" | "human_active" {
  return status === "needs_human" || status === "human_active";
}

/** The status of a conversation that was resolved by mistake and is reopened. The API sets `ai_handled` only when the agent answers. */
export function reopenedStatus(before: Conversation["status"]): "needs_human" | "human_active" | "open" {
  return isWithTeam(before) ? before : "open";
}

export const HANDOFF_WORDS: Record<Schemas["Handoff"]["reason"], string> = {
  customer_request: "Asked for a person",
  missing_knowledge: "The agent does not know",
  low_confidence: "The agent was not sure",
  unsupported_request: "More than the agent may do",
  tool_failure: "A tool failed",
  model_failure: "The model failed",
  approval_required: "A tool call needs your approval",
  approval_expired: "Nobody approved a tool call",
};

export const CHANNEL_WORDS: Record<Conversation["channel"], string> = {
  widget: "Widget",
  hosted: "Chat page",
  email: "Email",
  api: "API",
  playground: "Playground",
};

export function Status({ status }: { status: Conversation["status"] }) {
  return <span class={`status ${status}`}>{STATUS_WORDS[status]}</span>;
}

/** The title of a conversation: its visitor, otherwise its first words. */
export function titleOf({ visitor, subject }: Pick<Conversation, "visitor" | "subject">): string {
  return visitor?.name || visitor?.email || subject || "Visitor";
}
