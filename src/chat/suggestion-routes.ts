import { createRoute, z } from "@hono/zod-openapi";
import { citationSchema } from "../knowledge/search-wire.ts";
import { optionalJsonBody } from "../platform/http/body.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, notFound, unavailable } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { leaseFor } from "../platform/http/idempotency.ts";
import { errorResponses, eventStream, jsonResponse, streamableResponse, textStream } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import type { Operation } from "../platform/db/client.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { MINUTE_MS } from "../platform/time.ts";
import { describeFailure } from "../models/stream-with-retry.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import type { Answer } from "./answer.ts";
import { monthlyQuota, type Quota } from "./question.ts";
import { refusalError } from "./refusals.ts";
import { openQuestionOf, readConversation, type ReadConversation, suggestReply } from "./suggestion.ts";
import { countWriting, refundWriting } from "./suggestion-store.ts";
import { streamSuggestion } from "./suggestion-stream.ts";
import { composeSummary, writeSummary } from "./summary.ts";
import { streamField } from "./wire.ts";

/** The operations with which an agent writes for the team. They store no message. */
export const suggestionRoutes = createRouter("Conversations");

const params = z.object({ conversation_id: uuid() });

/** The lease is longer than a suggestion takes: `answerMs` of the model's limits, and the search before it. */
const LEASE_MS = 2 * MINUTE_MS;

const suggestionInSchema = z.object({ stream: streamField() }).openapi("SuggestedReplyIn", { example: {} });

const suggestionSchema = z
  .object({
    content: z.string().meta({
      description: "The suggestion; empty if the agent's knowledge has nothing for it.",
      example: "Refunds are paid within five working days.",
    }),
    citations: z.array(citationSchema).meta({ description: "The sources of the suggestion." }),
    confidence: z.number().meta({ description: "How likely the suggestion is right, from 0 to 1.", example: 0.42 }),
  })
  .openapi("SuggestedReply");

const suggestionEventsSchema = z.string().openapi("SuggestedReplyEvents", {
  description: `Server-Sent Events, each with one line of JSON:

- \`delta\` {text}: the next part of the suggestion.
- \`done\`: the whole suggestion, as without streaming. It replaces the parts, and is the last event.
- \`error\` {error: {code, message, request_id}}: the model failed. It is the last event.

A comment every 15 seconds keeps the connection open. The stream cannot be resumed.`,
});

const suggestRoute = createRoute({
  operationId: "suggestReply",
  method: "post",
  path: "/conversations/{conversation_id}/suggested-reply",
  summary: "Suggest a reply to the team",
  description:
    "The agent writes the answer that it would give to the visitor's last question, from its knowledge and the conversation, however unsure it is. Nothing is sent or stored, and the agent's own tools are not called. Each suggestion counts toward the month's message quota, unless the model fails.",
  ...needsScope("conversations:write", leaseFor(LEASE_MS)),
  request: { params, body: optionalJsonBody(suggestionInSchema) },
  responses: {
    200: streamableResponse(suggestionSchema, "The suggestion.", suggestionEventsSchema),
    ...errorResponses(402, 403, 404, 409, 422),
  },
});

suggestionRoutes.openapi(suggestRoute, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const op = operationOf(c);
  const read = await requireConversation(c, op, conversationId);
  const question = openQuestionOf(read);
  if (!question) throw new ApiError("conflict", "The visitor has asked nothing that can be answered.");
  c.set("conversationId", conversationId);
  const quota = monthlyQuota(c.get("caller").workspace.limits, op.nowMs);
  await requireQuota(op, quota);
  const { modelFor } = await import("../grounded/engine.ts");
  const asked = { agent: read.agent, conversationId, question };
  const run = (onText: (text: string) => void) =>
    refundedOnFailure(op, quota, async () => toSuggestion(await suggestReply(op, modelFor(c.env), asked, onText)));
  if (c.req.valid("json").stream)
    return eventStream(c, textStream(streamSuggestion(run, (error) => ({ ...errorOf(error), request_id: c.get("requestId") }))));
  return c.json(await run(() => undefined), 200);
});

const summaryRoute = createRoute({
  operationId: "summarizeConversation",
  method: "post",
  path: "/conversations/{conversation_id}/summary",
  summary: "Summarise a conversation for who takes it over",
  description:
    "A language model writes the summary, which counts toward the month's message quota. Without a language model, and where it fails, the summary is the question, what was answered, and why the conversation was handed over. Nothing is stored.",
  ...needsScope("conversations:write", leaseFor(LEASE_MS)),
  request: { params },
  responses: {
    200: jsonResponse(
      z
        .object({
          content: z.string().meta({ description: "The summary, as plain text.", example: "Wants a refund that is two weeks late." }),
        })
        .openapi("ConversationSummary"),
      "The summary.",
    ),
    ...errorResponses(402, 403, 404, 422),
  },
});

suggestionRoutes.openapi(summaryRoute, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const op = operationOf(c);
  const read = await requireConversation(c, op, conversationId);
  c.set("conversationId", conversationId);
  const { modelFor } = await import("../grounded/engine.ts");
  const model = modelFor(c.env);
  if (!model.write) return c.json({ content: composeSummary(read) }, 200);
  const quota = monthlyQuota(c.get("caller").workspace.limits, op.nowMs);
  await requireQuota(op, quota);
  const write = model.write.bind(model);
  try {
    return c.json({ content: await refundedOnFailure(op, quota, () => writeSummary(write, read)) }, 200);
  } catch (error) {
    logProblem("model_failure", { workspace_id: op.workspaceId, conversation_id: conversationId, detail: describeFailure(error) });
    return c.json({ content: composeSummary(read) }, 200);
  }
});

async function requireConversation(c: AppContext, op: Operation, conversationId: string): Promise<ReadConversation> {
  const read = await readConversation(op, conversationId, c.get("redaction")?.storedText);
  if (!read) throw notFound("conversation");
  return read;
}

async function requireQuota({ db, workspaceId }: Operation, quota: Quota): Promise<void> {
  const [[counted]] = await db.batch([countWriting(db, workspaceId, quota)]);
  if (!counted) throw refusalError({ outcome: "quota_exceeded" });
}

/** Runs the writing of a text, which does not count if it fails. */
async function refundedOnFailure<Text>({ db, workspaceId }: Operation, quota: Quota, write: () => Promise<Text>): Promise<Text> {
  try {
    return await write();
  } catch (error) {
    await db.batch([refundWriting(db, workspaceId, quota)]);
    throw error;
  }
}

const MODEL_RETRY_SECONDS = 5;

/** @throws ApiError service_unavailable if the model failed. */
function toSuggestion({ text, citations, confidence, handoff }: Answer): z.infer<typeof suggestionSchema> {
  if (handoff?.reason === "model_failure") throw unavailable("The model failed. Try again in a moment.", MODEL_RETRY_SECONDS);
  return handoff ? { content: "", citations: [], confidence } : { content: text, citations, confidence };
}

function errorOf(error: unknown): { code: string; message: string } {
  if (error instanceof ApiError) return { code: error.code, message: error.message };
  return { code: "internal_error", message: "Something failed on our side. Try again." };
}
