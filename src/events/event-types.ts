/** Every type of event that the service sends by itself. */
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

/** Subscribes to every type, including those of later versions. */
export const ALL_EVENTS = "*";

/** The version of the payload format. */
export const API_VERSION = "1.0.0";

/** Sent only when an endpoint is tested. */
export const TEST_EVENT = "webhook.test";
