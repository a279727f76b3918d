import { createRoute } from "@hono/zod-openapi";
import { bulkResultsSchema, bulkUpdateSchema } from "../conversations/bulk-wire.ts";
import { changeConversations } from "../conversations/bulk.ts";
import { jsonBody } from "../platform/http/body.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { changerOf, needsScope, operationOf } from "../workspaces/checks.ts";
import { notifyVisitor } from "./visitor-sockets.ts";

export const bulkRoutes = createRouter("Conversations");

const updateConversations = createRoute({
  operationId: "updateConversations",
  method: "post",
  path: "/conversations/bulk",
  summary: "Change the status, tags or snooze of several conversations",
  description:
    "Each conversation is changed wholly or not at all, with the same rules and events as by `PATCH`. The response says what happened to each, in the order of the ids.",
  ...needsScope("conversations:write"),
  request: { body: jsonBody(bulkUpdateSchema) },
  responses: { 200: jsonResponse(bulkResultsSchema, "What happened to each conversation."), ...errorResponses(403, 422) },
});

bulkRoutes.openapi(updateConversations, async (c) => {
  const { ids, status, add_tags: tags, remove_tags: removedTags, snoozed_until: snoozedUntil } = c.req.valid("json");
  const op = operationOf(c);
  const changes = { by: changerOf(c), status, addedTags: [...new Set(tags)], removedTags, snoozedUntil };
  const results = await changeConversations(op, [...new Set(ids)], changes);
  for (const { id, before, after } of results) {
    if (after && after.status !== before?.status) notifyVisitor(c.env, { id, workspaceId: op.workspaceId, status: after.status });
  }
  const data = results.map(({ id, outcome, before, after }) => ({
    id,
    outcome,
    previous_status: before?.status ?? null,
    status: after?.status ?? null,
    tags: after?.tags ?? [],
  }));
  return c.json({ data }, 200);
});
