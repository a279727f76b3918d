import { expect, test } from "vitest";
import { createKey, createNeighbour, createWorkspace, newAddress, operate, query, send, type Workspace } from "../harness.ts";

/** A workspace whose only key has these scopes, and calls with another of its keys. */
const callWith = (key: string) => (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  send(method, `/api/v1${path}`, { token: key, ...(body !== undefined && { body }), headers: { ...newAddress(), ...headers } });

const add = (workspace: Workspace, scopes: string[], name = "Backend") => workspace.call("POST", "/keys", { name, scopes });

const activeScopes = async (workspace: Workspace) => {
  const { data } = await operate("GET", `/workspaces/${workspace.id}/keys`);
  return data.filter((key: any) => key.revoked_at === null).map((key: any) => key.scopes);
};

test("a key that is added works at once, is shown once, and is listed without itself", async () => {
  const workspace = await createWorkspace();
  const { status, body } = await add(workspace, ["leads:read", "agents:read"]);
  expect(status).toBe(201);
  const { key, ...record } = body;
  expect(key).toMatch(/^sk_live_/);
  expect(record).toMatchObject({ name: "Backend", prefix: key.slice(0, 16), scopes: ["agents:read", "leads:read"], revoked_at: null });
  const me = await send("GET", "/api/v1/me", { token: key });
  expect([me.status, me.body.api_key.id]).toEqual([200, record.id]);
  const listed = await workspace.call("GET", "/keys");
  expect(listed.body).toMatchObject({ total: 2, has_more: false });
  expect(listed.body.data[1]).toEqual(record);
  expect(JSON.stringify(listed.body)).not.toContain(key.slice(16));
});

test("a key cannot grant a scope that it lacks", async () => {
  const workspace = await createWorkspace({ scopes: ["keys:write", "leads:read"] });
  for (const [scopes, lacking] of [
    [["leads:read", "privacy:write", "chat:write"], "privacy:write, chat:write"],
    [["*"], "*"],
  ] as const) {
    const { status, body } = await add(workspace, [...scopes]);
    expect([status, body.error.code]).toEqual([403, "insufficient_scope"]);
    expect(body.error.message).toContain(lacking);
  }
  expect((await add(workspace, ["leads:read", "keys:write"])).status).toBe(201);
  expect(await activeScopes(workspace)).toHaveLength(2);
});

test("only a key with * can grant *, not one that lists every scope", async () => {
  const workspace = await createWorkspace();
  expect((await add(workspace, ["*"])).status).toBe(201);
  const { body: me } = await workspace.call("GET", "/me");
  const named = await createKey(workspace, me.api_key.scopes);
  const { status, body } = await callWith(named.key)("POST", "/keys", { name: "All", scopes: ["*"] });
  expect([status, body.error.code]).toEqual([403, "insufficient_scope"]);
});

test("a revoked key is refused on the next request", async () => {
  const workspace = await createWorkspace();
  const { body: other } = await add(workspace, ["agents:read"]);
  expect((await workspace.call("DELETE", `/keys/${other.id}`)).status).toBe(204);
  const refused = await send("GET", "/api/v1/me", { token: other.key, headers: newAddress() });
  expect(refused.body.error.code).toBe("revoked_api_key");
  expect((await workspace.call("DELETE", `/keys/${other.id}`)).status).toBe(204);
});

test("the last key with keys:write cannot be revoked", async () => {
  const workspace = await createWorkspace();
  await createKey(workspace, ["agents:read", "chat:write"]);
  const kept = await workspace.call("DELETE", `/keys/${workspace.keyId}`);
  expect([kept.status, kept.body.error.code]).toEqual([409, "conflict"]);
  const other = await createKey(workspace, ["keys:write"]);
  expect((await workspace.call("DELETE", `/keys/${workspace.keyId}`)).status).toBe(204);
  expect((await callWith(other.key)("DELETE", `/keys/${other.id}`)).status).toBe(409);
  expect((await callWith(other.key)("GET", "/keys")).status).toBe(200);
});

test("when keys revoke each other concurrently, one stays", async () => {
  const workspace = await createWorkspace();
  const keys = [{ id: workspace.keyId, key: workspace.key }, await createKey(workspace, ["keys:write"]), await createKey(workspace, ["*"])];
  await Promise.all(keys.map(({ key }, at) => callWith(key)("DELETE", `/keys/${keys[(at + 1) % 3]!.id}`)));
  const left = await activeScopes(workspace);
  expect(left.length).toBeGreaterThanOrEqual(1);
  expect(left.flat()).toContain("keys:write");
});

test("an operator may revoke the last key", async () => {
  const workspace = await createWorkspace();
  await operate("DELETE", `/workspaces/${workspace.id}/keys/${workspace.keyId}`);
  expect(await activeScopes(workspace)).toEqual([]);
});

test("a repeated request adds one key, and shows it again", async () => {
  const workspace = await createWorkspace();
  const request = () => workspace.call("POST", "/keys", { name: "Once", scopes: ["agents:read"] }, { "Idempotency-Key": "once" });
  const [first, second] = [await request(), await request()];
  expect(second.body).toEqual(first.body);
  expect(await activeScopes(workspace)).toHaveLength(2);
});

test("repeating a request whose response was lost replaces the key that was never shown", async () => {
  const workspace = await createWorkspace();
  const request = () => workspace.call("POST", "/keys", { name: "Once", scopes: ["agents:read"] }, { "Idempotency-Key": "lost" });
  const first = await request();
  await query(
    workspace.id,
    "UPDATE idempotency_records SET response_status = NULL, response_body = NULL, lease_until = 0 WHERE workspace_id = ?",
    workspace.id,
  );
  const second = await request();
  expect([second.status, second.body.id]).toEqual([201, first.body.id]);
  expect((await send("GET", "/api/v1/me", { token: second.body.key })).status).toBe(200);
  expect((await send("GET", "/api/v1/me", { token: first.body.key, headers: newAddress() })).status).toBe(401);
  expect(await activeScopes(workspace)).toHaveLength(2);
});

test("a key over the plan's limit is 403, also when keys are added concurrently", async () => {
  const workspace = await createWorkspace({ limits: { api_keys: 3 } });
  const added = await Promise.all(Array.from({ length: 5 }, () => add(workspace, ["agents:read"])));
  expect(added.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403, 403]);
  expect(added.find(({ status }) => status === 403)!.body.error.code).toBe("plan_required");
  const one = added.find(({ status }) => status === 201)!.body.id;
  expect((await workspace.call("DELETE", `/keys/${one}`)).status).toBe(204);
  expect((await add(workspace, ["agents:read"])).status).toBe(201);
});

test("of the revoked keys, the latest 100 are kept", async () => {
  const workspace = await createWorkspace();
  const insert = `INSERT INTO api_keys (id, workspace_id, name, prefix, hash, scopes, secret_id, created_at, revoked_at)
    SELECT 'old-' || value, ?, 'Old', 'sk', 'old-' || value, '[]', 'secret', 1, value FROM json_each(?)`;
  await query(workspace.id, insert, workspace.id, JSON.stringify(Array.from({ length: 150 }, (_, at) => at + 1)));
  const { body } = await add(workspace, ["agents:read"]);
  await workspace.call("DELETE", `/keys/${body.id}`);
  const { body: listed } = await workspace.call("GET", "/keys");
  expect(listed.total).toBe(101);
  expect(listed.data.map(({ id }: any) => id)).toContain("old-150");
  expect(listed.data.map(({ id }: any) => id)).toContain(body.id);
});

test("keys of another workspace are not found", async () => {
  const mine = await createWorkspace();
  const yours = await createNeighbour(mine);
  expect((await mine.call("DELETE", `/keys/${yours.keyId}`)).status).toBe(404);
  expect((await yours.call("GET", "/me")).status).toBe(200);
});
