import { createExecutionContext, createMessageBatch, evictDurableObject, getQueueResult, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { vi } from "vitest";
import { claimSlug } from "../src/operator/store.ts";
import { directoryDb } from "../src/platform/db/client.ts";
import { newId, shardOf } from "../src/platform/db/ids.ts";
import { Meter } from "../src/platform/telemetry/meter.ts";
import { handleQueue } from "./queue-handler.ts";

const ORIGIN = "http://service.test";

/** The tests' databases by shard. */
export const databases = [env.DB, env.DB_1];

/** A response with its parsed body. */
export interface Answer<Body = any> {
  status: number;
  headers: Headers;
  body: Body;
}

/** Sends a request to the service as a client would. A plain object becomes a JSON body; text, bytes, streams and forms are sent as they are. */
export async function send(
  method: string,
  path: string,
  options: { token?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const headers = new Headers(options.headers);
  if (options.token !== undefined) headers.set("Authorization", `Bearer ${options.token}`);
  const hasBody = options.body !== undefined;
  if (hasBody && !headers.has("Content-Type") && !(options.body instanceof FormData)) headers.set("Content-Type", "application/json");
  const body = hasBody ? { body: isRaw(options.body) ? options.body : JSON.stringify(options.body) } : {};
  const response = await exports.default.fetch(new Request(ORIGIN + path, { method, headers, ...body }));
  const text = new TextDecoder().decode(await response.bytes());
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json") ?? false;
  return { status: response.status, headers: response.headers, body: isJson && text !== "" ? JSON.parse(text) : text };
}

function isRaw(body: unknown): body is string | Uint8Array | ReadableStream | FormData {
  return typeof body === "string" || [Uint8Array, ReadableStream, FormData].some((type) => body instanceof type);
}

/** The form that uploads a file. */
export function fileForm(content: string | Uint8Array<ArrayBuffer>, fields: Record<string, string> = {}, filename = "file"): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", new File([content], filename));
  return form;
}

/** The first bytes of a PNG image, which decide its type. */
export const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);

/** A unique client address, since requests without a valid key are rate limited by address. */
export function newAddress(): Record<string, string> {
  return { "CF-Connecting-IP": crypto.randomUUID() };
}

/** Sends a request of the operator, which must succeed. */
export async function operate(method: string, path: string, body?: unknown): Promise<any> {
  const answer = await send(method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, ...(body !== undefined && { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A test's workspace with a key of all scopes. */
export interface Workspace {
  id: string;
  key: string;
  keyId: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

let made = 0;

interface WorkspaceSettings {
  plan?: string;
  limits?: Record<string, unknown>;
  scopes?: string[];
}

/** Creates a workspace. @param shard undefined for one that the service chooses. */
export async function createWorkspace(settings: WorkspaceSettings = {}, shard?: number): Promise<Workspace> {
  const slug = `test-${++made}-${crypto.randomUUID().slice(0, 8)}`;
  // A workspace whose creation failed after its slug was claimed is created in the shard of its claim.
  if (shard !== undefined) await claimSlug(directoryDb(env, new Meter()), { workspaceId: newId(shard, Date.now()), slug, shard });
  const workspace = await operate("POST", "/workspaces", { name: "Test", slug, plan: settings.plan ?? "enterprise" });
  if (settings.limits) await operate("PATCH", `/workspaces/${workspace.id}`, { limits: settings.limits });
  const key = await operate("POST", `/workspaces/${workspace.id}/keys`, { name: "All", scopes: settings.scopes ?? ["*"] });
  return {
    id: workspace.id,
    key: key.key,
    keyId: key.id,
    call: (method, path, body, headers) =>
      send(method, `/api/v1${path}`, { token: key.key, ...(body !== undefined && { body }), ...(headers && { headers }) }),
  };
}

/** Adds a key to a workspace. */
export function createKey(workspace: Workspace, scopes: string[]): Promise<{ id: string; key: string } & Record<string, any>> {
  return operate("POST", `/workspaces/${workspace.id}/keys`, { name: "Extra", scopes });
}

/** Creates a workspace in a given shard. */
export function createWorkspaceOn(shard: number, settings: WorkspaceSettings = {}): Promise<Workspace> {
  return createWorkspace(settings, shard);
}

/** Creates a workspace in the same database, where only the statements isolate it. */
export function createNeighbour(workspace: { id: string }): Promise<Workspace> {
  return createWorkspaceOn(shardOf(workspace.id));
}

/** Adds an agent to a workspace. */
export function createAgent(workspace: Workspace, settings: Record<string, unknown> = {}): Promise<{ id: string } & Record<string, any>> {
  return operate("POST", `/workspaces/${workspace.id}/agents`, { name: "Agent", ...settings });
}

/** Adds a webhook endpoint: events are only written for subscribers. */
export async function listen(
  workspace: Workspace,
  events: string[] = ["*"],
): Promise<{ id: string; secret: string } & Record<string, any>> {
  const created = await workspace.call("POST", "/webhooks", { url: "https://hooks.example.com/support", events });
  if (created.status !== 201) throw new Error(`The endpoint was refused: ${JSON.stringify(created.body)}`);
  return created.body;
}

/** Delivers a message to the queue's consumer immediately. */
export async function deliver(queue: string, body: unknown, attempts = 1) {
  const batch = createMessageBatch(queue, [{ id: crypto.randomUUID(), timestamp: new Date(), attempts, body }]);
  const ctx = createExecutionContext();
  await handleQueue(batch, env);
  return getQueueResult(batch, ctx);
}

/** Adds a text source and ingests it. */
export async function learn(
  workspace: Workspace,
  agentId: string,
  text: string,
  name = "Handbook",
): Promise<{ id: string } & Record<string, any>> {
  const created = await workspace.call("POST", `/agents/${agentId}/sources`, { type: "text", name, text });
  if (created.status !== 202) throw new Error(`The source was refused: ${JSON.stringify(created.body)}`);
  await deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId, sourceId: created.body.id });
  const listed = await workspace.call("GET", `/agents/${agentId}/sources`);
  return listed.body.data.find((source: { id: string }) => source.id === created.body.id);
}

/** Returns the cost of a request, as its log line states it. */
export async function costOf(
  request: () => Promise<unknown>,
): Promise<Record<"object_hops" | "d1_trips" | "rows_read" | "rows_written", number>> {
  const log = vi.spyOn(console, "log");
  try {
    await request();
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
    return lines.findLast((line) => line.event === "request");
  } finally {
    log.mockRestore();
  }
}

/** Ends an object in memory. It waits while the object has references, which earlier requests leave until they are collected. */
export async function evict(stub: DurableObjectStub): Promise<void> {
  await vi.waitFor(() => evictDurableObject(stub), 60_000);
}

/** Runs a statement in the database of the record with this id, and returns its rows. */
export async function query<Row = Record<string, unknown>>(id: string, statement: string, ...values: unknown[]): Promise<Row[]> {
  const { results } = await databases[shardOf(id)]!.prepare(statement)
    .bind(...values)
    .all<Row>();
  return results;
}

/** Counts the rows of each table in each database. */
export async function countRows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [shard, database] of databases.entries()) {
    const tables = await database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .all<{ name: string }>();
    const names = tables.results.map(({ name }) => name);
    const sizes = await database.batch<{ size: number }>(names.map((name) => database.prepare(`SELECT count(*) AS size FROM "${name}"`)));
    for (const [at, { results }] of sizes.entries()) counts[`${shard}.${names[at]}`] = results[0]!.size;
  }
  return counts;
}

/** The environment with some bindings replaced, to make them fail or to record their calls. */
export function envWith(bindings: Record<string, unknown>): Env {
  return { ...env, ...bindings };
}

/** Bindings of databases whose batches with these numbers, counted from 1 over all of them, fail. */
export function d1WithFailingBatches(...numbers: number[]): Record<string, unknown> {
  let count = 0;
  const failing = (database: D1Database) => ({
    prepare: (text: string) => database.prepare(text),
    batch: (statements: D1PreparedStatement[]) =>
      numbers.includes(++count) ? Promise.reject(new Error("D1_ERROR: it is down")) : database.batch(statements),
  });
  return { DB: failing(env.DB), DB_1: failing(env.DB_1) };
}

/** The storage of a conversation's session object. */
export function sessionStorage(
  workspaceId: string,
  conversationId: string,
): Promise<{ entries: [string, unknown][]; alarm: number | null }> {
  return runInDurableObject(env.SESSION.getByName(`${workspaceId}/${conversationId}`), async (_, { storage }) => ({
    entries: [...(await storage.list())],
    alarm: await storage.getAlarm(),
  }));
}

/** A later alarm is for the expiry of a trace, after 30 days. */
const TRACE_ALARM_MS = 28 * 24 * 60 * 60_000;

/** The unfinished work of a conversation's session object: its storage without the traces of its answers. */
export async function unfinishedIn(workspaceId: string, conversationId: string): Promise<Awaited<ReturnType<typeof sessionStorage>>> {
  const { entries, alarm } = await sessionStorage(workspaceId, conversationId);
  const isForTraces = alarm !== null && alarm > Date.now() + TRACE_ALARM_MS;
  return { entries: entries.filter(([name]) => !name.startsWith("trace:")), alarm: isForTraces ? null : alarm };
}

/** Adds a tool call that needs an approval, and returns the id of its approval. */
export async function addApproval(
  { id: workspaceId }: { id: string },
  status: "pending" | "approved" | "declined",
  of: { agentId: string; conversationId: string; messageId: string },
): Promise<string> {
  const approvalId = newId(shardOf(workspaceId), Date.now());
  await query(
    workspaceId,
    `INSERT INTO approvals (id, workspace_id, agent_id, conversation_id, message_id, tool, arguments, status, reason, decided_by_id,
        decided_by_name, outcome, requested_at, decided_at, expires_at)
      VALUES (?, ?, ?, ?, ?, 'MARK-tool', '{"order":"4711"}', ?, 'Too old.', 'grace', 'Grace', 'answered', 1, 2, 3)`,
    approvalId,
    workspaceId,
    of.agentId,
    of.conversationId,
    of.messageId,
    status,
  );
  return approvalId;
}
