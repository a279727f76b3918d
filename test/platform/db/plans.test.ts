import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import * as agents from "../../../src/agents/store.ts";
import * as analytics from "../../../src/analytics/store.ts";
import { columnsOf, ROWS_PARTS } from "../../../src/backup/parts.ts";
import * as exports from "../../../src/backup/store.ts";
import * as chat from "../../../src/chat/store.ts";
import * as visitors from "../../../src/chat/visitor-store.ts";
import * as lists from "../../../src/conversations/list-store.ts";
import * as moves from "../../../src/conversations/moves-store.ts";
import * as json from "../../../src/conversations/payloads.ts";
import { moveBy } from "../../../src/conversations/status.ts";
import * as handoffs from "../../../src/conversations/store.ts";
import * as email from "../../../src/email/store.ts";
import * as events from "../../../src/events/outbox.ts";
import * as sourceJson from "../../../src/knowledge/store.ts";
import * as leads from "../../../src/leads/store.ts";
import * as erasure from "../../../src/operator/erasure-store.ts";
import * as health from "../../../src/operator/health-store.ts";
import * as secrets from "../../../src/operator/secret-store.ts";
import * as operator from "../../../src/operator/store.ts";
import { type Database, directoryDb } from "../../../src/platform/db/client.ts";
import { newId } from "../../../src/platform/db/ids.ts";
import { workspaces } from "../../../src/platform/db/schema.ts";
import * as shardStore from "../../../src/platform/db/shards.ts";
import * as idempotency from "../../../src/platform/http/idempotency-store.ts";
import { Meter } from "../../../src/platform/telemetry/meter.ts";
import * as privacyErasure from "../../../src/privacy/erasure-store.ts";
import * as person from "../../../src/privacy/person-store.ts";
import * as retention from "../../../src/privacy/retention-store.ts";
import * as deliveries from "../../../src/webhooks/delivery-store.ts";
import * as log from "../../../src/webhooks/log-store.ts";
import * as webhookErasure from "../../../src/webhooks/store.ts";
import * as notices from "../../../src/widget/store.ts";
import * as account from "../../../src/workspaces/store.ts";

declare global {
  interface ImportMeta {
    glob: (patterns: string[]) => Record<string, unknown>;
  }
}

interface Statement {
  toSQL(): { sql: string; params: unknown[] };
}

/** Every module that asks D1. */
const STORES: Record<string, Record<string, unknown>> = {
  "agents/store": agents,
  "analytics/store": analytics,
  "backup/store": exports,
  "chat/store": chat,
  "chat/visitor-store": visitors,
  "conversations/list-store": lists,
  "conversations/moves-store": moves,
  "conversations/payloads": json,
  "conversations/store": handoffs,
  "email/store": email,
  "events/outbox": events,
  "knowledge/store": sourceJson,
  "leads/store": leads,
  "operator/erasure-store": erasure,
  "operator/health-store": health,
  "operator/secret-store": secrets,
  "operator/store": operator,
  "platform/db/shards": shardStore,
  "platform/http/idempotency-store": idempotency,
  "privacy/erasure-store": privacyErasure,
  "privacy/person-store": person,
  "privacy/retention-store": retention,
  "webhooks/delivery-store": deliveries,
  "webhooks/log-store": log,
  "webhooks/store": webhookErasure,
  "widget/store": notices,
  "workspaces/store": account,
};

/** They keep an object's own storage. */
const OBJECT_STORES = [
  "knowledge/crawl/crawl-store",
  "knowledge/crawl/page-store",
  "knowledge/indexing/store",
  "knowledge/vectors/vector-store",
];

const db = directoryDb(env, new Meter());
const NOW = 1_790_000_000_000;
const [ID, WORKSPACE, AGENT, OTHER] = [newId(0, NOW), newId(0, NOW), newId(0, NOW), newId(0, NOW)];
const PAGE = { limit: 20, offset: 40 };
const DEEP_PAGE = { ...PAGE, offset: 500_000 };
const CURSOR_PAGE = { ...PAGE, cursor: { atMs: NOW, id: OTHER } };
const SLICE = { afterId: ID, limit: 50 };
const KEY_OF_CONVERSATION = { workspaceId: WORKSPACE, conversationId: ID };
const VISITOR = {
  anonId: "api:1",
  externalId: "1",
  name: "Ann",
  email: "ann@example.com",
  verified: true,
  isProfileVerified: true,
  joins: null,
};
const TURN = {
  workspaceId: WORKSPACE,
  agentId: AGENT,
  conversationId: ID,
  isNew: false,
  channel: "api" as const,
  message: "When?",
  visitor: VISITOR,
  quota: { period: "2026-11", limit: 10 },
  questionId: newId(0, NOW),
  answerId: newId(0, NOW),
  visitorId: newId(0, NOW),
  nowMs: NOW,
};
const OUTCOME = {
  text: "Then.",
  citations: [],
  confidence: 1,
  handoff: { reason: "model_failure" as const, summary: "When?" },
  agentName: "Ada",
  nowMs: NOW,
};
const SOURCE = {
  id: ID,
  workspaceId: WORKSPACE,
  agentId: AGENT,
  type: "text" as const,
  name: "Handbook",
  status: "pending" as const,
  schedule: "manual" as const,
  maxPages: 1,
  createdAt: NOW,
  updatedAt: NOW,
};
const ANSWER = { id: ID, workspaceId: WORKSPACE, agentId: AGENT, question: "A?", answer: "B.", createdAt: NOW, updatedAt: NOW };
const API_KEY = { id: ID, workspaceId: WORKSPACE, name: "Key", prefix: "sk_live_", hash: "h", scopes: [], createdAt: NOW };
const AGENT_ROW = {
  id: AGENT,
  workspaceId: WORKSPACE,
  name: "Agent",
  slug: "agent",
  status: "active" as const,
  language: "en",
  welcomeMessage: "",
  handoffMessage: "",
  confidenceThreshold: 0.5,
  inactivityMinutes: 1,
  createdAt: NOW,
  updatedAt: NOW,
};
const WORKSPACE_ROW = { id: WORKSPACE, name: "W", slug: "w", plan: "free" as const, createdAt: NOW, updatedAt: NOW };

const RANGE = { fromDay: 20_000, toDay: 20_090 };
const CLAIM = { agentId: AGENT, visitorId: OTHER };
const LEAD = { id: ID, workspaceId: WORKSPACE, agentId: AGENT, email: "ann@example.com", emailKey: "ann@example.com", createdAt: NOW };
const IMPORT = { workspaceId: WORKSPACE, exportId: OTHER };
const RECORD = { workspaceId: WORKSPACE, key: "k", requestHash: "h", leaseUntil: NOW, createdAt: NOW };
const EVENT = { id: ID, workspaceId: WORKSPACE, conversationId: OTHER, nowMs: NOW };
const ENDPOINT = {
  id: ID,
  workspaceId: WORKSPACE,
  url: "https://hooks.example.com",
  events: ["*"],
  enabled: true,
  secret: "s",
  createdAt: NOW,
  updatedAt: NOW,
};
const HELD = { id: ID, workspaceId: WORKSPACE, webhookId: OTHER, trigger: "event" as const, attemptCount: 0, leaseUntil: NOW };
const RESULT = {
  startedAtMs: NOW,
  durationMs: 1,
  status: 500,
  body: "",
  isTruncated: false,
  error: "http_error" as const,
  retryAfter: null,
  url: "https://hooks.example.com/",
};
const NEW_TEST = { deliveryId: ID, eventId: OTHER, workspaceId: WORKSPACE, webhookId: AGENT, payload: "{}", nowMs: NOW, leaseUntil: NOW };
const AUDIT = { id: ID, workspaceId: WORKSPACE, actor: "key/1", action: "privacy.erase", createdAt: NOW };
const IDENTIFIERS: person.Identifier[] = [
  { type: "email", value: "ann@example.com" },
  { type: "anon_id", value: "api:1" },
  { type: "external_id", value: "1" },
];

/** Every set of these filters, with all of them and with none. */
function filtersOf<Filter extends object>(all: Filter): Partial<Filter>[] {
  const add = (sets: Partial<Filter>[], [name, value]: [string, unknown]) => [...sets, ...sets.map((set) => ({ ...set, [name]: value }))];
  return Object.entries(all).reduce(add, [{}] as Partial<Filter>[]);
}

const CONVERSATION_FILTERS = filtersOf({ agentId: AGENT, status: "open" as const, channel: "api" as const, sinceMs: NOW });
const LEAD_FILTERS = filtersOf({ agentId: AGENT, sinceMs: NOW });

/** The statements of what runs its batch itself: its database takes them down and finds nothing. */
async function batchOf(run: (database: Database) => Promise<unknown>): Promise<Statement[]> {
  const taken: Statement[] = [];
  const batch = async (statements: readonly Statement[]) => {
    taken.push(...statements);
    return statements.map(() => []);
  };
  await run(Object.assign(Object.create(db), { batch }) as Database);
  return taken;
}

/** The statements of every store function. A new one is added here, or the first test fails. */
const STATEMENTS: Record<string, () => readonly Statement[] | Promise<Statement[]>> = {
  "email/store.findMailbox": () => [email.findMailbox(db, ["a@example.com", "b@example.com"])],
  "email/store.noteArrival": () => [email.noteArrival(db, { workspaceId: WORKSPACE, mailKey: "m", senderKey: "s", createdAt: NOW })],
  "email/store.findArrival": () => [email.findArrival(db, WORKSPACE, "m")],
  "email/store.countArrivals": () => [email.countArrivals(db, WORKSPACE, "s", NOW)],
  "email/store.pruneArrivals": () => [email.pruneArrivals(db, NOW, 10)],
  "email/store.listThreads": () => [email.listThreads(db, AGENT, "ann@example.com", [ID, OTHER])],
  "email/store.keepThread": () => [
    email.keepThread(db, { conversationId: ID, workspaceId: WORKSPACE, address: "ann@example.com", subject: "S", createdAt: NOW }),
  ],
  "email/store.eraseThread": () => [email.eraseThread(db, ID)],
  "email/store.claimMail": () => [email.claimMail(db, ID, NOW, NOW)],
  "email/store.findMail": () => [email.findMail(db, ID)],
  "email/store.noteMail": () => [email.noteMail(db, ID, NOW, { status: "sent" })],
  "email/store.listDueMails": () => [email.listDueMails(db, NOW, NOW, 10)],
  "workspaces/store.findUsage": () => [account.findUsage(db, WORKSPACE, "2026-11")],
  "workspaces/store.findCounts": () => [account.findCounts(db, WORKSPACE)],
  "workspaces/store.findWorkspace": () => [account.findWorkspace(db, WORKSPACE)],
  "workspaces/store.listKeys": () => [account.listKeys(db, WORKSPACE)],
  "workspaces/store.createKey": () => [account.createKey(db, API_KEY)],
  "workspaces/store.revokeKey": () => [account.revokeKey(db, WORKSPACE, ID, NOW)],
  "workspaces/store.noteSecret": () => [account.recordSecretUse(db, WORKSPACE, ID, { secretId: "s", outdatedUseAt: NOW })],
  "agents/store.listAgents": () => [agents.listAgents(db, WORKSPACE, PAGE)],
  "agents/store.findAgentsCount": () => [agents.findAgentsCount(db, WORKSPACE)],
  "agents/store.findAgent": () => [agents.findAgent(db, WORKSPACE, AGENT)],
  "agents/store.createAgent": () => [agents.createAgent(db, AGENT_ROW, 5)],
  "agents/store.findAgentBySlug": () => [agents.findAgentBySlug(db, WORKSPACE, "agent")],
  "agents/store.updateAgent": () => [
    agents.updateAgent(db, WORKSPACE, AGENT, { name: "New" }),
    agents.updateAgent(db, WORKSPACE, AGENT, { slug: "new" }),
  ],
  "agents/store.replaceIdentitySecret": () => [
    agents.replaceIdentitySecret(db, WORKSPACE, AGENT, { identitySecret: "secret", previousUntilMs: 2, nowMs: 1 }),
  ],
  "agents/store.eraseAgent": () => [agents.eraseAgent(db, WORKSPACE, AGENT)],
  // No statement of its own: a condition, which createAnswer holds.
  "agents/store.agentExists": () => [],
  "analytics/store.listDays": () => [AGENT, analytics.ALL_AGENTS].map((whose) => analytics.listDays(db, WORKSPACE, whose, RANGE)),
  "analytics/store.sumDays": () => [AGENT, analytics.ALL_AGENTS].map((whose) => analytics.sumDays(db, WORKSPACE, whose, RANGE, 20_050)),
  "analytics/store.listStatusCounts": () => [AGENT, analytics.ALL_AGENTS].map((whose) => analytics.listStatusCounts(db, WORKSPACE, whose)),
  "analytics/store.listUnansweredQuestions": () =>
    [AGENT, analytics.ALL_AGENTS].map((whose) => analytics.listUnansweredQuestions(db, WORKSPACE, whose, RANGE)),
  "chat/store.beginTurn": () =>
    batchOf(async (database) => {
      for (const isNew of [false, true]) {
        for (const visitor of [null, VISITOR, { ...VISITOR, isProfileVerified: false, joins: OTHER }]) {
          await chat.beginTurn(database, { ...TURN, isNew, visitor });
        }
      }
    }),
  "chat/store.finishTurn": () =>
    batchOf(async (database) => {
      await chat.finishTurn(database, TURN, OUTCOME);
      await chat.finishTurn(database, TURN, { ...OUTCOME, handoff: { ...OUTCOME.handoff, reason: "missing_knowledge" } });
      await chat.finishTurn(database, TURN, { ...OUTCOME, handoff: null });
    }),
  "chat/store.returnQuota": () => [chat.returnQuota(db, TURN)],
  "chat/store.findAnswer": () => [chat.findAnswer(db, WORKSPACE, ID, OTHER)],
  "chat/visitor-store.keepVisitor": () => [
    ...visitors.keepVisitor(db, TURN, VISITOR, sql`TRUE`),
    ...visitors.keepVisitor(db, TURN, { ...VISITOR, isProfileVerified: false, joins: OTHER }, sql`TRUE`),
  ],
  // No statements of their own: parts of those that beginTurn runs.
  "chat/visitor-store.personOf": () => [],
  "chat/visitor-store.mergedIdOf": () => [],
  "chat/visitor-store.isTheirs": () => [],
  "conversations/store.addHandoff": () =>
    handoffs.addHandoff(
      db,
      { ...KEY_OF_CONVERSATION, agentId: AGENT, nowMs: NOW },
      { reason: "customer_request", questionKey: null, ...notices.lastQuestion(KEY_OF_CONVERSATION) },
    ),
  // No statement of its own: a record, which addHandoffEvent and CONVERSATION_JSON hold.
  "conversations/list-store.pageConversations": () =>
    CONVERSATION_FILTERS.flatMap((filter) =>
      [PAGE, CURSOR_PAGE, DEEP_PAGE].flatMap((page) => lists.pageConversations(db, WORKSPACE, filter, page) as readonly Statement[]),
    ),
  "conversations/moves-store.moveConversation": () => [
    moves.moveConversation(db, KEY_OF_CONVERSATION, moveBy("team_resolved"), { nowMs: NOW, by: "api" }),
    moves.moveConversation(db, KEY_OF_CONVERSATION, moveBy("idled"), { nowMs: NOW, by: "auto", where: handoffs.isIdle(NOW) }),
  ],
  "conversations/moves-store.followHandoff": () =>
    [true, false].map((answered) => moves.followHandoff(db, KEY_OF_CONVERSATION, moveBy("team_replied"), { nowMs: NOW, answered })),
  // No statement of its own: a condition, which moveConversation holds.
  "conversations/moves-store.conversationExists": () => [],
  "conversations/moves-store.isConversation": () => [],
  "conversations/store.findConversation": () => [handoffs.findConversation(db, WORKSPACE, ID)],
  "conversations/store.findConversationVisitor": () => [handoffs.findConversationVisitor(db, WORKSPACE, ID)],
  "conversations/store.findLatestHandoff": () => [handoffs.findLatestHandoff(db, WORKSPACE, ID)],
  "conversations/store.listMessages": () => [handoffs.listMessages(db, WORKSPACE, ID)],
  "conversations/store.findMessage": () => [handoffs.findMessage(db, WORKSPACE, ID)],
  "conversations/store.setTags": () => [handoffs.setTags(db, KEY_OF_CONVERSATION, ["vip"], NOW)],
  "conversations/store.addReply": () => [handoffs.addReply(db, KEY_OF_CONVERSATION, { id: OTHER, content: "Yes.", nowMs: NOW })],
  "conversations/store.noteHumanReply": () => [handoffs.noteHumanReply(db, KEY_OF_CONVERSATION, NOW)],
  // No statement of its own: a condition, which listIdle holds.
  "conversations/store.isIdle": () => [],
  "conversations/store.listIdle": () => [handoffs.listIdle(db, NOW, 100)],
  "platform/http/idempotency-store.reserveKey": () => idempotency.reserveKey(db, RECORD, NOW),
  "platform/http/idempotency-store.takeOver": () => [idempotency.takeOver(db, RECORD, NOW, NOW)],
  "platform/http/idempotency-store.keepResponse": () => [
    idempotency.storeResponse(db, RECORD, { status: 200, body: "{}", conversationId: ID }),
  ],
  "platform/http/idempotency-store.noteConversation": () => [idempotency.linkConversation(db, RECORD, ID)],
  "platform/http/idempotency-store.releaseKey": () => [idempotency.releaseKey(db, RECORD)],
  "platform/http/idempotency-store.pruneKeys": () => [idempotency.pruneKeys(db, NOW, 5000)],
  "knowledge/store.listSources": () => [sourceJson.listSources(db, WORKSPACE, AGENT)],
  "knowledge/store.findSource": () => [sourceJson.findSource(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.createSource": () => [sourceJson.createSource(db, SOURCE, 5)],
  "knowledge/store.eraseSource": () => [sourceJson.eraseSource(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.requestSync": () => [sourceJson.requestSync(db, WORKSPACE, AGENT, ID, NOW)],
  "knowledge/store.requestDueSyncs": () => [sourceJson.requestDueSyncs(db, NOW, 100)],
  "knowledge/store.claimSource": () => [sourceJson.claimSource(db, ID, { id: OTHER, untilMs: NOW }, NOW)],
  "knowledge/store.updateClaimed": () => [sourceJson.updateClaimed(db, ID, OTHER, { status: "ready" })],
  "knowledge/store.failSource": () => [sourceJson.failSource(db, ID, { code: "c", message: "m" }, NOW, NOW)],
  "knowledge/store.listStrandedSources": () => [sourceJson.listStrandedSources(db, NOW, NOW, 100)],
  "knowledge/store.sourceExists": () => [sourceJson.sourceExists(db, ID)],
  "knowledge/store.listAnswers": () => [sourceJson.listAnswers(db, WORKSPACE, AGENT, PAGE)],
  "knowledge/store.findAnswer": () => [sourceJson.findAnswer(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.createAnswer": () => [sourceJson.createAnswer(db, ANSWER)],
  "knowledge/store.markIndexed": () => [sourceJson.markIndexed(db, ID, NOW)],
  "knowledge/store.eraseAnswer": () => [sourceJson.eraseAnswer(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.listUnindexedAnswers": () => [sourceJson.listUnindexedAnswers(db, NOW, 100)],
  "knowledge/store.eraseAgentKnowledge": () => sourceJson.eraseAgentKnowledge(db, WORKSPACE, AGENT),
  "leads/store.pageLeads": () =>
    LEAD_FILTERS.flatMap((filter) =>
      [PAGE, CURSOR_PAGE].flatMap((page) => leads.pageLeads(db, WORKSPACE, filter, page) as readonly Statement[]),
    ),
  "leads/store.listLeads": () => [leads.listLeads(db, WORKSPACE, [ID, OTHER])],
  "leads/store.findLead": () => [leads.findLead(db, WORKSPACE, ID)],
  "leads/store.createLead": () => [leads.createLead(db, LEAD)],
  "leads/store.markIndexed": () => [leads.markIndexed(db, WORKSPACE, [ID], NOW)],
  "leads/store.listUnindexedLeads": () => [leads.listUnindexedLeads(db, NOW, 1000)],
  "leads/store.eraseLeadRows": () => [leads.eraseLeadRows(db, WORKSPACE, [ID])],
  "backup/store.listRows": () =>
    ROWS_PARTS.flatMap((part) => [
      exports.listRows(db, part, WORKSPACE, null, 250),
      exports.listRows(
        db,
        part,
        WORKSPACE,
        part.key.map(({ dataType }) => (dataType === "number" ? 1 : ID)),
        250,
      ),
    ]),
  "backup/store.findAgentAfter": () => [true, false].map((including) => exports.findAgentAfter(db, WORKSPACE, AGENT, including)),
  "backup/store.findWorkspaceRow": () => [exports.findWorkspaceRow(db, WORKSPACE)],
  "backup/store.findImport": () => [exports.findImport(db, WORKSPACE)],
  "backup/store.findAnyWorkspace": () => [exports.findAnyWorkspace(db, WORKSPACE)],
  "backup/store.beginImport": () => [exports.beginImport(db, IMPORT, NOW)],
  "backup/store.updateImport": () => [exports.updateImport(db, IMPORT, { recountedAt: NOW })],
  "backup/store.addRecords": () => ROWS_PARTS.map((part) => exports.addRecords(db, part, IMPORT, [columnsOf(part.table).map(() => null)])),
  "backup/store.countRecords": () =>
    ROWS_PARTS.map((part) => exports.countRecords(db, part, WORKSPACE, [columnsOf(part.table).map(() => null)])),
  "backup/store.clearCounts": () => exports.clearCounts(db, IMPORT, 2000),
  "backup/store.listOwnAgents": () => [exports.listOwnAgents(db, WORKSPACE, [AGENT])],
  "backup/store.completeImport": () =>
    exports.completeImport(
      db,
      IMPORT,
      columnsOf(workspaces).map(() => null),
      NOW,
    ),
  "backup/store.abandonImport": () => exports.abandonImport(db, WORKSPACE, NOW),
  "operator/erasure-store.findDeleted": () => [erasure.findDeleted(db, WORKSPACE)],
  "operator/erasure-store.listSomeConversations": () => [erasure.listSomeConversations(db, WORKSPACE, 100)],
  "operator/erasure-store.listSomeAgents": () => [erasure.listSomeAgents(db, WORKSPACE, 100)],
  "operator/erasure-store.eraseConversations": () => [erasure.eraseConversations(db, [ID])],
  "operator/erasure-store.eraseAgents": () => [erasure.eraseAgents(db, [AGENT])],
  "operator/erasure-store.eraseSomeRows": () => erasure.eraseSomeRows(db, WORKSPACE, 2000),
  "operator/erasure-store.eraseWorkspace": () => [erasure.eraseWorkspace(db, WORKSPACE)],
  "operator/health-store.findDueDeliveries": () => (["fast", "slow"] as const).map((lane) => health.findDueDeliveries(db, lane, NOW)),
  "operator/health-store.findDueMails": () => [health.findDueMails(db, NOW)],
  "operator/health-store.findWaitingSources": () => [health.findWaitingSources(db, NOW)],
  "operator/health-store.findDueSyncs": () => [health.findDueSyncs(db, NOW)],
  "operator/health-store.findIdleConversations": () => [health.findIdleConversations(db, NOW)],
  "operator/health-store.findDeletedWorkspaces": () => [health.findDeletedWorkspaces(db, NOW)],
  "operator/health-store.findErasures": () => (["persons", "webhooks"] as const).map((of) => health.findErasures(db, of, NOW)),
  "operator/secret-store.listAgentSecrets": () => [secrets.listAgentSecrets(db, ID, 25)],
  "operator/secret-store.replaceIdentitySecrets": () => [
    secrets.replaceIdentitySecrets(
      db,
      AGENT,
      { identitySecret: "a", previousIdentitySecret: null },
      { identitySecret: "b", previousIdentitySecret: null },
    ),
  ],
  "operator/secret-store.replaceTools": () => [secrets.replaceTools(db, AGENT, "[1]", "[2]")],
  "operator/secret-store.listEndpointSecrets": () => [secrets.listEndpointSecrets(db, ID, 100)],
  "operator/secret-store.replaceEndpointSecrets": () => [
    secrets.replaceEndpointSecrets(db, ID, { secret: "a", previousSecret: null }, { secret: "b", previousSecret: null }),
  ],
  "operator/secret-store.listErasureSecrets": () => [secrets.listErasureSecrets(db, ID, 100)],
  "operator/secret-store.replaceErasureSecret": () => [secrets.replaceErasureSecret(db, ID, "a", "b")],
  "operator/secret-store.listKeptResponses": () => [secrets.listKeptResponses(db, 0, 11, 1000)],
  "operator/secret-store.listKeySecrets": () => [secrets.listKeySecrets(db, ID, 1000)],
  "operator/store.claimSlug": () => [operator.claimSlug(db, { workspaceId: WORKSPACE, slug: "w", shard: 0 })],
  "operator/store.findSlug": () => [operator.findSlug(db, "w")],
  "operator/store.releaseSlug": () => [operator.releaseSlug(db, WORKSPACE)],
  "operator/store.listDirectory": () => [operator.listDirectory(db, PAGE)],
  "operator/store.claimAddress": () => [operator.claimAddress(db, { address: "a@b.c", workspaceId: WORKSPACE, agentId: AGENT })],
  "operator/store.findAddress": () => [operator.findAddress(db, "a@b.c")],
  "operator/store.releaseAddresses": () => [operator.releaseAddresses(db, WORKSPACE, AGENT, null)],
  "operator/store.createWorkspace": () => [operator.createWorkspace(db, WORKSPACE_ROW)],
  "operator/store.listWorkspaces": () => [operator.listWorkspaces(db, [WORKSPACE])],
  "operator/store.updateWorkspace": () => [
    operator.updateWorkspace(db, WORKSPACE, { limits: { messages: 1 }, name: "New", updatedAt: NOW }),
  ],
  "operator/store.markDeleted": () => [operator.markDeleted(db, WORKSPACE, NOW)],
  "operator/store.listDeleted": () => [operator.listDeleted(db, NOW, 100)],
  "privacy/erasure-store.beginErasure": () => privacyErasure.beginErasure(db, AUDIT, "secret"),
  "privacy/erasure-store.listUnfinishedErasures": () => [privacyErasure.listUnfinishedErasures(db, NOW, 5)],
  "privacy/erasure-store.findAudit": () => [privacyErasure.findAudit(db, WORKSPACE, ID)],
  "privacy/erasure-store.noteDeleted": () => [privacyErasure.noteDeleted(db, ID, { leads: 1 })],
  "privacy/erasure-store.endErasure": () => [privacyErasure.endErasure(db, ID)],
  "privacy/erasure-store.eraseConversationRows": () =>
    [undefined, NOW].flatMap((since) => Object.values(privacyErasure.eraseConversationRows(db, WORKSPACE, [ID], 2000, since))),
  "privacy/retention-store.takeDue": () => [retention.takeDue(db, NOW, NOW + 1, 100)],
  "privacy/retention-store.findRetention": () => [retention.findRetention(db, WORKSPACE)],
  "privacy/retention-store.listDueConversations": () => [retention.listDueConversations(db, WORKSPACE, NOW, 50)],
  "privacy/retention-store.listDueLeads": () => [retention.listDueLeads(db, WORKSPACE, NOW, 50)],
  "privacy/retention-store.eraseUnusedVisitors": () => [retention.eraseUnusedVisitors(db, WORKSPACE, [ID])],
  "privacy/retention-store.pruneEventLog": () => Object.values(retention.pruneEventLog(db, WORKSPACE, NOW, 500)),
  "platform/db/shards.listShards": () => [shardStore.listShards(db)],
  "platform/db/shards.findUsedShard": () => [shardStore.findUsedShard(db, 1)],
  "platform/db/shards.readSize": () => [{ toSQL: () => shardStore.readSize(db).getQuery() }],
  "platform/db/shards.readColumns": () => [shardStore.readColumns(db)],
  "privacy/erasure-store.eraseThreadsWith": () => [privacyErasure.eraseThreadsWith(db, WORKSPACE, "ada@example.com")],
  "privacy/erasure-store.eraseLeadEvents": () => Object.values(privacyErasure.eraseLeadEvents(db, WORKSPACE, [ID], 2000)),
  "privacy/person-store.listVisitors": () => IDENTIFIERS.map((who) => person.listVisitors(db, WORKSPACE, who)),
  "privacy/person-store.countRecords": () => IDENTIFIERS.flatMap((who) => person.countRecords(db, WORKSPACE, who) as readonly Statement[]),
  "privacy/person-store.listConversations": () => IDENTIFIERS.map((who) => person.listConversations(db, WORKSPACE, who, SLICE)),
  "privacy/person-store.listMessagesAfter": () => [person.listMessagesAfter(db, WORKSPACE, ID, SLICE)],
  "privacy/person-store.listFirstMessages": () => [person.listFirstMessages(db, WORKSPACE, [ID, OTHER], 40)],
  "privacy/person-store.listHandoffs": () => [person.listHandoffs(db, WORKSPACE, [ID, OTHER])],
  "privacy/person-store.listLeads": () => IDENTIFIERS.map((who) => person.listLeads(db, WORKSPACE, who, SLICE)),
  "privacy/person-store.listLeadsByVisitor": () => IDENTIFIERS.map((who) => person.listLeadsByVisitor(db, WORKSPACE, who, 50)),
  "privacy/person-store.eraseVisitors": () => IDENTIFIERS.map((who) => person.eraseVisitors(db, WORKSPACE, who)),
  "events/outbox.appendEvent": () => [
    ...events.appendEvent(db, EVENT, "conversation.created", json.conversationRecord(ID)),
    ...events.appendEvent(db, EVENT, "message.ai_replied", json.messageRecord(OTHER)),
    ...events.appendEvent(db, EVENT, "handoff.created", json.handoffRecord(OTHER)),
    ...events.appendEvent(db, EVENT, "lead.created", leads.leadRecord(OTHER)),
    ...events.appendEvent(db, EVENT, "source.synced", sourceJson.sourceRecord(WORKSPACE, OTHER)),
  ],
  "webhooks/delivery-store.claimDeliveries": () =>
    (["fast", "slow"] as const).map((lane) => deliveries.claimDeliveries(db, [ID], lane, { nowMs: NOW, untilMs: NOW })),
  "webhooks/delivery-store.listDeliverable": () => [deliveries.listDeliverable(db, [ID])],
  "webhooks/delivery-store.listPayloads": () => [deliveries.listPayloads(db, [ID])],
  "webhooks/delivery-store.releaseDeliveries": () => [deliveries.releaseDeliveries(db, [ID], NOW)],
  "webhooks/delivery-store.noteSlow": () => [deliveries.noteSlow(db, ID)],
  "webhooks/delivery-store.giveUpHeld": () => deliveries.giveUpHeld(db, [ID], NOW, NOW),
  "webhooks/delivery-store.recordSuccess": () => deliveries.recordSuccess(db, HELD, RESULT),
  "webhooks/delivery-store.recordFailure": () =>
    [true, false].flatMap((isGone) => deliveries.recordFailure(db, HELD, RESULT, { nextAttemptAt: NOW, isGone })),
  // No statement of its own: a row, which both of these insert.
  "webhooks/delivery-store.attemptRow": () => [],
  "webhooks/store.eraseEndpoint": () => [webhookErasure.eraseEndpoint(db, WORKSPACE, ID)],
  "webhooks/store.eraseLog": () => webhookErasure.eraseLog(db, WORKSPACE, ID, 500),
  "webhooks/store.noteErasure": () => [webhookErasure.noteErasure(db, WORKSPACE, ID, NOW)],
  "webhooks/store.listWebhookErasures": () => [webhookErasure.listWebhookErasures(db, 5)],
  "webhooks/store.endWebhookErasure": () => [webhookErasure.endWebhookErasure(db, WORKSPACE, ID)],
  "webhooks/log-store.pageDeliveries": () =>
    [undefined, "failed" as const].flatMap((status) =>
      [PAGE, CURSOR_PAGE].flatMap((page) => log.pageDeliveries(db, WORKSPACE, ID, status, page) as readonly Statement[]),
    ),
  "webhooks/log-store.findDelivery": () => [log.findDelivery(db, WORKSPACE, ID)],
  "webhooks/log-store.createRedelivery": () => [log.createRedelivery(db, WORKSPACE, ID, { id: OTHER, nowMs: NOW })],
  "webhooks/store.listEndpoints": () => [webhookErasure.listEndpoints(db, WORKSPACE)],
  "webhooks/store.findEndpoint": () => [webhookErasure.findEndpoint(db, WORKSPACE, ID)],
  "webhooks/store.createEndpoint": () => [webhookErasure.createEndpoint(db, ENDPOINT, 100)],
  "webhooks/store.updateEndpoint": () =>
    [undefined, true, false].map((enabled) => webhookErasure.updateEndpoint(db, WORKSPACE, ID, { description: null, enabled }, NOW)),
  "webhooks/store.giveUpWaiting": () => webhookErasure.giveUpWaiting(db, WORKSPACE, ID, NOW),
  "webhooks/store.rotateSecret": () => [
    webhookErasure.rotateSecret(db, WORKSPACE, ID, { id: OTHER, secret: "s", previousUntilMs: NOW, nowMs: NOW }),
  ],
  "webhooks/delivery-store.takeStranded": () => [deliveries.takeStranded(db, NOW, NOW, 1000)],
  "webhooks/delivery-store.pruneDeliveries": () => deliveries.pruneDeliveries(db, NOW, 1000),
  "webhooks/delivery-store.pruneEvents": () => [deliveries.pruneEvents(db, NOW, 1000)],
  "webhooks/log-store.addTest": () => log.addTest(db, NEW_TEST),
  "webhooks/log-store.findTest": () => log.findTest(db, ID),
  "widget/store.addNotice": () => [notices.addNotice(db, KEY_OF_CONVERSATION, { id: OTHER, content: "Wait.", nowMs: NOW })],
  // No statements of its own: a hand-off's fields, which addHandoff holds.
  "widget/store.lastQuestion": () => [],
  "widget/store.findOpenAgent": () => [notices.findOpenAgent(db, AGENT)],
  "widget/store.findAllowedOrigins": () => [
    notices.findAllowedOrigins(db, { agentId: AGENT }),
    notices.findAllowedOrigins(db, { conversationId: ID }),
  ],
  "widget/store.findTokenVisitor": () => [notices.findTokenVisitor(db, CLAIM)],
  "widget/store.findVisitorConversation": () => [notices.findVisitorConversation(db, AGENT, ID)],
  "widget/store.findOwnConversation": () => [notices.findOwnConversation(db, CLAIM, ID)],
  "widget/store.findVisitorAnswer": () => [notices.findVisitorAnswer(db, CLAIM, { conversation_id: ID, message_id: OTHER })],
  "widget/store.listNewMessages": () => [undefined, OTHER].map((after) => notices.listNewMessages(db, CLAIM, ID, after)),
  "widget/store.setCsat": () => [notices.setCsat(db, CLAIM, ID, { score: 5, comment: null }, NOW)],
};

async function planOf(statement: Statement): Promise<string[]> {
  const { sql, params } = statement.toSQL();
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .bind(...params)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

/** Steps of a plan that read no more than they return, or next to nothing; what a subquery itself reads are steps of their own. */
const HARMLESS_SCANS = [
  /^SCAN CONSTANT ROW$/,
  /^SCAN (?:json_(?:each|tree)|s)(?: EXISTS)? VIRTUAL TABLE/,
  /^SCAN (?:\(subquery-\d+\)|persons|p|cut|span|landing|seen|unused)$/,
];

function scansOf(plan: string[]): string[] {
  return plan.filter((step) => step.startsWith("SCAN") && !HARMLESS_SCANS.some((pattern) => pattern.test(step)));
}

/** Scans that are meant, each with its reason. */
const MEANT_SCANS: Record<string, string[]> = {
  // One row a shard.
  "platform/db/shards.listShards": ["SCAN shards"],
  // The operator's page of all workspaces, in the index's order: it ends at the page's end.
  "operator/store.listDirectory": ["SCAN workspace_directory USING INDEX sqlite_autoindex_workspace_directory_1"],
  // A partial index: it holds what is unfinished alone.
  "knowledge/store.listStrandedSources": ["SCAN sources USING INDEX sources_unfinished"],
  // It holds what is unfinished alone.
  "webhooks/store.listWebhookErasures": ["SCAN webhook_erasures USING INDEX webhook_erasures_created"],
  // It never holds a row.
  "operator/erasure-store.eraseSomeRows": ["SCAN analytics_changes"],
};

const SORT = "USE TEMP B-TREE FOR ORDER BY";

/** Sorts that are meant, each with its reason. The two sides of a union are sorted too, so that nothing comes twice. */
const MEANT_SORTS: Record<string, string[]> = {
  // Of the kinds of conversations that there are, which are few.
  "analytics/store.listStatusCounts": ["USE TEMP B-TREE FOR GROUP BY"],
  // A union of at most a hundred and a hundred.
  "analytics/store.listUnansweredQuestions": [SORT],
  // One transcript, in the order of its times.
  "conversations/store.listMessages": [SORT],
  // The attempts of one delivery; erasures that are under way, which are few.
  "backup/store.listRows": ["USE TEMP B-TREE FOR LAST TERM OF ORDER BY", SORT],
  // The rows of one page; of a deep one also the spans of days that it lies behind.
  "conversations/list-store.pageConversations": [SORT],
  // Unions of one person's records.
  "privacy/person-store.listVisitors": [SORT],
  "privacy/person-store.countRecords": [SORT],
  "privacy/person-store.listConversations": [SORT],
  "privacy/person-store.listFirstMessages": [SORT],
  "privacy/person-store.listHandoffs": [SORT],
  "privacy/person-store.listLeads": [SORT],
  "privacy/person-store.listLeadsByVisitor": [SORT],
  "privacy/person-store.eraseVisitors": [SORT],
  "privacy/retention-store.eraseUnusedVisitors": [SORT],
  // The messages of one conversation: by time, since an answer's identifier is older than what came meanwhile.
  "widget/store.listNewMessages": [SORT],
};

function sortsOf(plan: string[]): string[] {
  return plan.filter((step) => step.includes("TEMP B-TREE") || step.includes("AUTOMATIC"));
}

/** A step that reads all that a workspace has in an index, or all of it that has a value there. */
const WIDE = /\(workspace_id=\?(?: AND \w+_(?:id|key)>\?)?\)$/;

/** Pages of all that a workspace has, in the order of an index: they end at the page's end. */
const MEANT_WIDE: Record<string, string[]> = {
  "leads/store.pageLeads": ["SEARCH leads USING INDEX leads_created (workspace_id=?)"],
};

/** What may read all that a workspace has of a kind: lists of it, its export, and its erasure. */
const READS_A_WORKSPACE =
  /^(?:workspaces\/store\.listKeys|agents\/store\.listAgents|operator\/erasure-store\.\w+|backup\/store\.(?:listRows|clearCounts))$/;

/** One row a workspace, a row for each kind that an agent has (what is kept so that nothing need be counted), or at most a hundred endpoints. */
const FEW_OF_A_WORKSPACE =
  /\b(?:workspace_directory|workspace_imports|sqlite_autoindex_workspace_imports_1|conversation_counts|lead_counts|webhook_endpoints_workspace)\b/;

test("every module that asks D1 is known here", () => {
  const found = Object.keys(
    import.meta.glob([
      "../../../src/**/store.ts",
      "../../../src/**/*-store.ts",
      "../../../src/conversations/payloads.ts",
      "../../../src/events/outbox.ts",
      "../../../src/platform/db/shards.ts",
    ]),
  );
  const names = found.map((path) => path.slice("../../../src/".length, -".ts".length));
  expect(names.toSorted()).toEqual([...Object.keys(STORES), ...OBJECT_STORES].toSorted());
});

/** They give conditions and subqueries to statements that are tried here, or ask several of them. */
const PARTS_OF_STATEMENTS = new Set([
  ...["conversationRecord", "messageRecord", "handoffRecord"].map((name) => `conversations/payloads.${name}`),
  ...["isKnownShard", "listKnownShards", "logShardFailure", "readShards", "shardWithRoom", "warnOfShard"].map(
    (name) => `platform/db/shards.${name}`,
  ),
  "events/outbox.hasWebhooks",
  "knowledge/store.sourceRecord",
  "leads/store.leadRecord",
  "webhooks/store.giveUp",
  "webhooks/store.isFree",
]);

test("every function of theirs is known here", () => {
  const exported = Object.entries(STORES).flatMap(([module, members]) =>
    Object.entries(members).flatMap(([name, member]) => (typeof member === "function" ? [`${module}.${name}`] : [])),
  );
  expect(exported.filter((name) => !PARTS_OF_STATEMENTS.has(name)).toSorted()).toEqual(Object.keys(STATEMENTS).toSorted());
});

test.for(Object.entries(STATEMENTS))("%s scans no table and sorts nothing", async ([name, statements]) => {
  const plans: string[][] = [];
  for (const statement of await statements()) plans.push(await planOf(statement));
  expect(plans.flatMap(scansOf)).toEqual(MEANT_SCANS[name] ?? []);
  expect([...new Set(plans.flatMap(sortsOf))]).toEqual(MEANT_SORTS[name] ?? []);
  if (READS_A_WORKSPACE.test(name)) return;
  const wide = plans.flatMap((plan) => plan.filter((step) => WIDE.test(step) && !FEW_OF_A_WORKSPACE.test(step)));
  expect(wide).toEqual(MEANT_WIDE[name] ?? []);
});

test("the same holds for what the triggers do", async () => {
  const { results } = await env.DB.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all<{
    name: string;
    sql: string;
  }>();
  expect(results.length).toBeGreaterThanOrEqual(12);
  for (const { name, sql: source } of results) {
    const [, head, body] = /^([\s\S]*?)\bBEGIN\b([\s\S]*)\bEND\b/.exec(source)!;
    const condition = /\bWHEN\b([\s\S]*)$/.exec(head!)?.[1];
    // What stops the row of a table that stays empty reads nothing, and may stand in triggers alone.
    const statements = body!.split(";").filter((statement) => statement.trim() !== "" && !statement.includes("SELECT RAISE(IGNORE)"));
    expect(statements.length).toBeGreaterThan(0);
    if (condition !== undefined) statements.push(`SELECT 1 WHERE ${condition}`);
    for (const statement of statements) {
      const plan = await planOf({ toSQL: () => ({ sql: statement.replaceAll(/\b(?:NEW|OLD)\.\w+/g, "NULL"), params: [] }) });
      expect([name, scansOf(plan)]).toEqual([name, []]);
    }
  }
});

/** A trigger drops every row of it (migrations/0002_analytics_rollups.sql), so it needs no index. */
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
  expect(checked.toSorted()).toEqual([...erasure.ERASED_TABLES, "workspace_directory", "email_directory"].toSorted());
});

test("both databases have the same tables, indexes and triggers", async () => {
  const schemaOf = async (database: D1Database) =>
    (await database.prepare("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name").all()).results;
  expect(await schemaOf(env.DB_1)).toEqual(await schemaOf(env.DB));
});
