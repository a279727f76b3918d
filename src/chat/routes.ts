import { createRoute, z } from "@hono/zod-openapi";
import { periodOf } from "../account/plans.ts";
import { requireScope } from "../admission/middleware.ts";
import { shardOf } from "../db/ids.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { uuid } from "../http/fields.ts";
import { errorResponses, jsonResponse } from "../http/responses.ts";
import { createRouter } from "../http/router.ts";
import { sessionOf } from "./stub.ts";
import type { TurnRequest, TurnResult } from "./turn.ts";
import { type ChatAnswer, chatAnswerSchema, chatInSchema } from "./wire.ts";

export const chatRoutes = createRouter();

const askAgent = createRoute({
  operationId: "askAgent",
  method: "post",
  path: "/agents/{agent_id}/messages",
  tags: ["Chat"],
  summary: "Ask an agent",
  description:
    "The agent answers from its knowledge, or hands the conversation to a human. Each question that it is asked to answer counts toward the month's message quota.",
  middleware: [requireScope("chat:write")] as const,
  request: {
    params: z.object({ agent_id: uuid() }),
    body: { required: true, content: { "application/json": { schema: chatInSchema } } },
  },
  responses: { 200: jsonResponse(chatAnswerSchema, "The answer."), ...errorResponses(402, 403, 404, 409, 422) },
});

chatRoutes.openapi(askAgent, async (c) => {
  const request = toTurnRequest(c, c.req.valid("param").agent_id, c.req.valid("json"));
  const session = sessionOf(c.env, c.get("meter"), request.workspaceId, request.conversationId);
  const { result, cost } = await session.ask(request);
  c.get("meter").add(cost);
  return c.json(answered(result), 200);
});

function toTurnRequest(c: AppContext, agentId: string, body: z.output<typeof chatInSchema>): TurnRequest {
  const { workspace } = c.get("caller");
  const nowMs = Date.now();
  const { user } = body;
  const nextId = () => c.get("newId")(shardOf(workspace.id));
  const conversationId = body.conversation_id ?? nextId();
  return {
    workspaceId: workspace.id,
    agentId,
    conversationId,
    isNew: (body.conversation_id ?? null) === null,
    channel: "api",
    message: body.message,
    visitor: user ? { anonId: `api:${user.id}`, externalId: user.id, name: user.name ?? null, email: user.email ?? null } : null,
    ids: c.req.header("Idempotency-Key") === undefined ? null : { questionId: nextId(), answerId: nextId() },
    quota: { period: periodOf(nowMs), limit: workspace.limits.messages },
  };
}

/** The answer, or the error that says why there is none. */
function answered(result: TurnResult): ChatAnswer {
  switch (result.outcome) {
    case "answered":
      return result.answer;
    case "agent_not_found":
      throw notFound("agent");
    case "conversation_not_found":
      throw notFound("conversation");
    case "agent_paused":
      throw new ApiError("conflict", "The agent is paused and takes no questions. Ask another one, or ask its operator to activate it.");
    case "other_agent":
      throw new ApiError("conflict", "The conversation is with another agent. Leave conversation_id out to start a new one.");
    case "other_channel":
      throw new ApiError("conflict", "The conversation was not started over the API. Leave conversation_id out to start a new one.");
    case "other_user":
      throw new ApiError("conflict", "The conversation is another user's. Leave conversation_id out to start a new one.");
    case "quota_exceeded":
      throw new ApiError(
        "quota_exceeded",
        "The month's message quota is used up. It starts anew with the next month, or ask for a larger plan.",
      );
  }
}
