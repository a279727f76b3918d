import { createScheduledController, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import worker from "../../src/index.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { createAgent, createWorkspace, createWorkspaceOn, deliver, envWith, operate, query, type Workspace } from "../harness.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Runs the sweep at a time, and tells what it sent to each queue. */
async function sweepAt(nowMs: number) {
  const sent: { sources: string[]; workspaces: string[]; sizes: number[] } = { sources: [], workspaces: [], sizes: [] };
  const queue = (take: (body: Record<string, string>) => void) => ({
    sendBatch: async (messages: Iterable<{ body: Record<string, string> }>) => {
      const all = [...messages];
      sent.sizes.push(all.length);
      for (const { body } of all) take(body);
    },
  });
  await sweep(
    envWith({
      INGESTION_QUEUE: queue(({ sourceId }) => sent.sources.push(sourceId!)),
      ERASURE_QUEUE: queue(({ workspaceId }) => sent.workspaces.push(workspaceId!)),
    }),
    nowMs,
  );
  return sent;
}

test("a run makes fewer invocations than the platform allows, and no shard waits longer than the others", async () => {
  const shards = Array.from({ length: 70 }, (_, at) => at);
  const bound = Object.fromEntries(shards.map((shard) => [shard === 0 ? "DB" : `DB_${shard}`, env.DB]));
  const swept: number[] = [];
  for (const minute of [1, 2, 3]) {
    let invocations = 0;
    const sweepOne = async (shard: number) => {
      if (++invocations > 32) throw new Error("Too many Worker invocations");
      swept.push(shard);
      return { counts: { failed: 0 }, cost: { objectHops: 0, d1Trips: 0, rowsRead: 0, rowsWritten: 0 } };
    };
    await sweep(envWith(bound), minute * MINUTE, sweepOne);
  }
  expect(swept.toSorted((one, other) => one - other)).toEqual(shards);
});

/** A source as some consumer left it. */
async function createSource(workspace: Workspace, agentId: string, changes: Record<string, unknown> = {}): Promise<string> {
  const { body } = await workspace.call("POST", `/agents/${agentId}/sources`, {
    type: "text",
    name: "Handbook",
    text: "Refunds are paid.",
  });
  const names = Object.keys(changes);
  if (names.length > 0) {
    const assignments = names.map((name) => `${name} = ?`).join(", ");
    await query(body.id, `UPDATE sources SET ${assignments} WHERE id = ?`, ...Object.values(changes), body.id);
  }
  return body.id;
}

for (const shard of [0, 1]) {
  test(`shard ${shard}: wakes up what waits for longer than a minute, and nothing younger`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const agent = await createAgent(workspace);
    const now = Date.now();
    const old = await createSource(workspace, agent.id, { updated_at: now - MINUTE - 1 });
    const fresh = await createSource(workspace, agent.id, { updated_at: now - MINUTE });
    const { sources } = await sweepAt(now);
    expect(sources).toContain(old);
    expect(sources).not.toContain(fresh);
    expect((await sweepAt(now + 1)).sources).toContain(fresh);
  });

  test(`shard ${shard}: wakes up what a dead run held, once its lease is over`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const agent = await createAgent(workspace);
    const now = Date.now();
    const held = { status: "processing", lease_id: "run", updated_at: now - 10 * MINUTE };
    const dead = await createSource(workspace, agent.id, { ...held, lease_until: now - 1 });
    const alive = await createSource(workspace, agent.id, { ...held, lease_until: now });
    const { sources } = await sweepAt(now);
    expect(sources).toContain(dead);
    expect(sources).not.toContain(alive);
    // The wake-up lets another run take it over.
    await deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId: agent.id, sourceId: dead });
    expect(await query(dead, "SELECT status FROM sources WHERE id = ?", dead)).toEqual([{ status: "ready" }]);
  });

  test(`shard ${shard}: leaves what is ready or failed alone`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const agent = await createAgent(workspace);
    const done: string[] = [];
    for (const status of ["ready", "failed"]) done.push(await createSource(workspace, agent.id, { status, updated_at: 1, lease_until: 1 }));
    const { sources } = await sweepAt(Date.now() + 60 * MINUTE);
    expect(sources.filter((id) => done.includes(id))).toEqual([]);
  });

  test(`shard ${shard}: wakes up the erasure of what was deleted more than a minute ago`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const kept = await createWorkspaceOn(shard);
    await operate("DELETE", `/workspaces/${workspace.id}`);
    const [row] = await query<{ deleted_at: number }>(workspace.id, "SELECT deleted_at FROM workspaces WHERE id = ?", workspace.id);
    expect((await sweepAt(row!.deleted_at + MINUTE)).workspaces).not.toContain(workspace.id);
    const { workspaces } = await sweepAt(row!.deleted_at + MINUTE + 1);
    expect(workspaces).toContain(workspace.id);
    expect(workspaces).not.toContain(kept.id);
    // It is found again until it is erased: an erasure is never given up.
    expect((await sweepAt(row!.deleted_at + 5 * MINUTE)).workspaces).toContain(workspace.id);
    await deliver("support-agent-erasure", { workspaceId: workspace.id });
    expect((await sweepAt(row!.deleted_at + 6 * MINUTE)).workspaces).not.toContain(workspace.id);
  });

  test(`shard ${shard}: hands over the answers that no index took up for a minute`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const agent = await createAgent(workspace);
    const now = Date.now();
    const insert = async (question: string, createdAt: number, indexedAt: number | null) => {
      const id = newId(shard, now);
      const statement = `INSERT INTO answers (id, workspace_id, agent_id, question, answer, indexed_at, created_at, updated_at)
        VALUES (?, ?, ?, ?, 'Yes.', ?, ?, ?)`;
      await query(id, statement, id, workspace.id, agent.id, question, indexedAt, createdAt, createdAt);
      return id;
    };
    const old = await insert("Do you ship to Norway?", now - MINUTE - 1, null);
    const fresh = await insert("Do you ship to Sweden?", now - MINUTE, null);
    const known = await insert("Do you ship to Denmark?", now - 10 * MINUTE, 5);
    await sweepAt(now);
    const rows = await query<{ id: string }>(old, "SELECT id, indexed_at FROM answers WHERE workspace_id = ? ORDER BY id", workspace.id);
    expect(rows).toEqual([
      { id: old, indexed_at: now },
      { id: fresh, indexed_at: null },
      { id: known, indexed_at: 5 },
    ]);
    const found = async (words: string) => (await workspace.call("POST", `/agents/${agent.id}/search`, { query: words })).body.data;
    expect(await found("Do you ship to Norway?")).toMatchObject([{ source_id: old, content: "Yes." }]);
    // Only the answer that was due was sent to the index.
    expect(JSON.stringify(await found("Do you ship to Sweden?"))).not.toContain(fresh);
  });

  test(`shard ${shard}: one run takes up a hundred of a kind, the oldest first, and the next one goes on`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const agent = await createAgent(workspace);
    // Work that other tests left would take turns too.
    await query(workspace.id, "UPDATE sources SET status = 'ready'");
    const ids = Array.from({ length: 130 }, () => newId(shard, Date.now()));
    await query(
      workspace.id,
      `INSERT INTO sources (id, workspace_id, agent_id, type, name, status, schedule, max_pages, created_at, updated_at)
         SELECT value, ?, ?, 'text', 'Handbook', 'pending', 'manual', 1, 1, key + 1 FROM json_each(?)`,
      workspace.id,
      agent.id,
      JSON.stringify(ids),
    );
    const { sources, sizes } = await sweepAt(Date.now());
    expect(Math.max(...sizes)).toBe(100);
    expect(sources.filter((id) => ids.includes(id))).toEqual(ids.slice(0, 100));
    const taken = "UPDATE sources SET status = 'processing', lease_until = 9e15 WHERE id IN (SELECT value FROM json_each(?))";
    await query(workspace.id, taken, JSON.stringify(ids.slice(0, 100)));
    expect((await sweepAt(Date.now())).sources.filter((id) => ids.includes(id))).toEqual(ids.slice(100));
    await query(workspace.id, "DELETE FROM sources WHERE workspace_id = ?", workspace.id);
  });
}

test("a run deletes what has expired, and mails that were received a week ago, and nothing else", async () => {
  const workspace = await createWorkspaceOn(0);
  const now = Date.now() + 60 * MINUTE;
  const week = 7 * 24 * 60 * MINUTE;
  const insert = async (table: string, row: Record<string, unknown>) => {
    const names = Object.keys(row);
    const values = names.map(() => "?").join(", ");
    await query(workspace.id, `INSERT INTO ${table} (${names.join(", ")}) VALUES (${values})`, ...Object.values(row));
  };
  for (const [id, expiresAt, receivedAt] of [
    ["old", now - 1, now - week - 1],
    ["young", now, now - week],
  ] as const) {
    const own = { id, workspace_id: workspace.id, member_id: "grace", created_at: 1, expires_at: expiresAt };
    await insert("member_sessions", { ...own, hash: id, method: "mail" });
    await insert("applications", { ...own, grant_id: id, grant_record: "{}", name: "Assistant", host: "example.com" });
    await insert("oauth_records", { key: `${workspace.id}/${id}`, value: "{}", expires_at: expiresAt });
    await insert("inbound_emails", { workspace_id: workspace.id, mail_key: id, sender_key: "ada", created_at: receivedAt });
  }
  await sweepAt(now);
  for (const [table, column] of Object.entries({ member_sessions: "id", applications: "id", inbound_emails: "mail_key" })) {
    const rows = await query(workspace.id, `SELECT ${column} AS id FROM ${table} WHERE workspace_id = ?`, workspace.id);
    expect(rows, table).toEqual([{ id: "young" }]);
  }
  const records = await query(workspace.id, "SELECT key FROM oauth_records WHERE key LIKE ? || '/%'", workspace.id);
  expect(records).toEqual([{ key: `${workspace.id}/young` }]);
});

test("unindexed records of a deleted workspace are not indexed, since its objects may be erased already", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const id = newId(shardOf(workspace.id), Date.now());
  const statement = `INSERT INTO answers (id, workspace_id, agent_id, question, answer, created_at, updated_at) VALUES (?, ?, ?, 'A?', 'B.', 1, 1)`;
  await query(id, statement, id, workspace.id, agent.id);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  await sweepAt(Date.now() + 10 * MINUTE);
  const tables = await runInDurableObject(env.INDEX.getByName(`${workspace.id}/${agent.id}`), (_, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'answers'").toArray(),
  );
  expect(tables).toEqual([]);
});

test("a failing index does not stop the others from getting their answers", async () => {
  const workspace = await createWorkspace();
  const [agent, broken] = [await createAgent(workspace, { name: "One" }), await createAgent(workspace, { name: "Two" })];
  const now = Date.now();
  for (const agentId of [broken.id, agent.id]) {
    const id = newId(shardOf(workspace.id), now);
    const statement = `INSERT INTO answers (id, workspace_id, agent_id, question, answer, created_at, updated_at)
      VALUES (?, ?, ?, 'Do you ship to Norway?', 'Yes.', 1, 1)`;
    await query(id, statement, id, workspace.id, agentId);
  }
  const INDEX = {
    getByName: (name: string) =>
      name.endsWith(broken.id) ? { putAnswer: () => Promise.reject(new Error("the object is overloaded")) } : env.INDEX.getByName(name),
  };
  await sweep(envWith({ INDEX }), now).catch(() => undefined);
  const rows = await query(workspace.id, "SELECT agent_id, indexed_at FROM answers WHERE workspace_id = ? ORDER BY id", workspace.id);
  expect(rows).toEqual([
    { agent_id: broken.id, indexed_at: null },
    { agent_id: agent.id, indexed_at: now },
  ]);
});

test("cron runs the sweep at its scheduled time, with one round trip to each shard, and logs what it found", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  // Nothing else is left, so that the sweep only looks.
  for (const database of [env.DB, env.DB_1]) {
    await database.batch([
      database.prepare("DELETE FROM sources WHERE status IN ('pending', 'processing')"),
      database.prepare("UPDATE answers SET indexed_at = 1 WHERE indexed_at IS NULL"),
      database.prepare("UPDATE workspaces SET deleted_at = NULL"),
      database.prepare("UPDATE conversations SET idle_at = NULL"),
      database.prepare("UPDATE leads SET indexed_at = 1 WHERE indexed_at IS NULL"),
      database.prepare("DELETE FROM privacy_erasures"),
    ]);
  }
  const far = Date.now() + 24 * 60 * MINUTE;
  await createSource(workspace, agent.id);
  const lines: Record<string, unknown>[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(JSON.parse(String(line))));
  try {
    await worker.scheduled(createScheduledController({ scheduledTime: far }), env);
  } finally {
    log.mockRestore();
  }
  expect(lines).toMatchObject([
    {
      event: "job",
      job: "sweep",
      outcome: "done",
      sources: 1,
      answers: 0,
      workspaces: 0,
      conversations: 0,
      leads: 0,
      erasures: 0,
      failed: 0,
      d1_trips: 2,
    },
  ]);
});
