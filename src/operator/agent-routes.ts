import { createRoute, z } from "@hono/zod-openapi";
import type { GivenTool, MissingHeader } from "../agents/secrets.ts";
import { findAgent, findAgentsCount, listAgents } from "../agents/store.ts";
import { sampleUrl } from "../agents/tool-url.ts";
import { toolUrlRefusal } from "../agents/tool-wire.ts";
import { checkTarget, LOOKUP_RETRY_SECONDS } from "../platform/egress/target.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { jsonBody, optionalJsonBody } from "../platform/http/body.ts";
import { ApiError, invalid, notFound, unavailable, type ValidationItem } from "../platform/http/errors.ts";
import { toTimestampOrNull, uuid } from "../platform/http/fields.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { addAgent, type AgentChange, changeAgent, removeAgent, rotateIdentitySecret } from "./agents.ts";
import { openWorkspace, operatorOperation } from "./auth.ts";
import {
  agentCreateSchema,
  agentUpdateSchema,
  identityRotateSchema,
  identitySecretSchema,
  operatorAgentPageSchema,
  operatorAgentSchema,
  toOperatorAgent,
} from "./wire.ts";

export const agentRoutes = createRouter();

const params = z.object({ workspace_id: uuid() });
const agentParams = params.extend({ agent_id: uuid() });

const create = createRoute({
  operationId: "createAgent",
  method: "post",
  path: "/workspaces/{workspace_id}/agents",
  request: { params, body: jsonBody(agentCreateSchema) },
  responses: { 201: jsonResponse(operatorAgentSchema, "The new agent."), ...errorResponses(403, 404, 409, 422) },
});

agentRoutes.openapi(create, async (c) => {
  const { workspace } = await openWorkspace(c, c.req.valid("param").workspace_id);
  await requireToolTargets(c.env, c.req.valid("json").tools);
  const op = operatorOperation(c, create, workspace.id);
  const change = await addAgent(op, limitsOf(workspace.plan, workspace.limits), c.req.valid("json"));
  return c.json(toOperatorAgent(requireChanged(change)), 201);
});

const list = createRoute({
  operationId: "listWorkspaceAgents",
  method: "get",
  path: "/workspaces/{workspace_id}/agents",
  request: { params, query: pageQuery },
  responses: { 200: jsonResponse(operatorAgentPageSchema, "A page of agents, oldest first."), ...errorResponses(404, 422) },
});

agentRoutes.openapi(list, async (c) => {
  const { workspace_id: workspaceId } = c.req.valid("param");
  const page = c.req.valid("query");
  const { db } = await openWorkspace(c, workspaceId);
  const [[total], rows] = await db.batch([findAgentsCount(db, workspaceId), listAgents(db, workspaceId, page)]);
  return c.json(toPage(rows.map(toOperatorAgent), total?.count ?? 0, page), 200);
});

const get = createRoute({
  operationId: "getWorkspaceAgent",
  method: "get",
  path: "/workspaces/{workspace_id}/agents/{agent_id}",
  request: { params: agentParams },
  responses: { 200: jsonResponse(operatorAgentSchema, "The agent."), ...errorResponses(404, 422) },
});

agentRoutes.openapi(get, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { db } = await openWorkspace(c, workspaceId);
  const [[agent]] = await db.batch([findAgent(db, workspaceId, agentId)]);
  if (!agent) throw notFound("agent");
  return c.json(toOperatorAgent(agent), 200);
});

const update = createRoute({
  operationId: "updateAgent",
  method: "patch",
  path: "/workspaces/{workspace_id}/agents/{agent_id}",
  request: { params: agentParams, body: jsonBody(agentUpdateSchema) },
  responses: { 200: jsonResponse(operatorAgentSchema, "The changed agent."), ...errorResponses(404, 409, 422) },
});

agentRoutes.openapi(update, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { workspace } = await openWorkspace(c, workspaceId);
  await requireToolTargets(c.env, c.req.valid("json").tools);
  const change = await changeAgent(operatorOperation(c, update, workspace.id), agentId, c.req.valid("json"));
  return c.json(toOperatorAgent(requireChanged(change)), 200);
});

const remove = createRoute({
  operationId: "deleteAgent",
  method: "delete",
  path: "/workspaces/{workspace_id}/agents/{agent_id}",
  request: { params: agentParams },
  responses: { 204: emptyResponse("Deleted, with its knowledge."), ...errorResponses(404, 422) },
});

agentRoutes.openapi(remove, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { workspace } = await openWorkspace(c, workspaceId);
  if (!(await removeAgent(operatorOperation(c, remove, workspace.id), agentId))) throw notFound("agent");
  return c.body(null, 204);
});

const rotate = createRoute({
  operationId: "rotateIdentitySecret",
  method: "post",
  path: "/workspaces/{workspace_id}/agents/{agent_id}/rotate-identity-secret",
  request: { params: agentParams, body: optionalJsonBody(identityRotateSchema) },
  responses: { 200: jsonResponse(identitySecretSchema, "The new secret; it is shown only here."), ...errorResponses(404, 422) },
});

agentRoutes.openapi(rotate, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { workspace } = await openWorkspace(c, workspaceId);
  const rotated = await rotateIdentitySecret(operatorOperation(c, rotate, workspace.id), agentId, c.req.valid("json").revoke);
  if (!rotated) throw notFound("agent");
  return c.json({ secret: rotated.secret, previous_valid_until: toTimestampOrNull(rotated.previousValidUntilMs) }, 200);
});

/** @throws ApiError if the agent was not changed. */
function requireChanged(change: AgentChange) {
  switch (change.outcome) {
    case "done":
      return change.agent;
    case "not_found":
      throw notFound("agent");
    case "slug_taken":
      throw new ApiError("conflict", "Another agent of the workspace has this slug. Choose another one.");
    case "address_taken":
      throw new ApiError("conflict", "Another agent has this email_address. Choose another one.");
    case "header_missing":
      throw missingHeader(change.missing);
    case "too_many":
      throw new ApiError("plan_required", "The workspace has as many agents as its plan includes. Raise the plan or its limits.agents.");
  }
}

/**
 * Checks that the host of every tool's URL resolves to a public address. The schema has checked the URLs themselves.
 * @throws ApiError 422, or 503 if a host cannot be looked up.
 */
async function requireToolTargets(env: Env, tools: readonly GivenTool[] = []): Promise<void> {
  const checked = await Promise.all(tools.map(({ url }) => checkTarget(env, sampleUrl(url), WEBHOOK_POLICY)));
  if (checked.some(({ verdict }) => verdict === "unavailable")) {
    throw unavailable("The host of a tool's url could not be looked up. Try again.", LOOKUP_RETRY_SECONDS);
  }
  const refused = checked.flatMap((one, at) => ("reason" in one ? [valueError(["tools", at, "url"], toolUrlRefusal(one.reason))] : []));
  if (refused.length > 0) throw invalid(refused);
}

/** 422: a header comes without a value, and none is stored. */
function missingHeader({ toolIndex, header }: MissingHeader): ApiError<"validation_error"> {
  const error = "no value is stored for this header of this tool at this host: send one";
  return invalid([valueError(["tools", toolIndex, "headers", header], error)]);
}

function valueError(path: (string | number)[], error: string): ValidationItem {
  return { loc: ["body", ...path], msg: `Value error, ${error}`, type: "value_error", ctx: { error } };
}
