import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { eraseDeleted } from "../../src/operator/erasure.ts";
import { ERASED_TABLES } from "../../src/operator/erasure-store.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import {
  createAgent,
  createKey,
  createWorkspace,
  createWorkspaceOn,
  databases,
  deliver,
  envWith,
  fileForm,
  learn,
  newAddress,
  operate,
  query,
  send,
  type Workspace,
} from "../harness.ts";

const QUEUE = "support-agent-erasure";
/** The tables of shard 0 that cross workspaces: the service's own calls fill them, never a shard's own rows. */
const DIRECTORIES = ["workspace_directory", "email_directory"];
/** The audit log outlives the workspaces that it names. */
const AUDIT = "operator_audit";
/** A trigger takes what is inserted here, so that it never holds a row. */
const NEVER_FILLED = ["analytics_changes"];

interface Table {
  name: string;
  columns: { name: string; type: string }[];
}

/** Every table that has a column for the workspace, as the database itself says. */
async function workspaceTables(db: D1Database): Promise<Table[]> {
  const listed = await db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY name")
    .all<{ name: string }>();
  const names = listed.results.map(({ name }) => name);
  const columns = await db.batch<Table["columns"][number]>(names.map((name) => db.prepare(`PRAGMA table_info("${name}")`)));
  const tables = names.map((name, at) => ({ name, columns: columns[at]!.results }));
  return tables.filter(({ name, columns: own }) => name !== AUDIT && own.some((column) => column.name === "workspace_id"));
}

/** Counts the rows of a workspace in each table of each database; its own row counts under `workspaces`. */
async function rowsOf(workspaceId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [shard, db] of databases.entries()) {
    const columns = [...(await workspaceTables(db)).map(({ name }) => [name, "workspace_id"]), ["workspaces", "id"]];
    for (const [table, column] of columns) {
      counts[`${shard}.${table}`] = (await db
        .prepare(`SELECT count(*) AS n FROM "${table}" WHERE ${column} = ?`)
        .bind(workspaceId)
        .first<number>("n"))!;
    }
  }
  return counts;
}

const isEmpty = (counts: Record<string, number>) => Object.values(counts).every((count) => count === 0);

/** Puts a row into every table of the workspace's database that has none of it: also into those that no call fills yet. */
async function fillTables(workspaceId: string): Promise<string[]> {
  const db = databases[Number.parseInt(workspaceId.slice(-2), 16)]!;
  const tables = (await workspaceTables(db)).filter(({ name }) => ![...DIRECTORIES, ...NEVER_FILLED].includes(name));
  for (const { name, columns } of tables) {
    const own = await db.prepare(`SELECT 1 FROM "${name}" WHERE workspace_id = ?`).bind(workspaceId).first();
    if (own) continue;
    const values = columns.map((column) => {
      if (column.name === "workspace_id") return workspaceId;
      return column.type.toUpperCase() === "TEXT" ? `"${crypto.randomUUID()}"` : 1;
    });
    await db
      .prepare(`INSERT INTO "${name}" VALUES (${columns.map(() => "?").join()})`)
      .bind(...values)
      .run();
  }
  return tables.map(({ name }) => name);
}

/** A workspace with something of every kind. */
async function createFullWorkspace(shard: number): Promise<Workspace> {
  const workspace = await createWorkspaceOn(shard);
  await createKey(workspace, ["*"]);
  const agent = await createAgent(workspace, { email_address: `${crypto.randomUUID()}@example.com` });
  const other = await createAgent(workspace, { name: "Other" });
  await operate("POST", `/workspaces/${workspace.id}/agents/${agent.id}/rotate-identity-secret`);
  for (const { id } of [agent, other]) {
    await learn(workspace, id, "# Refunds\n\nRefunds are paid within five working days.");
    await workspace.call("POST", `/agents/${id}/sources`, { type: "text", name: "Still waiting", text: "Parcels leave in the evening." });
    await workspace.call("POST", `/agents/${id}/answers`, { question: "Where are you?", answer: "In Bern." });
    await workspace.call("POST", `/agents/${id}/search`, { query: "refunds" });
    const user = { id: "ada", name: "Ada", email: "ada@example.com" };
    await workspace.call("POST", `/agents/${id}/messages`, { message: "When are refunds paid?", user });
    const handed = await workspace.call("POST", `/agents/${id}/messages`, { message: "I want to talk to a human." });
    await workspace.call("POST", `/agents/${id}/messages`, { message: "Hello?", conversation_id: handed.body.conversation_id });
    const file = await workspace.call("POST", "/attachments", fileForm("Your invoice"));
    const reply = { content: "Here it is.", attachments: [file.body.id] };
    await workspace.call("POST", `/conversations/${handed.body.conversation_id}/messages`, reply);
  }
  // The first search fills the index.
  await workspace.call("GET", "/conversations?q=refunds");
  // A turn that died left its message in its session.
  const cut = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
  await runInDurableObject(env.SESSION.getByName(`${workspace.id}/${cut.body.conversation_id}`), async (_, { storage }) => {
    await storage.put("left-behind", "When are refunds paid?");
    await storage.setAlarm(Date.now() + 600_000);
  });
  // Questions to an agent or conversation that does not exist leave nothing behind either.
  await workspace.call("POST", `/agents/${crypto.randomUUID()}/messages`, { message: "Hi" });
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi", conversation_id: crypto.randomUUID() });
  await workspace.call("POST", `/agents/${crypto.randomUUID()}/search`, { query: "refunds" });
  return workspace;
}

/** Delivers the wake-up until the workspace's own row is gone, as the queue would. */
async function eraseWhole(workspaceId: string): Promise<void> {
  for (let run = 0; run < 20; run++) {
    expect(await deliver(QUEUE, { workspaceId })).toMatchObject({ explicitAcks: [expect.any(String)], retryMessages: [] });
    if ((await query(workspaceId, "SELECT id FROM workspaces WHERE id = ?", workspaceId)).length === 0) return;
  }
  throw new Error("The erasure does not end");
}

const NAMESPACES = {
  gate: env.GATE,
  index: env.INDEX,
  session: env.SESSION,
  leads: env.LEADS,
  conversations: env.CONVERSATIONS,
  files: env.FILES,
} as unknown as Record<string, DurableObjectNamespace>;

async function listObjects(): Promise<{ kind: string; id: DurableObjectId }[]> {
  const lists = Object.entries(NAMESPACES).map(async ([kind, namespace]) =>
    (await listDurableObjectIds(namespace)).map((id) => ({ kind, id })),
  );
  return (await Promise.all(lists)).flat();
}

const nameOf = ({ kind, id }: { kind: string; id: DurableObjectId }) => `${kind} ${String(id)}`;

/** All that an object has in its storage. */
async function storedIn({ kind, id }: { kind: string; id: DurableObjectId }) {
  return runInDurableObject(NAMESPACES[kind]!.get(id), async (_, { storage }) => {
    const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'").toArray();
    return { entries: [...(await storage.list()).keys()], tables: tables.map(({ name }) => name), alarm: await storage.getAlarm() };
  });
}

const NOTHING = { entries: [], tables: [], alarm: null };

describe.each([0, 1])("a workspace of shard %i", (shard) => {
  test("is erased from every table of every database and from every object", async () => {
    const known = new Set((await listObjects()).map(nameOf));
    const workspace = await createFullWorkspace(shard);
    const tables = await fillTables(workspace.id);
    expect(tables.length).toBeGreaterThan(14);
    const before = await rowsOf(workspace.id);
    for (const table of tables) expect(before[`${shard}.${table}`], table).toBeGreaterThan(0);
    for (const table of DIRECTORIES) expect(before[`0.${table}`], table).toBeGreaterThan(0);
    const objects = (await listObjects()).filter((object) => !known.has(nameOf(object)));
    const kinds = Map.groupBy(objects, ({ kind }) => kind);
    expect([kinds.get("gate")!.length > 0, kinds.get("index")!.length > 1, kinds.get("session")!.length > 3]).toEqual([true, true, true]);
    for (const kind of ["conversations", "files"]) expect((await storedIn(kinds.get(kind)![0]!)).tables, kind).not.toEqual([]);

    await operate("DELETE", `/workspaces/${workspace.id}`);
    expect((await send("GET", "/api/v1/me", { token: workspace.key, headers: newAddress() })).body.error.code).toBe("invalid_api_key");
    await eraseWhole(workspace.id);

    const after = await rowsOf(workspace.id);
    expect(Object.entries(after).filter(([, count]) => count > 0)).toEqual([]);
    expect(Object.keys(after)).toHaveLength(Object.keys(before).length);
    // Other tests' objects of the same file are not its own: those that were there before, and gates of spare workspaces.
    const spare = await spareGates();
    for (const object of objects.filter((object) => !spare.has(nameOf(object)))) {
      expect(await storedIn(object), nameOf(object)).toEqual(NOTHING);
    }
    expect((await send("GET", "/api/v1/me", { token: workspace.key, headers: newAddress() })).body.error.code).toBe("invalid_api_key");
  });

  test("leaves other workspaces unchanged", async () => {
    const [gone, kept] = [await createFullWorkspace(shard), await createFullWorkspace(shard)];
    await fillTables(kept.id);
    const rows = await rowsOf(kept.id);
    const { data: agents } = (await kept.call("GET", "/agents")).body;
    await operate("DELETE", `/workspaces/${gone.id}`);
    await eraseWhole(gone.id);
    expect(await rowsOf(kept.id)).toEqual(rows);
    for (const { id, slug } of agents) {
      if (!["agent", "other"].includes(slug)) continue;
      const found = await kept.call("POST", `/agents/${id}/search`, { query: "refunds" });
      expect(found.body.data).toHaveLength(1);
    }
    expect((await kept.call("GET", "/usage")).status).toBe(200);
  });
});

/** The gates of workspaces that are there: they hold their window. */
async function spareGates(): Promise<Set<string>> {
  const rows = await Promise.all(databases.map((db) => db.prepare("SELECT id FROM workspaces").all<{ id: string }>()));
  const ids = rows.flatMap(({ results }) => results.map(({ id }) => env.GATE.idFromName(id)));
  return new Set(ids.map((id) => nameOf({ kind: "gate", id })));
}

test("the erasure covers every table with rows of a workspace", async () => {
  const known = [...ERASED_TABLES, ...DIRECTORIES].sort();
  for (const db of databases) expect(known).toEqual((await workspaceTables(db)).map(({ name }) => name));
});

test("erasure is safe to repeat at any point", async () => {
  const workspace = await createFullWorkspace(0);
  const rows = await rowsOf(workspace.id);
  // A wake-up for a workspace that is not deleted does nothing.
  await deliver(QUEUE, { workspaceId: workspace.id });
  expect(await rowsOf(workspace.id)).toEqual(rows);
  expect((await workspace.call("GET", "/me")).status).toBe(200);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  await Promise.all(Array.from({ length: 3 }, () => deliver(QUEUE, { workspaceId: workspace.id })));
  await eraseWhole(workspace.id);
  await deliver(QUEUE, { workspaceId: workspace.id });
  expect(isEmpty(await rowsOf(workspace.id))).toBe(true);
  for (const id of [crypto.randomUUID(), "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4bff"]) {
    expect(await deliver(QUEUE, { workspaceId: id })).toMatchObject({ retryMessages: [] });
  }
});

test("a slug that another workspace claims during the erasure stays with it", async () => {
  const workspace = await createFullWorkspace(0);
  const { slug } = await operate("GET", `/workspaces/${workspace.id}`);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  const next = await operate("POST", "/workspaces", { name: "Next", slug });
  await eraseWhole(workspace.id);
  expect((await send("POST", "/operator/v1/workspaces", { token: env.OPERATOR_TOKEN, body: { name: "Third", slug } })).status).toBe(409);
  expect(await operate("GET", `/workspaces/${next.id}`)).toEqual(next);
});

/** An environment whose wake-ups are kept here. */
function watchQueue() {
  const sent: unknown[] = [];
  const sendBatch = async (messages: Iterable<{ body: unknown }>) => {
    for (const { body } of messages) sent.push(body);
  };
  return { sent, watched: envWith({ ERASURE_QUEUE: { send: (body: unknown) => sendBatch([{ body }]), sendBatch } }) };
}

describe("the rest of an erasure", () => {
  /** Fills tables with rows of the workspace, without the service. */
  async function addRows(workspaceId: string, conversations: number, messages: number): Promise<void> {
    const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
    await query(
      workspaceId,
      `${numbers} INSERT INTO conversations (id, workspace_id, agent_id, channel, status, last_message_at, created_at, updated_at)
       SELECT ?1 || '/' || i, ?1, 'agent', 'api', 'open', i, i, i FROM n`,
      workspaceId,
      conversations,
    );
    await query(
      workspaceId,
      `${numbers} INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, created_at)
       SELECT ?1 || '/m' || i, ?1, 'none', 'user', 'visitor', 'Hi', i FROM n`,
      workspaceId,
      messages,
    );
  }

  test("runs in bounded steps, each run waking the next", async () => {
    const workspace = await createWorkspace();
    // More conversations than one step takes, and more messages than one run does.
    await addRows(workspace.id, 101, 12_001);
    await operate("DELETE", `/workspaces/${workspace.id}`);
    const { sent, watched } = watchQueue();
    await eraseDeleted(watched, { workspaceId: workspace.id });
    const left = await rowsOf(workspace.id);
    const shard = Number.parseInt(workspace.id.slice(-2), 16);
    expect(left[`${shard}.conversations`]).toBe(0);
    expect(left[`${shard}.messages`]).toBeGreaterThan(0);
    expect(left[`${shard}.workspaces`]).toBe(1);
    let runs = 1;
    while (sent.length > 0 && runs < 20) {
      expect(sent).toEqual([{ workspaceId: workspace.id }]);
      sent.length = 0;
      await eraseDeleted(watched, { workspaceId: workspace.id });
      runs++;
    }
    expect(runs).toBeGreaterThan(1);
    expect(isEmpty(await rowsOf(workspace.id))).toBe(true);
  });

  test("is found by cron after a lost wake-up", async () => {
    const workspace = await createFullWorkspace(1);
    await operate("DELETE", `/workspaces/${workspace.id}`);
    const { sent, watched } = watchQueue();
    await sweep(watched, Date.now() + 1_000);
    expect(sent).not.toContainEqual({ workspaceId: workspace.id });
    await sweep(watched, Date.now() + 120_000);
    expect(sent).toContainEqual({ workspaceId: workspace.id });
    await eraseWhole(workspace.id);
    sent.length = 0;
    await sweep(watched, Date.now() + 120_000);
    expect(sent).not.toContainEqual({ workspaceId: workspace.id });
  });
});
