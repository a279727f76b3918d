import { createRoute, z } from "@hono/zod-openapi";
import { addAgent, changeAgent, removeAgent, rotateIdentitySecret } from "../administration/agents.ts";
import { requireChanged, requireUsableTools } from "../administration/refusals.ts";
import {
  agentCreateSchema,
  agentSettingsPageSchema,
  agentSettingsSchema,
  agentUpdateSchema,
  identityRotateSchema,
  identitySecretSchema,
  toAgentSettings,
} from "../administration/wire.ts";
import { findAgent, findAgentsCount, listAgents } from "../agents/store.ts";
import { OPERATOR } from "../agents/versions.ts";
import { jsonBody, optionalJsonBody } from "../platform/http/body.ts";
import { notFound } from "../platform/http/errors.ts";
import { toTimestampOrNull, uuid } from "../platform/http/fields.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { openWorkspace } from "./auth.ts";

export const operatorAgentRoutes = createStrictRouter("Agents");

const params = z.object({ workspace_id: uuid() });
const agentParams = params.extend({ agent_id: uuid() });

const create = createRoute({
  operationId: "createAgent",
  method: "post",
  path: "/workspaces/{workspace_id}/agents",
  summary: "Add an agent to a workspace",
  request: { params, body: jsonBody(agentCreateSchema) },
  responses: { 201: jsonResponse(agentSettingsSchema, "The new agent."), ...errorResponses(403, 404, 409, 422) },
});

operatorAgentRoutes.openapi(create, async (c) => {
  const { workspace, op } = await openWorkspace(c, create, c.req.valid("param").workspace_id);
  await requireUsableTools(c.env, c.req.valid("json").tools);
  const change = await addAgent(op, limitsOf(workspace.plan, workspace.limits), c.req.valid("json"), OPERATOR);
  return c.json(toAgentSettings(requireChanged(change).agent), 201);
});

const list = createRoute({
  operationId: "listWorkspaceAgents",
  method: "get",
  path: "/workspaces/{workspace_id}/agents",
  summary: "List a workspace's agents",
  request: { params, query: pageQuery },
  responses: { 200: jsonResponse(agentSettingsPageSchema, "A page of agents, oldest first."), ...errorResponses(404, 422) },
});

operatorAgentRoutes.openapi(list, async (c) => {
  const { workspace_id: workspaceId } = c.req.valid("param");
  const page = c.req.valid("query");
  const { db } = (await openWorkspace(c, list, workspaceId)).op;
  const [[total], rows] = await db.batch([findAgentsCount(db, workspaceId), listAgents(db, workspaceId, page)]);
  return c.json(toPage(rows.map(toAgentSettings), total?.count ?? 0, page), 200);
});

const get = createRoute({
  operationId: "getWorkspaceAgent",
  method: "get",
  path: "/workspaces/{workspace_id}/agents/{agent_id}",
  summary: "Get an agent with all its settings",
  request: { params: agentParams },
  responses: { 200: jsonResponse(agentSettingsSchema, "The agent."), ...errorResponses(404, 422) },
});

operatorAgentRoutes.openapi(get, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { db } = (await openWorkspace(c, get, workspaceId)).op;
  const [[agent]] = await db.batch([findAgent(db, workspaceId, agentId)]);
  if (!agent) throw notFound("agent");
  return c.json(toAgentSettings(agent), 200);
});

const update = createRoute({
  operationId: "updateAgent",
  method: "patch",
  path: "/workspaces/{workspace_id}/agents/{agent_id}",
  summary: "Change an agent's settings",
  request: { params: agentParams, body: jsonBody(agentUpdateSchema) },
  responses: { 200: jsonResponse(agentSettingsSchema, "The changed agent."), ...errorResponses(404, 409, 422) },
});

operatorAgentRoutes.openapi(update, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { op } = await openWorkspace(c, update, workspaceId);
  await requireUsableTools(c.env, c.req.valid("json").tools);
  const change = await changeAgent(op, agentId, c.req.valid("json"), OPERATOR);
  return c.json(toAgentSettings(requireChanged(change).agent), 200);
});

const remove = createRoute({
  operationId: "deleteAgent",
  method: "delete",
  path: "/workspaces/{workspace_id}/agents/{agent_id}",
  summary: "Delete an agent and its knowledge",
  request: { params: agentParams },
  responses: { 204: emptyResponse("Deleted, with its knowledge."), ...errorResponses(404, 422) },
});

operatorAgentRoutes.openapi(remove, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { op } = await openWorkspace(c, remove, workspaceId);
  if (!(await removeAgent(op, agentId))) throw notFound("agent");
  return c.body(null, 204);
});

const rotate = createRoute({
  operationId: "rotateIdentitySecret",
  method: "post",
  path: "/workspaces/{workspace_id}/agents/{agent_id}/rotate-identity-secret",
  summary: "Replace the secret that verifies an agent's visitors",
  request: { params: agentParams, body: optionalJsonBody(identityRotateSchema) },
  responses: { 200: jsonResponse(identitySecretSchema, "The new secret; it is shown only here."), ...errorResponses(404, 422) },
});

operatorAgentRoutes.openapi(rotate, async (c) => {
  const { workspace_id: workspaceId, agent_id: agentId } = c.req.valid("param");
  const { op } = await openWorkspace(c, rotate, workspaceId);
  const rotated = await rotateIdentitySecret(op, agentId, c.req.valid("json").revoke);
  if (!rotated) throw notFound("agent");
  return c.json({ secret: rotated.secret, previous_valid_until: toTimestampOrNull(rotated.previousValidUntilMs) }, 200);
});
