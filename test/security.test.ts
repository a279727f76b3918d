import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { callId } from "../src/chat/suspended-turns.ts";
import { mintApiKey } from "../src/workspaces/api-key.ts";
import { SCOPES } from "../src/workspaces/scopes.ts";
import {
  addApproval,
  createAgent,
  createKey,
  createNeighbour,
  createWorkspace,
  deliver,
  fileForm,
  learn,
  newAddress,
  operate,
  query,
  send,
  type Workspace,
} from "./harness.ts";
import { newId, shardOf } from "../src/platform/db/ids.ts";
import { fetchDocument, listOperations, type Operation } from "./platform/http/document.ts";

/** Ids of existing records by the names of the path parameters. */
interface Records {
  agent_id: string;
  source_id: string;
  source_key: string;
  answer_id: string;
  draft_id: string;
  evaluation_id: string;
  conversation_id: string;
  message_id: string;
  webhook_id: string;
  delivery_id: string;
  approval_id: string;
  saved_reply_id: string;
  team_id: string;
  routing_rule_id: string;
  attachment_id: string;
  key_id: string;
  member_id: string;
  session_id: string;
  application_id: string;
  tool_name: string;
  version: string;
}

interface Entry {
  /** The scope that it requires; null if any valid key is accepted. */
  scope: (typeof SCOPES)[number] | null;
  /** Another scope that it accepts instead. */
  or?: (typeof SCOPES)[number];
  /** The scopes that it also requires, for the events that it sends. */
  reads?: (typeof SCOPES)[number][];
  /** Its status for a key with these scopes alone, with records of its own workspace. */
  status: number;
  body?: (records: Records) => object;
  query?: string;
  /** For an operation whose response repeats the ids of the body: its data for records of another workspace. */
  onForeign?: (records: Records) => object[];
}

const SOURCE = { type: "text", name: "Notes", text: "Parcels leave in the evening." };
const WEBHOOK = { url: "https://hooks.example.com/new", events: ["handoff.created"] };
const TOOL = {
  description: "Says when a shop is open.",
  parameters: { type: "object", properties: {} },
  method: "GET",
  url: "https://api.example.com/hours",
};
const QUESTION = { message: "When are refunds paid?" };

/** Every operation of the API: a new one must be added here. */
const ENTRIES: Record<string, Entry> = {
  getMe: { scope: null, status: 200 },
  getUsage: { scope: "analytics:read", status: 200 },
  listAgents: { scope: "agents:read", status: 200 },
  getAgent: { scope: "agents:read", status: 200 },
  createAgent: { scope: "agents:write", status: 201, body: () => ({ name: "New" }) },
  updateAgent: { scope: "agents:write", status: 200, body: () => ({ name: "taken", status: "paused" }) },
  deleteAgent: { scope: "agents:write", status: 204 },
  rotateIdentitySecret: { scope: "agents:write", status: 200, body: () => ({ revoke: true }) },
  listAgentVersions: { scope: "agents:write", status: 200 },
  getAgentVersion: { scope: "agents:write", status: 200 },
  updateAgentDraft: { scope: "agents:write", status: 200, body: () => ({ instructions: "taken" }) },
  deleteAgentDraft: { scope: "agents:write", status: 204 },
  publishAgentDraft: { scope: "agents:write", status: 200, body: () => ({ note: "taken" }) },
  restoreAgentVersion: { scope: "agents:write", status: 200, body: () => ({ note: "taken" }) },
  changeAgentRollout: { scope: "agents:write", status: 200, body: () => ({ end: "keep" }) },
  testTool: { scope: "agents:write", status: 200, body: () => ({ arguments: {} }) },
  listKeys: { scope: "keys:write", status: 200 },
  listMembers: { scope: "members:read", status: 200 },
  getMember: { scope: "members:read", status: 200 },
  inviteMember: {
    scope: "members:write",
    status: 201,
    body: () => ({ email: "new@example.com", role: "custom", scopes: ["members:write"] }),
  },
  renewInvitation: { scope: "members:write", status: 201 },
  // Without members:write, a member changes and sees only what is his own.
  updateMember: { scope: "members:read", reads: ["members:write"], status: 200, body: () => ({ name: "taken" }) },
  removeMember: { scope: "members:write", status: 204 },
  listMemberSessions: { scope: "members:read", reads: ["members:write"], status: 200 },
  listMemberApplications: { scope: "members:read", reads: ["members:write"], status: 200 },
  disconnectMemberApplication: { scope: "members:read", reads: ["members:write"], status: 204 },
  endMemberSession: { scope: "members:read", reads: ["members:write"], status: 204 },
  listAuditLog: { scope: "members:write", status: 200 },
  getSignInSettings: { scope: "members:write", status: 200 },
  updateSignInSettings: {
    scope: "members:write",
    status: 200,
    body: () => ({ domains: [{ domain: "taken.example.com", role: "viewer" }] }),
    reads: ["agents:read", "conversations:read", "leads:read", "knowledge:read", "analytics:read", "members:read"],
  },
  createKey: { scope: "keys:write", status: 201, body: () => ({ name: "New", scopes: ["keys:write"] }) },
  revokeKey: { scope: "keys:write", status: 204 },
  askAgent: { scope: "chat:write", status: 200, body: () => QUESTION },
  createChatCompletion: {
    scope: "chat:write",
    status: 200,
    body: ({ agent_id }) => ({ model: agent_id, messages: [{ role: "user", content: QUESTION.message }] }),
  },
  listModels: { scope: "agents:read", status: 200 },
  sendToolResults: {
    scope: "chat:write",
    status: 200,
    body: ({ conversation_id: conversationId, message_id: answerId }) => ({
      results: [{ tool_call_id: callId({ conversationId, answerId }, 1, 0), content: "Done." }],
    }),
  },
  resumeAnswer: { scope: "conversations:read", status: 200 },
  getTrace: { scope: "conversations:read", status: 200 },
  getConversation: { scope: "conversations:read", status: 200 },
  listMessages: { scope: "conversations:read", status: 200 },
  listSources: { scope: "knowledge:read", status: 200 },
  createSource: { scope: "knowledge:write", status: 202, body: () => SOURCE },
  getSource: { scope: "knowledge:read", status: 200 },
  updateSource: { scope: "knowledge:write", status: 200, body: () => ({ name: "taken", metadata: { taken: "yes" } }) },
  uploadSourceFile: { scope: "knowledge:write", status: 202, body: () => fileForm("Parcels leave in the evening.") },
  putSource: { scope: "knowledge:write", status: 202, body: () => ({ text: "Parcels leave in the evening." }) },
  syncSource: { scope: "knowledge:write", status: 202 },
  listSourcePages: { scope: "knowledge:read", status: 200 },
  listSourcePassages: { scope: "knowledge:read", status: 200 },
  deleteSource: { scope: "knowledge:write", status: 204 },
  listAnswers: { scope: "knowledge:read", status: 200 },
  createAnswer: { scope: "knowledge:write", status: 201, body: () => ({ question: "Who?", answer: "Us." }) },
  updateAnswer: { scope: "knowledge:write", status: 200, body: () => ({ answer: "taken", metadata: { taken: "yes" } }) },
  deleteAnswer: { scope: "knowledge:write", status: 204 },
  listDrafts: { scope: "knowledge:read", status: 200 },
  acceptDraft: { scope: "knowledge:write", status: 200, body: () => ({ question: "taken" }) },
  dismissDraft: { scope: "knowledge:write", status: 204 },
  listGaps: { scope: "analytics:read", status: 200 },
  createEvaluation: {
    scope: "knowledge:write",
    status: 202,
    body: () => ({ cases: [{ question: "When are refunds paid?", expect: { refusal: false } }] }),
  },
  addEvaluationCase: { scope: "knowledge:write", status: 201, body: () => ({ question: "taken", expect: { refusal: true } }) },
  listEvaluations: { scope: "knowledge:read", status: 200 },
  getEvaluation: { scope: "knowledge:read", status: 200 },
  deleteEvaluation: { scope: "knowledge:write", status: 204 },
  searchKnowledge: { scope: "knowledge:read", status: 200, body: () => ({ query: "refunds" }) },
  listConversations: { scope: "conversations:read", status: 200 },
  getConversationCase: { scope: "conversations:read", status: 200 },
  getBusinessHours: { scope: "conversations:read", status: 200 },
  updateBusinessHours: { scope: "conversations:write", status: 200, body: () => ({ time_zone: "Europe/Vienna" }) },
  uploadAttachment: { scope: "conversations:write", or: "chat:write", status: 201, body: () => fileForm("A text") },
  getAttachment: { scope: "conversations:read", status: 200 },
  listApprovals: { scope: "conversations:read", status: 200 },
  approveToolCall: { scope: "conversations:write", status: 200, body: () => ({}) },
  // The call is approved already.
  declineToolCall: { scope: "conversations:write", status: 409, body: () => ({ reason: "No." }) },
  suggestReply: { scope: "conversations:write", status: 200, body: () => ({ stream: false }) },
  summarizeConversation: { scope: "conversations:write", status: 200 },
  listTeams: { scope: "conversations:read", status: 200 },
  createTeam: { scope: "conversations:write", status: 201, body: ({ member_id }) => ({ name: "New", member_ids: [member_id] }) },
  getTeam: { scope: "conversations:read", status: 200 },
  updateTeam: { scope: "conversations:write", status: 200, body: () => ({ name: "taken" }) },
  deleteTeam: { scope: "conversations:write", status: 204 },
  listRoutingRules: { scope: "conversations:read", status: 200 },
  createRoutingRule: { scope: "conversations:write", status: 201, body: ({ team_id }) => ({ name: "New", actions: { team_id } }) },
  getRoutingRule: { scope: "conversations:read", status: 200 },
  updateRoutingRule: { scope: "conversations:write", status: 200, body: () => ({ name: "taken" }) },
  deleteRoutingRule: { scope: "conversations:write", status: 204 },
  listSavedReplies: { scope: "conversations:read", status: 200 },
  createSavedReply: { scope: "conversations:write", status: 201, body: () => ({ name: "New", content: "Hello" }) },
  getSavedReply: { scope: "conversations:read", status: 200 },
  updateSavedReply: { scope: "conversations:write", status: 200, body: () => ({ name: "taken", content: "taken" }) },
  deleteSavedReply: { scope: "conversations:write", status: 204 },
  updateConversation: { scope: "conversations:write", status: 200, body: () => ({ status: "resolved", tags: ["taken"] }) },
  updateConversations: {
    scope: "conversations:write",
    status: 200,
    body: ({ conversation_id: id }) => ({ ids: [id], status: "resolved", add_tags: ["taken"] }),
    onForeign: ({ conversation_id: id }) => [{ id, outcome: "not_found", previous_status: null, status: null, tags: [] }],
  },
  rateAnswer: { scope: "conversations:write", status: 200, body: () => ({ rating: "down" }) },
  listFeedback: { scope: "conversations:read", status: 200 },
  addNote: { scope: "conversations:write", status: 201, body: () => ({ content: "A note" }) },
  replyToConversation: { scope: "conversations:write", status: 201, body: () => ({ content: "Hello" }) },
  startConversation: {
    scope: "conversations:write",
    status: 201,
    body: ({ agent_id }) => ({ agent_id, channel: "api", content: "Hello" }),
  },
  listLeads: { scope: "leads:read", status: 200 },
  listVersionAnalytics: { scope: "analytics:read", status: 200, query: "?agent_id={agent_id}" },
  getAnalyticsOverview: { scope: "analytics:read", status: 200, query: "?days=7" },
  listWebhooks: { scope: "webhooks:read", status: 200 },
  createWebhook: { scope: "webhooks:write", reads: ["conversations:read"], status: 201, body: () => WEBHOOK },
  getWebhook: { scope: "webhooks:read", status: 200 },
  updateWebhook: { scope: "webhooks:write", status: 200, body: () => ({ description: "taken", enabled: false }) },
  deleteWebhook: { scope: "webhooks:write", status: 204 },
  testWebhook: { scope: "webhooks:write", status: 200 },
  rotateWebhookSecret: { scope: "webhooks:write", status: 200 },
  listEvents: { scope: "webhooks:read", status: 200 },
  listDeliveries: { scope: "webhooks:read", status: 200 },
  getDeliveryRequest: { scope: "webhooks:read", reads: ["conversations:read"], status: 200 },
  redeliverEvent: { scope: "webhooks:write", reads: ["conversations:read"], status: 202 },
  findPerson: { scope: "privacy:read", status: 200, query: "?external_id=MARK-user" },
  erasePerson: { scope: "privacy:write", status: 200, query: "?external_id=MARK-user" },
  exportPerson: { scope: "privacy:read", status: 200, query: "?external_id=MARK-user" },
  getRedaction: { scope: "privacy:read", status: 200 },
  updateRedaction: { scope: "privacy:write", status: 200, body: () => ({ iban: true }) },
  previewRedaction: { scope: "privacy:read", status: 200, body: () => ({ text: "MARK", card: true }) },
};

const OPERATIONS = await listOperations();

/** A workspace with a record of every kind, and their ids. */
async function createRecords(made: Promise<Workspace> = createWorkspace()): Promise<{ workspace: Workspace; records: Records }> {
  const workspace = await made;
  const toolName = `hours_${crypto.randomUUID().slice(0, 8)}`;
  const agent = await createAgent(workspace, { name: "MARK-agent", tools: [{ ...TOOL, name: toolName }] });
  await workspace.call("PATCH", `/agents/${agent.id}/versions/draft`, { instructions: "MARK-rollout" });
  await workspace.call("POST", `/agents/${agent.id}/versions/publish`, { rollout: 0.5 });
  await workspace.call("PATCH", `/agents/${agent.id}/versions/draft`, { instructions: "MARK-version" });
  const source = await learn(workspace, agent.id, "# Refunds\n\nMARK-text: refunds are paid within five working days.");
  const webhook = await workspace.call("POST", "/webhooks", {
    url: "https://hooks.example.com/MARK-hook",
    events: ["conversation.created"],
  });
  const answer = await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "MARK-question", answer: "MARK-answer" });
  const cases = [{ question: "MARK-question", expect: { refusal: true } }];
  const evaluation = await workspace.call("POST", `/agents/${agent.id}/evaluations`, { name: "MARK-evaluation", cases });
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { ...QUESTION, user: { id: "MARK-user" } });
  const unanswered = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "MARK-gap: how is bread baked?" });
  await workspace.call("POST", `/conversations/${unanswered.body.conversation_id}/messages`, { content: "MARK-draft: ask a baker." });
  const [draft] = (await workspace.call("GET", `/agents/${agent.id}/drafts`)).body.data;
  const settled =
    "UPDATE deliveries SET status = 'failed', next_attempt_at = NULL, completed_at = created_at WHERE workspace_id = ? RETURNING id";
  const [delivery] = await query<{ id: string }>(workspace.id, settled, workspace.id);
  const of = { agentId: agent.id, conversationId: asked.body.conversation_id, messageId: asked.body.message_id };
  const approval_id = await addApproval(workspace, "approved", of);
  const saved = await workspace.call("POST", "/saved-replies", { name: "MARK-saved", content: "MARK-saved: hello." });
  const team = await workspace.call("POST", "/teams", { name: "MARK-team" });
  const rule = await workspace.call("POST", "/routing-rules", { name: "MARK-rule", position: 1, actions: { tag: "MARK-tag" } });
  const attachment = await workspace.call("POST", "/attachments", fileForm("MARK-file"));
  const invited = { email: "mark@example.com", name: "MARK-member", role: "custom", scopes: ["members:write"] };
  const member_id = (await workspace.call("POST", "/members", invited)).body.id;
  const session_id = newId(shardOf(workspace.id), Date.now());
  const session =
    "INSERT INTO member_sessions (id, workspace_id, member_id, hash, method, created_at, expires_at) VALUES (?, ?, ?, '', 'oidc', 0, 4e12)";
  await query(workspace.id, session, session_id, workspace.id, member_id);
  const application_id = newId(shardOf(workspace.id), Date.now());
  const application =
    "INSERT INTO applications (id, workspace_id, member_id, grant_id, grant_record, name, host, tokens, created_at, expires_at) VALUES (?, ?, ?, 'g', '{}', 'MARK-application', 'example.com', '[{}]', 0, 4e12)";
  await query(workspace.id, application, application_id, workspace.id, member_id);
  const records = {
    approval_id,
    member_id,
    session_id,
    application_id,
    saved_reply_id: saved.body.id,
    team_id: team.body.id,
    routing_rule_id: rule.body.id,
    attachment_id: attachment.body.id,
    agent_id: agent.id,
    source_id: source.id,
    source_key: "parcels",
    answer_id: answer.body.id,
    draft_id: draft.id,
    evaluation_id: evaluation.body.id,
    conversation_id: asked.body.conversation_id,
    message_id: asked.body.message_id,
    webhook_id: webhook.body.id,
    delivery_id: delivery!.id,
    key_id: (await createKey(workspace, ["leads:read"])).id,
    tool_name: toolName,
    version: "1",
  };
  return { workspace, records };
}

/** The path under /api/v1 with these ids. */
function pathOf({ path, operationId }: Operation, records: Partial<Records>): string {
  return (path + (ENTRIES[operationId]!.query ?? "")).replaceAll(/\{(\w+)\}/g, (_, name: keyof Records) => {
    const id = records[name];
    if (id === undefined) throw new Error(`${operationId}: say in createRecords what a ${name} is`);
    return id;
  });
}

function call(operation: Operation, records: Records, token: string | undefined) {
  const body = ENTRIES[operation.operationId]!.body?.(records);
  return send(operation.method, `/api/v1${pathOf(operation, records)}`, { token, headers: newAddress(), ...(body && { body }) });
}

/** A snapshot of a workspace's rows in D1 and of what its agent finds. */
async function stateOf(workspace: Workspace, records: Records): Promise<string> {
  const db = workspace.id.endsWith("00") ? env.DB : env.DB_1;
  const tables = [
    "agents",
    "agent_versions",
    "sources",
    "answers",
    "answer_drafts",
    "conversations",
    "messages",
    "notes",
    "handoffs",
    "approvals",
    "saved_replies",
    "teams",
    "routing_rules",
    "attachments",
    "visitors",
    "usage_periods",
    "api_keys",
    "members",
    "member_sessions",
    "applications",
    "webhook_endpoints",
    "deliveries",
  ];
  const rows = await db.batch(tables.map((table) => db.prepare(`SELECT * FROM ${table} WHERE workspace_id = ?`).bind(workspace.id)));
  const index = env.INDEX.getByName(`${workspace.id}/${records.agent_id}`);
  const found = await index.search({ question: "When are refunds paid? MARK-question", previousQuestions: [], limit: 8 });
  return JSON.stringify([rows.map(({ results }) => results), found]);
}

/** Records that requests which are refused, or only read, leave unchanged. */
let kept: Awaited<ReturnType<typeof createRecords>>;
/** The same records in another workspace of the same database, where only the statements keep the two apart. */
let neighbour: Awaited<ReturnType<typeof createRecords>>;
beforeAll(async () => {
  kept = await createRecords();
  neighbour = await createRecords(createNeighbour(kept.workspace));
});

test("every operation of the document has an entry, and no other", () => {
  expect(OPERATIONS.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(ENTRIES).sort());
  expect(OPERATIONS.length).toBeGreaterThan(10);
});

test("every operation documents its key and scope", async () => {
  const document = await fetchDocument();
  expect(document["security"]).toEqual([{ apiKey: [] }]);
  for (const { operationId, definition } of OPERATIONS) {
    const { scope, or } = ENTRIES[operationId]!;
    expect(definition["security"], operationId).toBeUndefined();
    expect(definition["x-scope"] ?? null, operationId).toBe(scope);
    if (scope)
      expect(definition["description"], operationId).toMatch(
        new RegExp(`(^|\\. )Scope: \`${[scope, ...(or ? [or] : [])].join("` or `")}\`\\.$`),
      );
  }
});

describe.each(OPERATIONS)("$operationId ($method $path)", (operation) => {
  const { scope, or, reads = [], status, onForeign } = ENTRIES[operation.operationId] ?? { scope: null, status: 0 };
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as keyof Records);

  /** A workspace whose records the operation may change, and its neighbour: for reads they are shared. */
  let mine: typeof kept;
  let yours: typeof kept;
  beforeAll(async () => {
    const isRead = operation.method === "GET";
    // An operation that names no record is done with the caller's own.
    mine = isRead || names.length > 0 ? kept : await createRecords();
    yours = isRead ? neighbour : await createRecords(createNeighbour(mine.workspace));
  });

  test("without a valid key: 401, whatever else is valid", async () => {
    const { workspace, records } = kept;
    const revoked = await createKey(workspace, ["*"]);
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${revoked.id}`);
    const forged = await mintApiKey(workspace.id, "not the secret");
    const unknown = await mintApiKey(workspace.id, env.KEY_SECRET);
    const before = await stateOf(workspace, records);
    for (const [token, code] of [
      [undefined, "missing_api_key"],
      ["sk_live_junk", "invalid_api_key"],
      [forged.key, "invalid_api_key"],
      [unknown.key, "invalid_api_key"],
      [env.OPERATOR_TOKEN, "invalid_api_key"],
      [revoked.key, "revoked_api_key"],
    ] as const) {
      const answer = await call(operation, records, token);
      expect([answer.status, answer.body.error.code]).toEqual([401, code]);
      expect(Object.keys(answer.body)).toEqual(["error"]);
    }
    expect(await stateOf(workspace, records)).toBe(before);
  });

  test("with all scopes but its own: 403, naming it", async () => {
    const { workspace, records } = kept;
    const others = await createKey(
      workspace,
      SCOPES.filter((name) => name !== scope && name !== or),
    );
    const before = await stateOf(workspace, records);
    const answer = await call(operation, records, others.key);
    if (scope === null) {
      expect(answer.status).toBe(status);
      return;
    }
    expect([answer.status, answer.body.error.code]).toEqual([403, "insufficient_scope"]);
    expect(answer.body.error.message).toContain(scope);
    expect(await stateOf(workspace, records)).toBe(before);
  });

  test("a record of another workspace is not found and stays unchanged", async () => {
    const before = await stateOf(yours.workspace, yours.records);
    if (names.length === 0) {
      const answer = await call(operation, yours.records, mine.workspace.key);
      expect(JSON.stringify(answer.body)).not.toContain(yours.workspace.id);
      const { version: _version, ...ids } = yours.records;
      if (onForeign) expect(answer.body.data).toEqual(onForeign(yours.records));
      else for (const id of Object.values(ids)) expect(JSON.stringify(answer.body)).not.toContain(id);
    }
    // All foreign, and each alone among my own.
    // A key of a source is of the caller's choice, and versions are numbered, so they name no record of another workspace.
    const foreign = names.filter((name) => name !== "source_key" && name !== "version");
    const mixtures =
      names.length === 0 ? [] : [yours.records, ...foreign.map((name) => ({ ...mine.records, [name]: yours.records[name] }))];
    for (const mixture of mixtures) {
      const answer = await call(operation, mixture, mine.workspace.key);
      expect([answer.status, answer.body.error?.code], JSON.stringify(mixture)).toEqual([404, "not_found"]);
      expect(JSON.stringify(answer.body)).not.toContain("MARK");
    }
    await deliver("support-agent-ingestion", { sourceId: yours.records.source_id });
    expect(await stateOf(yours.workspace, yours.records)).toBe(before);
  });

  test("with its scope and those of what it reads it succeeds", async () => {
    const { key } = await createKey(yours.workspace, [scope ?? "leads:read", ...reads]);
    expect((await call(operation, yours.records, key)).status).toBe(status);
  });

  test("no spelling of method or path bypasses authentication", async () => {
    const { workspace, records } = kept;
    const before = await stateOf(workspace, records);
    const path = pathOf(operation, records);
    const body = ENTRIES[operation.operationId]!.body?.(records);
    const [first, ...rest] = path.slice(1).split("/") as [string, ...string[]];
    const encoded = `%${first.charCodeAt(0).toString(16)}${[first.slice(1), ...rest].join("/")}`;
    const spellings = [
      `/api/v1${path}/`,
      `/api/v1/${path}`,
      `/api//v1${path}`,
      `//api/v1${path}`,
      `/api/v1/.${path}`,
      `/api/v1/%2e${path}`,
      `/api/v1/x/..${path}`,
      `/api/v1/x/%2e%2e${path}`,
      `/api/v1/openapi.json/..${path}`,
      `/api/v1/openapi.json/%2e%2e${path}`,
      `/docs/..%2fapi/v1${path}`,
      `/docs/../api/v1${path}`,
      `/healthz/%2e%2e/api/v1${path}`,
      `/api/v1/${encoded}`,
      `/%61pi/v1${path}`,
      `/api/v1%2f${path.slice(1)}`,
      `/api/v1\\${path.slice(1)}`,
      `/API/V1${path.toUpperCase()}`,
      `/api/v1${path}%00`,
      `/api/v1${path};x=1`,
      `/api/v1${path}?key=${workspace.key}&api_key=${workspace.key}&access_token=${workspace.key}`,
    ];
    for (const spelling of spellings) {
      const answer = await send(operation.method, spelling, { headers: newAddress(), ...(body && { body }) });
      expect([401, 404], `${operation.method} ${spelling}`).toContain(answer.status);
      expect(JSON.stringify(answer.body)).not.toContain("MARK");
    }
    const methods = ["HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "PROPFIND", operation.method.toLowerCase(), mixedCase(operation.method)];
    for (const method of methods) {
      const answer = await send(method, `/api/v1${path}`, { headers: newAddress() });
      expect(answer.status, method).toBe(401);
    }
    for (const name of ["X-HTTP-Method-Override", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"]) {
      const headers = { ...newAddress(), [name]: name.includes("URL") ? "/healthz" : "GET" };
      const answer = await send(operation.method, `/api/v1${path}`, { headers, ...(body && { body }) });
      expect(answer.status, name).toBe(401);
    }
    expect(await stateOf(workspace, records)).toBe(before);
  });
});

function mixedCase(method: string): string {
  return method[0]! + method.slice(1).toLowerCase();
}

test("without a valid key no tool of /mcp does anything, whatever else is valid", async () => {
  const { workspace, records } = kept;
  const revoked = await createKey(workspace, ["*"]);
  await operate("DELETE", `/workspaces/${workspace.id}/keys/${revoked.id}`);
  const before = await stateOf(workspace, records);
  const args = { agent_id: records.agent_id, question: "Taken?", answer: "Taken." };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "add_answer", arguments: args } };
  for (const [token, code] of [
    [undefined, "missing_api_key"],
    ["sk_live_junk", "invalid_api_key"],
    [(await mintApiKey(workspace.id, "not the secret")).key, "invalid_api_key"],
    [(await mintApiKey(workspace.id, env.KEY_SECRET)).key, "invalid_api_key"],
    [env.OPERATOR_TOKEN, "invalid_api_key"],
    [revoked.key, "revoked_api_key"],
  ] as const) {
    const headers = { ...newAddress(), Accept: "application/json, text/event-stream" };
    const answer = await send("POST", "/mcp", { token, body, headers });
    expect([answer.status, answer.body.error.code]).toEqual([401, code]);
  }
  for (const path of ["/mcp/", "//mcp", "/mcp/api/v1/me", "/mcp/agents", "/%6dcp", "/MCP"]) {
    expect([401, 404], path).toContain((await send("POST", path, { body, headers: newAddress() })).status);
  }
  const internal = `/api/v1/agents/${records.agent_id}/documents/${records.source_id}`;
  expect((await workspace.call("GET", internal)).status).toBe(404);
  expect(await stateOf(workspace, records)).toBe(before);
});

test("a conversation of another workspace cannot be continued", async () => {
  const before = await stateOf(neighbour.workspace, neighbour.records);
  const question = { ...QUESTION, conversation_id: neighbour.records.conversation_id };
  const answer = await kept.workspace.call("POST", `/agents/${kept.records.agent_id}/messages`, question);
  expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
  expect(await stateOf(neighbour.workspace, neighbour.records)).toBe(before);
});

test("a record under another agent of the same workspace is not found", async () => {
  const { workspace, records } = kept;
  const other = await createAgent(workspace, { name: "Other" });
  const before = await stateOf(workspace, records);
  for (const [method, path] of [
    ["DELETE", `/agents/${other.id}/sources/${records.source_id}`],
    ["POST", `/agents/${other.id}/sources/${records.source_id}/sync`],
    ["DELETE", `/agents/${other.id}/answers/${records.answer_id}`],
  ] as const) {
    expect((await workspace.call(method, path)).status, path).toBe(404);
  }
  expect(await stateOf(workspace, records)).toBe(before);
});

test("responses without a key reveal nothing of any workspace", async () => {
  const { workspace } = kept;
  for (const path of ["/api/v1/openapi.json", "/docs", "/healthz"]) {
    const answer = await send("GET", path, { headers: newAddress() });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(answer.body)).not.toContain(workspace.id);
    expect(JSON.stringify(answer.body)).not.toContain("MARK");
  }
});
