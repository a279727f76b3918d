import { createRoute, z } from "@hono/zod-openapi";
import { findAgentBrief } from "../agents/store.ts";
import { jsonBody } from "../platform/http/body.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, invalid, notFound, retryAfter } from "../platform/http/errors.ts";
import { agentRef, uuid } from "../platform/http/fields.ts";
import { formBody } from "../platform/http/multipart.ts";
import { pageQuery, toPage, wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { valueError } from "../platform/http/validation.ts";
import { truncate } from "../platform/text.ts";
import { limitReached, needsScope, operationOf } from "../workspaces/checks.ts";
import { MEGABYTE } from "../workspaces/plans.ts";
import { addAnswer, changeAnswer, confirmIndexedSoon, removeAnswer } from "./answers.ts";
import { addedAnswer, knowledgeOperationOf } from "./checks.ts";
import { MAX_TEXT_BYTES } from "./extract/response.ts";
import { type KeyedSource, putSource } from "./put-source.ts";
import { search } from "./search.ts";
import {
  addSource,
  changeSource,
  listSourcePages,
  listSourcePassages,
  removeSource,
  type SourceChange,
  type SourceCreation,
  syncSource,
} from "./sources.ts";
import { findSource, listAnswers, listSources } from "./store.ts";
import {
  answerCreateSchema,
  answerPageSchema,
  answerPatchSchema,
  answerSchema,
  crawledPagesSchema,
  searchResultSchema,
  searchSchema,
  sourceCreateSchema,
  sourceFileSchema,
  sourceKey,
  sourcePageSchema,
  sourcePagesQuery,
  sourcePassagesQuery,
  sourcePassagesSchema,
  sourcePatchSchema,
  sourcePutSchema,
  sourceSchema,
  STATES_OF_STATUS,
  toAnswer,
  toCrawledPage,
  toSource,
} from "./wire.ts";

/** The size of a body with the longest text. A client that escapes all but ASCII sends six bytes for a letter of two. */
const MAX_SOURCE_BODY_BYTES = 16 * 1024 * 1024;
const MAX_FILE_BYTES = 20 * 1024 * 1024;
const MAX_NAME_CHARS = 300;
/** The delay after which a client may send a file again, when too many wait. */
const WAITING_RETRY_SECONDS = 30;

export const knowledgeRoutes = createRouter("Knowledge");

const params = z.object({ agent_id: agentRef() });
const sourceParams = params.extend({ source_id: uuid() });

const listSourcesRoute = createRoute({
  operationId: "listSources",
  method: "get",
  path: "/agents/{agent_id}/sources",
  summary: "List an agent's knowledge sources",
  ...needsScope("knowledge:read"),
  request: { params },
  responses: { 200: jsonResponse(sourcePageSchema, "All sources, oldest first."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(listSourcesRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId } = c.req.valid("param");
  const [[agent], rows] = await db.batch([findAgentBrief(db, workspaceId, agentId), listSources(db, workspaceId, agentId)]);
  if (!agent) throw notFound("agent");
  return c.json(wholePage(rows.map(toSource)), 200);
});

const createSourceRoute = createRoute({
  operationId: "createSource",
  method: "post",
  path: "/agents/{agent_id}/sources",
  summary: "Add a knowledge source",
  description: "The source is read in the background: poll it until its status is ready or failed.",
  ...needsScope("knowledge:write"),
  request: { params, body: jsonBody(sourceCreateSchema) },
  responses: { 202: jsonResponse(sourceSchema, "The new source, pending."), ...errorResponses(403, 404, 413, 422) },
  "x-max-body-bytes": MAX_SOURCE_BODY_BYTES,
  "x-max-text-bytes": MAX_TEXT_BYTES,
});

knowledgeRoutes.openapi(createSourceRoute, async (c) => {
  const source = c.req.valid("json");
  const change = await addSource(knowledgeOperationOf(c, c.req.valid("param").agent_id), c.get("caller").workspace.limits, source);
  return c.json(toSource(createdSource(c, change)), 202);
});

const uploadSourceFileRoute = createRoute({
  operationId: "uploadSourceFile",
  method: "post",
  path: "/agents/{agent_id}/sources/files",
  summary: "Add a file as a knowledge source",
  description:
    "Send it as multipart/form-data. The type is detected from the content, not from the name. The text is read in the background: poll the source until its status is ready or failed.",
  ...needsScope("knowledge:write"),
  request: { params, body: formBody(sourceFileSchema) },
  responses: { 202: jsonResponse(sourceSchema, "The new source, pending."), ...errorResponses(403, 404, 413, 422) },
  "x-max-file-bytes": MAX_FILE_BYTES,
});

knowledgeRoutes.openapi(uploadSourceFileRoute, async (c) => {
  const source = { ...fileSource(c.req.valid("form")), max_pages: 1, schedule: "manual" } as const;
  const change = await addSource(knowledgeOperationOf(c, c.req.valid("param").agent_id), c.get("caller").workspace.limits, source);
  return c.json(toSource(createdSource(c, change)), 202);
});

const putSourceRoute = createRoute({
  operationId: "putSource",
  method: "put",
  path: "/agents/{agent_id}/sources/by-key/{source_key}",
  summary: "Add or replace a text or file by your own key",
  description:
    "Adds a source under a key of your choice, or replaces the name, metadata and content of the source that has it. Send a text as JSON, or a file as multipart/form-data. The agent answers from the previous content until the new one is read. If name and content are the same as before, nothing is read again, and no sync is counted.",
  ...needsScope("knowledge:write"),
  request: {
    params: params.extend({ source_key: sourceKey() }),
    body: { required: true, content: { ...jsonBody(sourcePutSchema).content, ...formBody(sourceFileSchema).content } },
  },
  responses: {
    202: jsonResponse(sourceSchema, "The source. Its status is pending if it is read."),
    ...errorResponses(403, 404, 409, 413, 422),
  },
  "x-max-body-bytes": MAX_SOURCE_BODY_BYTES,
  "x-max-text-bytes": MAX_TEXT_BYTES,
  "x-max-file-bytes": MAX_FILE_BYTES,
});

knowledgeRoutes.openapi(putSourceRoute, async (c) => {
  const { agent_id: agentId, source_key: key } = c.req.valid("param");
  // The validator has one of them.
  const body = (c.req.valid("form") as SentContent | undefined) ?? c.req.valid("json");
  const sent = "file" in body ? fileSource(body) : textSource(key, body);
  const put = await putSource(knowledgeOperationOf(c, agentId), c.get("caller").workspace.limits, key, sent);
  if (put.outcome === "busy") {
    throw new ApiError("conflict", "Another request is changing the source with this key. Try again in a moment.");
  }
  if (put.outcome === "other_type") {
    throw new ApiError("conflict", `The source with this key is a ${put.type}. Send a ${put.type}, or use another key.`);
  }
  return c.json(toSource(createdSource(c, put)), 202);
});

type SentContent = z.output<typeof sourcePutSchema> | z.output<typeof sourceFileSchema>;

function textSource(key: string, { name = key, text, metadata }: z.output<typeof sourcePutSchema>): KeyedSource {
  return { type: "text", name, text, metadata };
}

function fileSource({ file, name = nameOf(file.name), metadata = {} }: z.output<typeof sourceFileSchema>): KeyedSource & { type: "file" } {
  return { type: "file", name, metadata, pieces: file.pieces };
}

/** Removes the extension from the name of a file. */
function nameOf(filename: string | null): string {
  return truncate((filename ?? "").replace(/(?<=.)\.\w{1,8}$/, ""), MAX_NAME_CHARS) || "File";
}

/** Returns the created source. @throws ApiError if it was refused. */
function createdSource(c: AppContext, creation: SourceCreation) {
  switch (creation.outcome) {
    case "done":
      return creation.source;
    case "agent_not_found":
      throw notFound("agent");
    case "too_many":
      throw new ApiError("plan_required", "The agent has as many sources as the plan includes. Delete one, or ask for a larger plan.");
    case "rate_limited":
      throw limitReached(creation.full, Date.now());
    case "too_large":
      throw tooMuchText(c, creation.bytes);
    case "too_many_waiting": {
      const message = "Too many files of this agent are waiting to be read. Try again when some of their sources are ready.";
      throw new ApiError("rate_limited", message, retryAfter(WAITING_RETRY_SECONDS));
    }
  }
}

function tooMuchText(c: AppContext, bytes: number): ApiError {
  const { knowledge_mb_per_agent: included } = c.get("caller").workspace.limits;
  const megabytes = (Math.ceil((bytes / MEGABYTE) * 10) / 10).toFixed(1);
  const message = `With this text the agent would have ${megabytes} MB of knowledge, and the plan includes ${included} MB.`;
  return new ApiError("plan_required", `${message} Delete a source, send a shorter text, or ask for a larger plan.`);
}

const getSourceRoute = createRoute({
  operationId: "getSource",
  method: "get",
  path: "/agents/{agent_id}/sources/{source_id}",
  summary: "Get a source",
  ...needsScope("knowledge:read"),
  request: { params: sourceParams },
  responses: { 200: jsonResponse(sourceSchema, "The source, with its progress."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(getSourceRoute, async (c) => {
  const { agent_id: agentId, source_id: sourceId } = c.req.valid("param");
  const { db, workspaceId } = operationOf(c);
  const [[source]] = await db.batch([findSource(db, workspaceId, agentId, sourceId)]);
  if (!source) throw notFound("source");
  return c.json(toSource(source), 200);
});

const updateSourceRoute = createRoute({
  operationId: "updateSource",
  method: "patch",
  path: "/agents/{agent_id}/sources/{source_id}",
  summary: "Change a source",
  description: "A new text is read in the background. Until then, the agent answers from the previous one.",
  ...needsScope("knowledge:write"),
  request: { params: sourceParams, body: jsonBody(sourcePatchSchema) },
  responses: {
    200: jsonResponse(sourceSchema, "The source. Its status is pending if it is read again."),
    ...errorResponses(403, 404, 422),
  },
  "x-max-body-bytes": MAX_SOURCE_BODY_BYTES,
  "x-max-text-bytes": MAX_TEXT_BYTES,
});

knowledgeRoutes.openapi(updateSourceRoute, async (c) => {
  const { agent_id: agentId, source_id: sourceId } = c.req.valid("param");
  const change = await changeSource(knowledgeOperationOf(c, agentId), c.get("caller").workspace.limits, sourceId, c.req.valid("json"));
  return c.json(toSource(changedSource(c, change)), 200);
});

/** Returns the changed source. @throws ApiError if the change was refused. */
function changedSource(c: AppContext, change: SourceChange) {
  switch (change.outcome) {
    case "done":
      return change.source;
    case "not_found":
      throw notFound("source");
    case "rate_limited":
      throw limitReached(change.full, Date.now());
    case "too_large":
      throw tooMuchText(c, change.bytes);
    case "not_a_text":
      throw invalid([NOT_A_TEXT]);
  }
}

const NOT_A_TEXT = { loc: ["body", "text"], ...valueError("only a source of type text has a text to replace") };

const syncSourceRoute = createRoute({
  operationId: "syncSource",
  method: "post",
  path: "/agents/{agent_id}/sources/{source_id}/sync",
  summary: "Read a source again",
  description:
    "If a sync is waiting or running already, no other one is queued. Until it is complete, the agent answers from the last successful one.",
  ...needsScope("knowledge:write"),
  request: { params: sourceParams },
  responses: { 202: jsonResponse(sourceSchema, "The source; its sync is queued."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(syncSourceRoute, async (c) => {
  const { agent_id: agentId, source_id: sourceId } = c.req.valid("param");
  const change = await syncSource(knowledgeOperationOf(c, agentId), c.get("caller").workspace.limits, sourceId);
  return c.json(toSource(changedSource(c, change)), 202);
});

const deleteSourceRoute = createRoute({
  operationId: "deleteSource",
  method: "delete",
  path: "/agents/{agent_id}/sources/{source_id}",
  summary: "Delete a source and all that the agent knows from it",
  ...needsScope("knowledge:write"),
  request: { params: sourceParams },
  responses: { 204: emptyResponse("Deleted."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(deleteSourceRoute, async (c) => {
  const { agent_id: agentId, source_id: sourceId } = c.req.valid("param");
  if (!(await removeSource(knowledgeOperationOf(c, agentId), sourceId))) throw notFound("source");
  return c.body(null, 204);
});

const listPagesRoute = createRoute({
  operationId: "listSourcePages",
  method: "get",
  path: "/agents/{agent_id}/sources/{source_id}/pages",
  summary: "List the pages of a source",
  description: "The pages after the last sync, or those that a running sync has found so far. A text or file has no pages.",
  ...needsScope("knowledge:read"),
  request: { params: sourceParams, query: sourcePagesQuery },
  responses: {
    200: jsonResponse(crawledPagesSchema, "The pages, in the order in which they were found."),
    ...errorResponses(403, 404, 422),
  },
});

knowledgeRoutes.openapi(listPagesRoute, async (c) => {
  const { agent_id: agentId, source_id: sourceId } = c.req.valid("param");
  const { status, ...page } = c.req.valid("query");
  const states = status === undefined ? null : STATES_OF_STATUS[status];
  const listed = await listSourcePages(knowledgeOperationOf(c, agentId), sourceId, { states, ...page });
  if (!listed) throw notFound("source");
  return c.json(toPage(listed.pages.map(toCrawledPage), listed.total, page), 200);
});

const listPassagesRoute = createRoute({
  operationId: "listSourcePassages",
  method: "get",
  path: "/agents/{agent_id}/sources/{source_id}/passages",
  summary: "Read the text of a source, in passages",
  description:
    "The passages are those that a search finds, in the order of the text: together they are the text that the agent answers from. The list is empty until the source is read for the first time. While it is read again, or if that fails, the list has the previous text.",
  ...needsScope("knowledge:read"),
  request: { params: sourceParams, query: sourcePassagesQuery },
  responses: { 200: jsonResponse(sourcePassagesSchema, "A page of passages."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(listPassagesRoute, async (c) => {
  const { agent_id: agentId, source_id: sourceId } = c.req.valid("param");
  const { url = null, ...page } = c.req.valid("query");
  const listed = await listSourcePassages(knowledgeOperationOf(c, agentId), { sourceId, url }, page);
  if (!listed) throw notFound("source");
  return c.json(toPage(listed.passages, listed.total, page), 200);
});

const listAnswersRoute = createRoute({
  operationId: "listAnswers",
  method: "get",
  path: "/agents/{agent_id}/answers",
  summary: "List an agent's curated answers",
  ...needsScope("knowledge:read"),
  request: { params, query: pageQuery },
  responses: { 200: jsonResponse(answerPageSchema, "A page of answers, oldest first."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(listAnswersRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId } = c.req.valid("param");
  const page = c.req.valid("query");
  const [[agent], rows] = await db.batch([findAgentBrief(db, workspaceId, agentId), listAnswers(db, workspaceId, agentId, page)]);
  if (!agent) throw notFound("agent");
  return c.json(toPage(rows.map(toAnswer), agent.answersCount, page), 200);
});

const createAnswerRoute = createRoute({
  operationId: "createAnswer",
  method: "post",
  path: "/agents/{agent_id}/answers",
  summary: "Add a curated question and answer",
  description: "When a question matches it closely, the agent gives this answer word for word.",
  ...needsScope("knowledge:write"),
  request: { params, body: jsonBody(answerCreateSchema) },
  responses: { 201: jsonResponse(answerSchema, "The new answer."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(createAnswerRoute, async (c) => {
  const op = knowledgeOperationOf(c, c.req.valid("param").agent_id);
  return c.json(toAnswer(addedAnswer(c, op, await addAnswer(op, c.get("caller").workspace.limits, c.req.valid("json")))), 201);
});

const updateAnswerRoute = createRoute({
  operationId: "updateAnswer",
  method: "patch",
  path: "/agents/{agent_id}/answers/{answer_id}",
  summary: "Change a curated answer",
  ...needsScope("knowledge:write"),
  request: { params: params.extend({ answer_id: uuid() }), body: jsonBody(answerPatchSchema) },
  responses: { 200: jsonResponse(answerSchema, "The changed answer, in use."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(updateAnswerRoute, async (c) => {
  const { agent_id: agentId, answer_id: answerId } = c.req.valid("param");
  const op = knowledgeOperationOf(c, agentId);
  const answer = await changeAnswer(op, answerId, c.req.valid("json"));
  if (!answer) throw notFound("answer");
  if (answer.indexedAt === null) c.executionCtx.waitUntil(confirmIndexedSoon(op, answer));
  return c.json(toAnswer(answer), 200);
});

const deleteAnswerRoute = createRoute({
  operationId: "deleteAnswer",
  method: "delete",
  path: "/agents/{agent_id}/answers/{answer_id}",
  summary: "Delete a curated answer",
  ...needsScope("knowledge:write"),
  request: { params: params.extend({ answer_id: uuid() }) },
  responses: { 204: emptyResponse("Deleted."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(deleteAnswerRoute, async (c) => {
  const { agent_id: agentId, answer_id: answerId } = c.req.valid("param");
  if (!(await removeAnswer(knowledgeOperationOf(c, agentId), answerId))) throw notFound("answer");
  return c.body(null, 204);
});

const searchRoute = createRoute({
  operationId: "searchKnowledge",
  method: "post",
  path: "/agents/{agent_id}/search",
  summary: "Search an agent's knowledge",
  description: "The search asks no model and uses no message of the quota.",
  ...needsScope("knowledge:read"),
  request: { params, body: jsonBody(searchSchema) },
  responses: { 200: jsonResponse(searchResultSchema, "What was found, best first."), ...errorResponses(403, 404, 422) },
});

knowledgeRoutes.openapi(searchRoute, async (c) => {
  const found = await search(knowledgeOperationOf(c, c.req.valid("param").agent_id), c.req.valid("json"));
  if (!found) throw notFound("agent");
  return c.json({ data: found }, 200);
});
