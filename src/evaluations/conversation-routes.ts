import { createRoute, z } from "@hono/zod-openapi";
import { findConversation, listTranscriptAfter } from "../conversations/store.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { conversationCaseSchema, MAX_TURNS, turnsOfConversation } from "./case-wire.ts";

export const conversationCaseRoutes = createRouter("Evaluations");

/** How many messages and notes are read. Few conversations with as many have fewer than MAX_TURNS messages of the visitor. */
const MAX_MESSAGES = 200;
const BEGINNING = { atMs: 0, id: "" };

const getConversationCase = createRoute({
  operationId: "getConversationCase",
  method: "get",
  path: "/conversations/{conversation_id}/case",
  summary: "Turn a conversation into a case of an evaluation",
  description: `Returns the visitor's first ${MAX_TURNS} messages as the turns of a case, which expect what the agent did: an answer or a hand-off. Correct what it should have done, add what its tools answer, remove personal data, and add the case to an evaluation.`,
  ...needsScope("conversations:read"),
  request: { params: z.object({ conversation_id: uuid() }) },
  responses: { 200: jsonResponse(conversationCaseSchema, "The case, which is not stored."), ...errorResponses(403, 404, 409, 422) },
});

conversationCaseRoutes.openapi(getConversationCase, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { conversation_id: conversationId } = c.req.valid("param");
  const [[conversation], messages] = await db.batch([
    findConversation(db, workspaceId, conversationId),
    listTranscriptAfter(db, { workspaceId, conversationId }, BEGINNING, MAX_MESSAGES),
  ]);
  if (!conversation) throw notFound("conversation");
  const turns = turnsOfConversation(messages);
  if (turns.length === 0) throw new ApiError("conflict", "No visitor has written in this conversation, so there is nothing to ask.");
  return c.json({ agent_id: conversation.agentId, case: { turns } }, 200);
});
