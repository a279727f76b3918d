import { createRoute, z } from "@hono/zod-openapi";
import { noVersion } from "../agents/checks.ts";
import { findAgentBrief } from "../agents/store.ts";
import { findVersion } from "../agents/version-store.ts";
import { DRAFT } from "../agents/versions.ts";
import type { Check } from "../platform/http/checks.ts";
import type { AppContext } from "../platform/http/context.ts";
import { transact } from "../platform/db/sql.ts";
import { hasLanguageModel } from "../platform/config.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, invalid, notFound } from "../platform/http/errors.ts";
import { agentRef, uuid } from "../platform/http/fields.ts";
import { pageQuery, toPage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { valueError } from "../platform/http/validation.ts";
import { limitReached, needsScope, operationOf, requireScope } from "../workspaces/checks.ts";
import { dayWindow, findFullWindow } from "../workspaces/usage-limits.ts";
import { listCounts } from "../workspaces/usage-limit-store.ts";
import { caseInSchema, needsLanguageModel } from "./case-wire.ts";
import { wakeEvaluation } from "./consumer.ts";
import {
  addCase,
  countEvaluations,
  createEvaluation,
  eraseEvaluations,
  type EvaluationCase,
  findEvaluation,
  listCases,
  listEvaluations,
  measureWithCase,
  turnsOf,
} from "./store.ts";
import {
  addCaseQuery,
  caseSchema,
  evaluationInSchema,
  evaluationPageSchema,
  evaluationQuery,
  evaluationResultSchema,
  evaluationSchema,
  MAX_CASES,
  toCase,
  toEvaluation,
  toEvaluationResult,
} from "./wire.ts";

export const evaluationRoutes = createRouter("Evaluations");

const params = z.object({ agent_id: agentRef() });
const evaluationParams = params.extend({ evaluation_id: uuid() });

/** How many evaluations of a workspace may wait or run. Few, since visitors' questions need the model too. */
const MAX_UNFINISHED = 3;
/** The size of all cases of an evaluation, which is also the limit of the body that creates it. */
const MAX_CASES_BYTES = 512 * 1024;

/** The scope that may read versions other than the published one. */
const VERSION_SCOPE = "agents:write";

const checkVersion = (c: AppContext) => {
  const { version } = c.req.valid("json" as never) as z.output<typeof evaluationInSchema>;
  if (version !== null) requireScope(c, VERSION_SCOPE);
};

/** A persona and criteria need a language model. */
const checkModel = (c: AppContext) => {
  const given = c.req.valid("json" as never) as z.output<typeof evaluationInSchema> | EvaluationCase;
  const isList = "cases" in given;
  const cases = isList ? given.cases : [given];
  if (hasLanguageModel(c.env) || !cases.some(needsLanguageModel)) return;
  const error = "the deployment has no language model, which plays a persona and judges criteria: leave them out";
  const refused = cases.flatMap((one, at) =>
    needsLanguageModel(one) ? [{ loc: isList ? ["body", "cases", at] : ["body"], ...valueError(error) }] : [],
  );
  throw invalid(refused);
};

const checkEvaluation: Check = (c) => {
  checkVersion(c);
  checkModel(c);
};

const createEvaluationRoute = createRoute({
  operationId: "createEvaluation",
  method: "post",
  path: "/agents/{agent_id}/evaluations",
  summary: "Run questions against an agent",
  description:
    "Each question is asked as a visitor would ask it: with the same search, threshold, model and filters. It creates no conversation, event or lead, uses no message of the quota, and calls no tool that changes something. A case may have several turns, fixed or written by a persona that the language model plays; its tools are never called and answer as the case says. Each turn counts toward the cases of a day. The evaluation runs in the background; the ten latest of an agent are kept.",
  ...needsScope("knowledge:write"),
  checkInput: checkEvaluation,
  request: { params, body: jsonBody(evaluationInSchema) },
  responses: {
    202: jsonResponse(evaluationSchema, "The evaluation, which has not started yet."),
    ...errorResponses(403, 404, 409, 413, 422),
  },
});

evaluationRoutes.openapi(createEvaluationRoute, async (c) => {
  const { agent_id: agentId } = c.req.valid("param");
  const { name, cases, version: named } = c.req.valid("json");
  const version = named === "draft" ? DRAFT : named;
  const { db, workspaceId, nowMs, newId } = operationOf(c);
  const { limits } = c.get("caller").workspace;
  const id = newId();
  const window = dayWindow("evaluation_cases", limits.evaluation_cases_per_day, nowMs);
  const row = { id, workspaceId, agentId, name, status: "pending" as const, casesCount: cases.length, version };
  const { before, after } = await transact(db, {
    before: [
      findAgentBrief(db, workspaceId, agentId),
      listCounts(db, workspaceId, [window]),
      findVersion(db, { workspaceId, agentId }, { number: version ?? DRAFT }),
    ],
    writes: createEvaluation(db, { ...row, createdAt: nowMs, updatedAt: nowMs }, cases, { window, maxUnfinished: MAX_UNFINISHED }),
    after: [findEvaluation(db, workspaceId, agentId, id)],
  });
  const [[agent], sent, [found]] = before;
  const [[evaluation]] = after;
  if (!agent) throw notFound("agent");
  if (version && !found) throw noVersion();
  if (!evaluation) {
    const asked = cases.reduce((sum, one) => sum + turnsOf(one), 0);
    const full = findFullWindow([window], sent, asked);
    if (full) throw limitReached(full, nowMs);
    throw tooManyUnfinished();
  }
  await wakeEvaluation(c.env, { workspaceId, evaluationId: id });
  return c.json(toEvaluation(evaluation), 202);
});

function tooManyUnfinished(): ApiError {
  return new ApiError("conflict", `${MAX_UNFINISHED} evaluations are unfinished. Wait until one has ended, or delete one.`);
}

const addCaseRoute = createRoute({
  operationId: "addEvaluationCase",
  method: "post",
  path: "/agents/{agent_id}/evaluations/{evaluation_id}/cases",
  summary: "Add a case to an evaluation",
  description: `The case runs in the background; the other cases keep their results. It replaces a case that asks the same question after the same ones or, with several turns, one with the same messages or persona and the same tools; with \`replaces\`, it replaces the case at that position. An evaluation that has ended runs again until the case has its result; one that has failed also runs its other cases. For an evaluation of a \`version\`, it needs the scope \`${VERSION_SCOPE}\`, as creating that one does. An evaluation has at most ${MAX_CASES} cases, which take at most ${MAX_CASES_BYTES / 1024} KiB together.`,
  ...needsScope("knowledge:write"),
  checkInput: checkModel,
  request: { params: evaluationParams, query: addCaseQuery, body: jsonBody(caseInSchema) },
  responses: { 201: jsonResponse(caseSchema, "The case, which has not run yet."), ...errorResponses(403, 404, 409, 413, 422) },
});

evaluationRoutes.openapi(addCaseRoute, async (c) => {
  const { agent_id: agentId, evaluation_id: evaluationId } = c.req.valid("param");
  const { replaces } = c.req.valid("query");
  const { db, workspaceId, nowMs } = operationOf(c);
  const key = { workspaceId, evaluationId };
  const window = dayWindow("evaluation_cases", c.get("caller").workspace.limits.evaluation_cases_per_day, nowMs);
  const mayAskVersions = c.get("caller").key.scopes.includes(VERSION_SCOPE);
  const limits = { mayAskVersions, replaces, window, maxCases: MAX_CASES, maxBytes: MAX_CASES_BYTES, maxUnfinished: MAX_UNFINISHED, nowMs };
  const given = c.req.valid("json");
  const [[evaluation], sent, [size], [added]] = await db.batch([
    findEvaluation(db, workspaceId, agentId, evaluationId),
    listCounts(db, workspaceId, [window]),
    measureWithCase(db, key, given, replaces),
    ...addCase(db, { ...key, agentId }, given, limits),
  ]);
  if (!evaluation) throw notFound("evaluation");
  if (evaluation.version !== null) requireScope(c, VERSION_SCOPE);
  if (!added) {
    const full = findFullWindow([window], sent, turnsOf(given));
    if (full) throw limitReached(full, nowMs);
    if ((size?.bytes ?? 0) > MAX_CASES_BYTES) {
      const message = `The cases of the evaluation would take more than ${MAX_CASES_BYTES / 1024} KiB together. Create another one.`;
      throw new ApiError("conflict", message);
    }
    if (evaluation.casesCount < MAX_CASES) throw tooManyUnfinished();
    throw new ApiError("conflict", `The evaluation has ${MAX_CASES} cases, the maximum. Create another one.`);
  }
  await wakeEvaluation(c.env, key);
  return c.json(toCase(added), 201);
});

const listEvaluationsRoute = createRoute({
  operationId: "listEvaluations",
  method: "get",
  path: "/agents/{agent_id}/evaluations",
  summary: "List an agent's evaluations",
  ...needsScope("knowledge:read"),
  request: { params, query: pageQuery },
  responses: { 200: jsonResponse(evaluationPageSchema, "A page of evaluations, newest first."), ...errorResponses(403, 404, 422) },
});

evaluationRoutes.openapi(listEvaluationsRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId } = c.req.valid("param");
  const page = c.req.valid("query");
  const [[agent], rows, [counted]] = await db.batch([
    findAgentBrief(db, workspaceId, agentId),
    listEvaluations(db, workspaceId, agentId, page),
    countEvaluations(db, workspaceId, agentId),
  ]);
  if (!agent) throw notFound("agent");
  return c.json(toPage(rows.map(toEvaluation), counted?.count ?? 0, page), 200);
});

const getEvaluationRoute = createRoute({
  operationId: "getEvaluation",
  method: "get",
  path: "/agents/{agent_id}/evaluations/{evaluation_id}",
  summary: "Get an evaluation with its results",
  description: "With `compare_to`, each case shows whether it has become better or worse since that run.",
  ...needsScope("knowledge:read"),
  request: { params: evaluationParams, query: evaluationQuery },
  responses: { 200: jsonResponse(evaluationResultSchema, "The evaluation with all its cases."), ...errorResponses(403, 404, 422) },
});

evaluationRoutes.openapi(getEvaluationRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { agent_id: agentId, evaluation_id: evaluationId } = c.req.valid("param");
  const { compare_to: earlierId } = c.req.valid("query");
  const [[evaluation], cases, [earlier], earlierCases] = await db.batch([
    findEvaluation(db, workspaceId, agentId, evaluationId),
    listCases(db, { workspaceId, evaluationId }),
    findEvaluation(db, workspaceId, agentId, earlierId ?? ""),
    listCases(db, { workspaceId, evaluationId: earlierId ?? "" }),
  ]);
  if (!evaluation) throw notFound("evaluation");
  if (earlierId !== undefined && !earlier) throw notFound("evaluation to compare with");
  return c.json(toEvaluationResult(evaluation, cases, earlier && { id: earlier.id, cases: earlierCases }), 200);
});

const deleteEvaluationRoute = createRoute({
  operationId: "deleteEvaluation",
  method: "delete",
  path: "/agents/{agent_id}/evaluations/{evaluation_id}",
  summary: "Cancel or delete an evaluation",
  description: "Cancels an evaluation that runs. Deletes one that has ended, with its results.",
  ...needsScope("knowledge:write"),
  request: { params: evaluationParams },
  responses: { 204: emptyResponse("Deleted."), ...errorResponses(403, 404, 422) },
});

evaluationRoutes.openapi(deleteEvaluationRoute, async (c) => {
  const { agent_id: agentId, evaluation_id: evaluationId } = c.req.valid("param");
  const { db, workspaceId } = operationOf(c);
  const [, [deleted]] = await db.batch(eraseEvaluations(db, workspaceId, agentId, evaluationId));
  if (!deleted) throw notFound("evaluation");
  return c.body(null, 204);
});
