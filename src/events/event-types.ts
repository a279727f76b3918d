import type { Scope } from "../workspaces/scopes.ts";

/** The scope that reads the record in the events of a type, for every type that the service sends by itself. */
const READ_SCOPES = {
  "conversation.created": "conversations:read",
  "conversation.resolved": "conversations:read",
  "message.ai_replied": "conversations:read",
  "message.human_replied": "conversations:read",
  "handoff.created": "conversations:read",
  "tool_call.approval_requested": "conversations:read",
  "tool_call.decided": "conversations:read",
  "lead.created": "leads:read",
  "source.synced": "knowledge:read",
  "source.failed": "knowledge:read",
} as const satisfies Record<string, Scope>;

export type EventType = keyof typeof READ_SCOPES;

/** Every type of event that the service sends by itself. */
export const EVENT_TYPES = Object.keys(READ_SCOPES) as EventType[];

/** Subscribes to every type, including those of later versions. */
export const ALL_EVENTS = "*";

/** The version of the payload format. */
export const API_VERSION = "1.0.0";

/** The type of the event that tests an endpoint. */
export const TEST_EVENT = "webhook.test";

/** The scopes that a key lacks to read events of these types, where `*` stands for all. A test event holds no record. */
export function lackingScopes(scopes: readonly Scope[], types: readonly string[]): Scope[] {
  const named = types.includes(ALL_EVENTS) ? EVENT_TYPES : EVENT_TYPES.filter((type) => types.includes(type));
  return [...new Set<Scope>(named.map((type) => READ_SCOPES[type]))].filter((scope) => !scopes.includes(scope));
}
