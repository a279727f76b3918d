import { createRoute, z } from "@hono/zod-openapi";
import { findAgent } from "../agents/store.ts";
import { toolShapes } from "../agents/tools.ts";
import { findAnsweringVersion } from "../agents/version-store.ts";
import { withVersion } from "../agents/versions.ts";
import { decideApproval, type Decision, findApproval, pageApprovals } from "../conversations/approval-store.ts";
import {
  approvalPageSchema,
  approvalQuery,
  type ApprovalRow,
  approvalSchema,
  approveInSchema,
  declineInSchema,
  toApproval,
} from "../conversations/approval-wire.ts";
import type { Member } from "../conversations/store.ts";
import { announce } from "../events/live-channel.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import { inputProblem } from "../grounded/tool-input.ts";
import { jsonBody } from "../platform/http/body.ts";
import { transact } from "../platform/db/sql.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, invalid, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { authorOf, needsScope, operationOf } from "../workspaces/checks.ts";
import { sessionOf } from "./session.ts";

/** The operations with which the team decides about tool calls. */
export const approvalRoutes = createRouter("Conversations");

const params = z.object({ approval_id: uuid() });

const listApprovals = createRoute({
  operationId: "listApprovals",
  method: "get",
  path: "/approvals",
  summary: "List tool calls that need an approval",
  description:
    "A tool with `requires_approval` is called only after a member of your team has approved the call. The visitor is told that a colleague is asked, and gets the answer after the decision. The `total` counts up to 1,000 calls.",
  ...needsScope("conversations:read"),
  request: { query: approvalQuery },
  responses: { 200: jsonResponse(approvalPageSchema, "A page of calls, newest first."), ...errorResponses(403, 422) },
});

approvalRoutes.openapi(listApprovals, async (c) => {
  const { status, conversation_id: conversationId, ...page } = c.req.valid("query");
  const { db, workspaceId } = operationOf(c);
  const [rows, [counted]] = await db.batch(pageApprovals(db, workspaceId, { status, conversationId }, page));
  const positionOf = ({ requestedAt: atMs, id }: ApprovalRow) => ({ atMs, id });
  return c.json(toCursorPage(rows, counted!.total, page, positionOf, toApproval), 200);
});

const approveRoute = createRoute({
  operationId: "approveToolCall",
  method: "post",
  path: "/approvals/{approval_id}/approve",
  summary: "Approve a tool call",
  description: "The call is made once, and the agent answers the visitor with its result. Approving it again changes nothing.",
  ...needsScope("conversations:write"),
  request: { params, body: jsonBody(approveInSchema) },
  responses: { 200: jsonResponse(approvalSchema, "The call."), ...errorResponses(403, 404, 409, 422) },
});

approvalRoutes.openapi(approveRoute, async (c) => {
  const { author, arguments: changed = null } = c.req.valid("json");
  const decided = await decide(c, c.req.valid("param").approval_id, { status: "approved", arguments: changed, reason: null, author });
  return c.json(toApproval(decided), 200);
});

const declineRoute = createRoute({
  operationId: "declineToolCall",
  method: "post",
  path: "/approvals/{approval_id}/decline",
  summary: "Decline a tool call",
  description: "Nothing is called. The agent reads the reason, and answers the visitor.",
  ...needsScope("conversations:write"),
  request: { params, body: jsonBody(declineInSchema) },
  responses: { 200: jsonResponse(approvalSchema, "The call."), ...errorResponses(403, 404, 409, 422) },
});

approvalRoutes.openapi(declineRoute, async (c) => {
  const { author, reason } = c.req.valid("json");
  const decided = await decide(c, c.req.valid("param").approval_id, { status: "declined", arguments: null, reason, author });
  return c.json(toApproval(decided), 200);
});

type Given = Pick<Decision, "status" | "arguments" | "reason"> & { author?: Member | null | undefined };

/**
 * Decides about a call: the session keeps the decision and goes on with the turn, and D1 records it.
 * @throws ApiError `not_found`; `conflict` if it was decided otherwise; `validation_error` if the arguments do not fit the tool.
 */
async function decide(c: AppContext, approvalId: string, { author, ...given }: Given): Promise<ApprovalRow> {
  const op = operationOf(c);
  const { env, db, workspaceId, nowMs } = op;
  const [[approval]] = await db.batch([findApproval(db, workspaceId, approvalId)]);
  if (!approval) throw notFound("tool call that needs an approval");
  if (given.arguments) await requireFitting(c, approval, given.arguments);
  const { conversationId, messageId } = approval;
  const by = authorOf(c, author) ?? { id: null, name: c.get("caller").key.name };
  const decision = await sessionOf(op, conversationId).decide(messageId, approvalId, { ...given, by, atMs: nowMs });
  const key = { workspaceId, conversationId };
  // A session may lack the call, as after a restore of the database, so that nothing else records that it has expired.
  const expired = { status: "expired", arguments: null, reason: null, by: null, atMs: nowMs } as const;
  const recorded = decision ?? (approval.expiresAt < nowMs ? expired : undefined);
  const { written, after } = await transact(db, {
    writes: recorded ? decideApproval(db, key, approvalId, recorded) : [],
    after: [findApproval(db, workspaceId, approvalId)],
  });
  await wakeDeliveries(env, written);
  announce(env, workspaceId, { kind: "conversation", id: conversationId });
  const [[decided]] = after;
  if (!decided) throw notFound("tool call that needs an approval");
  if (decided.status !== given.status) throw otherwise(decided);
  return decided;
}

function otherwise({ status }: ApprovalRow): ApiError {
  const message =
    status === "pending"
      ? "The call no longer waits for a decision, because its conversation was erased or has ended."
      : `The call is already ${status}. A decision cannot be changed.`;
  return new ApiError("conflict", message);
}

/** Requires that changed arguments fit the tool of the version that goes on with the answer. @throws ApiError validation_error. */
async function requireFitting(c: AppContext, approval: ApprovalRow, input: Record<string, unknown>): Promise<void> {
  const { db, workspaceId } = operationOf(c);
  const { agentId, conversationId, messageId } = approval;
  const [[agent], [answering]] = await db.batch([
    findAgent(db, workspaceId, agentId),
    findAnsweringVersion(db, { workspaceId, agentId }, conversationId, messageId),
  ]);
  const shapes = agent ? toolShapes(withVersion(agent, answering?.version ?? null)) : [];
  const tool = shapes.find(({ name }) => name === approval.tool);
  const problem = tool ? await inputProblem(tool, input) : "The agent no longer has the tool.";
  if (problem === undefined) return;
  throw invalid([{ loc: ["body", "arguments"], msg: problem, type: "value_error", input }]);
}
