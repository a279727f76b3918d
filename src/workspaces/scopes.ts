import type { MemberRole } from "../platform/db/columns.ts";

/** Every scope that an API key or a member can have. */
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
  "members:read",
  "members:write",
] as const;

export type Scope = (typeof SCOPES)[number];

/** Grants every scope, including those of later versions. */
export const ALL_SCOPES = "*";

/** Returns the scopes that a stored list grants. */
export function expandScopes(stored: readonly string[]): Scope[] {
  return SCOPES.filter((scope) => stored.includes(scope) || stored.includes(ALL_SCOPES));
}

const READ_SCOPES: readonly Scope[] = [
  "agents:read",
  "conversations:read",
  "leads:read",
  "knowledge:read",
  "analytics:read",
  "members:read",
];

/** The scopes of each role but `custom`, which has its own. */
const ROLE_SCOPES: Record<Exclude<MemberRole, "custom">, readonly string[]> = {
  owner: [ALL_SCOPES],
  admin: [ALL_SCOPES],
  agent: [...READ_SCOPES, "chat:write", "conversations:write"],
  viewer: READ_SCOPES,
};

/** Returns the scopes of a member. @param custom the scopes of the role `custom`. */
export function scopesOfRole(role: MemberRole, custom: readonly string[]): Scope[] {
  return expandScopes(role === "custom" ? custom : ROLE_SCOPES[role]);
}
