import { createRoute, z } from "@hono/zod-openapi";
import { findAgent, findAgentsCount, listAgents } from "../agents/store.ts";
import { type AgentRow, toAgent } from "../agents/wire.ts";
import { timeOf } from "../platform/db/ids.ts";
import { jsonBody, optionalJsonBody } from "../platform/http/body.ts";
import type { AppContext } from "../platform/http/context.ts";
import { notFound } from "../platform/http/errors.ts";
import { agentRef, toTimestampOrNull } from "../platform/http/fields.ts";
import { bindToApiKey } from "../platform/http/idempotency.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { actorOf, needsScope, operationOf } from "../workspaces/checks.ts";
import { addAgent, changeAgent, removeAgent, rotateIdentitySecret } from "./agents.ts";
import { requireChanged, requireUsableTools } from "./refusals.ts";
import {
  agentCreateSchema,
  agentPageSchema,
  agentSettingsSchema,
  agentUpdateSchema,
  identityRotateSchema,
  identitySecretSchema,
  readableAgentSchema,
  toAgentSettings,
} from "./wire.ts";

export const agentRoutes = createRouter("Agents");

const params = z.object({ agent_id: agentRef() });

const listAgentsRoute = createRoute({
  operationId: "listAgents",
  method: "get",
  path: "/agents",
  summary: "List the workspace's agents",
  description: "A key that also has the scope `agents:write` sees all settings.",
  ...needsScope("agents:read"),
  request: { query: pageQuery },
  responses: { 200: jsonResponse(agentPageSchema, "A page of agents, oldest first."), ...errorResponses(403, 422) },
});

agentRoutes.openapi(listAgentsRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const page = c.req.valid("query");
  const [rows, [total]] = await db.batch([listAgents(db, workspaceId, page), findAgentsCount(db, workspaceId)]);
  return c.json(toPage(rows.map(readableFor(c)), total?.count ?? 0, page), 200);
});

const getAgentRoute = createRoute({
  operationId: "getAgent",
  method: "get",
  path: "/agents/{agent_id}",
  summary: "Get an agent",
  description: "A key that also has the scope `agents:write` sees all settings.",
  ...needsScope("agents:read"),
  request: { params },
  responses: { 200: jsonResponse(readableAgentSchema, "The agent."), ...errorResponses(403, 404, 422) },
});

agentRoutes.openapi(getAgentRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [[agent]] = await db.batch([findAgent(db, workspaceId, c.req.valid("param").agent_id)]);
  if (!agent) throw notFound("agent");
  return c.json(readableFor(c)(agent), 200);
});

/** What the caller's key may see of an agent. */
function readableFor(c: AppContext): (agent: AgentRow) => ReturnType<typeof toAgent> {
  return c.get("caller").key.scopes.includes("agents:write") ? toAgentSettings : toAgent;
}

const createAgentRoute = createRoute({
  operationId: "createAgent",
  method: "post",
  path: "/agents",
  summary: "Add an agent",
  ...needsScope("agents:write"),
  request: { body: jsonBody(agentCreateSchema) },
  responses: { 201: jsonResponse(agentSettingsSchema, "The new agent."), ...errorResponses(403, 409, 422) },
});

agentRoutes.openapi(createAgentRoute, async (c) => {
  await requireUsableTools(c.env, c.req.valid("json").tools);
  const { limits } = c.get("caller").workspace;
  const change = await addAgent(operationOf(c), limits, c.req.valid("json"), actorOf(c).id);
  return c.json(toAgentSettings(requireChanged(change).agent), 201);
});

const updateAgentRoute = createRoute({
  operationId: "updateAgent",
  method: "patch",
  path: "/agents/{agent_id}",
  summary: "Change an agent's settings",
  description:
    "The change is in effect at once. If it changes settings that have versions, it publishes a version, and ends a rollout of another one.",
  ...needsScope("agents:write"),
  request: { params, body: jsonBody(agentUpdateSchema) },
  responses: { 200: jsonResponse(agentSettingsSchema, "The changed agent."), ...errorResponses(403, 404, 409, 422) },
});

agentRoutes.openapi(updateAgentRoute, async (c) => {
  await requireUsableTools(c.env, c.req.valid("json").tools);
  const change = await changeAgent(operationOf(c), c.req.valid("param").agent_id, c.req.valid("json"), actorOf(c).id);
  return c.json(toAgentSettings(requireChanged(change).agent), 200);
});

const deleteAgentRoute = createRoute({
  operationId: "deleteAgent",
  method: "delete",
  path: "/agents/{agent_id}",
  summary: "Delete an agent and its knowledge",
  description: "Its conversations and leads stay with the workspace.",
  ...needsScope("agents:write"),
  request: { params },
  responses: { 204: emptyResponse("Deleted."), ...errorResponses(403, 404, 422) },
});

agentRoutes.openapi(deleteAgentRoute, async (c) => {
  if (!(await removeAgent(operationOf(c), c.req.valid("param").agent_id))) throw notFound("agent");
  return c.body(null, 204);
});

const rotateRoute = createRoute({
  operationId: "rotateIdentitySecret",
  method: "post",
  path: "/agents/{agent_id}/rotate-identity-secret",
  summary: "Replace the secret that verifies an agent's visitors",
  description: "The previous secret stays valid for a day, or ends at once with `revoke`.",
  ...needsScope("agents:write", bindToApiKey),
  request: { params, body: optionalJsonBody(identityRotateSchema) },
  responses: { 200: jsonResponse(identitySecretSchema, "The new secret; it is shown only here."), ...errorResponses(403, 404, 422) },
});

agentRoutes.openapi(rotateRoute, async (c) => {
  const op = operationOf(c);
  const firstMs = c.req.header("Idempotency-Key") === undefined ? undefined : timeOf(op.newId());
  const rotated = await rotateIdentitySecret(op, c.req.valid("param").agent_id, c.req.valid("json").revoke, firstMs);
  if (!rotated) throw notFound("agent");
  return c.json({ secret: rotated.secret, previous_valid_until: toTimestampOrNull(rotated.previousValidUntilMs) }, 200);
});
