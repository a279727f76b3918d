import { createRoute, z } from "@hono/zod-openapi";
import type { Operation } from "../platform/db/client.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, invalid, notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { wholePage } from "../platform/http/page.ts";
import { emptyResponse, errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { valueError } from "../platform/http/validation.ts";
import { changedFields, recordAudit } from "../workspaces/audit-store.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { createRule, eraseRule, findNamed, findRule, listRules, orderRules, type RuleRow, toStored, updateRule } from "./rule-store.ts";
import { MAX_RULES, type RuleIn, ruleInSchema, ruleListSchema, ruleSchema, ruleUpdateSchema, toRule } from "./rule-wire.ts";

export const ruleRoutes = createRouter("Routing");

const params = z.object({ routing_rule_id: uuid() });

const listRoute = createRoute({
  operationId: "listRoutingRules",
  method: "get",
  path: "/routing-rules",
  summary: "List routing rules",
  description: "A conversation that is handed off is routed by the first rule whose conditions hold.",
  ...needsScope("conversations:read"),
  responses: { 200: jsonResponse(ruleListSchema, "All rules, in their order."), ...errorResponses(403) },
});

ruleRoutes.openapi(listRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [rows] = await db.batch([listRules(db, workspaceId)]);
  return c.json(wholePage(rows.map(toRule)), 200);
});

const createRuleRoute = createRoute({
  operationId: "createRoutingRule",
  method: "post",
  path: "/routing-rules",
  summary: "Create a routing rule",
  description: `A workspace has at most ${MAX_RULES} rules. What a rule names must exist; what is deleted later is left out.`,
  ...needsScope("conversations:write"),
  request: { body: jsonBody(ruleInSchema) },
  responses: { 201: jsonResponse(ruleSchema, "The rule."), ...errorResponses(403, 409, 422) },
});

ruleRoutes.openapi(createRuleRoute, async (c) => {
  const op = operationOf(c);
  const { db, workspaceId, nowMs } = op;
  const { position = MAX_RULES, conditions, ...given } = c.req.valid("json");
  const rules = await readRules(op, { conditions, actions: given.actions });
  const row = { id: op.newId(), workspaceId, ...given, conditions: toStored(conditions), createdAt: nowMs, updatedAt: nowMs };
  const [, , , [rule]] = await db.batch([
    createRule(db, row, MAX_RULES),
    recordAudit(db, op, "routing_rule.created", { targetId: row.id }),
    orderRules(db, workspaceId, withAt(rules, row.id, position)),
    findRule(db, workspaceId, row.id),
  ]);
  if (!rule) throw new ApiError("conflict", `The workspace has ${MAX_RULES} routing rules, the maximum. Delete one first.`);
  return c.json(toRule(rule), 201);
});

const getRoute = createRoute({
  operationId: "getRoutingRule",
  method: "get",
  path: "/routing-rules/{routing_rule_id}",
  summary: "Get a routing rule",
  ...needsScope("conversations:read"),
  request: { params },
  responses: { 200: jsonResponse(ruleSchema, "The rule."), ...errorResponses(403, 404, 422) },
});

ruleRoutes.openapi(getRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [[rule]] = await db.batch([findRule(db, workspaceId, c.req.valid("param").routing_rule_id)]);
  if (!rule) throw notFound("routing rule");
  return c.json(toRule(rule), 200);
});

const updateRoute = createRoute({
  operationId: "updateRoutingRule",
  method: "patch",
  path: "/routing-rules/{routing_rule_id}",
  summary: "Change or move a routing rule",
  ...needsScope("conversations:write"),
  request: { params, body: jsonBody(ruleUpdateSchema) },
  responses: { 200: jsonResponse(ruleSchema, "The changed rule."), ...errorResponses(403, 404, 422) },
});

ruleRoutes.openapi(updateRoute, async (c) => {
  const op = operationOf(c);
  const { db, workspaceId, nowMs } = op;
  const ruleId = c.req.valid("param").routing_rule_id;
  const body = c.req.valid("json");
  const { position, conditions, name, actions } = body;
  const rules = await readRules(op, { conditions, actions });
  if (!rules.some(({ id }) => id === ruleId)) throw notFound("routing rule");
  const changes = { ...(name && { name }), ...(actions && { actions }), ...(conditions && { conditions: toStored(conditions) }) };
  const [, , , [rule]] = await db.batch([
    updateRule(db, workspaceId, ruleId, changes, nowMs),
    recordAudit(db, op, "routing_rule.updated", { targetId: ruleId, detail: { fields: changedFields(body) } }),
    orderRules(db, workspaceId, position === undefined ? [] : withAt(rules, ruleId, position)),
    findRule(db, workspaceId, ruleId),
  ]);
  if (!rule) throw notFound("routing rule");
  return c.json(toRule(rule), 200);
});

const deleteRoute = createRoute({
  operationId: "deleteRoutingRule",
  method: "delete",
  path: "/routing-rules/{routing_rule_id}",
  summary: "Delete a routing rule",
  ...needsScope("conversations:write"),
  request: { params },
  responses: { 204: emptyResponse("It is deleted."), ...errorResponses(403, 404, 422) },
});

ruleRoutes.openapi(deleteRoute, async (c) => {
  const op = operationOf(c);
  const { db, workspaceId } = op;
  const ruleId = c.req.valid("param").routing_rule_id;
  const rules = await readRules(op, {});
  const others = rules.flatMap(({ id }) => (id === ruleId ? [] : id));
  const [[erased]] = await db.batch([
    eraseRule(db, workspaceId, ruleId),
    recordAudit(db, op, "routing_rule.deleted", { targetId: ruleId }),
    orderRules(db, workspaceId, others),
  ]);
  if (!erased) throw notFound("routing rule");
  return c.body(null, 204);
});

/** Lists the ids of the rules with this one at a position, or at the end if there are fewer. */
function withAt(rules: readonly RuleRow[], ruleId: string, position: number): string[] {
  const ids = rules.flatMap(({ id }) => (id === ruleId ? [] : id));
  return ids.toSpliced(position - 1, 0, ruleId);
}

/** Reads the rules of the workspace. @throws ApiError validation_error, if something that a new rule names does not exist. */
async function readRules({ db, workspaceId }: Operation, { conditions, actions }: RuleIn): Promise<RuleRow[]> {
  const [agentId, teamId, assigneeId] = [conditions?.agent_id, actions?.team_id, actions?.assignee_id];
  const named = { agentId: agentId ?? "", teamId: teamId ?? "", assigneeId: assigneeId ?? "" };
  const [rules, [found]] = await db.batch([listRules(db, workspaceId), findNamed(db, workspaceId, named)]);
  const problems = [
    ...(agentId !== undefined && !found?.hasAgent ? [{ loc: ["body", "conditions", "agent_id"], ...valueError(unknown("agent")) }] : []),
    ...(teamId !== undefined && !found?.hasTeam ? [{ loc: ["body", "actions", "team_id"], ...valueError(unknown("team")) }] : []),
    ...(assigneeId !== undefined && !found?.hasAssignee
      ? [{ loc: ["body", "actions", "assignee_id"], ...valueError(unknown("member")) }]
      : []),
  ];
  if (problems.length > 0) throw invalid(problems);
  return rules;
}

function unknown(what: string): string {
  return `the workspace has no ${what} with this id`;
}
