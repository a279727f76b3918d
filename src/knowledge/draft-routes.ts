import { createRoute, z } from "@hono/zod-openapi";
import { optionalJsonBody } from "../platform/http/body.ts";
import { notFound } from "../platform/http/errors.ts";
import { agentRef, uuid } from "../platform/http/fields.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope } from "../workspaces/checks.ts";
import { acceptDraft, dismissDraft, listOpenDrafts } from "./drafts.ts";
import { addedAnswer, knowledgeOperationOf } from "./checks.ts";
import { withoutSalutation } from "./merge-drafts.ts";
import { answerSchema, draftAcceptSchema, draftPageSchema, toAnswer, toDraft } from "./wire.ts";

export const draftRoutes = createRouter("Knowledge");

const params = z.object({ agent_id: agentRef() });
const draftParams = params.extend({ draft_id: uuid() });

const listDraftsRoute = createRoute({
  operationId: "listDrafts",
  method: "get",
  path: "/agents/{agent_id}/drafts",
  summary: "List drafts of curated answers",
  description:
    "When a human replies to a question that the agent could not answer, question and reply become a draft. Equivalent drafts are merged. The agent uses a draft only after it is accepted.",
  ...needsScope("knowledge:read"),
  request: { params, query: pageQuery },
  responses: { 200: jsonResponse(draftPageSchema, "A page of the open drafts, latest first."), ...errorResponses(403, 404, 422) },
});

draftRoutes.openapi(listDraftsRoute, async (c) => {
  const { limit, offset } = c.req.valid("query");
  const drafts = await listOpenDrafts(knowledgeOperationOf(c, c.req.valid("param").agent_id));
  if (!drafts) throw notFound("agent");
  const page = drafts.slice(offset, offset + limit).map((draft) => toDraft(draft, withoutSalutation(draft[0].answer)));
  return c.json(toPage(page, drafts.length, { limit, offset }), 200);
});

const dismissDraftRoute = createRoute({
  operationId: "dismissDraft",
  method: "post",
  path: "/agents/{agent_id}/drafts/{draft_id}/dismiss",
  summary: "Dismiss a draft",
  description: "Later drafts with the same question are dismissed too.",
  ...needsScope("knowledge:write"),
  request: { params: draftParams },
  responses: { 204: emptyResponse("Dismissed."), ...errorResponses(403, 404, 422) },
});

draftRoutes.openapi(dismissDraftRoute, async (c) => {
  const { agent_id: agentId, draft_id: draftId } = c.req.valid("param");
  if (!(await dismissDraft(knowledgeOperationOf(c, agentId), draftId))) throw notFound("draft");
  return c.body(null, 204);
});

const acceptDraftRoute = createRoute({
  operationId: "acceptDraft",
  method: "post",
  path: "/agents/{agent_id}/drafts/{draft_id}/accept",
  summary: "Accept a draft as a curated answer",
  description: "The agent uses the answer from then on. If the draft was accepted before, its answer is returned unchanged.",
  ...needsScope("knowledge:write"),
  request: { params: draftParams, body: optionalJsonBody(draftAcceptSchema) },
  responses: { 200: jsonResponse(answerSchema, "The curated answer."), ...errorResponses(403, 404, 422) },
});

draftRoutes.openapi(acceptDraftRoute, async (c) => {
  const { agent_id: agentId, draft_id: draftId } = c.req.valid("param");
  const op = knowledgeOperationOf(c, agentId);
  const change = await acceptDraft(op, c.get("caller").workspace.limits, draftId, c.req.valid("json"));
  if (!change) throw notFound("draft");
  return c.json(toAnswer(addedAnswer(c, op, change)), 200);
});
