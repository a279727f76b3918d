import { createRoute, z } from "@hono/zod-openapi";
import { withAddresses } from "../attachments/links.ts";
import { countNotes } from "../conversations/note-store.ts";
import { findMessageCount, listTranscript, listTranscriptAfter } from "../conversations/store.ts";
import { messagePageSchema, messageQuery, toMessage } from "../conversations/wire.ts";
import { ApiError, notFound, retryAfter } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { sessionOf } from "./session.ts";
import { type ConversationFollower, followConversation } from "./visitor-sockets.ts";

export const messageRoutes = createRouter("Conversations");

/** When a request that was refused because too many wait may be sent again. */
const RETRY_SECONDS = 5;

const listMessages = createRoute({
  operationId: "listMessages",
  method: "get",
  path: "/conversations/{conversation_id}/messages",
  summary: "List the messages of a conversation",
  description:
    "The list includes the team's notes. The first page has the latest messages, and the next page has the messages before them. Each page is sorted oldest first. With `after`, the list has only the messages after that one, and the next page has those that follow. With `wait`, the response comes as soon as there is such a message, or the conversation changes, or the time is over; it may be empty.",
  ...needsScope("conversations:read"),
  request: { params: z.object({ conversation_id: uuid() }), query: messageQuery },
  responses: { 200: jsonResponse(messagePageSchema, "A page of messages, oldest first."), ...errorResponses(403, 404, 422) },
});

messageRoutes.openapi(listMessages, async (c) => {
  const op = operationOf(c);
  const { db, workspaceId } = op;
  const key = { workspaceId, conversationId: c.req.valid("param").conversation_id };
  const { limit, cursor, after, wait } = c.req.valid("query");
  const read = async () => {
    const [[conversation], rows, [notes]] = await db.batch([
      findMessageCount(db, workspaceId, key.conversationId),
      after === undefined
        ? listTranscript(db, key, { limit: limit + 1, cursor })
        : listTranscriptAfter(db, key, cursor ?? after, limit + 1),
      countNotes(db, workspaceId, key.conversationId),
    ]);
    if (!conversation) throw notFound("conversation");
    return { rows, total: conversation.messages + (notes?.count ?? 0) };
  };

  let found = await read();
  if (wait > 0 && found.rows.length === 0) {
    using follower = await follow();
    // A message may have been stored before the follower was connected.
    found = await read();
    if (found.rows.length === 0) {
      await follower.nextChange(wait * 1_000);
      found = await read();
    }
  }
  const positionOf = ({ createdAt: atMs, id }: (typeof found.rows)[number]) => ({ atMs, id });
  const page = toCursorPage(found.rows, found.total, { limit, offset: 0 }, positionOf, toMessage);
  const data = await withAddresses(c, after === undefined ? page.data.reverse() : page.data);
  return c.json({ ...page, data }, 200);

  async function follow(): Promise<ConversationFollower> {
    const follower = await followConversation(sessionOf(op, key.conversationId));
    if (follower) return follower;
    const message = "Too many requests wait for this conversation. Let one request wait for all of its readers.";
    throw new ApiError("rate_limited", message, retryAfter(RETRY_SECONDS));
  }
});
