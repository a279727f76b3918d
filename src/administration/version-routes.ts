import { createRoute, z } from "@hono/zod-openapi";
import { noVersion } from "../agents/checks.ts";
import { findAgent } from "../agents/store.ts";
import { countVersions, eraseDraft, findVersion, listVersions } from "../agents/version-store.ts";
import { DRAFT } from "../agents/versions.ts";
import type { AgentRow } from "../agents/wire.ts";
import type { AppContext } from "../platform/http/context.ts";
import { jsonBody, optionalJsonBody } from "../platform/http/body.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { agentRef } from "../platform/http/fields.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { actorOf, needsScope, operationOf } from "../workspaces/checks.ts";
import { requireChanged, requireUsableTools } from "./refusals.ts";
import {
  draftUpdateSchema,
  publishSchema,
  restoreSchema,
  rolloutSchema,
  toDraft,
  toVersion,
  toVersionWithSettings,
  versionNumber,
  versionPageSchema,
  versionRef,
  versionSchema,
  versionWithSettingsSchema,
} from "./version-wire.ts";
import { changeDraft, changeRollout, type FoundVersion, publishDraft, restoreVersion } from "./versions.ts";

export const versionRoutes = createRouter("Agents");

const params = z.object({ agent_id: agentRef() });

/** The author of a version. */
function authorOf(c: AppContext): string {
  return actorOf(c).id;
}

const listRoute = createRoute({
  operationId: "listAgentVersions",
  method: "get",
  path: "/agents/{agent_id}/versions",
  summary: "List the versions of an agent",
  description:
    "Each change of the settings that shape answers is a version: the language, the instructions, the welcome and hand-off messages, the threshold, the model, the tools and the languages with their texts. The latest 100 versions are kept, or fewer if they are very large, and those of an evaluation.",
  ...needsScope("agents:write"),
  request: { params, query: pageQuery },
  responses: { 200: jsonResponse(versionPageSchema, "A page of versions, newest first."), ...errorResponses(403, 404, 422) },
});

versionRoutes.openapi(listRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId } = c.req.valid("param");
  const page = c.req.valid("query");
  const key = { workspaceId, agentId };
  const [[agent], rows, [counted]] = await db.batch([
    findAgent(db, workspaceId, agentId),
    listVersions(db, key, page),
    countVersions(db, key),
  ]);
  if (!agent) throw notFound("agent");
  const data = rows.map((row) => toVersion(row, agent));
  return c.json(toPage(data, counted?.count ?? 0, page), 200);
});

const getRoute = createRoute({
  operationId: "getAgentVersion",
  method: "get",
  path: "/agents/{agent_id}/versions/{version}",
  summary: "Get a version of an agent, or its draft",
  description: "A draft without changes has the settings of the published version.",
  ...needsScope("agents:write"),
  request: { params: params.extend({ version: versionRef() }) },
  responses: {
    200: jsonResponse(versionWithSettingsSchema, "The version with its settings, and what they change."),
    ...errorResponses(403, 404, 422),
  },
});

versionRoutes.openapi(getRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId, version: number } = c.req.valid("param");
  const [[agent], [version]]: [AgentRow[], FoundVersion["version"][]] = await db.batch([
    findAgent(db, workspaceId, agentId),
    findVersion(db, { workspaceId, agentId }, { number }),
  ]);
  if (!agent) throw notFound("agent");
  if (number === DRAFT) return c.json(toDraft(version, agent), 200);
  if (!version) throw noVersion();
  return c.json(toVersionWithSettings(version, agent), 200);
});

const updateDraftRoute = createRoute({
  operationId: "updateAgentDraft",
  method: "patch",
  path: "/agents/{agent_id}/versions/draft",
  summary: "Change the draft of an agent",
  description:
    "The draft is the published version with the changes that you make here. Visitors do not see it. Ask it with `version: draft`, and publish it when it is good.",
  ...needsScope("agents:write"),
  request: { params, body: jsonBody(draftUpdateSchema) },
  responses: { 200: jsonResponse(versionWithSettingsSchema, "The draft."), ...errorResponses(403, 404, 422) },
});

versionRoutes.openapi(updateDraftRoute, async (c) => {
  const body = c.req.valid("json");
  await requireUsableTools(c.env, body.tools);
  const { version, agent } = requireChanged(await changeDraft(operationOf(c), c.req.valid("param").agent_id, body, authorOf(c)));
  return c.json(toDraft(version, agent), 200);
});

const deleteDraftRoute = createRoute({
  operationId: "deleteAgentDraft",
  method: "delete",
  path: "/agents/{agent_id}/versions/draft",
  summary: "Discard the changes of the draft",
  ...needsScope("agents:write"),
  request: { params },
  responses: { 204: emptyResponse("The draft is the same as the published version."), ...errorResponses(403, 404, 422) },
});

versionRoutes.openapi(deleteDraftRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId } = c.req.valid("param");
  const [[agent]] = await db.batch([findAgent(db, workspaceId, agentId), eraseDraft(db, { workspaceId, agentId })]);
  if (!agent) throw notFound("agent");
  return c.body(null, 204);
});

const publishRoute = createRoute({
  operationId: "publishAgentDraft",
  method: "post",
  path: "/agents/{agent_id}/versions/publish",
  summary: "Publish the draft of an agent",
  description:
    "Makes the draft a version that answers all conversations, or with `rollout` a share of the new ones. Such a conversation keeps its version until the rollout ends. What is published to everybody ends a rollout.",
  ...needsScope("agents:write"),
  request: { params, body: optionalJsonBody(publishSchema) },
  responses: { 200: jsonResponse(versionSchema, "The version."), ...errorResponses(403, 404, 409, 422) },
});

versionRoutes.openapi(publishRoute, async (c) => {
  const { note, rollout: share } = c.req.valid("json");
  const published = await publishDraft(operationOf(c), c.req.valid("param").agent_id, { note, share, author: authorOf(c) });
  if (published.outcome === "not_found") throw notFound("agent");
  if (published.outcome !== "done") throw new ApiError("conflict", "The draft is the same as the published version. Change it first.");
  return c.json(toVersion(published.version, published.agent), 200);
});

const rolloutRoute = createRoute({
  operationId: "changeAgentRollout",
  method: "post",
  path: "/agents/{agent_id}/rollout",
  summary: "Change or end the rollout of a version",
  description: "A new share counts for conversations that start from then on.",
  ...needsScope("agents:write"),
  request: { params, body: jsonBody(rolloutSchema) },
  responses: { 200: jsonResponse(versionSchema, "The version that was rolled out."), ...errorResponses(403, 404, 409, 422) },
});

versionRoutes.openapi(rolloutRoute, async (c) => {
  const { share, end } = c.req.valid("json");
  const change = end === undefined ? { share: share! } : { end };
  const changed = await changeRollout(operationOf(c), c.req.valid("param").agent_id, change);
  if (changed.outcome === "not_found") throw notFound("agent");
  if (changed.outcome !== "done") {
    throw new ApiError("conflict", "No version of the agent is rolled out. Publish its draft with a rollout first.");
  }
  return c.json(toVersion(changed.version, changed.agent), 200);
});

const restoreRoute = createRoute({
  operationId: "restoreAgentVersion",
  method: "post",
  path: "/agents/{agent_id}/versions/{version}/restore",
  summary: "Publish an earlier version of an agent again",
  description: "Its settings become a new version, which answers all conversations. The draft stays.",
  ...needsScope("agents:write"),
  request: { params: params.extend({ version: versionNumber() }), body: optionalJsonBody(restoreSchema) },
  responses: { 200: jsonResponse(versionSchema, "The new version."), ...errorResponses(403, 404, 422) },
});

versionRoutes.openapi(restoreRoute, async (c) => {
  const { agent_id: agentId, version: number } = c.req.valid("param");
  const { note } = c.req.valid("json");
  const restored = await restoreVersion(operationOf(c), agentId, number, { note, author: authorOf(c) });
  if (restored.outcome === "not_found") throw notFound("agent");
  if (restored.outcome !== "done") throw noVersion();
  return c.json(toVersion(restored.version, restored.agent), 200);
});
