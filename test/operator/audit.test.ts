import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { firstIdAt, newId, shardOf } from "../../src/platform/db/ids.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { exportWorkspace, importFile } from "../backup/file.ts";
import {
  createAgent,
  createNeighbour,
  createWorkspace,
  createWorkspaceOn,
  deliver,
  envWith,
  operate,
  query,
  send,
  type Workspace,
} from "../harness.ts";
import document from "../openapi.operator.json";

const DAY = 24 * 60 * 60_000;

/** The entries about a workspace, oldest first. */
async function entriesOf(workspaceId: string): Promise<any[]> {
  return (await operate("GET", `/audit?workspace_id=${workspaceId}&limit=100`)).data.toReversed();
}

const operationsOf = async (workspaceId: string) => (await entriesOf(workspaceId)).map(({ operation }) => operation);

/** Sends each operation that changes something, by its operationId: its method, path and body. */
async function doEverything(workspace: Workspace): Promise<void> {
  const path = `/workspaces/${workspace.id}`;
  await operate("PATCH", path, { plan: "pro", limits: { agents: 7 } });
  const key = await operate("POST", `${path}/keys`, { name: "Backend", scopes: ["*"] });
  await operate("DELETE", `${path}/keys/${key.id}`);
  const agent = await operate("POST", `${path}/agents`, { name: "Ada", instructions: "Be kind to Grace." });
  await operate("PATCH", `${path}/agents/${agent.id}`, { status: "paused" });
  await operate("POST", `${path}/agents/${agent.id}/rotate-identity-secret`);
  await operate("DELETE", `${path}/agents/${agent.id}`);
  await exportWorkspace(workspace.id);
  await operate("DELETE", path);
}

test("everything that an operator does is recorded: who, what, which workspace, when", async () => {
  const workspace = await createWorkspace();
  const since = new Date().toISOString();
  await doEverything(workspace);
  const entries = await entriesOf(workspace.id);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(env.OPERATOR_TOKEN));
  const actor = `token/${new Uint8Array(digest).toHex().slice(0, 16)}`;
  for (const entry of entries) {
    expect(entry).toMatchObject({ actor, workspace_id: workspace.id, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(shardOf(entry.id)).toBe(shardOf(workspace.id));
  }
  expect(entries.at(-1).created_at >= since).toBe(true);
  expect(entries.map(({ operation, fields }) => [operation, ...fields])).toEqual([
    ["createWorkspace", "name", "slug", "plan"],
    ["createKey", "name", "scopes"],
    ["updateWorkspace", "plan", "limits"],
    ["createKey", "name", "scopes"],
    ["revokeKey"],
    ["createAgent", "name", "instructions"],
    ["updateAgent", "status"],
    ["rotateIdentitySecret"],
    ["deleteAgent"],
    ["exportWorkspace"],
    ["deleteWorkspace"],
  ]);
  const targets = entries.map(({ target_id: id }) => id);
  expect(targets[3]).toBe(targets[4]);
  expect(new Set(targets.slice(5, 9)).size).toBe(1);
  // The log has the names of the fields, but no values, since it outlives the workspace.
  expect(JSON.stringify(entries)).not.toContain("Grace");
});

test("an entry has the present names of its workspace and of the agent or key, until they are deleted", async () => {
  const workspace = await createWorkspace();
  const path = `/workspaces/${workspace.id}`;
  const agent = await operate("POST", `${path}/agents`, { name: "Ada" });
  await operate("POST", `${path}/keys`, { name: "Backend", scopes: ["*"] });
  await operate("PATCH", path, { name: "Acme Works" });
  const namesOf = async () => (await entriesOf(workspace.id)).map((entry) => [entry.operation, entry.workspace_name, entry.target_name]);
  expect((await namesOf()).slice(2)).toEqual([
    ["createAgent", "Acme Works", "Ada"],
    ["createKey", "Acme Works", "Backend"],
    ["updateWorkspace", "Acme Works", null],
  ]);
  await operate("DELETE", `${path}/agents/${agent.id}`);
  expect((await namesOf())[2]).toEqual(["createAgent", "Acme Works", null]);
});

test("no operation that changes something is left out", () => {
  const changing = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== "get")
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(new Set(changing)).toEqual(
    new Set([
      "PUT /databases/{binding}/shard-move",
      "POST /databases/{binding}/shard-move",
      "DELETE /databases/{binding}/shard-move",
      "POST /workspaces",
      "PATCH /workspaces/{workspace_id}",
      "DELETE /workspaces/{workspace_id}",
      "POST /workspaces/{workspace_id}/keys",
      "DELETE /workspaces/{workspace_id}/keys/{key_id}",
      "POST /workspaces/{workspace_id}/agents",
      "PATCH /workspaces/{workspace_id}/agents/{agent_id}",
      "DELETE /workspaces/{workspace_id}/agents/{agent_id}",
      "POST /workspaces/{workspace_id}/agents/{agent_id}/rotate-identity-secret",
      "POST /workspaces/{workspace_id}/import",
      "POST /workspaces/{workspace_id}/import/complete",
      "DELETE /workspaces/{workspace_id}/import",
      "POST /secrets/reencrypt",
    ]),
  );
});

test("entries outlive their workspace; its import is recorded where it starts and ends", async () => {
  const workspace = await createWorkspace();
  const file = await exportWorkspace(workspace.id);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  for (let step = 0; step < 3; step++) await deliver("support-agent-erasure", { workspaceId: workspace.id });
  expect(await operationsOf(workspace.id)).toEqual(["createWorkspace", "createKey", "exportWorkspace", "deleteWorkspace"]);
  await importFile(file);
  expect((await operationsOf(workspace.id)).slice(4)).toEqual(["importWorkspace", "completeImport"]);
});

test("an import that is cancelled is recorded", async () => {
  const workspace = await createWorkspace();
  const { header } = await exportWorkspace(workspace.id);
  const moved = { ...header, workspace_id: newId(shardOf(workspace.id), Date.now()), slug: `moved-${crypto.randomUUID().slice(0, 8)}` };
  const path = `/workspaces/${moved.workspace_id}/import`;
  await operate("POST", path, { header: moved, records: [] });
  await operate("POST", path, { header: moved, records: [] });
  await operate("DELETE", path);
  expect(await operationsOf(moved.workspace_id)).toEqual(["importWorkspace", "abandonImport"]);
});

test("what was refused, and what only reads, is not recorded", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { slug: "ada" });
  const before = await operationsOf(workspace.id);
  const path = `/operator/v1/workspaces/${workspace.id}`;
  const call = (method: string, rest: string, body?: unknown) => send(method, path + rest, { token: env.OPERATOR_TOKEN, body });
  expect((await call("POST", "/agents", { name: "Ada", slug: "ada" })).status).toBe(409);
  expect((await call("PATCH", `/agents/${newId(0, 1)}`, { name: "Eve" })).status).toBe(404);
  expect((await call("DELETE", `/keys/${newId(0, 1)}`)).status).toBe(404);
  expect((await call("PATCH", "", { plan: "none" })).status).toBe(422);
  expect((await call("GET", `/agents/${agent.id}`)).status).toBe(200);
  expect((await send("DELETE", path, { token: "not-the-token" })).status).toBe(401);
  expect(await operationsOf(workspace.id)).toEqual(before);
});

test("a change that cannot be recorded is not made", async () => {
  const workspace = await createWorkspace();
  const down = (database: D1Database) => ({
    prepare: (statement: string) =>
      database.prepare(statement.includes("operator_audit") ? "INSERT INTO no_such_table VALUES (1)" : statement),
    batch: (statements: D1PreparedStatement[]) => database.batch(statements),
  });
  const request = (method: string, path: string, body?: unknown) =>
    app.fetch(
      new Request(`http://service.test/operator/v1/workspaces/${workspace.id}${path}`, {
        method,
        headers: { Authorization: `Bearer ${env.OPERATOR_TOKEN}`, "Content-Type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
      envWith({ DB: down(env.DB), DB_1: down(env.DB_1) }),
      createExecutionContext(),
    );
  expect((await request("PATCH", "", { name: "Changed" })).status).toBeGreaterThanOrEqual(500);
  expect((await request("DELETE", `/keys/${workspace.keyId}`)).status).toBeGreaterThanOrEqual(500);
  expect((await request("DELETE", "")).status).toBeGreaterThanOrEqual(500);
  expect(await operate("GET", `/workspaces/${workspace.id}`)).toMatchObject({ name: "Test" });
  expect((await workspace.call("GET", "/me")).status).toBe(200);
});

test("pages go through all databases, newest first, and filters narrow them", async () => {
  const since = new Date().toISOString();
  const [first, second] = [await createWorkspaceOn(0), await createWorkspaceOn(1)];
  for (const workspace of [first, second, first]) await createAgent(workspace);
  const newest = await operate("GET", "/audit?limit=3");
  expect(newest.data.map((entry: any) => [entry.operation, entry.workspace_id])).toEqual(
    [first, second, first].map(({ id }) => ["createAgent", id]),
  );
  const seen: any[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: any = await operate("GET", `/audit?since=${since}&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
    seen.push(...page.data);
    expect(page.total).toBeGreaterThanOrEqual(7);
    expect(page.has_more).toBe(page.next_cursor !== null);
    cursor = page.next_cursor;
  }
  expect(seen.length).toBeGreaterThanOrEqual(7);
  const ids = seen.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted().toReversed());
  expect((await operate("GET", `/audit?since=${since}&limit=2&offset=2`)).data).toEqual(seen.slice(2, 4));
  const agents = await operate("GET", `/audit?workspace_id=${first.id}&operation=createAgent`);
  expect([agents.total, agents.data.length]).toEqual([2, 2]);
  expect((await operate("GET", "/audit?actor=token/0")).total).toBe(0);
});

test("entries are kept for 400 days, and of each database 100,000", async () => {
  const workspace = await createWorkspace();
  const neighbour = await createNeighbour(workspace);
  const shard = shardOf(workspace.id);
  const now = Date.now();
  const insert = async (atMs: number) => {
    // The clock of new ids does not go back.
    const id = firstIdAt(atMs).slice(0, 13) + newId(shard, atMs).slice(13);
    await query(
      id,
      "INSERT INTO operator_audit (id, actor, operation, workspace_id, request_id, created_at) VALUES (?, 'token/0', 'x', ?, '', ?)",
      id,
      workspace.id,
      atMs,
    );
    return id;
  };
  const [old, kept] = [await insert(now - 400 * DAY - 1), await insert(now - 400 * DAY + 60_000)];
  await sweep(env, now);
  const ids = (await entriesOf(workspace.id)).map(({ id }) => id);
  expect(ids).not.toContain(old);
  expect(ids).toContain(kept);
  await query(
    workspace.id,
    "UPDATE operator_audit SET rowid = (SELECT max(rowid) FROM operator_audit) + 100000 WHERE id = (SELECT id FROM operator_audit WHERE workspace_id = ? ORDER BY id DESC LIMIT 1)",
    neighbour.id,
  );
  await sweep(env, now);
  expect(await entriesOf(workspace.id)).toEqual([]);
  expect(await entriesOf(neighbour.id)).toHaveLength(1);
});
