import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { receiveMail } from "../../../src/email/inbound.ts";
import { addWorkspace } from "../../../src/operator/workspaces.ts";
import { configProblems } from "../../../src/platform/config.ts";
import { shardOf } from "../../../src/platform/db/ids.ts";
import { chooseShard, FULL_DATABASE_BYTES } from "../../../src/platform/db/shards.ts";
import { Meter } from "../../../src/platform/telemetry/meter.ts";
import { sweep } from "../../../src/sweep/sweep.ts";
import {
  createAgent,
  createWorkspace,
  createWorkspaceOn,
  deliver,
  envWith,
  evict,
  learn,
  operate,
  send,
  type Workspace,
} from "../../harness.ts";

const bindings = env as unknown as Record<string, D1Database | undefined>;
const MINUTE = 60_000;

/** The errors that the service logs while a test runs. */
let errors: Record<string, unknown>[];

beforeEach(() => {
  errors = [];
  vi.spyOn(console, "error").mockImplementation((line) => void errors.push(JSON.parse(String(line))));
});
afterEach(() => vi.restoreAllMocks());

const eventsOf = (name: string) => errors.filter(({ event }) => event === name);

/** Adds the spare database with a shard, as a deployment with one more binding does. */
async function addDatabase(): Promise<void> {
  await applyD1Migrations(env.SPARE, env.TEST_MIGRATIONS);
  Object.assign(env, { DB_2: env.SPARE, SHARD_MAP: "0=DB, 1=DB_1, 2=DB_2" });
}

/** Runs something while another database, or none, is bound as DB_1. */
async function withDatabase<Result>(database: D1Database | undefined, run: () => Promise<Result>): Promise<Result> {
  const own = bindings["DB_1"];
  bindings["DB_1"] = database;
  try {
    return await run();
  } finally {
    bindings["DB_1"] = own;
  }
}

/** A database that says of itself that it is that large. */
function sized(database: D1Database, sizeBytes: number): D1Database {
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await database.batch(statements);
    for (const { meta } of results) meta.size_after = sizeBytes;
    return results;
  };
  return { prepare: (sql: string) => database.prepare(sql), batch } as unknown as D1Database;
}

/** Everything that a database holds of these workspaces. */
async function snapshot(database: D1Database): Promise<string> {
  const { results } = await database
    .prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name <> 'shards' ORDER BY name",
    )
    .all<{ name: string }>();
  const names = results.map(({ name }) => name).filter((name) => name !== "workspace_directory");
  const tables = await database.batch(names.map((name) => database.prepare(`SELECT * FROM "${name}" ORDER BY rowid`)));
  return JSON.stringify(tables.map((table, at) => [names[at], table.results]));
}

/** Has an agent answer a question, and gives back what the conversation then is. */
async function converse(workspace: Workspace) {
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "Refunds are paid within five working days.");
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", user: { id: "u" } });
  const conversation = (await workspace.call("GET", `/conversations/${asked.body.conversation_id}`)).body;
  return { agent, conversation };
}

test("when a third database is added to two full ones, new workspaces go there and existing ones stay", async () => {
  const old: Workspace[] = [];
  for (let at = 0; at < 6; at++) old.push(await createWorkspace());
  expect(old.map(({ id }) => shardOf(id)).toSorted()).toEqual([0, 0, 0, 1, 1, 1]);
  const before = await converse(old[0]!);
  const held = [await snapshot(env.DB), await snapshot(env.DB_1)];
  await addDatabase();
  const fresh: Workspace[] = [];
  for (let at = 0; at < 3; at++) fresh.push(await createWorkspace());
  expect(fresh.map(({ id }) => shardOf(id))).toEqual([2, 2, 2]);
  const { agent, conversation } = await converse(fresh[0]!);
  for (const id of [agent.id, conversation.id, conversation.visitor.id]) expect(shardOf(id)).toBe(2);
  expect(conversation.status).toBe("ai_handled");
  // The other databases were not written to, except for the directory in DB.
  expect([await snapshot(env.DB), await snapshot(env.DB_1)]).toEqual(held);
  expect((await old[0]!.call("GET", `/conversations/${before.conversation.id}`)).body).toEqual(before.conversation);
  // Once it has as many as the others, they take turns again.
  const next = [await createWorkspace(), await createWorkspace(), await createWorkspace()];
  expect(next.map(({ id }) => shardOf(id)).toSorted()).toEqual([0, 1, 2]);
});

test("lists, the sweep, erasures and the directory cover all three databases", async () => {
  await addDatabase();
  const made = [await createWorkspaceOn(0), await createWorkspaceOn(1), await createWorkspaceOn(2)];
  const listed = await operate("GET", "/workspaces?limit=100");
  for (const { id } of made) expect(listed.data.map((row: { id: string }) => row.id)).toContain(id);
  const [, , third] = made as [Workspace, Workspace, Workspace];
  const address = `${crypto.randomUUID()}@example.com`;
  await createAgent(third, { email_address: address });
  expect(await env.DB.prepare("SELECT workspace_id FROM email_directory WHERE address = ?").bind(address).first("workspace_id")).toBe(
    third.id,
  );
  // A source that waits is found in each.
  const waiting: string[] = [];
  for (const workspace of made) {
    const agent = await createAgent(workspace, { name: "Reader" });
    waiting.push((await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: "Text", text: "Some text." })).body.id);
  }
  const sent: string[] = [];
  const INGESTION_QUEUE = {
    sendBatch: async (messages: { body: { sourceId: string } }[]) => void sent.push(...messages.map(({ body }) => body.sourceId)),
  };
  await sweep(envWith({ INGESTION_QUEUE }), Date.now() + 2 * MINUTE);
  for (const id of waiting) expect(sent).toContain(id);
  await operate("DELETE", `/workspaces/${third.id}`);
  for (let run = 0; run < 5; run++) await deliver("support-agent-erasure", { workspaceId: third.id });
  expect(await env.SPARE.prepare("SELECT count(*) AS n FROM workspaces WHERE id = ?").bind(third.id).first("n")).toBe(0);
  expect(await env.DB.prepare("SELECT count(*) AS n FROM email_directory WHERE workspace_id = ?").bind(third.id).first("n")).toBe(0);
});

test("the chosen shard is one of those with the fewest workspaces", () => {
  const counts = [2, 1, 1, 5].map((workspacesCount, shard) => ({ shard, workspacesCount }));
  for (let at = 0; at < 20; at++) expect([1, 2]).toContain(chooseShard([0, 1, 2, 3], counts));
  expect(chooseShard([0, 3], counts)).toBe(0);
  // A shard without workspaces has no count.
  expect(chooseShard([0, 1, 9], counts)).toBe(9);
  expect(chooseShard([], counts)).toBeUndefined();
});

test("new workspaces are spread evenly over all 256 shards of a database", async () => {
  const counts = new Map<number, number>();
  const shards = Array.from({ length: 256 }, (_, shard) => shard);
  for (let at = 0; at < 3 * 256; at++) {
    const chosen = chooseShard(
      shards,
      [...counts].map(([shard, workspacesCount]) => ({ shard, workspacesCount })),
    )!;
    counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
  }
  expect([counts.size, new Set(counts.values())]).toEqual([256, new Set([3])]);
});

const NEW = () => ({ name: "Acme", slug: crypto.randomUUID(), plan: "free" as const });
const addTo = async (changes: Record<string, unknown>) => addWorkspace(envWith(changes), new Meter(), BY, NEW());
const BY = { actor: "token/0", operation: "createWorkspace", requestId: "" };

test("a nearly full database gets no new workspaces, and the sweep logs it", async () => {
  await addDatabase();
  const full = { DB_1: sized(env.DB_1, FULL_DATABASE_BYTES), DB_2: sized(env.SPARE, FULL_DATABASE_BYTES) };
  for (let at = 0; at < 3; at++) {
    const added = await addTo(full);
    expect(added.outcome === "added" && shardOf(added.workspace.id)).toBe(0);
  }
  await sweep(envWith(full), Date.now());
  expect(eventsOf("database_full").map(({ database }) => database)).toEqual(["DB_1", "DB_2"]);
  await expect(addTo({ ...full, DB: sized(env.DB, FULL_DATABASE_BYTES) })).resolves.toEqual({ outcome: "no_room" });
});

test("a closed database gets no new workspaces; with all closed, the error says what to do", async () => {
  await addDatabase();
  const added = await addTo({ CLOSED_DATABASES: "0, 2" });
  expect(added.outcome === "added" && shardOf(added.workspace.id)).toBe(1);
  (bindings as Record<string, unknown>)["CLOSED_DATABASES"] = "0,1,2";
  const answer = await send("POST", "/operator/v1/workspaces", { token: env.OPERATOR_TOKEN, body: NEW() });
  (bindings as Record<string, unknown>)["CLOSED_DATABASES"] = "";
  expect([answer.status, answer.body.error.code, answer.headers.get("Retry-After")]).toEqual([503, "unavailable", "60"]);
  expect(answer.body.error.message).toContain("Bind another one");
});

test.for(["x", "1.5", "-1", "256", "0;1"])("CLOSED_DATABASES as %s is refused by name", (value) => {
  expect(configProblems(envWith({ CLOSED_DATABASES: value })).join()).toContain("CLOSED_DATABASES");
  expect(configProblems(envWith({ CLOSED_DATABASES: " 0, 255 " }))).toEqual([]);
});

test("a removed binding causes 503 for its workspaces alone, and the log names it", async () => {
  const [lost, kept] = [await createWorkspaceOn(1), await createWorkspaceOn(0)];
  const address = `${crypto.randomUUID()}@example.com`;
  const agent = await createAgent(lost, { allowed_origins: ["*"], email_address: address });
  const visited = await send("POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: "Hello" } });
  // A key whose gate has not read its workspace yet.
  const cold = await createWorkspaceOn(1);
  await evict(env.GATE.getByName(cold.id));
  await withDatabase(undefined, async () => {
    const asOperator = { token: env.OPERATOR_TOKEN };
    const poll = `/widget/v1/conversations/${visited.body.conversation_id}/messages`;
    const answers = [
      await lost.call("GET", "/conversations"),
      await lost.call("POST", `/agents/${agent.id}/messages`, { message: "Hi" }),
      await cold.call("GET", "/me"),
      await send("GET", `/operator/v1/workspaces/${lost.id}`, asOperator),
      await send("GET", "/operator/v1/workspaces?limit=100", asOperator),
      await send("GET", `/widget/v1/agents/${agent.id}`),
      await send("POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: "Hi" } }),
      await send("GET", poll, { token: visited.body.visitor_token }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    for (const { body, headers } of answers) {
      expect([body.error.code, headers.get("Retry-After")]).toEqual(["unavailable", "60"]);
      expect(JSON.stringify(body)).not.toContain("DB_1");
    }
    expect(eventsOf("database_fault")).toHaveLength(answers.length);
    for (const { detail } of eventsOf("database_fault")) expect(detail).toContain("bound as DB_1");
    expect((await kept.call("GET", "/conversations")).status).toBe(200);
    // A mail is neither taken nor sent back: its sender's server tries again.
    const raw = new Response(`From: ann@example.org\r\nTo: ${address}\r\nMessage-ID: <1@example.org>\r\n\r\nHello`).body!;
    const mail = { from: "ann@example.org", to: address, raw, rawSize: 100, headers: new Headers(), setReject: vi.fn() };
    await expect(receiveMail(mail as unknown as ForwardableEmailMessage, env)).rejects.toThrow("bound as DB_1");
    expect(mail.setReject).not.toHaveBeenCalled();
    const { body: added } = await send("POST", "/operator/v1/workspaces", { ...asOperator, body: NEW() });
    expect([0, 2]).toContain(shardOf(added.id));
    await sweep(env, Date.now());
    expect(eventsOf("database_unbound")).toMatchObject([{ database: "DB_1", detail: expect.stringContaining("DB_1") }]);
  });
  expect((await lost.call("GET", "/conversations")).status).toBe(200);
  expect((await cold.call("GET", "/me")).status).toBe(200);
});

test("an id of a shard that the map leaves out is not found", async () => {
  const id = `${crypto.randomUUID().slice(0, -2)}fe`;
  expect((await send("GET", `/widget/v1/agents/${id}`)).status).toBe(404);
  expect((await send("GET", `/operator/v1/workspaces/${id}`, { token: env.OPERATOR_TOKEN })).status).toBe(404);
});

test("a database that lacks migrations gets no new workspaces, causes 503, and does not stop the sweep of others", async () => {
  const lost = await createWorkspaceOn(1);
  const source = async (workspace: Workspace) => {
    const agent = await createAgent(workspace, { name: "Reader" });
    return (await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: "Text", text: "Some text." })).body.id;
  };
  const waiting = await source(await createWorkspaceOn(0));
  // A database to which the newest migration has not been applied.
  await env.SPARE.batch([env.SPARE.prepare("DROP TABLE IF EXISTS sources"), env.SPARE.prepare("DROP TABLE IF EXISTS workspaces")]);
  await withDatabase(env.SPARE, async () => {
    const answer = await lost.call("GET", "/agents/018f0000-0000-7000-8000-000000000001/sources");
    const list = await send("GET", "/operator/v1/workspaces?limit=100", { token: env.OPERATOR_TOKEN });
    expect([answer.status, list.status]).toEqual([503, 503]);
    expect(eventsOf("database_fault")[0]!["detail"]).toContain("wrangler d1 migrations apply");
    const added = await addTo({ DB_2: undefined });
    expect(added.outcome === "added" && shardOf(added.workspace.id)).toBe(0);
    expect(eventsOf("database_left_out")).toMatchObject([{ database: "DB_1", detail: expect.stringContaining("migrations") }]);
    const sent: string[] = [];
    const INGESTION_QUEUE = {
      sendBatch: async (messages: { body: { sourceId: string } }[]) => void sent.push(...messages.map(({ body }) => body.sourceId)),
    };
    await sweep(envWith({ INGESTION_QUEUE, DB_2: undefined }), Date.now() + 2 * MINUTE);
    expect(sent).toContain(waiting);
    expect(eventsOf("database_not_swept")).toMatchObject([{ database: "DB_1", detail: expect.stringContaining("migrations") }]);
  });
});
