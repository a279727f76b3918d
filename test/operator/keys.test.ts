import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { type Answer, createKey, createNeighbour, createWorkspace, newAddress, operate, query, send } from "../harness.ts";

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  send(method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, ...(body !== undefined && { body }) });

/** All that D1 holds, of every table of every shard, as one text. */
async function everythingStored(): Promise<string> {
  const rows: unknown[] = [];
  for (const db of [env.DB, env.DB_1]) {
    const tables = await db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .all<{ name: string }>();
    for (const { name } of tables.results) rows.push((await db.prepare(`SELECT * FROM "${name}"`).all()).results);
  }
  return JSON.stringify(rows);
}

describe("POST /workspaces/{id}/keys", () => {
  test("shows the key once, and only its hash is stored", async () => {
    const workspace = await createWorkspace();
    const created = await call("POST", `/workspaces/${workspace.id}/keys`, { name: "Backend", scopes: ["leads:read", "agents:read"] });
    expect(created.status).toBe(201);
    const { key, ...record } = created.body;
    expect(key).toMatch(/^sk_live_[A-Za-z0-9_-]{86}$/);
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Backend",
      prefix: key.slice(0, 16),
      scopes: ["agents:read", "leads:read"],
      created_at: expect.stringMatching(TIMESTAMP),
      revoked_at: null,
    });
    const listed = await operate("GET", `/workspaces/${workspace.id}/keys`);
    expect(listed.data).toHaveLength(2);
    expect(listed.data[1]).toEqual(record);
    const stored = await everythingStored();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))).toHex();
    expect(stored).toContain(digest);
    expect(stored).not.toContain(key);
    expect(stored).not.toContain(key.slice(16, 40));
  });

  test("* grants every scope", async () => {
    const workspace = await createWorkspace();
    const { scopes } = await operate("POST", `/workspaces/${workspace.id}/keys`, { name: "All", scopes: ["*"] });
    expect(scopes).toHaveLength(16);
  });

  test("beyond as many keys that are not revoked as the plan includes, none is made", async () => {
    const workspace = await createWorkspace({ limits: { api_keys: 3 } });
    const path = `/workspaces/${workspace.id}/keys`;
    const create = () => call("POST", path, { name: "More", scopes: ["agents:read"] });
    const made = await Promise.all([create(), create(), create()]);
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 201, 403]);
    expect(made.find(({ status }) => status === 403)!.body.error).toMatchObject({
      code: "plan_required",
      message: expect.stringContaining("limits.api_keys"),
    });
    expect((await workspace.call("GET", "/usage")).body.usage.api_keys).toBe(3);
    expect((await operate("GET", path)).data).toHaveLength(3);
    await operate("DELETE", `${path}/${made.find(({ status }) => status === 201)!.body.id}`);
    expect((await create()).status).toBe(201);
  });

  test("the key works as soon as it is returned", async () => {
    const workspace = await createWorkspace();
    const { key, id } = await operate("POST", `/workspaces/${workspace.id}/keys`, { name: "New", scopes: ["agents:read"] });
    const me = await send("GET", "/api/v1/me", { token: key });
    expect([me.status, me.body.api_key.id]).toEqual([200, id]);
  });
});

describe("GET /workspaces/{id}/keys", () => {
  test("lists the workspace's keys, oldest first, revoked ones included, without the keys themselves", async () => {
    const workspace = await createWorkspace();
    const other = await createNeighbour(workspace);
    const names = ["One", "Two", "Three"];
    const keys: { id: string; key: string }[] = [];
    for (const name of names) keys.push(await operate("POST", `/workspaces/${workspace.id}/keys`, { name, scopes: ["*"] }));
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${keys[1]!.id}`);
    const listed = await operate("GET", `/workspaces/${workspace.id}/keys`);
    expect(listed).toMatchObject({ total: 4, limit: 4, offset: 0, has_more: false });
    expect(listed.data.map(({ name }: { name: string }) => name)).toEqual(["All", ...names]);
    expect(listed.data.map((key: { revoked_at: string | null }) => key.revoked_at !== null)).toEqual([false, false, true, false]);
    for (const { key } of keys) expect(JSON.stringify(listed)).not.toContain(key.slice(16));
    for (const record of listed.data) expect(Object.keys(record)).not.toContain("key");
    expect((await operate("GET", `/workspaces/${other.id}/keys`)).total).toBe(1);
  });
});

describe("DELETE /workspaces/{id}/keys/{key_id}", () => {
  test("revokes it immediately; repeating it changes nothing", async () => {
    const workspace = await createWorkspace();
    const { id, key } = await operate("POST", `/workspaces/${workspace.id}/keys`, { name: "Old", scopes: ["*"] });
    const path = `/workspaces/${workspace.id}/keys/${id}`;
    const first = await call("DELETE", path);
    expect([first.status, first.body]).toEqual([204, ""]);
    expect((await send("GET", "/api/v1/me", { token: key, headers: newAddress() })).body.error.code).toBe("revoked_api_key");
    const before = await operate("GET", `/workspaces/${workspace.id}/keys`);
    expect((await call("DELETE", path)).status).toBe(204);
    expect(await operate("GET", `/workspaces/${workspace.id}/keys`)).toEqual(before);
    expect(before.data[1].revoked_at).toMatch(TIMESTAMP);
    expect((await workspace.call("GET", "/me")).status).toBe(200);
  });

  test("of the revoked keys the latest 100 are kept", async () => {
    const workspace = await createWorkspace();
    const copy = `INSERT INTO api_keys (id, workspace_id, name, prefix, hash, secret_id, created_at, revoked_at)
      SELECT lower(hex(randomblob(16))), ?, 'Old', 'sk_live_', lower(hex(randomblob(32))), 'secret', 1, value FROM json_each(?)`;
    await query(workspace.id, copy, workspace.id, JSON.stringify(Array.from({ length: 120 }, (_, at) => 1000 + at)));
    const { id } = await createKey(workspace, ["*"]);
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${id}`);
    const revoked = "SELECT count(*) AS count, min(revoked_at) AS oldest FROM api_keys WHERE workspace_id = ? AND revoked_at IS NOT NULL";
    expect(await query(workspace.id, revoked, workspace.id)).toEqual([{ count: 100, oldest: 1021 }]);
    expect((await workspace.call("GET", "/me")).status).toBe(200);
  });

  test("a key of another workspace is not found", async () => {
    const mine = await createWorkspace();
    const yours = await createNeighbour(mine);
    const answer = await call("DELETE", `/workspaces/${mine.id}/keys/${yours.keyId}`);
    expect(answer.status).toBe(404);
    expect((await yours.call("GET", "/me")).status).toBe(200);
  });
});
