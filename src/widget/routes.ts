import { createRoute, z } from "@hono/zod-openapi";
import { withAddresses } from "../attachments/links.ts";
import { attachmentSchema, MAX_FILE_BYTES } from "../attachments/wire.ts";
import { findAgentWithPlan } from "../agents/store.ts";
import { withVersion } from "../agents/versions.ts";
import { acceptedFormat } from "../chat/responses.ts";
import { chatEventsSchema, resumeHeaders, toolResultsInSchema } from "../chat/wire.ts";
import { BY_VISITOR, setFeedback } from "../conversations/feedback-store.ts";
import { csatSchema, feedbackInSchema, feedbackSchema, toFeedback, toHandoff } from "../conversations/wire.ts";
import { leadSchema, toLead } from "../leads/wire.ts";
import { jsonBody } from "../platform/http/body.ts";
import { checking } from "../platform/http/checks.ts";
import { notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { formBody } from "../platform/http/multipart.ts";
import { inRegionOf } from "../platform/http/region.ts";
import { emptyResponse, errorResponses, eventStreamResponse, jsonResponse, streamableResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { toOpening } from "../workspaces/business-hours-wire.ts";
import { requireConfig } from "../workspaces/checks.ts";
import { visitorLimitOf } from "../workspaces/usage-limits.ts";
import { agentDb, endSessions, LIVE_PROTOCOL, openConversation, openVisitor, redactInput, requireAgent, requireVisitor } from "./access.ts";
import { serveFile, uploadForVisitor } from "./attachments.ts";
import { askForVisitor, continueForVisitor, resumeForVisitor, streamContinuedForVisitor, streamForVisitor } from "./ask.ts";
import { cors } from "./cors.ts";
import { followForVisitor } from "./live.ts";
import { createVisitorLead, declineHandoff, requestedHandoffMessage, requestHandoff } from "./lead-and-handoff.ts";
import { senderOf } from "./rate-limit.ts";
import { findContact, findVisitorVersion, listLastWritten, listNewMessages, setCsat } from "./store.ts";
import {
  attachmentInSchema,
  csatInSchema,
  handoffAnswerSchema,
  leadInSchema,
  messageInSchema,
  pastConversationsSchema,
  pollSchema,
  settingsSchema,
  toPastConversation,
  toSettings,
  toVisitorMessage,
  visitorAnswerSchema,
} from "./wire.ts";

/** The visitors' API, which browsers call without an API key. */
export const widgetRoutes = createRouter("Visitors");

widgetRoutes.use(checking(cors, requireConfig));
widgetRoutes.use("/agents/:agent_id/*", checking(inRegionOf("agent_id")));

/** The security requirement of operations that take the visitor's token, for the OpenAPI document. */
const VISITOR = [{ visitorToken: [] }];

const agentParams = z.object({ agent_id: uuid() });
const conversationParams = z.object({ conversation_id: uuid() });

const getSettings = createRoute({
  operationId: "getWidgetSettings",
  method: "get",
  path: "/agents/{agent_id}",
  summary: "Get an agent's public settings",
  request: { params: agentParams },
  responses: { 200: jsonResponse(settingsSchema, "The agent's public settings."), ...errorResponses(403, 404, 422) },
});

widgetRoutes.openapi(getSettings, async (c) => {
  const { agent_id: agentId } = c.req.valid("param");
  const db = agentDb(c, agentId);
  const [[found]] = await db.batch([findAgentWithPlan(db, agentId)]);
  const { agent, hours, op } = requireAgent(c, found);
  return c.json(toSettings(agent, hours, op.nowMs), 200);
});

const sendMessage = createRoute({
  operationId: "sendVisitorMessage",
  method: "post",
  path: "/agents/{agent_id}/messages",
  summary: "Ask an agent, as a visitor",
  request: { params: agentParams, body: jsonBody(messageInSchema) },
  responses: {
    200: streamableResponse(visitorAnswerSchema, "The answer.", chatEventsSchema),
    ...errorResponses(402, 403, 404, 409, 422),
  },
});

widgetRoutes.openapi(sendMessage, async (c) => {
  const [{ agent_id: agentId }, body] = [c.req.valid("param"), c.req.valid("json")];
  if (body.stream || acceptedFormat(c)) return streamForVisitor(c, agentId, body);
  return c.json(await askForVisitor(c, agentId, body), 200);
});

const uploadAttachment = createRoute({
  operationId: "uploadVisitorAttachment",
  method: "post",
  path: "/agents/{agent_id}/attachments",
  summary: "Upload a file for a message",
  description:
    "Send it as multipart/form-data, then name its id in the `attachments` of a message. Send the `visitor_token` if you have one: the file is then the visitor's alone. A file that no message takes within an hour is deleted.",
  request: { params: agentParams, body: formBody(attachmentInSchema) },
  responses: { 201: jsonResponse(attachmentSchema, "The file."), ...errorResponses(403, 404, 422) },
  "x-max-file-bytes": MAX_FILE_BYTES,
});

widgetRoutes.openapi(uploadAttachment, async (c) => {
  return c.json(await uploadForVisitor(c, c.req.valid("param").agent_id, c.req.valid("form")), 201);
});

const getFile = createRoute({
  operationId: "getAttachmentFile",
  // Clients open the `url` of an attachment.
  hide: true,
  method: "get",
  path: "/attachments/{token}",
  summary: "Read a file by its signed address",
  description: "The `url` of an attachment. Images are shown in place; other files are downloaded.",
  request: {
    params: z.object({ token: z.string().max(100).meta({ description: "The signature.", example: "at_AZqfDjwbfUKKVW8dLjxLAAGanw48" }) }),
  },
  responses: {
    200: { description: "The file.", content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } } },
    ...errorResponses(404, 422),
  },
});

// The OpenAPI document describes the file as a string.
widgetRoutes.openapi(getFile, async (c) => (await serveFile(c, c.req.valid("param").token)) as never);

const resumeAnswer = createRoute({
  operationId: "resumeVisitorAnswer",
  method: "get",
  path: "/conversations/{conversation_id}/messages/{message_id}/stream",
  summary: "Resume the stream of an answer",
  security: VISITOR,
  checks: [requireVisitor],
  request: { params: conversationParams.extend({ message_id: uuid() }), headers: resumeHeaders },
  responses: {
    200: eventStreamResponse("The stream, from after the event that you have.", chatEventsSchema),
    204: emptyResponse("The event that you have was the last."),
    ...errorResponses(403, 404, 422),
  },
});

widgetRoutes.openapi(resumeAnswer, (c) => resumeForVisitor(c, c.req.valid("param")));

const sendToolResults = createRoute({
  operationId: "sendVisitorToolResults",
  method: "post",
  path: "/conversations/{conversation_id}/messages/{message_id}/tool-results",
  summary: "Send the results of tools that ran in the page",
  security: VISITOR,
  checks: [requireVisitor],
  request: { params: conversationParams.extend({ message_id: uuid() }), body: jsonBody(toolResultsInSchema) },
  responses: { 200: streamableResponse(visitorAnswerSchema, "The answer.", chatEventsSchema), ...errorResponses(403, 404, 422) },
});

widgetRoutes.openapi(sendToolResults, async (c) => {
  const [key, { results, stream }] = [c.req.valid("param"), c.req.valid("json")];
  if (stream || acceptedFormat(c)) return streamContinuedForVisitor(c, key, results);
  return c.json(await continueForVisitor(c, key, results), 200);
});

const sendLead = createRoute({
  operationId: "sendVisitorLead",
  method: "post",
  path: "/agents/{agent_id}/leads",
  summary: "Leave contact details",
  request: { params: agentParams, body: jsonBody(leadInSchema) },
  responses: { 201: jsonResponse(leadSchema, "The lead."), ...errorResponses(403, 404, 422) },
});

widgetRoutes.openapi(sendLead, async (c) => {
  return c.json(toLead(await createVisitorLead(c, c.req.valid("param").agent_id, c.req.valid("json"))), 201);
});

const listOwn = createRoute({
  operationId: "listVisitorConversations",
  method: "get",
  path: "/conversations",
  summary: "List the visitor's conversations",
  security: VISITOR,
  checks: [requireVisitor],
  responses: {
    200: jsonResponse(pastConversationsSchema, "The visitor's latest 20 conversations with the agent."),
    ...errorResponses(403, 404),
  },
});

widgetRoutes.openapi(listOwn, async (c) => {
  return c.json({ data: (await openVisitor(c)).conversations.map(toPastConversation) }, 200);
});

const poll = createRoute({
  operationId: "pollVisitorMessages",
  method: "get",
  path: "/conversations/{conversation_id}/messages",
  summary: "Read new messages of a conversation",
  security: VISITOR,
  checks: [requireVisitor],
  request: {
    params: conversationParams,
    query: z.object({
      after: uuid().optional().meta({ description: "The latest message that you have. Without it, all messages are returned." }),
    }),
  },
  responses: { 200: jsonResponse(pollSchema, "The messages after it, oldest first."), ...errorResponses(403, 404, 422) },
});

widgetRoutes.openapi(poll, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const { after } = c.req.valid("query");
  const { conversation, read, hours, op } = await openConversation(c, conversationId, (db, claim) => [
    listNewMessages(db, claim, conversationId, after),
  ]);
  const data = await withAddresses(c, read[0].map(toVisitorMessage));
  return c.json({ data, status: conversation.status, ...toOpening(hours, op.nowMs) }, 200);
});

const follow = createRoute({
  operationId: "followConversation",
  method: "get",
  path: "/conversations/{conversation_id}/live",
  summary: "Follow a conversation over a WebSocket",
  description: `A WebSocket that sends \`{"kind": "conversation", "id": "…"}\` when the conversation has a new message or status. Read
the new messages then, and each time that you connect. A browser names its token as a subprotocol:

\`\`\`js
const socket = new WebSocket(url, ["${LIVE_PROTOCOL}", visitorToken]);
socket.onopen = socket.onmessage = readNewMessages;
\`\`\`

Send nothing but \`ping\`, which is answered with \`pong\`. The service closes the socket when the conversation is resolved or erased,
and when the visitor's sessions are ended. After 10 minutes, or once the token has expired, the next change closes the socket: then
connect again.`,
  security: VISITOR,
  checks: [requireVisitor],
  request: { params: conversationParams },
  responses: { 101: emptyResponse("The connection is a WebSocket from here on."), ...errorResponses(403, 404, 409, 422) },
});

widgetRoutes.openapi(follow, (c) => followForVisitor(c, c.req.valid("param").conversation_id));

const handOff = createRoute({
  operationId: "requestVisitorHandoff",
  method: "post",
  path: "/conversations/{conversation_id}/handoff",
  summary: "Ask for a human",
  security: VISITOR,
  checks: [requireVisitor],
  request: { params: conversationParams },
  responses: {
    200: jsonResponse(handoffAnswerSchema, "The hand-off, and the message that the visitor reads."),
    ...errorResponses(403, 404, 422),
  },
});

widgetRoutes.openapi(handOff, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const opened = await openConversation(c, conversationId, (db, claim) => [
    listLastWritten(db, claim, conversationId),
    findContact(db, claim),
    findVisitorVersion(db, claim, conversationId),
  ]);
  const { op, limits, hours, visitor, read } = opened;
  const [written, [contact], [answering]] = read;
  const agent = withVersion(opened.agent, answering?.version ?? null);
  const team = { hours, hasContact: contact !== undefined, nowMs: op.nowMs };
  const message = requestedHandoffMessage(agent, team, written);
  const ofConversation = { ...op, conversationId };
  const messageLimit = visitorLimitOf(limits, "messages", await senderOf(c, op.workspaceId, visitor));
  const { handoff, status } =
    agent.handoff === "off"
      ? await declineHandoff(ofConversation, message, messageLimit, limits.messages_per_conversation)
      : await requestHandoff(ofConversation, agent.id, message, messageLimit);
  return c.json({ handoff: handoff ? toHandoff(handoff) : null, status, handoff_message: message.text }, 200);
});

const endVisitorSessions = createRoute({
  operationId: "endVisitorSessions",
  method: "post",
  path: "/sessions/end",
  summary: "End all sessions of a visitor",
  security: VISITOR,
  checks: [requireVisitor],
  responses: { 204: emptyResponse("Ended: all earlier tokens of the visitor are invalid."), ...errorResponses(403, 404) },
});

widgetRoutes.openapi(endVisitorSessions, async (c) => {
  await endSessions(c);
  return c.body(null, 204);
});

const rateAnswer = createRoute({
  operationId: "rateVisitorAnswer",
  method: "post",
  path: "/conversations/{conversation_id}/messages/{message_id}/feedback",
  summary: "Rate an answer",
  security: VISITOR,
  checks: [requireVisitor],
  request: { params: conversationParams.extend({ message_id: uuid() }), body: jsonBody(feedbackInSchema) },
  responses: { 200: jsonResponse(feedbackSchema, "The rating; it replaces one before."), ...errorResponses(403, 404, 422) },
});

widgetRoutes.openapi(rateAnswer, async (c) => {
  const { conversation_id: conversationId, message_id: messageId } = c.req.valid("param");
  const body = c.req.valid("json");
  const opened = await openConversation(c, conversationId);
  await redactInput(opened, { schema: feedbackInSchema, body });
  const { rating, comment = null } = body;
  const { db, workspaceId, nowMs, newId } = opened.op;
  const given = { id: newId(), messageId, author: BY_VISITOR, rating, comment };
  const [[rated]] = await db.batch([setFeedback(db, { workspaceId, conversationId }, given, nowMs)]);
  if (!rated) throw notFound("message");
  return c.json(toFeedback(rated), 200);
});

const rate = createRoute({
  operationId: "rateConversation",
  method: "post",
  path: "/conversations/{conversation_id}/csat",
  summary: "Rate a conversation",
  security: VISITOR,
  checks: [requireVisitor],
  request: { params: conversationParams, body: jsonBody(csatInSchema) },
  responses: { 200: jsonResponse(csatSchema, "The rating; it replaces one before."), ...errorResponses(403, 404, 422) },
});

widgetRoutes.openapi(rate, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const body = c.req.valid("json");
  const opened = await openConversation(c, conversationId);
  await redactInput(opened, { schema: csatInSchema, body });
  const { score, comment = null } = body;
  const { claim, op } = opened;
  await op.db.batch([setCsat(op.db, claim, conversationId, { score, comment }, op.nowMs)]);
  return c.json({ score, comment }, 200);
});
