import { createRoute, z } from "@hono/zod-openapi";
import { notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { callerDb, needsScope } from "../workspaces/middleware.ts";
import { findAgent, findAgentsCount, listAgents } from "./store.ts";
import { agentPageSchema, agentSchema, toAgent } from "./wire.ts";

export const agentRoutes = createRouter("Agents");

const listAgentsRoute = createRoute({
  operationId: "listAgents",
  method: "get",
  path: "/agents",
  summary: "List the workspace's agents",
  ...needsScope("agents:read"),
  request: { query: pageQuery },
  responses: { 200: jsonResponse(agentPageSchema, "A page of agents, oldest first."), ...errorResponses(403, 422) },
});

agentRoutes.openapi(listAgentsRoute, async (c) => {
  const { workspace } = c.get("caller");
  const page = c.req.valid("query");
  const db = callerDb(c);
  const [rows, [total]] = await db.batch([listAgents(db, workspace.id, page), findAgentsCount(db, workspace.id)]);
  return c.json(toPage(rows.map(toAgent), total?.count ?? 0, page), 200);
});

const getAgentRoute = createRoute({
  operationId: "getAgent",
  method: "get",
  path: "/agents/{agent_id}",
  summary: "One agent",
  ...needsScope("agents:read"),
  request: { params: z.object({ agent_id: uuid() }) },
  responses: { 200: jsonResponse(agentSchema, "The agent."), ...errorResponses(403, 404, 422) },
});

agentRoutes.openapi(getAgentRoute, async (c) => {
  const { workspace } = c.get("caller");
  const db = callerDb(c);
  const [[agent]] = await db.batch([findAgent(db, workspace.id, c.req.valid("param").agent_id)]);
  if (!agent) throw notFound("agent");
  return c.json(toAgent(agent), 200);
});
