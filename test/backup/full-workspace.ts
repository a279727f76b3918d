import { vi } from "vitest";
import { ERASED_TABLES } from "../../src/operator/erasure-store.ts";
import {
  addApproval,
  createAgent,
  createKey,
  createWorkspaceOn,
  deliver,
  fileForm,
  learn,
  listen,
  newAddress,
  operate,
  query,
  send,
  type Workspace,
} from "../harness.ts";
import { createSite, work } from "../knowledge/crawl/site.ts";
import { behaveAt } from "../outbound.ts";

/** A workspace with records of every kind, and the ids of some of them. */
export interface FullWorkspace extends Workspace {
  agentId: string;
  webhookId: string;
}

const TOOL = {
  name: "order_status",
  description: "Looks an order up",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  method: "GET",
  url: "https://shop.example.com/orders/{order}",
  headers: { "X-Token": "tool secret" },
};

/** Creates a workspace with records of every kind. */
export async function createFullWorkspace(shard: number): Promise<FullWorkspace> {
  const workspace = await createWorkspaceOn(shard);
  const revoked = await createKey(workspace, ["leads:read"]);
  await operate("DELETE", `/workspaces/${workspace.id}/keys/${revoked.id}`);
  await workspace.call("POST", "/members", { email: "ann@example.com", role: "agent" });
  await workspace.call("PATCH", "/sign-in", { domains: [{ domain: "example.com", role: "agent" }] });
  const agent = await createAgent(workspace, {
    name: "Ada",
    tools: [TOOL],
    email_address: `${crypto.randomUUID()}@example.com`,
    allowed_origins: ["*"],
    confidence_threshold: 0.37,
  });
  await operate("POST", `/workspaces/${workspace.id}/agents/${agent.id}/rotate-identity-secret`);
  await workspace.call("PATCH", `/agents/${agent.id}/versions/draft`, { instructions: "Rhyme." });
  await workspace.call("POST", `/agents/${agent.id}/versions/publish`, { note: "Rhymes", rollout: 0.5 });
  await workspace.call("PATCH", `/agents/${agent.id}/versions/draft`, { instructions: "Sing." });
  await createAgent(workspace, { name: "Guarded", turnstile: { site_key: "0x4site", secret: "turnstile secret" } });
  const webhook = await listen(workspace);
  await teach(workspace, agent.id);
  await talk(workspace, agent.id);
  await leaveTraces(workspace, webhook.id);
  await leaveMails(workspace);
  await leaveApproval(workspace, agent.id);
  await workspace.call("POST", "/teams", { name: "Support" });
  await workspace.call("POST", "/routing-rules", { name: "Refunds", conditions: { contains: ["refund"] }, actions: { priority: "high" } });
  await workspace.call("POST", "/saved-replies", { name: "Sent", content: "Hello {{visitor.name}}, it is sent." });
  return { ...workspace, agentId: agent.id, webhookId: webhook.id };
}

async function teach(workspace: Workspace, agentId: string): Promise<void> {
  await learn(workspace, agentId, '# Refunds\n\nRefunds are paid within five working days. \u{1f4b8} Ünïcode, "quotes" and\ttabs.');
  const site = await createSite();
  await site.has("/", { text: "We sell lamps.", links: ["/chairs", "/missing"] });
  await site.has("/chairs", { text: "Zebras are striped animals, and our chairs may be returned within sixty days." });
  const source = { type: "website", name: "Site", url: site.at("/"), schedule: "daily" };
  const { body } = await workspace.call("POST", `/agents/${agentId}/sources`, source);
  await work({ workspaceId: workspace.id, agentId, sourceId: body.id });
  await workspace.call("POST", `/agents/${agentId}/sources`, { type: "text", name: "Waiting", text: "Parcels leave in the evening." });
  await workspace.call("POST", `/agents/${agentId}/answers`, { question: "Where are you?", answer: "In Bern." });
  const cases = ["When are refunds paid?", "Who?", "Where?", "How?"].map((question) => ({ question, expect: { refusal: false } }));
  const evaluation = await workspace.call("POST", `/agents/${agentId}/evaluations`, { name: "Weekly", cases });
  await deliver("support-agent-crawls", { workspaceId: workspace.id, evaluationId: evaluation.body.id });
}

async function talk(workspace: Workspace, agentId: string): Promise<void> {
  const path = `/agents/${agentId}/messages`;
  const user = { id: "ann", name: "Ann", email: "ann@example.com" };
  const ask = async (message: string, more: object = {}) => (await workspace.call("POST", path, { message, ...more })).body.conversation_id;
  const upload = async (content: string) => (await workspace.call("POST", "/attachments", fileForm(content))).body.id;
  await ask("When are refunds paid?", { user, attachments: [await upload("A text of the person")] });
  // A file of two parts, which no message has taken yet.
  await upload("x".repeat(600_000));
  const handed = await ask("How is bread baked\u0000 in the Alps?", { user });
  await workspace.call("POST", `/conversations/${handed}/messages`, { content: "Ask a baker.", resolve: true });
  await workspace.call("POST", `/conversations/${handed}/notes`, { content: "She bakes." });
  await workspace.call("PATCH", `/conversations/${handed}`, { assignee: { id: "grace", name: "Grace" }, read: false });
  await workspace.call("PATCH", `/conversations/${await ask("I want to talk to a human.")}`, { tags: ["vip"] });
  await workspace.call("PATCH", `/conversations/${await ask("Where are you?")}`, { status: "resolved" });
  await ask("When are refunds paid?", { user: { id: "gone" } });
  await workspace.call("DELETE", "/privacy/visitors?external_id=gone");
  const widget = { headers: newAddress() };
  const visited = await send("POST", `/widget/v1/agents/${agentId}/messages`, { ...widget, body: { message: "Where are you?" } });
  const { visitor_token, conversation_id } = visited.body;
  const rate = { headers: { ...widget.headers, Authorization: `Bearer ${visitor_token}` }, body: { score: 4, comment: "Quick." } };
  await send("POST", `/widget/v1/conversations/${conversation_id}/csat`, rate);
  const feedback = `/widget/v1/conversations/${conversation_id}/messages/${visited.body.message_id}/feedback`;
  await send("POST", feedback, { ...rate, body: { rating: "down", comment: "Which street?" } });
  const lead = {
    name: "Acme Anna",
    email: "anna@acme.example",
    phone: "+41 31 555 12 12",
    custom_fields: { company: "Acme" },
    visitor_token,
  };
  await send("POST", `/widget/v1/agents/${agentId}/leads`, { ...widget, body: lead });
}

/** Adds deliveries that were attempted, and the remains of erasures that are in progress. */
async function leaveTraces(workspace: Workspace, webhookId: string): Promise<void> {
  await behaveAt("hooks.example.com", { status: 500, body: "Not now" });
  const due = await query<{ id: string }>(workspace.id, "SELECT id FROM deliveries WHERE workspace_id = ? LIMIT 3", workspace.id);
  for (const { id } of due) await deliver("support-agent-slow-deliveries", { deliveryId: id });
  // On a busy machine an attempt goes on in the background after the consumer has stopped waiting for it.
  const unfinished = `SELECT id FROM deliveries WHERE id IN (SELECT value FROM json_each(?)) AND (attempt_count = 0 OR lease_until IS NOT NULL)`;
  const ids = JSON.stringify(due.map(({ id }) => id));
  await vi.waitUntil(async () => (await query(workspace.id, unfinished, ids)).length === 0, { timeout: 40_000, interval: 100 });
  // The first event becomes one that was committed late, so that the order of ids is not that of the events.
  const latest = "(SELECT max(sequence) FROM events WHERE workspace_id = ?1)";
  const first = "(SELECT min(id) FROM events WHERE workspace_id = ?1)";
  await query(workspace.id, `UPDATE events SET sequence = ${latest} + 1 WHERE id = ${first}`, workspace.id);
  const gone = await listen(workspace);
  const rows = [
    ["webhook_erasures", "id, workspace_id, created_at", gone.id, workspace.id, Date.now()],
    [
      "privacy_erasures",
      "id, workspace_id, identifier, created_at",
      webhookId,
      workspace.id,
      "v1.00000000.AAAAAAAAAAAAAAAA.AAAA",
      Date.now(),
    ],
  ] as const;
  for (const [table, columns, ...values] of rows) {
    await query(workspace.id, `INSERT INTO ${table} (${columns}) VALUES (${values.map(() => "?").join()})`, ...values);
  }
}

/** Adds a tool call that the team has approved. */
async function leaveApproval(workspace: Workspace, agentId: string): Promise<void> {
  const answer =
    "SELECT id, conversation_id AS conversationId FROM messages WHERE workspace_id = ? AND role = 'assistant' ORDER BY id LIMIT 1";
  const [{ id: messageId, conversationId } = { id: "", conversationId: "" }] = await query<{ id: string; conversationId: string }>(
    workspace.id,
    answer,
    workspace.id,
  );
  await addApproval(workspace, "approved", { agentId, conversationId, messageId });
}

/** Adds a conversation that continues by mail, with an answer that was sent. */
async function leaveMails({ id }: Workspace): Promise<void> {
  await query(
    id,
    `INSERT INTO email_threads (conversation_id, workspace_id, address, subject, last_message_id, earlier_ids, created_at)
      SELECT id, workspace_id, 'ann@example.com', 'Bread', '<2@example.com>', '["<1@example.com>"]', created_at
        FROM conversations WHERE workspace_id = ? AND status = 'resolved' ORDER BY id LIMIT 1`,
    id,
  );
  await query(
    id,
    `INSERT INTO email_outbox (message_id, workspace_id, conversation_id, status, attempt_count, next_attempt_at, created_at)
      SELECT m.id, m.workspace_id, m.conversation_id, 'sent', 1, m.created_at, m.created_at
        FROM messages m JOIN email_threads t ON t.conversation_id = m.conversation_id WHERE m.workspace_id = ? AND m.role = 'human'`,
    id,
  );
}

/** The answers of the API about all records of the workspace, and the results of searches. */
export async function answersOf(workspace: FullWorkspace): Promise<Record<string, unknown>> {
  const answers: Record<string, any> = {};
  const get = async (path: string) => {
    const { status, body } = await workspace.call("GET", path);
    // A person's export says when it was made, and traces are not part of a backup.
    const withoutTraces = (key: string, value: unknown) => (key === "traces" ? [] : value);
    answers[path] = { status, body: JSON.parse(JSON.stringify({ ...body, exported_at: null }, withoutTraces)) };
    return body;
  };
  const ofAgent = `/agents/${workspace.agentId}`;
  const paths = [
    "/me",
    "/usage",
    "/agents",
    ofAgent,
    "/analytics/overview?days=30",
    `${ofAgent}/answers`,
    `${ofAgent}/gaps`,
    `${ofAgent}/drafts`,
    "/feedback",
    "/webhooks",
    "/events?limit=100",
  ];
  const searches = ["/leads", "/leads?q=anna", "/leads?q=5551212", "/privacy/visitors?external_id=ann", "/privacy/export?external_id=ann"];
  for (const path of [...paths, ...searches, `/webhooks/${workspace.webhookId}/deliveries?limit=100`]) await get(path);
  for (const filter of ["", "?status=needs_human", `?agent_id=${workspace.agentId}&channel=widget`]) await get(`/conversations${filter}`);
  for (const { id } of answers["/conversations"].body.data) await get(`/conversations/${id}`);
  for (const { id } of (await get(`${ofAgent}/sources`)).data) await get(`${ofAgent}/sources/${id}/pages?limit=100`);
  for (const { id } of (await get(`${ofAgent}/evaluations`)).data) await get(`${ofAgent}/evaluations/${id}`);
  for (const text of ["refunds", "striped zebras", "Where are you?"]) {
    answers[`search ${text}`] = (await workspace.call("POST", `${ofAgent}/search`, { query: text })).body;
  }
  // The export of a person is recorded itself.
  await query(workspace.id, "DELETE FROM audit_log WHERE workspace_id = ? AND action = 'privacy.export'", workspace.id);
  answers["operator"] = await operate("GET", `/workspaces/${workspace.id}`);
  answers["operator agents"] = await operate("GET", `/workspaces/${workspace.id}/agents`);
  answers["operator keys"] = await operate("GET", `/workspaces/${workspace.id}/keys`);
  return answers;
}

/** All rows of a workspace, by table, its own row among them. */
export async function rowsOf(workspaceId: string): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const table of [...ERASED_TABLES, "workspaces"]) {
    const column = table === "workspaces" ? "id" : "workspace_id";
    rows[table] = await query(workspaceId, `SELECT * FROM ${table} WHERE ${column} = ? ORDER BY 1, 2, 3`, workspaceId);
  }
  return rows;
}
