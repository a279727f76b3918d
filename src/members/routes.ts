import { createRoute, z } from "@hono/zod-openapi";
import { jsonBody, optionalJsonBody } from "../platform/http/body.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { bindToApiKey } from "../platform/http/idempotency.ts";
import { wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { isCaller, needsOwnOrRead, openMember, openOwnOrManaged, requireManageable } from "./checks.ts";
import { createLink, linkUrl } from "./links.ts";
import { mailInvitation } from "./mails.ts";
import { changeMember, endSession, INVITATION_MS, inviteMember, type MemberChanges, removeMember } from "./members.ts";
import { listMembers, listSessions, type MemberRow, nameFromEmail } from "./store.ts";
import {
  invitationRenewSchema,
  invitedMemberSchema,
  memberCreateSchema,
  memberPageSchema,
  memberSchema,
  memberUpdateSchema,
  sessionPageSchema,
  toInvited,
  toMember,
  toSession,
} from "./wire.ts";

export const memberRoutes = createRouter("Members");

const params = z.object({ member_id: uuid() });

const listMembersRoute = createRoute({
  operationId: "listMembers",
  method: "get",
  path: "/members",
  summary: "List the members of the team",
  description: "Members who were removed are not in the list.",
  ...needsScope("members:read"),
  responses: { 200: jsonResponse(memberPageSchema, "All members, oldest first."), ...errorResponses(403) },
});

memberRoutes.openapi(listMembersRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [rows] = await db.batch([listMembers(db, workspaceId)]);
  return c.json(wholePage(rows.map(toMember)), 200);
});

const getMemberRoute = createRoute({
  operationId: "getMember",
  method: "get",
  path: "/members/{member_id}",
  summary: "Get a member of the team",
  description: "Members need no scope for themselves.",
  ...needsOwnOrRead(),
  request: { params },
  responses: { 200: jsonResponse(memberSchema, "The member, also one who was removed."), ...errorResponses(403, 404, 422) },
});

memberRoutes.openapi(getMemberRoute, async (c) => c.json(toMember(await openMember(c, c.req.valid("param").member_id, "any")), 200));

const inviteMemberRoute = createRoute({
  operationId: "inviteMember",
  method: "post",
  path: "/members",
  summary: "Invite somebody to the team",
  description:
    "The member signs in with the link of the invitation, once, within 7 days and before any change of the member, or by another method that the workspace allows. The link is mailed if the operator has set up mail; otherwise, and if the mail cannot be sent, the response has it. You can give only scopes that you have. Only owners, and keys that the operator made with the scope `*`, invite owners.",
  ...needsScope("members:write", bindToApiKey),
  request: { body: jsonBody(memberCreateSchema) },
  responses: { 201: jsonResponse(invitedMemberSchema, "The invited member."), ...errorResponses(403, 409, 422) },
});

memberRoutes.openapi(inviteMemberRoute, async (c) => {
  const { email, role, scopes = [], name = nameFromEmail(email), mail } = c.req.valid("json");
  requireManageable(c, { role, scopes });
  const { limits } = c.get("caller").workspace;
  const invited = await inviteMember(operationOf(c), { email, name, role, scopes }, limits.members);
  if (invited.outcome === "exists") throw new ApiError("conflict", "Somebody with this email address is a member already.");
  if (invited.outcome === "done") return c.json(await withInvitation(c, invited.member, mail), 201);
  const advice = "Remove one, or have the operator raise limits.members.";
  throw new ApiError("plan_required", `The workspace has as many members as its plan includes. ${advice}`);
});

const renewInvitationRoute = createRoute({
  operationId: "renewInvitation",
  method: "post",
  path: "/members/{member_id}/invitation",
  summary: "Make another link for an invited member",
  description:
    "The link is mailed as that of an invitation. A link that was made before works until it expires, the member is changed or signs in.",
  ...needsScope("members:write", bindToApiKey),
  request: { params, body: optionalJsonBody(invitationRenewSchema) },
  responses: { 201: jsonResponse(invitedMemberSchema, "The member with the new link."), ...errorResponses(403, 404, 409, 422) },
});

memberRoutes.openapi(renewInvitationRoute, async (c) => {
  const member = await openMember(c, c.req.valid("param").member_id);
  requireManageable(c, member);
  if (member.status !== "invited") throw new ApiError("conflict", "The member has signed in already, and needs no invitation.");
  return c.json(await withInvitation(c, member, c.req.valid("json").mail), 201);
});

const updateMemberRoute = createRoute({
  operationId: "updateMember",
  method: "patch",
  path: "/members/{member_id}",
  summary: "Change a member",
  description:
    "The change is in effect from the next request on. Members need no scope for their own name and availability, and `members:write` for others. The last owner stays one.",
  ...needsOwnOrRead(),
  request: { params, body: jsonBody(memberUpdateSchema) },
  responses: { 200: jsonResponse(memberSchema, "The changed member."), ...errorResponses(403, 404, 409, 422) },
});

memberRoutes.openapi(updateMemberRoute, async (c) => {
  const { role, scopes, ...own } = c.req.valid("json");
  const member = await openMember(c, c.req.valid("param").member_id);
  const granted = role ? { role, scopes: scopes ?? [] } : scopes && { scopes };
  if (!isCaller(c, member.id) || granted) requireManageable(c, member);
  if (scopes && !role && member.role !== "custom") {
    throw new ApiError("conflict", "Only a member with the role custom has scopes. Send the role as well.");
  }
  if (granted) requireManageable(c, { role: member.role, ...granted });
  const changes = { ...own, ...granted } as MemberChanges;
  return c.json(toMember(requireDone(await changeMember(operationOf(c), member, changes))), 200);
});

const removeMemberRoute = createRoute({
  operationId: "removeMember",
  method: "delete",
  path: "/members/{member_id}",
  summary: "Remove a member",
  description:
    "All sessions end at once, and the open conversations of the member are assigned to nobody. The name stays at what the member wrote. The last owner cannot be removed.",
  ...needsScope("members:write"),
  request: { params },
  responses: { 204: emptyResponse("Removed."), ...errorResponses(403, 404, 409, 422) },
});

memberRoutes.openapi(removeMemberRoute, async (c) => {
  const member = await openMember(c, c.req.valid("param").member_id);
  requireManageable(c, member);
  requireDone(await removeMember(operationOf(c), member));
  return c.body(null, 204);
});

const listSessionsRoute = createRoute({
  operationId: "listMemberSessions",
  method: "get",
  path: "/members/{member_id}/sessions",
  summary: "List where a member is signed in",
  description: "Members need no scope for their own sessions, and `members:write` for those of others.",
  ...needsOwnOrRead(),
  request: { params },
  responses: { 200: jsonResponse(sessionPageSchema, "All sessions, newest first."), ...errorResponses(403, 404, 422) },
});

memberRoutes.openapi(listSessionsRoute, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const member = await openOwnOrManaged(c, c.req.valid("param").member_id);
  const [rows] = await db.batch([listSessions(db, workspaceId, member.id, nowMs)]);
  return c.json(wholePage(rows.map((row) => toSession(row, c.get("caller").key.id))), 200);
});

const endSessionRoute = createRoute({
  operationId: "endMemberSession",
  method: "delete",
  path: "/members/{member_id}/sessions/{session_id}",
  summary: "End a session of a member",
  description:
    "The session is refused from the next request on. Members need no scope for their own sessions, and `members:write` for those of others.",
  ...needsOwnOrRead(),
  request: { params: params.extend({ session_id: uuid() }) },
  responses: { 204: emptyResponse("Ended."), ...errorResponses(403, 404, 422) },
});

memberRoutes.openapi(endSessionRoute, async (c) => {
  const { member_id: memberId, session_id: sessionId } = c.req.valid("param");
  const member = await openOwnOrManaged(c, memberId);
  if (!(await endSession(operationOf(c), member.id, sessionId))) throw notFound("session");
  return c.body(null, 204);
});

/** Returns the changed member. @throws ApiError conflict. */
function requireDone(change: Awaited<ReturnType<typeof changeMember>>): MemberRow {
  if (change.outcome === "done") return change.member;
  if (change.outcome === "is_last_owner") throw new ApiError("conflict", "This is the last owner. Make somebody else an owner first.");
  throw new ApiError("conflict", "The member was changed at the same time. Try again.");
}

/** Makes a link for a member. The record has it, unless it was mailed. */
async function withInvitation(c: AppContext, member: MemberRow, isMailed: boolean) {
  const expiresAtMs = Date.now() + INVITATION_MS;
  const token = await createLink(c.env, { workspaceId: member.workspaceId, memberId: member.id, updatedAt: member.updatedAt }, expiresAtMs);
  const url = linkUrl(c.req.url, token);
  const isSent = isMailed && (await mailInvitation(c.env, member, { workspace: c.get("caller").workspace.name, url }));
  return toInvited(member, isSent ? null : url, expiresAtMs);
}
