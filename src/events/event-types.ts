/** Every type of event that the service sends of its own. */
export const EVENT_TYPES = [
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

/** Stands for every type, those of later versions included. */
export const ALL_EVENTS = "*";

/** The version of the payloads' form. */
export const API_VERSION = "1.0.0";

/** The type that only an endpoint's test sends. */
export const TEST_EVENT = "webhook.test";
