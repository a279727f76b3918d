import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import * as account from "../../src/account/store.ts";
import * as admission from "../../src/admission/store.ts";
import * as agents from "../../src/agents/store.ts";
import * as chat from "../../src/chat/store.ts";
import * as conversations from "../../src/conversations/store.ts";
import { directoryDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/ids.ts";
import * as knowledge from "../../src/knowledge/store.ts";
import { Meter } from "../../src/meter.ts";
import * as erasure from "../../src/operator/erasure-store.ts";
import * as operator from "../../src/operator/store.ts";

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
  "account/store": account,
  "admission/store": admission,
  "agents/store": agents,
  "chat/store": chat,
  "conversations/store": conversations,
  "knowledge/store": knowledge,
  "operator/erasure-store": erasure,
  "operator/store": operator,
};

/** They keep an object's own storage. */
const OBJECT_STORES = ["admission/window-store", "knowledge/index-store"];

const db = directoryDb(env, new Meter());
const NOW = 1_790_000_000_000;
const [ID, WORKSPACE, AGENT, OTHER] = [newId(0, NOW), newId(0, NOW), newId(0, NOW), newId(0, NOW)];
const PAGE = { limit: 20, offset: 40 };
const TURN = {
  workspaceId: WORKSPACE,
  agentId: AGENT,
  conversationId: ID,
  isNew: false,
  channel: "api" as const,
  message: "When?",
  visitor: { anonId: "api:1", externalId: "1", name: "Ann", email: "ann@example.com" },
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
  status: "needs_human" as const,
  handoff: { id: OTHER, reason: "model_failure" as const, summary: "When?" },
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
const KEY = { id: ID, workspaceId: WORKSPACE, name: "Key", prefix: "sk_live_", hash: "h", scopes: [], createdAt: NOW };
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

/** The statements of every store function. A new one is added here, or the first test fails. */
const STATEMENTS: Record<string, () => readonly Statement[]> = {
  "account/store.findUsage": () => [account.findUsage(db, WORKSPACE, "2026-11")],
  "account/store.findCounts": () => [account.findCounts(db, WORKSPACE)],
  "admission/store.findWorkspace": () => [admission.findWorkspace(db, WORKSPACE)],
  "admission/store.listKeys": () => [admission.listKeys(db, WORKSPACE)],
  "admission/store.createKey": () => [admission.createKey(db, KEY)],
  "admission/store.revokeKey": () => [admission.revokeKey(db, WORKSPACE, ID, NOW)],
  "agents/store.listAgents": () => [agents.listAgents(db, WORKSPACE, PAGE)],
  "agents/store.findAgentsCount": () => [agents.findAgentsCount(db, WORKSPACE)],
  "agents/store.findAgent": () => [agents.findAgent(db, WORKSPACE, AGENT)],
  "agents/store.createAgent": () => [agents.createAgent(db, AGENT_ROW, 5)],
  "agents/store.findAgentBySlug": () => [agents.findAgentBySlug(db, WORKSPACE, "agent")],
  "agents/store.updateAgent": () => [
    agents.updateAgent(db, WORKSPACE, AGENT, { name: "New" }),
    agents.updateAgent(db, WORKSPACE, AGENT, { slug: "new" }),
  ],
  "agents/store.eraseAgent": () => [agents.eraseAgent(db, WORKSPACE, AGENT)],
  // No statement of its own: a condition, which createAnswer holds.
  "agents/store.agentExists": () => [],
  "chat/store.beginTurn": () => [
    ...chat.beginTurn(db, TURN),
    ...chat.beginTurn(db, { ...TURN, isNew: true }),
    ...chat.beginTurn(db, { ...TURN, visitor: null }),
    ...chat.beginTurn(db, { ...TURN, isNew: true, visitor: null }),
  ],
  "chat/store.finishTurn": () => [...chat.finishTurn(db, TURN, OUTCOME), ...chat.finishTurn(db, TURN, { ...OUTCOME, handoff: null })],
  "chat/store.returnQuota": () => [chat.returnQuota(db, TURN, true)],
  "conversations/store.findConversation": () => [conversations.findConversation(db, WORKSPACE, ID)],
  "conversations/store.findConversationVisitor": () => [conversations.findConversationVisitor(db, WORKSPACE, ID)],
  "conversations/store.findLatestHandoff": () => [conversations.findLatestHandoff(db, WORKSPACE, ID)],
  "conversations/store.listMessages": () => [conversations.listMessages(db, WORKSPACE, ID)],
  "knowledge/store.listSources": () => [knowledge.listSources(db, WORKSPACE, AGENT)],
  "knowledge/store.findSource": () => [knowledge.findSource(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.createSource": () => [knowledge.createSource(db, SOURCE, 5)],
  "knowledge/store.eraseSource": () => [knowledge.eraseSource(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.requestSync": () => [knowledge.requestSync(db, WORKSPACE, AGENT, ID, NOW)],
  "knowledge/store.claimSource": () => [knowledge.claimSource(db, ID, { id: OTHER, untilMs: NOW }, NOW)],
  "knowledge/store.updateClaimed": () => [knowledge.updateClaimed(db, ID, OTHER, { status: "ready" })],
  "knowledge/store.failSource": () => [knowledge.failSource(db, ID, { code: "c", message: "m" }, NOW)],
  "knowledge/store.listStrandedSources": () => [knowledge.listStrandedSources(db, NOW, NOW, 100)],
  "knowledge/store.sourceExists": () => [knowledge.sourceExists(db, ID)],
  "knowledge/store.listAnswers": () => [knowledge.listAnswers(db, WORKSPACE, AGENT, PAGE)],
  "knowledge/store.findAnswer": () => [knowledge.findAnswer(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.createAnswer": () => [knowledge.createAnswer(db, ANSWER)],
  "knowledge/store.markIndexed": () => [knowledge.markIndexed(db, ID, NOW)],
  "knowledge/store.eraseAnswer": () => [knowledge.eraseAnswer(db, WORKSPACE, AGENT, ID)],
  "knowledge/store.listUnindexedAnswers": () => [knowledge.listUnindexedAnswers(db, NOW, 100)],
  "knowledge/store.eraseAgentKnowledge": () => knowledge.eraseAgentKnowledge(db, WORKSPACE, AGENT),
  "operator/erasure-store.findDeleted": () => [erasure.findDeleted(db, WORKSPACE)],
  "operator/erasure-store.listSomeConversations": () => [erasure.listSomeConversations(db, WORKSPACE, 100)],
  "operator/erasure-store.listSomeAgents": () => [erasure.listSomeAgents(db, WORKSPACE, 100)],
  "operator/erasure-store.eraseConversations": () => [erasure.eraseConversations(db, [ID])],
  "operator/erasure-store.eraseAgents": () => [erasure.eraseAgents(db, [AGENT])],
  "operator/erasure-store.eraseSomeRows": () => erasure.eraseSomeRows(db, WORKSPACE, 2000),
  "operator/erasure-store.eraseWorkspace": () => [erasure.eraseWorkspace(db, WORKSPACE)],
  "operator/store.listShards": () => [operator.listShards(db)],
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
};

async function planOf(statement: Statement): Promise<string[]> {
  const { sql, params } = statement.toSQL();
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .bind(...params)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

/** Steps of a plan that read no more than they return, or next to nothing. */
const HARMLESS_SCANS = [/^SCAN CONSTANT ROW$/, /^SCAN json_each VIRTUAL TABLE/];

/** Scans that are meant, each with its reason. */
const MEANT_SCANS: Record<string, string> = {
  // One row a shard.
  "operator/store.listShards": "SCAN shards",
  // The operator's page of all workspaces, in the index's order: it ends at the page's end.
  "operator/store.listDirectory": "SCAN workspace_directory USING INDEX sqlite_autoindex_workspace_directory_1",
  // A partial index: it holds what is unfinished alone.
  "knowledge/store.listStrandedSources": "SCAN sources USING INDEX sources_unfinished",
};

/** What may read all that a workspace has of a kind: lists of it, and its erasure. */
const READS_A_WORKSPACE = /^(?:admission\/store\.listKeys|agents\/store\.listAgents|operator\/erasure-store\.\w+)$/;

test("every module that asks D1 is known here", () => {
  const found = Object.keys(import.meta.glob(["../../src/**/store.ts", "../../src/**/*-store.ts"]));
  const names = found.map((path) => path.slice("../../src/".length, -".ts".length));
  expect(names.toSorted()).toEqual([...Object.keys(STORES), ...OBJECT_STORES].toSorted());
});

test("every function of theirs is known here", () => {
  const exported = Object.entries(STORES).flatMap(([module, members]) =>
    Object.entries(members).flatMap(([name, member]) => (typeof member === "function" ? [`${module}.${name}`] : [])),
  );
  expect(exported.toSorted()).toEqual(Object.keys(STATEMENTS).toSorted());
});

test.for(Object.entries(STATEMENTS))("%s scans no table and sorts nothing", async ([name, statements]) => {
  for (const statement of statements()) {
    const plan = await planOf(statement);
    const scans = plan.filter((step) => step.startsWith("SCAN") && !HARMLESS_SCANS.some((pattern) => pattern.test(step)));
    expect(scans).toEqual(name in MEANT_SCANS ? [MEANT_SCANS[name]] : []);
    expect(plan.filter((step) => step.includes("TEMP B-TREE") || step.includes("AUTOMATIC"))).toEqual([]);
    if (READS_A_WORKSPACE.test(name)) continue;
    const wide = plan.filter((step) => step.endsWith("(workspace_id=?)"));
    expect(wide.filter((step) => !step.includes("workspace_directory"))).toEqual([]);
  }
});

test("the same holds for what the triggers do", async () => {
  const { results } = await env.DB.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all<{
    name: string;
    sql: string;
  }>();
  expect(results.length).toBeGreaterThanOrEqual(12);
  for (const { name, sql } of results) {
    const body = /\bBEGIN\b([\s\S]*)\bEND\b/.exec(sql)?.[1] ?? "";
    const statements = body.split(";").filter((statement) => statement.trim() !== "");
    expect(statements.length).toBeGreaterThan(0);
    for (const statement of statements) {
      const plan = await planOf({ toSQL: () => ({ sql: statement.replaceAll(/\b(?:NEW|OLD)\.\w+/g, "NULL"), params: [] }) });
      expect([name, plan.filter((step) => step.startsWith("SCAN") && !step.startsWith("SCAN CONSTANT"))]).toEqual([name, []]);
    }
  }
});

test("every table of a workspace has an index or a primary key that begins with its id", async () => {
  const { results: tables } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  ).all<{ name: string }>();
  const checked: string[] = [];
  for (const { name } of tables) {
    const { results: columns } = await env.DB.prepare("SELECT name FROM pragma_table_info(?)").bind(name).all<{ name: string }>();
    if (!columns.some((column) => column.name === "workspace_id")) continue;
    const { results: firsts } = await env.DB.prepare(
      "SELECT i.name AS name FROM pragma_index_list(?) l JOIN pragma_index_info(l.name) i WHERE i.seqno = 0 AND l.partial = 0",
    )
      .bind(name)
      .all<{ name: string }>();
    expect([name, firsts.some((first) => first.name === "workspace_id")]).toEqual([name, true]);
    checked.push(name);
  }
  // And an erasure empties each of them, but those of the directory, whose rows it takes out one by one.
  expect(checked.toSorted()).toEqual([...erasure.ERASED_TABLES, "workspace_directory", "email_directory"].toSorted());
});

test("both databases have the same tables, indexes and triggers", async () => {
  const schemaOf = async (database: D1Database) =>
    (await database.prepare("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name").all()).results;
  expect(await schemaOf(env.DB_1)).toEqual(await schemaOf(env.DB));
});
