/** Every type of event that the service sends of its own. */
const EVENT_TYPES = [
  "conversation.created",
  "conversation.resolved",
  "message.ai_replied",
  "message.human_replied",
  "handoff.created",
  "lead.created",
  "source.synced",
  "source.failed",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** The version of the payloads' form. */
export const API_VERSION = "1.0.0";
