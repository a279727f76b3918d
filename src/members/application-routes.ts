import { createRoute, z } from "@hono/zod-openapi";
import { disconnect } from "../applications/disconnect.ts";
import { findApplication, listApplications } from "../applications/store.ts";
import { notFound } from "../platform/http/errors.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf, wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { operationOf } from "../workspaces/checks.ts";
import { SCOPES } from "../workspaces/scopes.ts";
import { needsOwnOrRead, openOwnOrManaged } from "./checks.ts";

export const applicationRoutes = createRouter("Members");

const applicationSchema = z
  .object({
    id: uuid(),
    name: z.string().meta({ description: "The name that the application gives itself.", example: "Claude" }),
    host: z.string().meta({ description: "The host that receives the access.", example: "claude.ai" }),
    scopes: z
      .array(z.enum(SCOPES))
      .meta({ description: "What the member allowed. It has effect as far as the member's role has these scopes." }),
    created_at: timestamp(),
    expires_at: timestamp().meta({ description: "When it is disconnected, unless the application is used before." }),
  })
  .openapi("ConnectedApplication");

const params = z.object({ member_id: uuid() });

const listRoute = createRoute({
  operationId: "listMemberApplications",
  method: "get",
  path: "/members/{member_id}/applications",
  summary: "List the applications that a member has connected",
  description:
    "Applications such as Claude and ChatGPT use `/mcp` for the member. Members need no scope for their own, and `members:write` for those of others.",
  ...needsOwnOrRead(),
  request: { params },
  responses: {
    200: jsonResponse(pageOf(applicationSchema, "ConnectedApplicationPage"), "All applications, newest first."),
    ...errorResponses(403, 404, 422),
  },
});

applicationRoutes.openapi(listRoute, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const member = await openOwnOrManaged(c, c.req.valid("param").member_id);
  const [rows] = await db.batch([listApplications(db, workspaceId, member.id, nowMs)]);
  return c.json(
    wholePage(rows.map((row) => toRecord(applicationSchema, row, { scopes: SCOPES.filter((scope) => row.scopes.includes(scope)) }))),
    200,
  );
});

const disconnectRoute = createRoute({
  operationId: "disconnectMemberApplication",
  method: "delete",
  path: "/members/{member_id}/applications/{application_id}",
  summary: "Disconnect an application of a member",
  description:
    "Its access is refused from the next request on. Members need no scope for their own applications, and `members:write` for those of others.",
  ...needsOwnOrRead(),
  request: { params: params.extend({ application_id: uuid() }) },
  responses: { 204: emptyResponse("Disconnected."), ...errorResponses(403, 404, 422) },
});

applicationRoutes.openapi(disconnectRoute, async (c) => {
  const { member_id: memberId, application_id: id } = c.req.valid("param");
  const op = operationOf(c);
  const member = await openOwnOrManaged(c, memberId);
  const [[application]] = await op.db.batch([findApplication(op.db, { workspaceId: op.workspaceId, memberId: member.id, id })]);
  if (!application || !(await disconnect(op, application))) throw notFound("application");
  return c.body(null, 204);
});
