/** Every scope that an API key can carry. */
export const SCOPES = [
  "agents:read",
  "agents:write",
  "chat:write",
  "conversations:read",
  "conversations:write",
  "leads:read",
  "knowledge:read",
  "knowledge:write",
  "analytics:read",
  "webhooks:read",
  "webhooks:write",
  "privacy:read",
  "privacy:write",
  "keys:write",
] as const;

export type Scope = (typeof SCOPES)[number];

/** Grants every scope, including those of later versions. */
export const ALL_SCOPES = "*";

/** The scopes that a stored list grants. */
export function expandScopes(stored: readonly string[]): Scope[] {
  return SCOPES.filter((scope) => stored.includes(scope) || stored.includes(ALL_SCOPES));
}
