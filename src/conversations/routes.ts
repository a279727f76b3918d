import { createRoute, z } from "@hono/zod-openapi";
import { withAddresses } from "../attachments/links.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, notFound, unavailable } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import type { Page } from "../platform/db/sql.ts";
import { csvResponse, orCsv, wantsCsv } from "../platform/http/csv.ts";
import { toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { actorOf, authorOf, needsScope, noRoomFor, operationOf } from "../workspaces/checks.ts";
import { businessHoursOf } from "../workspaces/business-hours.ts";
import { findBusinessHours } from "../workspaces/business-hours-store.ts";
import { toOpening } from "../workspaces/business-hours-wire.ts";
import { addNote, toTeamText } from "./conversations.ts";
import { pageFeedback, setFeedback } from "./feedback-store.ts";
import { findConversations, listConversationRows } from "./search.ts";
import { findConversationRecord, findMessage, listTranscript } from "./store.ts";
import {
  conversationColumns,
  conversationPageSchema,
  conversationQuery,
  type ListedRow,
  feedbackInSchema,
  feedbackPageSchema,
  feedbackQuery,
  feedbackSchema,
  LATEST_MESSAGES,
  messageSchema,
  noteInSchema,
  toFeedback,
  toMessage,
  toNote,
  transcriptSchema,
} from "./wire.ts";

export const conversationRoutes = createRouter("Conversations");

const params = z.object({ conversation_id: uuid() });

/** After this time a search may be repeated while its index is being built, which takes a second for some thousand messages. */
const INDEXING_SECONDS = 5;

const listConversations = createRoute({
  operationId: "listConversations",
  method: "get",
  path: "/conversations",
  summary: "List and search conversations, by last activity",
  description: "With `Accept: text/csv`, the matching conversations as a CSV file, in parts, without their messages.",
  ...needsScope("conversations:read"),
  request: { query: conversationQuery },
  responses: {
    200: orCsv(jsonResponse(conversationPageSchema, "A page of conversations, by last activity.")),
    ...errorResponses(403, 422),
  },
});

conversationRoutes.openapi(listConversations, async (c) => {
  const { agent_id: agentId, status, channel, updated_since: sinceMs, q, order, ...query } = c.req.valid("query");
  const {
    assignee_id: assigneeId,
    visitor_id: visitorId,
    team_id: teamId,
    priority,
    with_team: withTeam,
    unassigned,
    unread,
    snoozed,
    ...page
  } = query;
  const snooze = snoozed && { isSnoozed: snoozed === "true", nowMs: Date.now() };
  const fields = { agentId, status, channel, sinceMs, assigneeId, visitorId, teamId, priority, snooze };
  const only = { isUnread: unread !== undefined, isWithTeam: withTeam !== undefined, isUnassigned: unassigned !== undefined };
  const filter = { ...fields, ...only, isOldestFirst: order === "oldest" };
  const positionOf = ({ record }: ListedRow) => ({ atMs: Date.parse(record.updated_at), id: record.id });
  if (wantsCsv(c)) {
    const readRows = async (asked: Page) => (await listConversationRows(operationOf(c), { ...filter, ...asked, q })) ?? refuseIndexing();
    const toItem = ({ record }: ListedRow) => record;
    const { isOldestFirst } = filter;
    const list = { name: "conversations", columns: conversationColumns, cursor: page.cursor, isOldestFirst, readRows, positionOf, toItem };
    return csvResponse(c, list);
  }
  const { rows, total, matches } = (await findConversations(operationOf(c), { ...filter, ...page, q })) ?? refuseIndexing();
  const toItem = ({ record, lastMessageRole, questionPreview }: ListedRow) => ({
    ...record,
    last_message_role: lastMessageRole,
    question_preview: questionPreview,
    match: matches.get(record.id) ?? null,
  });
  return c.json(toCursorPage(rows, total, page, positionOf, toItem), 200);
});

/** 503 while the index of the workspace is being built. */
function refuseIndexing(): never {
  throw unavailable("The workspace's conversations are being indexed for the first search. Try again in a moment.", INDEXING_SECONDS);
}

const getConversation = createRoute({
  operationId: "getConversation",
  method: "get",
  path: "/conversations/{conversation_id}",
  summary: "Get a conversation with its latest messages",
  ...needsScope("conversations:read"),
  request: { params },
  responses: {
    200: jsonResponse(transcriptSchema, "The conversation, its latest messages oldest first."),
    ...errorResponses(403, 404, 422),
  },
});

conversationRoutes.openapi(getConversation, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const { conversation_id: conversationId } = c.req.valid("param");
  const [[found], latest, [hours]] = await db.batch([
    findConversationRecord(db, workspaceId, conversationId),
    listTranscript(db, { workspaceId, conversationId }, { limit: LATEST_MESSAGES + 1 }),
    findBusinessHours(db, workspaceId),
  ]);
  if (!found) throw notFound("conversation");
  const messages = await withAddresses(c, latest.slice(0, LATEST_MESSAGES).map(toMessage).reverse());
  const hasMore = latest.length > LATEST_MESSAGES;
  const opening = toOpening(businessHoursOf(hours?.stored ?? {}), nowMs);
  return c.json({ ...found.record, messages, has_more_messages: hasMore, ...opening }, 200);
});

const addNoteRoute = createRoute({
  operationId: "addNote",
  method: "post",
  path: "/conversations/{conversation_id}/notes",
  summary: "Add a note for the team",
  description:
    "A note appears in the transcript for the team only: visitors, models and events never contain it. The status does not change.",
  ...needsScope("conversations:write"),
  request: { params, body: jsonBody(noteInSchema) },
  responses: { 201: jsonResponse(messageSchema, "The note, as a message with the role `note`."), ...errorResponses(403, 404, 422) },
});

conversationRoutes.openapi(addNoteRoute, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const { content, author } = c.req.valid("json");
  const note = toTeamText({ content, author: authorOf(c, author) }, c.get("caller").workspace.limits);
  const added = await addNote({ ...operationOf(c), conversationId }, note);
  if (!added) throw notFound("conversation");
  if (!added.note) throw noRoomFor("notes", added.full);
  c.set("conversationId", conversationId);
  return c.json(toNote(added.note), 201);
});

const rateAnswer = createRoute({
  operationId: "rateAnswer",
  method: "post",
  path: "/conversations/{conversation_id}/messages/{message_id}/feedback",
  summary: "Rate an answer of the agent",
  description: "The member or the API key is the author. A later rating by the same author replaces the earlier one.",
  ...needsScope("conversations:write"),
  request: { params: params.extend({ message_id: uuid() }), body: jsonBody(feedbackInSchema) },
  responses: { 200: jsonResponse(feedbackSchema, "The rating."), ...errorResponses(403, 404, 422) },
});

conversationRoutes.openapi(rateAnswer, async (c) => {
  const { db, workspaceId, nowMs, newId } = operationOf(c);
  const { conversation_id: conversationId, message_id: messageId } = c.req.valid("param");
  const { rating, comment = null } = c.req.valid("json");
  const given = { id: newId(), messageId, author: actorOf(c).id, rating, comment };
  const [[rated]] = await db.batch([setFeedback(db, { workspaceId, conversationId }, given, nowMs)]);
  if (!rated) {
    const [[message]] = await db.batch([findMessage(db, workspaceId, messageId)]);
    if (message?.conversationId !== conversationId || message.role !== "assistant") throw notFound("message");
    throw new ApiError("conflict", "This answer has ratings of 200 API keys. Use one of these keys to change its rating.");
  }
  c.set("conversationId", conversationId);
  return c.json(toFeedback(rated), 200);
});

const listFeedback = createRoute({
  operationId: "listFeedback",
  method: "get",
  path: "/feedback",
  summary: "List ratings of answers, newest first",
  description: "Ratings by visitors and by API keys. A changed rating keeps its place in the list.",
  ...needsScope("conversations:read"),
  request: { query: feedbackQuery },
  responses: { 200: jsonResponse(feedbackPageSchema, "A page of ratings, newest first."), ...errorResponses(403, 422) },
});

conversationRoutes.openapi(listFeedback, async (c) => {
  const { agent_id: agentId, rating, since: sinceMs, ...page } = c.req.valid("query");
  const { db, workspaceId } = operationOf(c);
  const [rows, [counted]] = await db.batch(pageFeedback(db, workspaceId, { agentId, rating, sinceMs }, page));
  const positionOf = ({ createdAt: atMs, id }: (typeof rows)[number]) => ({ atMs, id });
  return c.json(toCursorPage(rows, counted?.total ?? 0, page, positionOf, toFeedback), 200);
});
