import { createRoute, z } from "@hono/zod-openapi";
import { periodOf } from "../account/plans.ts";
import { requireScope } from "../admission/middleware.ts";
import { shardOf } from "../db/ids.ts";
import type { AppContext } from "../http/context.ts";
import { uuid } from "../http/fields.ts";
import { errorResponses, jsonResponse } from "../http/responses.ts";
import { createRouter } from "../http/router.ts";
import { answered } from "./outcome.ts";
import { sessionOf } from "./stub.ts";
import type { TurnRequest, TurnVisitor } from "./turn.ts";
import { chatAnswerSchema, chatInSchema, type endUserSchema } from "./wire.ts";

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
  return c.json(answered(result).answer, 200);
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
    visitor: user ? toVisitor(user) : null,
    ids: c.req.header("Idempotency-Key") === undefined ? null : { questionId: nextId(), answerId: nextId() },
    quota: { period: periodOf(nowMs), limit: workspace.limits.messages },
  };
}

/** The caller's key vouches for whom it names. */
function toVisitor({ id, name, email }: z.output<typeof endUserSchema>): TurnVisitor {
  const isVerified = { verified: true, isProfileVerified: true, joins: null };
  return { anonId: `api:${id}`, externalId: id, name: name ?? null, email: email ?? null, ...isVerified };
}
