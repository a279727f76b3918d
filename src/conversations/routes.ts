import { createRoute, z } from "@hono/zod-openapi";
import { callerDb } from "../admission/caller.ts";
import { requireScope } from "../admission/middleware.ts";
import { notFound } from "../http/errors.ts";
import { uuid } from "../http/fields.ts";
import { errorResponses, jsonResponse } from "../http/responses.ts";
import { createRouter } from "../http/router.ts";
import { findConversation, findConversationVisitor, findLatestHandoff, listMessages } from "./store.ts";
import { toConversation, toMessage, transcriptSchema } from "./wire.ts";

export const conversationRoutes = createRouter();

const getConversation = createRoute({
  operationId: "getConversation",
  method: "get",
  path: "/conversations/{conversation_id}",
  tags: ["Conversations"],
  summary: "One conversation with its transcript",
  middleware: [requireScope("conversations:read")] as const,
  request: { params: z.object({ conversation_id: uuid() }) },
  responses: { 200: jsonResponse(transcriptSchema, "The conversation, its messages oldest first."), ...errorResponses(403, 404, 422) },
});

conversationRoutes.openapi(getConversation, async (c) => {
  const { id } = c.get("caller").workspace;
  const { conversation_id: conversationId } = c.req.valid("param");
  const db = callerDb(c);
  const [[conversation], [visitor], [handoff], transcript] = await db.batch([
    findConversation(db, id, conversationId),
    findConversationVisitor(db, id, conversationId),
    findLatestHandoff(db, id, conversationId),
    listMessages(db, id, conversationId),
  ]);
  if (!conversation) throw notFound("conversation");
  return c.json({ ...toConversation(conversation, visitor, handoff), messages: transcript.map(toMessage) }, 200);
});
