import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { ALL_AGENTS } from "../../../src/analytics/store.ts";
import { columnsOf, ROWS_PARTS } from "../../../src/backup/parts.ts";
import { conversationRecord } from "../../../src/conversations/payloads.ts";
import { transitionOn } from "../../../src/conversations/status.ts";
import { isIdle } from "../../../src/conversations/store.ts";
import { ERASED_TABLES, WORKSPACE_TABLES } from "../../../src/operator/erasure-store.ts";
import { WORK_KINDS } from "../../../src/operator/health-store.ts";
import { directoryDb } from "../../../src/platform/db/client.ts";
import { newId } from "../../../src/platform/db/ids.ts";
import { workspaces } from "../../../src/platform/db/schema.ts";
import { Meter } from "../../../src/platform/telemetry/meter.ts";
import { dayWindow, windowsOf } from "../../../src/workspaces/usage-limits.ts";

/** Every module that queries D1. Each function that they export is called below, with samples of its parameters. */
const MODULES = import.meta.glob(
  ["../../../src/**/store.ts", "../../../src/**/*-store.ts", "../../../src/events/outbox.ts", "../../../src/platform/db/shards.ts"],
  { eager: true },
);

const NOW = 1_790_000_000_000;
const [ID, WORKSPACE, AGENT, OTHER] = [newId(0, NOW), newId(0, NOW), newId(0, NOW), newId(0, NOW)];

const VISITOR = {
  anonId: "api:1",
  externalId: "1",
  name: "Ann",
  email: "ann@example.com",
  verified: true,
  isProfileVerified: true,
  joins: null,
};
const MERGING_VISITOR = { ...VISITOR, isProfileVerified: false, joins: OTHER };

/** A record of any kind: a store reads from it what it needs. Columns that it lacks are NULL. */
const RECORD = {
  id: ID,
  workspaceId: WORKSPACE,
  agentId: AGENT,
  conversationId: ID,
  visitorId: OTHER,
  webhookId: OTHER,
  deliveryId: ID,
  eventId: OTHER,
  questionId: ID,
  answerId: OTHER,
  exportId: OTHER,
  conversation_id: ID,
  message_id: OTHER,
  messageId: OTHER,
  teamId: OTHER,
  assigneeId: OTHER,
  routingText: { texts: ["When?"], language: "en" },
  texts: ["When?"],
  language: "en",
  author: "visitor",
  rating: "up",
  name: "Ann",
  slug: "ann",
  url: "https://hooks.example.com/",
  message: "When?",
  content: "Now.",
  text: "Now.",
  channel: "api",
  status: "pending",
  senderKey: "key",
  secret: "s",
  previousSecret: null,
  identitySecret: "s",
  previousIdentitySecret: null,
  attemptCount: 0,
  durationMs: 1,
  error: null,
  body: "{}",
  isTruncated: false,
  retryAfter: null,
  trigger: "event",
  limits: { messages: 1 },
  maxMessages: 10,
  maxPrevious: 5,
  quota: { period: "2026-11", limit: 10 },
  messageLimit: { flow: "messages", perDay: 10, sender: "a" },
  limit: 20,
  offset: 40,
  nowMs: NOW,
  untilMs: NOW,
  leaseUntil: NOW,
  startedAtMs: NOW,
  createdAt: NOW,
  updatedAt: NOW,
};

/** Records with each of these values as that property. */
const withEach = (name: string, values: unknown[]) => values.map((value) => ({ ...RECORD, [name]: value }));

/** Every subset of these properties. */
function subsetsOf(all: object): object[] {
  const add = (sets: object[], [name, value]: [string, unknown]) => [...sets, ...sets.map((set) => ({ ...set, [name]: value }))];
  return Object.entries(all).reduce(add, [{}]);
}

/** Samples of the parameters and of destructured properties with this name: one for each statement that they lead to. */
const SAMPLES: Record<string, unknown[]> = {
  addresses: [["ann@example.com", "support@example.com"]],
  agentId: [AGENT, ALL_AGENTS],
  changes: withEach("enabled", [undefined, true, false]),
  cursor: [undefined, { atMs: NOW, id: OTHER }],
  filter: [
    ...subsetsOf({ agentId: AGENT, status: "open", channel: "api", sinceMs: NOW }),
    ...[true, false].map((isSnoozed) => ({ status: "open", snooze: { isSnoozed, nowMs: NOW } })),
  ],
  day: [dayWindow("evaluation_cases", 10, NOW)],
  including: [true, false],
  inactiveSinceMs: [undefined, NOW],
  ifStored: [sql`TRUE`],
  isAdmitted: [sql`TRUE`],
  isGone: [true, false],
  kept: [null, "ann@example.com"],
  question: [true, false].flatMap((isNew) =>
    withEach("visitor", [null, VISITOR, MERGING_VISITOR]).map((question) => ({ ...question, isNew })),
  ),
  queue: ["fast", "slow"],
  transition: [transitionOn("team_resolved"), transitionOn("team_replied"), transitionOn("idled")],
  named: [{ agentId: AGENT }, { conversationId: ID }],
  range: [{ fromDay: 20_000, toDay: 20_029 }],
  reply: withEach("handoff", [null, { reason: "model_failure", summary: "" }, { reason: "missing_knowledge", summary: "" }]),
  page: [
    { limit: 20, offset: 40 },
    { limit: 20, offset: 40, cursor: { atMs: NOW, id: OTHER } },
    { limit: 20, offset: 500_000 },
  ],
  person: [
    { type: "email", value: "ann@example.com" },
    { type: "anon_id", value: "api:1" },
    { type: "external_id", value: "1" },
  ],
  retention: [undefined, { leads_days: 1 }],
  status: [undefined, "failed"],
  tables: [WORKSPACE_TABLES],
  visitor: [VISITOR, MERGING_VISITOR],
  condition: [sql`TRUE`],
  where: [undefined, isIdle(NOW)],
  windows: [windowsOf({ flow: "messages", perDay: 1, sender: "a" }, NOW)],
  workspaceId: [WORKSPACE],
  furtherWrites: [[]],
};

/** Arguments after the database, of functions whose parameters depend on each other or mean something else than elsewhere. */
const ARGUMENTS: Record<string, unknown[][]> = {
  "administration/operator-audit-store.recordChange": [
    [
      { ...RECORD, actor: "key/1", by: { actor: "token/0", operation: "x", requestId: "r" } },
      "agent.updated",
      { targetId: ID, fields: ["name"] },
    ],
  ],
  "applications/store.updateRecord": [["{}", { key: "client:x", value: "{}", expiresAt: NOW }]],
  "members/sign-in-store.saveSignInSettings": [["key"], ["oidc"]].map((methods) => [
    { updatedAt: NOW },
    { ...RECORD, methods, oidcIssuer: null, oidcClientId: null, oidcClientSecret: null, domains: [] },
  ]),
  "redaction/store.updateRedaction": [[WORKSPACE, { card: true }, NOW]],
  "redaction/store.countRedactions": [[WORKSPACE, "2026-11", new Map([["card", 1]])]],
  "widget/store.addNotice": [[RECORD, { id: ID, content: "Now.", needsHuman: true, nowMs: NOW }, sql`TRUE`]],
  "workspaces/business-hours-store.updateBusinessHours": [[WORKSPACE, { time_zone: "UTC" }]],
  "attachments/store.createAttachment": [
    [
      { ...RECORD, owner: "api", type: "image/png", size: 12, expiresAt: NOW },
      { windows: windowsOf({ flow: "attachments", perDay: 1, sender: "a" }, NOW), maxMegabytes: 10 },
    ],
  ],
  "attachments/store.listTakable": [[{ ...RECORD, ids: [ID, OTHER], owners: ["api"] }]],
  "attachments/store.takeFiles": [[{ ...RECORD, ids: [ID, OTHER], owners: ["api"] }]],
  "attachments/store.detachFiles": [[WORKSPACE, sql`(SELECT value FROM json_each(${JSON.stringify([ID])}))`, 500]],
  "backup/store.addRecords": ROWS_PARTS.map((part) => [part, RECORD, [columnsOf(part.table).map(() => null)]]),
  "backup/store.cancelImport": [[WORKSPACE, { jurisdiction: null, nowMs: NOW }]],
  "backup/store.completeImport": [[RECORD, columnsOf(workspaces).map(() => null), { jurisdiction: null, nowMs: NOW }]],
  "conversations/list-store.pageConversations": SAMPLES["page"]!.map((page) => [WORKSPACE, { ...RECORD, ...(page as object) }]),
  "conversations/store.updateTags": [[WORKSPACE, ID, { added: ["vip"], removed: [] }, NOW]],
  "conversations/store.updateByTeam": [true, false].map((read) => [WORKSPACE, ID, { tags: ["vip"], assignee: RECORD, read }, NOW]),
  "conversations/store.listTranscriptAfter": [OTHER, { atMs: NOW, id: OTHER }].map((after) => [RECORD, after, 20]),
  "conversations/search-store.countChanged": [[WORKSPACE, NOW, NOW + 1]],
  "conversations/search-store.listChanged": [[WORKSPACE, { atMs: NOW, id: OTHER }, 200]],
  "conversations/search-store.listNewTexts": [[WORKSPACE, [{ id: ID, messageAt: NOW, messageId: OTHER, noteAt: NOW, noteId: OTHER }], 200]],
  "chat/start-store.createStartedConversation": [null, "api:1"].map((anonId) => [{ ...RECORD, anonId }, sql`TRUE`]),
  "agents/version-store.saveDraft": [[RECORD, RECORD, { instructions: null, model: "answer-5" }]],
  "agents/version-store.createVersion": [0, { model: "answer-5" }].map((given) => [RECORD, RECORD, given]),
  "agents/version-store.findVersion": [{ id: ID }, { number: 1 }, { rollingOut: true }].map((name) => [RECORD, name]),
  "agents/version-store.startRollout": [[RECORD, 0.2, RECORD]],
  "agents/version-store.updateRollout": [[RECORD, 0.2, NOW]],
  "backup/store.countRecords": ROWS_PARTS.map((part) => [part, WORKSPACE, [columnsOf(part.table).map(() => null)]]),
  "operator/secret-store.listSecrets": ["agents", "agent_versions", "webhook_endpoints", "privacy_erasures"].map((table) => [
    table,
    ID,
    10,
  ]),
  "operator/secret-store.replaceSecrets": [
    ["agents", ID, { tools: "[]" }, { tools: "[]" }],
    ["webhook_endpoints", ID, { secret: "s", olderSecrets: "[]" }, { secret: "s", olderSecrets: "[]" }],
    ["privacy_erasures", ID, { identifier: "s" }, { identifier: "s" }],
  ],
  "operator/health-store.findWaitingWork": WORK_KINDS.map((kind) => [kind, NOW]),
  "backup/store.listRows": ROWS_PARTS.flatMap((part) =>
    [null, part.key.map(({ dataType }) => (dataType === "number" ? 1 : ID))].map((after) => [part, WORKSPACE, after, 250]),
  ),
  "workspaces/store.createKey": [undefined, OTHER].map((granterId) => [
    { ...RECORD, hash: "hash", prefix: "sk_live_", secretId: "secret", scopes: ["agents:read"] },
    10,
    granterId,
  ]),
  "workspaces/store.revokeKey": [true, false].map((keepsLast) => [WORKSPACE, ID, { nowMs: NOW, keepsLast }]),
  "workspaces/store.listUsage": [[[WORKSPACE, OTHER], "2026-01", NOW]],
  "evaluations/store.createEvaluation": [
    [RECORD, [{ question: "When?", previous: [], expect: {} }], { window: dayWindow("evaluation_cases", 10, NOW), maxUnfinished: 3 }],
  ],
  "evaluations/store.addCase": [
    [
      { workspaceId: WORKSPACE, agentId: ID, evaluationId: OTHER },
      { question: "When?", previous: [], expect: {} },
      { window: dayWindow("evaluation_cases", 10, NOW), maxCases: 500, maxBytes: 524_288, maxUnfinished: 3, nowMs: NOW },
    ],
  ],
  "evaluations/store.measureWithCase": [
    [
      { workspaceId: WORKSPACE, evaluationId: ID },
      { question: "When?", previous: [], expect: { refusal: true } },
    ],
  ],
  "evaluations/store.recordResults": [[{ workspaceId: WORKSPACE, evaluationId: ID }, [RECORD], { leaseId: ID, untilMs: NOW }, NOW]],
  "events/outbox.appendEvent": [[RECORD, "conversation.created", conversationRecord(ID)]],
  "webhooks/event-store.pageEvents": [undefined, OTHER].map((cursor) => [WORKSPACE, { cursor, limit: 20 }]),
  "widget/store.listNewMessages": [undefined, OTHER].map((after) => [RECORD, ID, after]),
};

/** Every list that takes one of each of these. */
function combine(choices: unknown[][]): unknown[][] {
  return choices.reduce<unknown[][]>((lists, values) => lists.flatMap((list) => values.map((value) => [...list, value])), [[]]);
}

/** Splits the source of a parameter list, or of a destructuring pattern, at its own commas. */
function splitList(list: string): string[] {
  const names = [""];
  let depth = 0;
  for (const character of list) {
    if ("([{".includes(character)) depth++;
    if (")]}".includes(character) && --depth < 0) break;
    if (character === "," && depth === 0) names.push("");
    else names[names.length - 1] += character;
  }
  return names.map((name) => name.replace(/ = .*$/s, "").trim()).filter((name) => name !== "");
}

function samplesOf(parameter: string): unknown[] {
  if (parameter.startsWith("{")) {
    const names = splitList(parameter.slice(1)).filter((name) => !name.startsWith("..."));
    return combine(names.map(samplesOf)).map((values) => ({
      ...RECORD,
      ...Object.fromEntries(names.map((name, at) => [name, values[at]])),
    }));
  }
  if (parameter in SAMPLES) return SAMPLES[parameter]!;
  if (/ids$/i.test(parameter)) return [[ID, OTHER]];
  if (/id$/i.test(parameter)) return [ID];
  if (/(?:Ms|At|Until)$/.test(parameter)) return [NOW];
  if (/^(?:limit|max|shard)|(?:Day|Length|Row)$/.test(parameter)) return [10];
  return [RECORD];
}

type StoreFunction = (...args: unknown[]) => unknown;

/** The stores' functions that take a database; the others give parts of statements. */
const FUNCTIONS = Object.entries(MODULES).flatMap(([path, module]) =>
  Object.entries(module).flatMap(([name, member]): [string, StoreFunction, string[]][] => {
    if (typeof member !== "function" || /^class\b/.test(String(member))) return [];
    const source = String("build" in member ? member.build : member);
    const [first = "", ...parameters] = splitList(source.slice(source.indexOf("(") + 1));
    const fullName = `${path.slice("../../../src/".length, -".ts".length)}.${name}`;
    return ["db", "directory"].includes(first) ? [[fullName, member as StoreFunction, parameters]] : [];
  }),
);

interface Query {
  sql: string;
  params: unknown[];
}

/** The queries of what a store function returns: a statement, several, or a part of one, which is none. */
function queriesOf(result: unknown): Query[] {
  if (typeof result !== "object" || result === null) return [];
  if (Array.isArray(result)) return result.flatMap(queriesOf);
  if ("toSQL" in result) return [(result as { toSQL(): Query }).toSQL()];
  if ("getQuery" in result) return [(result as { getQuery(): Query }).getQuery()];
  return Object.getPrototypeOf(result) === Object.prototype ? Object.values(result).flatMap(queriesOf) : [];
}

/** All queries of a store function. */
async function listQueries(name: string, call: StoreFunction, parameters: string[]): Promise<Query[]> {
  const queries: Query[] = [];
  // A function that runs its batch itself finds no rows.
  const batch = async (statements: readonly unknown[]) => {
    queries.push(...queriesOf(statements));
    return statements.map(() => []);
  };
  const db = Object.assign(Object.create(directoryDb(env, new Meter())), { batch });
  for (const args of ARGUMENTS[name] ?? combine(parameters.map(samplesOf))) {
    const result = call(db, ...args);
    if (result instanceof Promise) await result;
    else queries.push(...queriesOf(result));
  }
  return queries;
}

async function planOf({ sql, params }: Query): Promise<string[]> {
  const values = params.map((value) => (typeof value === "object" || value === undefined ? null : value));
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .bind(...values)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

/** Steps of a plan that read no more than they return, or next to nothing; what a subquery itself reads are steps of their own. */
const HARMLESS_SCANS = [
  /^SCAN CONSTANT ROW$/,
  /^SCAN (?:json_(?:each|tree)|[sfmj])(?: EXISTS)? VIRTUAL TABLE/,
  /^SCAN (?:\(subquery-\d+\)|persons|p|cut|span|start|sums|due|unused|used|tenants|turns|rule|next|free)$/,
];

function scansOf(plan: string[]): string[] {
  return plan.filter((step) => step.startsWith("SCAN") && !HARMLESS_SCANS.some((pattern) => pattern.test(step)));
}

/** Scans that are meant, each with its reason. */
const MEANT_SCANS: Record<string, string[]> = {
  // One row, with a value of the statement.
  "agents/version-store.createVersion": ["SCAN d"],
  // The entries of an index, of which there are at most five thousand.
  "applications/store.createRecord": ["SCAN oauth_records USING INDEX oauth_records_expires"],
  // The rows of its subquery, which has a limit.
  "conversations/approval-store.pageApprovals": ["SCAN counted"],
  // They have at most one row per shard.
  "platform/db/shards.listShards": ["SCAN shards"],
  "shard-moves/store.listFormerShards": ["SCAN shard_moves"],
  // These read the ids of a database's workspaces, of which there are thousands at most, or of its audit log, which is bounded.
  "platform/db/shards.listOwnShards": ["SCAN workspaces USING COVERING INDEX sqlite_autoindex_workspaces_1"],
  "shard-moves/store.findWorkspaceOfShards": [
    "SCAN workspaces USING COVERING INDEX sqlite_autoindex_workspaces_1",
    "SCAN workspace_imports",
  ],
  "shard-moves/store.eraseOtherRows": ["SCAN operator_audit", "SCAN workspace_imports"],
  // The operator's page of all workspaces, in the index's order: it ends at the page's end.
  "operator/store.listDirectory": ["SCAN workspace_directory USING INDEX sqlite_autoindex_workspace_directory_1"],
  // It never holds a row.
  "operator/erasure-store.eraseSomeRows": ["SCAN analytics_changes"],
};

const SORT = "USE TEMP B-TREE FOR ORDER BY";

/** The waiting rows of all workspaces, no more than a run takes of each. */
const TURNS = [SORT];

/** Sorts that are meant, each with its reason. The two sides of a union are sorted too, so that nothing comes twice. */
const MEANT_SORTS: Record<string, string[]> = {
  "platform/db/shards.listOwnShards": ["USE TEMP B-TREE FOR DISTINCT"],
  // The counters of sixteen days by their names.
  "analytics/store.createMissingSpans": ["USE TEMP B-TREE FOR GROUP BY"],
  // A union of at most a hundred and a hundred.
  "analytics/store.listUnansweredQuestions": [SORT],
  // The latest conversations of one question, and a union as above.
  "analytics/gap-store.listGapQuestions": [SORT],
  // The attempts of one delivery; erasures that are under way, which are few.
  "backup/store.listRows": ["USE TEMP B-TREE FOR LAST TERM OF ORDER BY", SORT],
  // The rows of one page; of a deep one also the spans of days that it lies behind.
  "conversations/feedback-store.pageFeedback": [SORT],
  "conversations/list-store.pageConversations": [SORT],
  "conversations/list-store.listConversations": [SORT],
  "conversations/search-store.listChanged": [SORT],
  // The seconds of two minutes.
  "conversations/search-store.countChanged": ["USE TEMP B-TREE FOR GROUP BY"],
  // The messages of one conversation, of which a plan limits the number.
  "knowledge/draft-store.listQuestionsBefore": [SORT],
  // The rules of a workspace, of which there are at most fifty.
  "routing/rule-store.listRules": [SORT],
  // The rules and the members of the teams, and the conversations that wait for them, in two sorts that keep the first row.
  "chat/store.finishTurn": [SORT],
  "conversations/store.createHandoff": [SORT],
  // Unions of one person's records.
  "privacy/person-store.listVisitors": [SORT],
  "privacy/person-store.listSharedVisitors": [SORT],
  "privacy/person-store.countRecords": [SORT],
  "privacy/person-store.listConversations": [SORT],
  "privacy/person-store.listFirstMessages": [SORT],
  "privacy/person-store.listHandoffs": [SORT],
  "privacy/person-store.listLeads": [SORT],
  "privacy/person-store.listLeadsByVisitor": [SORT],
  "privacy/person-store.listUploads": [SORT],
  "privacy/person-store.eraseVisitors": [SORT],
  "privacy/retention-store.eraseUnusedVisitors": [SORT],
  // The tags of one conversation.
  "conversations/store.updateTags": [SORT],
  "conversations/store.listIdle": TURNS,
  "attachments/store.claimUnusedFiles": TURNS,
  "email/store.listDueMails": TURNS,
  "knowledge/store.requestDueSyncs": TURNS,
  "knowledge/store.listStrandedSources": TURNS,
  "knowledge/store.listUnindexedAnswers": TURNS,
  "evaluations/store.listStrandedEvaluations": TURNS,
  // The verdicts of one evaluation, of which there are four.
  "evaluations/store.addCase": ["USE TEMP B-TREE FOR GROUP BY"],
  "evaluations/store.recordResults": ["USE TEMP B-TREE FOR GROUP BY"],
  "leads/store.listUnindexedLeads": TURNS,
  "operator/health-store.findWaitingWork": TURNS,
  "operator/health-store.listModelFailures": ["USE TEMP B-TREE FOR GROUP BY"],
  "operator/health-store.listRefusedMails": [SORT, "USE TEMP B-TREE FOR GROUP BY"],
  "operator/store.listDeleted": TURNS,
  "privacy/erasure-store.listUnfinishedErasures": TURNS,
  "webhooks/delivery-store.rescueOrphans": TURNS,
  "webhooks/endpoint-store.listLogErasures": TURNS,
};

function sortsOf(plan: string[]): string[] {
  return plan.filter((step) => step.includes("TEMP B-TREE") || step.includes("AUTOMATIC"));
}

/** A step that reads all that a workspace has in an index, or all of it that has a value there. */
const WIDE = /\(workspace_id=\?(?: AND \w+_(?:id|key)>\?)?\)$/;

/** Reads of all that a workspace has in an index that are meant, each with its reason. */
const MEANT_WIDE: Record<string, string[]> = {
  // The unread conversations, which wait for the team.
  "conversations/search-store.listUnread": ["SEARCH conversations USING INDEX conversations_unread (workspace_id=?)"],
  // The audit log has a largest size, and its pages are bounded.
  "workspaces/audit-store.listAuditEntries": ["SEARCH audit_log USING INDEX audit_log_workspace (workspace_id=?)"],
  "workspaces/audit-store.countAuditEntries": ["SEARCH audit_log USING COVERING INDEX audit_log_workspace (workspace_id=?)"],
  // The agents of some workspaces, as many as their plans allow.
  "workspaces/store.listUsage": ["SEARCH agents USING INDEX agents_workspace_slug (workspace_id=?)"],
  // At most three.
  "evaluations/store.addCase": ["SEARCH evaluations USING INDEX evaluations_unfinished (workspace_id=?)"],
  "evaluations/store.createEvaluation": ["SEARCH evaluations USING INDEX evaluations_unfinished (workspace_id=?)"],
  // These read unfinished rows in the order of the index, and stop after as many as a run takes.
  "knowledge/store.listStrandedSources": ["SEARCH sources USING INDEX sources_unfinished (workspace_id=?)"],
  "webhooks/endpoint-store.listLogErasures": ["SEARCH webhook_erasures USING INDEX webhook_erasures_workspace (workspace_id=?)"],
  // A page in the order of the index, and a count with a limit.
  "conversations/approval-store.pageApprovals": [
    "SEARCH approvals USING INDEX approvals_workspace (workspace_id=?)",
    "SEARCH approvals USING COVERING INDEX approvals_workspace (workspace_id=?)",
  ],
  // A page in the order of the index: it ends at the page's end.
  "leads/store.pageLeads": ["SEARCH leads USING INDEX leads_created (workspace_id=?)"],
  "webhooks/event-store.pageEvents": ["SEARCH events USING INDEX events_sequence (workspace_id=?)"],
  "webhooks/event-store.findLatestEvent": ["SEARCH events USING INDEX events_sequence (workspace_id=?)"],
};

/** Functions that may read all rows of a kind in a workspace: its lists, its export and its erasure. */
const READS_A_WORKSPACE =
  /^(?:workspaces\/store\.listKeys|agents\/store\.listAgents|operator\/erasure-store\.\w+|backup\/store\.(?:listRows|listKnowledge|clearCounts))$/;

/** Tables with one row per workspace, one per kind and agent (counters), at most a hundred endpoints or teams or rules, or the members of a plan. */
const FEW_OF_A_WORKSPACE =
  /\b(?:workspace_directory|workspace_imports|sqlite_autoindex_workspace_imports_1|conversation_counts|lead_counts|webhook_endpoints_workspace|saved_replies_workspace|teams_workspace|routing_rules_workspace|members_workspace|members_email|member_sessions_workspace|applications_workspace|sign_in_settings_workspace)\b/;

test.for(FUNCTIONS)("%s scans no table and sorts nothing", async ([name, call, parameters]) => {
  const queries = await listQueries(name, call, parameters);
  const distinct = new Map(queries.map((query) => [query.sql, query]));
  const plans = await Promise.all([...distinct.values()].map(planOf));
  expect(plans).not.toEqual([]);
  expect([...new Set(plans.flatMap(scansOf))]).toEqual(MEANT_SCANS[name] ?? []);
  expect([...new Set(plans.flatMap(sortsOf))]).toEqual(MEANT_SORTS[name] ?? []);
  if (READS_A_WORKSPACE.test(name)) return;
  const wide = plans.flatMap((plan) => plan.filter((step) => WIDE.test(step) && !FEW_OF_A_WORKSPACE.test(step)));
  expect([...new Set(wide)]).toEqual(MEANT_WIDE[name] ?? []);
});

test("every exception named here is of a function that there is", () => {
  const names = FUNCTIONS.map(([name]) => name);
  for (const exceptions of [ARGUMENTS, MEANT_SCANS, MEANT_SORTS, MEANT_WIDE])
    expect(names).toEqual(expect.arrayContaining(Object.keys(exceptions)));
});

test("no statement of a trigger scans a table or sorts", async () => {
  const { results } = await env.DB.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all<{
    name: string;
    sql: string;
  }>();
  expect(results.length).toBeGreaterThanOrEqual(12);
  for (const { name, sql: source } of results) {
    const [, head, body] = /^([\s\S]*?)\bBEGIN\b([\s\S]*)\bEND\b/.exec(source)!;
    const condition = /\bWHEN\b([\s\S]*)$/.exec(head!)?.[1];
    // A statement that keeps a table empty reads nothing, and may be the only one of a trigger.
    const statements = body!.split(";").filter((statement) => statement.trim() !== "" && !statement.includes("SELECT RAISE(IGNORE)"));
    expect(statements.length).toBeGreaterThan(0);
    if (condition !== undefined) statements.push(`SELECT 1 WHERE ${condition}`);
    for (const statement of statements) {
      const plan = await planOf({ sql: statement.replaceAll(/\b(?:NEW|OLD)\.\w+/g, "NULL"), params: [] });
      expect([name, scansOf(plan)]).toEqual([name, []]);
    }
  }
});

/** A trigger drops every row of it (migrations/0001_triggers.sql), so it needs no index. */
const NEVER_FILLED = "analytics_changes";

test("every table of a workspace has an index or a primary key that begins with its id", async () => {
  const { results: tables } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  ).all<{ name: string }>();
  const checked: string[] = [];
  for (const { name } of tables) {
    const { results: columns } = await env.DB.prepare("SELECT name FROM pragma_table_info(?)").bind(name).all<{ name: string }>();
    if (!columns.some((column) => column.name === "workspace_id")) continue;
    checked.push(name);
    if (name === NEVER_FILLED) continue;
    const { results: firsts } = await env.DB.prepare(
      "SELECT i.name AS name FROM pragma_index_list(?) l JOIN pragma_index_info(l.name) i WHERE i.seqno = 0 AND l.partial = 0",
    )
      .bind(name)
      .all<{ name: string }>();
    expect([name, firsts.some((first) => first.name === "workspace_id")]).toEqual([name, true]);
  }
  // And an erasure empties each of them, but those of the directory, whose rows it takes out one by one.
  expect(checked.toSorted()).toEqual([...ERASED_TABLES, "workspace_directory", "email_directory", "operator_audit"].toSorted());
});

test("both databases have the same tables, indexes and triggers", async () => {
  const schemaOf = async (database: D1Database) =>
    (await database.prepare("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name").all()).results;
  expect(await schemaOf(env.DB_1)).toEqual(await schemaOf(env.DB));
});
