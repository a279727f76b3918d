import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { encryptSecret } from "../../src/platform/crypto/secrets.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { erasureContext } from "../../src/privacy/erase.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { createAgent, createNeighbour, createWorkspace, databases, envWith, query, type Workspace } from "../harness.ts";
import { jobIn, watch } from "../platform/telemetry/watch.ts";

const MINUTE = 60_000;

/** Work that other tests left would take turns too. */
beforeEach(async () => {
  for (const database of databases) {
    await database.batch([
      database.prepare("UPDATE sources SET status = 'ready'"),
      ...["leads", "answers"].map((table) => database.prepare(`UPDATE ${table} SET indexed_at = 1 WHERE indexed_at IS NULL`)),
      database.prepare("UPDATE conversations SET idle_at = NULL"),
      ...["privacy_erasures", "sweep_backoffs"].map((table) => database.prepare(`DELETE FROM ${table}`)),
    ]);
  }
});

/** Sweeps, and tells which sources were woken. */
async function sweepAt(nowMs: number, bindings: Record<string, unknown> = {}) {
  const woken: string[] = [];
  const sendBatch = async (messages: Iterable<{ body: { sourceId: string } }>) => {
    for (const { body } of messages) woken.push(body.sourceId);
  };
  const watched = await watch(() => sweep(envWith({ INGESTION_QUEUE: { sendBatch }, ...bindings }), nowMs));
  const failures = watched.lines.filter(({ event }) => event === "sweep_failed");
  return { woken, job: jobIn(watched, "sweep"), failures };
}

/** Pending sources of a workspace, which wait since the year 1970. */
async function strandSources(workspace: Workspace, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(shardOf(workspace.id), Date.now()));
  const insert = `INSERT INTO sources (id, workspace_id, agent_id, type, name, status, schedule, max_pages, created_at, updated_at)
    SELECT value, ?, ?, 'text', 'Handbook', 'pending', 'manual', 1, 1, key + 1 FROM json_each(?)`;
  await query(workspace.id, insert, workspace.id, newId(shardOf(workspace.id), 1), JSON.stringify(ids));
  return ids;
}

async function addLeads(workspace: Workspace, count: number, createdAt: number): Promise<void> {
  const ids = Array.from({ length: count }, () => newId(shardOf(workspace.id), Date.now()));
  const insert = `INSERT INTO leads (id, workspace_id, agent_id, name, created_at) SELECT value, ?, ?, 'Ann', ? + key FROM json_each(?)`;
  await query(workspace.id, insert, workspace.id, newId(shardOf(workspace.id), 1), createdAt, JSON.stringify(ids));
}

/** An unfinished erasure of a person whose identifier cannot be decrypted. */
async function addStuckErasure({ id: workspaceId }: Workspace, createdAt: number): Promise<string> {
  const id = newId(shardOf(workspaceId), Date.now());
  const insert = "INSERT INTO privacy_erasures (id, workspace_id, identifier, created_at) VALUES (?, ?, 'v1.unknown.AAAA.AAAA', ?)";
  await query(id, insert, id, workspaceId, createdAt);
  return id;
}

/** An erasure of somebody whom nothing is known of, which its request left unfinished. */
async function addErasure({ id: workspaceId }: Workspace, createdAt: number): Promise<void> {
  const id = newId(shardOf(workspaceId), Date.now());
  const identifier = await encryptSecret(env, JSON.stringify({ type: "external_id", value: "u-1" }), erasureContext(id));
  await query(
    id,
    "INSERT INTO privacy_erasures (id, workspace_id, identifier, created_at) VALUES (?, ?, ?, ?)",
    id,
    workspaceId,
    identifier,
    createdAt,
  );
}

/** A database in which statements fail that hold this text, or are bound to it. */
function failingAt(database: D1Database, text: string): D1Database {
  const marked = new WeakSet<object>();
  const isMarked = (value: unknown) => typeof value === "string" && value.includes(text);
  return {
    prepare: (statement: string) => ({
      bind: (...values: unknown[]) => {
        const bound = database.prepare(statement).bind(...values);
        if ([statement, ...values].some(isMarked) && !statement.includes("sweep_backoffs")) marked.add(bound);
        return bound;
      },
    }),
    batch: (statements: D1PreparedStatement[]) =>
      statements.some((statement) => marked.has(statement)) ? Promise.reject(new Error("D1_ERROR: it fails")) : database.batch(statements),
  } as unknown as D1Database;
}

const bindingOf = ({ id }: Workspace) => (shardOf(id) === 0 ? "DB" : "DB_1");

test("a workspace with a thousand stuck sources delays nobody's: workspaces take turns", async () => {
  const noisy = await createWorkspace();
  const quiet = await createNeighbour(noisy);
  const stuck = await strandSources(noisy, 1_000);
  const [own] = await strandSources(quiet, 1);
  // The quiet one's is the youngest of all.
  await query(quiet.id, "UPDATE sources SET updated_at = 5000 WHERE id = ?", own);
  const { woken } = await sweepAt(Date.now());
  expect(woken).toContain(own);
  expect(woken.filter((id) => stuck.includes(id))).toEqual(stuck.slice(0, 99));
});

test("where more workspaces wait than a run has rows, each gets its turn", async () => {
  const workspace = await createWorkspace();
  const shard = shardOf(workspace.id);
  const ids = Array.from({ length: 150 }, () => newId(shard, Date.now()));
  const insert = `INSERT INTO sources (id, workspace_id, agent_id, type, name, status, schedule, max_pages, created_at, updated_at)
    SELECT value, value, value, 'text', 'Handbook', 'pending', 'manual', 1, 1, key + 1 FROM json_each(?)`;
  await query(workspace.id, insert, JSON.stringify(ids));
  const woken = new Set<string>();
  // Each of them is missing from a run with a probability of a third.
  for (let run = 0; run < 30; run++) for (const id of (await sweepAt(Date.now())).woken) woken.add(id);
  expect(woken.size).toBe(150);
  await query(workspace.id, "DELETE FROM sources WHERE workspace_id = id");
});

test("leads of a workspace whose index is down do not delay another's, and are put off", async () => {
  const broken = await createWorkspace();
  const other = await createNeighbour(broken);
  const now = Date.now();
  await addLeads(broken, 1_100, 1);
  await addLeads(other, 1, 2);
  const tries: string[] = [];
  const getByName = (name: string) => {
    tries.push(name);
    return name === broken.id ? { put: () => Promise.reject(new Error("the object is down")) } : env.LEADS.getByName(name);
  };
  const { job } = await sweepAt(now, { LEADS: { getByName } });
  expect(job).toMatchObject({ outcome: "partly_failed", leads: 1_000, failed: 1 });
  const indexed = "SELECT count(*) AS count FROM leads WHERE workspace_id = ? AND indexed_at IS NOT NULL";
  expect(await query(other.id, indexed, other.id)).toEqual([{ count: 1 }]);
  // Each failure doubles the pause.
  const minutes: number[] = [];
  for (let minute = 1; minute <= 16; minute++) {
    tries.length = 0;
    await sweepAt(now + minute * MINUTE, { LEADS: { getByName } });
    if (tries.includes(broken.id)) minutes.push(minute);
  }
  expect(minutes).toEqual([1, 3, 7, 15]);
  await sweepAt(now + 60 * MINUTE);
  await sweepAt(now + 61 * MINUTE);
  expect(await query(broken.id, indexed, broken.id)).toEqual([{ count: 1_100 }]);
  // The pause is forgotten once nothing fails any more.
  await sweepAt(now + 3 * 60 * MINUTE);
  expect(await query(broken.id, "SELECT * FROM sweep_backoffs")).toEqual([]);
});

test("five erasures that fail stop no sixth, neither of their workspace nor of another", async () => {
  const workspace = await createWorkspace();
  const neighbour = await createNeighbour(workspace);
  const now = Date.now();
  const old = now - 60 * MINUTE;
  const stuck: string[] = [];
  for (let count = 0; count < 5; count++) stuck.push(await addStuckErasure(workspace, old + count));
  for (const owner of [workspace, neighbour]) await addErasure(owner, old + 100);
  await sweepAt(now);
  const left = async ({ id }: Workspace) =>
    (await query<{ id: string }>(id, "SELECT id FROM privacy_erasures WHERE workspace_id = ?", id)).map((row) => row.id);
  expect(await left(neighbour)).toEqual([]);
  await sweepAt(now + MINUTE - 1);
  expect((await left(workspace)).toSorted()).toEqual(stuck.toSorted());
});

test("a statement that fails stops no other", async () => {
  const workspace = await createWorkspace();
  const [source] = await strandSources(workspace, 1);
  const binding = bindingOf(workspace);
  const { woken, job, failures } = await sweepAt(Date.now(), { [binding]: failingAt(env[binding], "inbound_emails") });
  expect(woken).toContain(source);
  expect(job).toMatchObject({ outcome: "partly_failed", failed: 1 });
  expect(failures).toMatchObject([{ task: "pruning", detail: "D1_ERROR: it fails" }]);
});

test("a conversation that cannot be resolved stops no other, and is put off", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello" });
    ids.push(body.conversation_id);
  }
  const now = Date.now();
  const [first, broken, last] = ids as [string, string, string];
  await query(workspace.id, "UPDATE conversations SET status = 'ai_handled', idle_at = 1 WHERE workspace_id = ?", workspace.id);
  const binding = bindingOf(workspace);
  const failing = { [binding]: failingAt(env[binding], broken) };
  const { failures } = await sweepAt(now, failing);
  expect(failures).toMatchObject([{ task: "conversations" }]);
  const statusOf = async (id: string) => (await workspace.call("GET", `/conversations/${id}`)).body.status;
  expect(await Promise.all([first, broken, last].map(statusOf))).toEqual(["resolved", "ai_handled", "resolved"]);
  await sweepAt(now + MINUTE - 1);
  expect(await statusOf(broken)).toBe("ai_handled");
  await sweepAt(now + MINUTE);
  expect(await statusOf(broken)).toBe("resolved");
});
