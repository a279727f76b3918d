import { createRoute, z } from "@hono/zod-openapi";
import { jsonBody } from "../platform/http/body.ts";
import type { Check } from "../platform/http/checks.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { agentRef, uuid } from "../platform/http/fields.ts";
import { joinRetries } from "../platform/http/idempotency.ts";
import { emptyResponse, errorResponses, eventStreamResponse, jsonResponse, streamableResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf, requireScope } from "../workspaces/checks.ts";
import {
  acceptedFormat,
  findStoredAnswer,
  resultsOf,
  resumedAnswer,
  streamedAnswer,
  streamedContinued,
  toQuestion,
  wholeAnswer,
  wholeContinued,
} from "./responses.ts";
import { sessionOf } from "./session.ts";
import { findReply } from "./store.ts";
import { traceSchema } from "./trace-wire.ts";
import { type Asked, chatAnswerSchema, chatEventsSchema, chatInSchema, resumeHeaders, toolResultsInSchema } from "./wire.ts";

export const chatRoutes = createRouter("Chat");

/** A question that tries out settings or the draft needs the scope that may change them. */
const checkSettings: Check = (c) => {
  const { settings, version } = c.req.valid("json" as never) as Asked;
  if (settings || version) requireScope(c, "agents:write");
};

const askAgent = createRoute({
  operationId: "askAgent",
  method: "post",
  path: "/agents/{agent_id}/messages",
  summary: "Ask an agent",
  description:
    "The agent answers from its knowledge, or hands the conversation to a human. Each question that it is asked to answer counts toward the month's message quota.",
  ...needsScope("chat:write", joinRetries),
  checkInput: checkSettings,
  request: {
    params: z.object({ agent_id: agentRef() }),
    body: jsonBody(chatInSchema),
  },
  responses: { 200: streamableResponse(chatAnswerSchema, "The answer.", chatEventsSchema), ...errorResponses(402, 403, 404, 409, 422) },
});

chatRoutes.openapi(askAgent, async (c) => {
  const body = c.req.valid("json");
  const question = toQuestion(c, c.req.valid("param").agent_id, body);
  if (body.stream || acceptedFormat(c)) return streamedAnswer(c, question);
  return c.json((await wholeAnswer(c, question)).answer, 200);
});

const sendToolResults = createRoute({
  operationId: "sendToolResults",
  method: "post",
  path: "/conversations/{conversation_id}/messages/{message_id}/tool-results",
  summary: "Send the results of client tools",
  description:
    "Sends the results of the calls in an answer's `required_action`, and gets the answer that waited for them, or the next calls. Results that are sent again are ignored: they get the calls for which the answer waits now, or the finished answer. If no results come in time, the question is handed to a human, unless the conversation was resolved meanwhile.",
  ...needsScope("chat:write", joinRetries),
  request: { params: z.object({ conversation_id: uuid(), message_id: uuid() }), body: jsonBody(toolResultsInSchema) },
  responses: { 200: streamableResponse(chatAnswerSchema, "The answer.", chatEventsSchema), ...errorResponses(403, 404, 409, 422) },
});

chatRoutes.openapi(sendToolResults, async (c) => {
  const { results, stream } = c.req.valid("json");
  const sent = resultsOf(c, c.req.valid("param"), results);
  if (stream || acceptedFormat(c)) return streamedContinued(c, sent);
  return c.json((await wholeContinued(c, sent)).answer, 200);
});

const resumeAnswer = createRoute({
  operationId: "resumeAnswer",
  method: "get",
  path: "/conversations/{conversation_id}/messages/{message_id}/stream",
  summary: "Resume the stream of an answer",
  description:
    "Resumes a stream that broke off, or repeats one that has ended. It does not count toward the message quota. The status is 204 if the event that you have was the last.",
  ...needsScope("conversations:read"),
  request: { params: z.object({ conversation_id: uuid(), message_id: uuid() }), headers: resumeHeaders },
  responses: {
    200: eventStreamResponse("The stream, from after the event that you have.", chatEventsSchema),
    204: emptyResponse("The event that you have was the last."),
    ...errorResponses(403, 404, 422),
  },
});

chatRoutes.openapi(resumeAnswer, async (c) => {
  const key = c.req.valid("param");
  return resumedAnswer(c, key, () => findStoredAnswer(c, key));
});

const getTrace = createRoute({
  operationId: "getTrace",
  method: "get",
  path: "/conversations/{conversation_id}/messages/{message_id}/trace",
  summary: "Get the trace of an answer",
  description:
    "A trace shows why an answer was given: what was found in the knowledge and with which scores, the decision, the calls of models and tools, and the times. Each answer and each hand-off of an agent has a trace for 30 days.",
  ...needsScope("conversations:read"),
  request: { params: z.object({ conversation_id: uuid(), message_id: uuid() }) },
  responses: { 200: jsonResponse(traceSchema, "The trace."), ...errorResponses(403, 404, 422) },
});

chatRoutes.openapi(getTrace, async (c) => {
  const { conversation_id: conversationId, message_id: messageId } = c.req.valid("param");
  const op = operationOf(c);
  const { db, workspaceId } = op;
  const [[[stored]], trace] = await Promise.all([
    db.batch([findReply(db, workspaceId, conversationId, messageId)]),
    sessionOf(op, conversationId).findTrace(messageId),
  ]);
  if (!stored) throw notFound("answer of an agent");
  if (!trace) throw new ApiError("not_found", "There is no trace of this answer any more: traces are kept for 30 days.");
  return c.json(trace, 200);
});
