import type { Check } from "../platform/http/checks.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { operationOf, requireGrantable, requireScope } from "../workspaces/checks.ts";
import { scopesOfRole } from "../workspaces/scopes.ts";
import { findMember, type MemberRow } from "./store.ts";

/** Finds the member of a request. @throws ApiError not_found if there is none or, unless `any` is wanted, the member was removed. */
export async function openMember(c: AppContext, memberId: string, wanted: "present" | "any" = "present"): Promise<MemberRow> {
  const { db, workspaceId } = operationOf(c);
  const [[member]] = await db.batch([findMember(db, workspaceId, memberId)]);
  if (!member || (wanted === "present" && member.status === "removed")) throw notFound("member");
  return member;
}

/** Whether the caller is signed in as this member. */
export function isCaller(c: AppContext, memberId: string): boolean {
  return c.get("caller").key.member?.id === memberId;
}

/** Like `needsScope("members:read")`, but members need no scope for themselves. */
export function needsOwnOrRead() {
  const check: Check = (c) => {
    if (!isCaller(c, c.req.param("member_id") ?? "")) requireScope(c, "members:read");
  };
  return { "x-scope": "members:read", checks: [check] };
}

/** Finds the caller, or a member that the caller manages. */
export async function openOwnOrManaged(c: AppContext, memberId: string): Promise<MemberRow> {
  const member = await openMember(c, memberId, "any");
  if (!isCaller(c, member.id)) requireManageable(c, member);
  return member;
}

/** Checks that the caller may manage a member with this role: the caller needs all of its scopes, and only owners manage owners. */
export function requireManageable(c: AppContext, { role, scopes }: Pick<MemberRow, "role" | "scopes">): void {
  requireScope(c, "members:write");
  requireGrantable(c, scopesOfRole(role, scopes));
  if (role === "owner" && !c.get("caller").key.isOwner)
    throw new ApiError("insufficient_scope", "Only owners manage owners. Ask one of them.");
}
