import { createRoute } from "@hono/zod-openapi";
import { toConversation, toMessage, transcriptSchema } from "../conversations/wire.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { toSingleLine } from "../platform/text.ts";
import { callerOperation, needsScope, flowLimited } from "../workspaces/checks.ts";
import { apiVisitor } from "./question.ts";
import { type FirstMessage, startConversation } from "./start.ts";
import { startInSchema } from "./wire.ts";

export const startRoutes = createRouter("Conversations");

/** How much of a text is the subject of a mail that has none. */
const SUBJECT_LENGTH = 80;

const startRoute = createRoute({
  operationId: "startConversation",
  method: "post",
  path: "/conversations",
  summary: "Start a conversation as the team",
  description:
    "Your team writes first, by mail from the agent's mailbox, or over the API. The conversation is with humans until it is resolved or set to open. Answers to the mail come back to it.",
  ...needsScope("conversations:write"),
  request: { body: jsonBody(startInSchema) },
  responses: { 201: jsonResponse(transcriptSchema, "The conversation with its first message."), ...errorResponses(403, 404, 409, 422) },
});

startRoutes.openapi(startRoute, async (c) => {
  const { agent_id: agentId, channel, to, user, subject, content, author = null } = c.req.valid("json");
  const first: FirstMessage = {
    agentId,
    subject: subject ? toSingleLine(subject, subject.length) : channel === "email" ? toSingleLine(content, SUBJECT_LENGTH) : null,
    content,
    author,
    to: to ? { channel: "email", email: to.email, name: to.name ?? null } : { channel: "api", user: user ? apiVisitor(user) : null },
  };
  const op = callerOperation(c);
  const started = await startConversation(op, first, c.get("caller").workspace.limits);
  if (started.outcome === "agent_not_found") throw notFound("agent");
  if (started.outcome === "rate_limited") throw flowLimited(started.full, op.nowMs);
  if (started.outcome === "no_mailbox") throw new ApiError("conflict", "The agent has no mailbox. Give it an email_address first.");
  const { conversation, visitor, message } = started.records;
  return c.json({ ...toConversation(conversation, visitor, undefined), messages: [toMessage(message)], has_more_messages: false }, 201);
});
