import { createRoute } from "@hono/zod-openapi";
import { noAgent } from "../agents/checks.ts";
import { listAgents } from "../agents/store.ts";
import type { AgentRow } from "../agents/wire.ts";
import { jsonBody } from "../platform/http/body.ts";
import type { AppContext } from "../platform/http/context.ts";
import type { Check } from "../platform/http/checks.ts";
import { notFound } from "../platform/http/errors.ts";
import { joinRetries } from "../platform/http/idempotency.ts";
import { errorResponses, jsonResponse, streamableResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { toHeader, UNKNOWN_FIELDS } from "../platform/http/unknown-fields.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { completionError, type CompletionHead, toCompletion } from "./openai.ts";
import {
  completionChunksSchema,
  type CompletionIn,
  completionInSchema,
  completionSchema,
  type GivenResults,
  ignoredFields,
  modelListSchema,
  resultsIn,
  toAsked,
} from "./openai-wire.ts";
import { resultsOf, streamedAnswer, streamedContinued, toQuestion, wholeAnswer, wholeContinued } from "./responses.ts";
import type { StreamFormat } from "./stream-formats.ts";

/** The routes for clients of OpenAI's API, whose base URL is `/api/v1/openai`. */
export const openAiRoutes = createRouter("OpenAI");

/** Adds the fields that OpenAI's clients read to errors. The clients ignore everything besides `error`. */
export const openAiErrors: Check = (c) => {
  c.set("errorFields", ({ status, code, message, detail = [], fields }) => {
    // OpenAI's clients repeat a request by themselves after a 409 or a 5xx, which would ask the question twice. Only the error of a
    // question that will be answered has `fields`.
    if (status === 409 || fields) c.header("X-Should-Retry", "false");
    const [first] = detail;
    const isUnknownModel = code === "not_found" && [noAgent(), notFound("agent")].some((error) => error.message === message);
    const param = isUnknownModel ? "model" : first && first.loc.slice(1).join(".");
    const words = detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}.`);
    if (isUnknownModel) words.push("This workspace has no agent with this id or slug.");
    if (param === "model") words.push("The model is the id or slug of an agent. GET /api/v1/openai/models lists the agents.");
    return { ...completionError(status, param), ...(words.length > 0 && { message: words.join(" ") }) };
  });
};

/** The limit allows the longest histories that clients send. */
const MAX_BODY_VALUES = 50_000;

const createCompletion = createRoute({
  operationId: "createChatCompletion",
  method: "post",
  path: "/openai/chat/completions",
  summary: "Ask an agent with OpenAI's protocol",
  description:
    "Asks an agent in the same way as `POST /agents/{agent_id}/messages`, for programs that use OpenAI's chat completions. Sampling parameters have no effect. The header `X-Unknown-Fields` names them and the messages that are ignored.",
  ...needsScope("chat:write", joinRetries),
  request: { body: jsonBody(completionInSchema) },
  responses: {
    200: streamableResponse(completionSchema, "The answer.", completionChunksSchema),
    ...errorResponses(402, 403, 404, 409, 422),
  },
  "x-max-body-values": MAX_BODY_VALUES,
});

openAiRoutes.openapi(createCompletion, async (c) => {
  const body = c.req.valid("json");
  const ignored = ignoredFields(body);
  if (ignored.length > 0) c.header(UNKNOWN_FIELDS, toHeader(ignored), { append: true });
  const agentId = await c.get("agentIdOf")!(body.model);
  const sent = resultsIn(body.messages);
  if (sent) return continueCompletion(c, body, { ...sent, agentId });
  const { asked, earlier } = toAsked(body);
  const question = { ...toQuestion(c, agentId, asked), ...(earlier.length > 0 && { earlier }) };
  const head = { id: question.answerId, created: Math.floor(Date.now() / 1_000), model: question.agentId };
  if (!body.stream) return c.json(toCompletion(head, (await wholeAnswer(c, question)).answer), 200);
  return streamedAnswer(c, question, { format: formatOf(body, head) });
});

/** Sends the results of tools at the end of the messages. */
async function continueCompletion(c: AppContext, body: CompletionIn, { key, results, agentId }: GivenResults & { agentId: string }) {
  const head = { id: key.message_id, created: Math.floor(Date.now() / 1_000), model: agentId };
  const sent = resultsOf(c, key, results);
  if (body.stream) return streamedContinued(c, sent, { format: formatOf(body, head) });
  return c.json(toCompletion(head, (await wholeContinued(c, sent)).answer), 200);
}

function formatOf({ stream_options: options }: CompletionIn, head: CompletionHead): StreamFormat {
  return { name: "openai", head, includesUsage: options?.include_usage ?? false };
}

const listModels = createRoute({
  operationId: "listModels",
  method: "get",
  path: "/openai/models",
  summary: "List the agents with OpenAI's protocol",
  description: "The active agents as models.",
  ...needsScope("agents:read"),
  responses: { 200: jsonResponse(modelListSchema, "The agents."), ...errorResponses(403) },
});

/** The limit is larger than the number of agents of any plan. */
const MAX_MODELS = 1_000;

openAiRoutes.openapi(listModels, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [rows]: [AgentRow[]] = await db.batch([listAgents(db, workspaceId, { limit: MAX_MODELS, offset: 0 })]);
  const data = rows
    .filter(({ status }) => status === "active")
    .map(({ id, name, createdAt }) => {
      return { id, object: "model" as const, created: Math.floor(createdAt / 1_000), owned_by: c.get("caller").workspace.slug, name };
    });
  return c.json({ object: "list" as const, data }, 200);
});
