import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { createExecutionContext } from "cloudflare:test";
import { type Answer, createWorkspace, databases, newAddress, operate, query, send } from "../harness.ts";

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const NOBODY = ["019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00", "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b01", "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4bff"];
const FREE = {
  requests_per_minute: 60,
  messages: 100,
  messages_per_conversation: 500,
  visitor_messages_per_day: 50,
  leads_per_day: 50,
  visitor_attachments_per_day: 50,
  team_messages_per_day: 50,
  evaluation_cases_per_day: 50,
  erasures_per_day: 50,
  syncs_per_day: 50,
  agents: 1,
  api_keys: 10,
  members: 3,
  sources: 5,
  max_pages: 100,
  answers_per_agent: 50,
  knowledge_mb_per_agent: 10,
  webhooks: false,
  deliveries_per_day: 1_000,
  delivery_log_mb: 10,
  attachments_mb: 100,
};

/** The operator's call, whatever its answer. */
const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  send(method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, ...(body !== undefined && { body }) });

const newSlug = () => `ws-${crypto.randomUUID()}`;
const addWorkspace = (slug = newSlug(), settings: object = {}) => operate("POST", "/workspaces", { name: "Acme", slug, ...settings });

describe("the operator's token", () => {
  test.each([
    ["none", undefined, "missing_api_key"],
    ["another", "wrong", "invalid_api_key"],
    ["its beginning", "test-operator", "invalid_api_key"],
    ["more than it", "test-operator-token2", "invalid_api_key"],
    ["it in capitals", "TEST-OPERATOR-TOKEN", "invalid_api_key"],
    ["an empty one", "", "missing_api_key"],
  ])("%s: 401", async (_, token, code) => {
    const answer = await send("GET", "/operator/v1/workspaces", { headers: newAddress(), ...(token !== undefined && { token }) });
    expect(answer.status).toBe(401);
    expect(answer.body.error.code).toBe(code);
    expect(answer.headers.get("WWW-Authenticate")).toBe("Bearer");
  });

  test("is not accepted as a workspace's key, nor a key as the operator's token", async () => {
    const workspace = await createWorkspace();
    expect((await send("GET", "/operator/v1/workspaces", { token: workspace.key, headers: newAddress() })).status).toBe(401);
    expect((await send("GET", "/api/v1/me", { token: env.OPERATOR_TOKEN, headers: newAddress() })).status).toBe(401);
  });

  test("every path requires it, unknown ones included", async () => {
    for (const [method, path] of [
      ["POST", "/workspaces"],
      ["PATCH", `/workspaces/${NOBODY[0]}`],
      ["DELETE", `/workspaces/${NOBODY[0]}`],
      ["POST", `/workspaces/${NOBODY[0]}/keys`],
      ["DELETE", `/workspaces/${NOBODY[0]}/keys/${NOBODY[0]}`],
      ["POST", `/workspaces/${NOBODY[0]}/agents/${NOBODY[0]}/rotate-identity-secret`],
      ["GET", "/health"],
      ["GET", "/nothing"],
      ["GET", ""],
      ["PUT", "/workspaces"],
      ["GET", "//workspaces"],
      ["GET", "/workspaces/"],
      ["HEAD", "/workspaces"],
      ["OPTIONS", "/workspaces"],
    ] as const) {
      expect((await send(method, `/operator/v1${path}`, { headers: newAddress() })).status, `${method} ${path}`).toBe(401);
    }
  });

  test("can be rotated: both tokens are accepted until the old one is removed", async () => {
    const status = async (token: string, configured: string) => {
      const headers = { Authorization: `Bearer ${token}`, ...newAddress() };
      const request = new Request("http://service.test/operator/v1/workspaces", { headers });
      return (await app.fetch(request, { ...env, OPERATOR_TOKEN: configured }, createExecutionContext())).status;
    };
    expect(await status("new", "new, old")).toBe(200);
    expect(await status("old", "new, old")).toBe(200);
    expect(await status("old", "new")).toBe(401);
    expect(await status("new,", "new, old")).toBe(401);
    // Nothing but separators is no token: there is no surface then.
    expect(await status(",", ",")).toBe(404);
  });
});

describe("POST /workspaces", () => {
  test("creates a workspace on the free plan by default", async () => {
    const slug = newSlug();
    const created = await call("POST", "/workspaces", { name: "Acme", slug });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Acme",
      slug,
      plan: "free",
      region: null,
      limits: FREE,
      limit_overrides: {},
      retention: { conversations_days: null, leads_days: null, event_log_days: 30 },
      created_at: expect.stringMatching(TIMESTAMP),
      updated_at: expect.stringMatching(TIMESTAMP),
    });
    expect(await operate("GET", `/workspaces/${created.body.id}`)).toEqual(created.body);
  });

  test("a slug belongs to one workspace across all shards", async () => {
    const { slug } = await addWorkspace();
    for (let at = 0; at < 3; at++) {
      const again = await call("POST", "/workspaces", { name: "Other", slug });
      expect([again.status, again.body.error.code]).toEqual([409, "conflict"]);
    }
  });

  test("ten concurrent requests with one slug create one", async () => {
    const slug = newSlug();
    const answers = await Promise.all(Array.from({ length: 10 }, () => call("POST", "/workspaces", { name: "Acme", slug })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    const won = answers.find(({ status }) => status === 201)!;
    expect(await operate("GET", `/workspaces/${won.body.id}`)).toEqual(won.body);
  });

  test("a creation that failed halfway is finished by the next one with the same slug", async () => {
    const { id, slug } = await addWorkspace();
    for (const db of databases) await db.prepare("DELETE FROM workspaces WHERE id = ?").bind(id).run();
    expect((await call("GET", `/workspaces/${id}`)).status).toBe(404);
    const finished = await addWorkspace(slug, { plan: "pro" });
    expect(finished).toMatchObject({ id, slug, plan: "pro" });
  });

  test("workspaces are spread over the shards; the last byte of an identifier names the shard", async () => {
    const made = [];
    for (let at = 0; at < 10; at++) made.push(await addWorkspace());
    const shards = made.map(({ id }) => id.slice(-2));
    const inFirst = shards.filter((shard) => shard === "00").length;
    expect([4, 5, 6]).toContain(inFirst);
    expect(shards.filter((shard) => shard === "01")).toHaveLength(10 - inFirst);
    for (const { id } of made) {
      const [own, other] = id.endsWith("00") ? [env.DB, env.DB_1] : [env.DB_1, env.DB];
      const count = (db: D1Database) => db.prepare("SELECT count(*) AS n FROM workspaces WHERE id = ?").bind(id).first("n");
      expect([await count(own), await count(other)]).toEqual([1, 0]);
    }
  });

  test("a workspace's records are in its shard, and their identifiers name it", async () => {
    for (let at = 0; at < 2; at++) {
      const workspace = await createWorkspace();
      const agent = await operate("POST", `/workspaces/${workspace.id}/agents`, { name: "Agent" });
      expect(agent.id.slice(-2)).toBe(workspace.id.slice(-2));
      expect(workspace.keyId.slice(-2)).toBe(workspace.id.slice(-2));
    }
  });
});

describe("GET /workspaces", () => {
  test("pages through both shards, newest first", async () => {
    const made: string[] = [];
    for (let at = 0; at < 5; at++) made.unshift((await addWorkspace()).id);
    const { total } = await operate("GET", "/workspaces?limit=1");
    const seen: string[] = [];
    for (let offset = 0; offset < total; offset += 2) {
      const page = await operate("GET", `/workspaces?limit=2&offset=${offset}`);
      expect(page).toMatchObject({ total, limit: 2, offset, has_more: offset + page.data.length < total });
      seen.push(...page.data.map(({ id }: { id: string }) => id));
    }
    expect(seen).toHaveLength(total);
    expect(new Set(seen).size).toBe(total);
    expect(seen.slice(0, 5)).toEqual(made);
    expect(new Set(made.map((id) => id.slice(-2)))).toEqual(new Set(["00", "01"]));
    expect([...seen].sort().reverse()).toEqual(seen);
  });

  test("shows the same fields as GET of one workspace, and no deleted ones", async () => {
    const first = await addWorkspace();
    const second = await addWorkspace(newSlug(), { plan: "pro" });
    const before = (await operate("GET", "/workspaces")).total;
    await operate("DELETE", `/workspaces/${first.id}`);
    const page = await operate("GET", "/workspaces?limit=100");
    expect(page.total).toBe(before - 1);
    expect(page.data.find(({ id }: { id: string }) => id === second.id)).toEqual(second);
    expect(page.data.find(({ id }: { id: string }) => id === first.id)).toBeUndefined();
  });
});

describe("PATCH /workspaces/{id}", () => {
  test("changes only the given fields", async () => {
    const created = await addWorkspace();
    const changed = await operate("PATCH", `/workspaces/${created.id}`, { name: "Acme Ltd" });
    expect(changed).toEqual({ ...created, name: "Acme Ltd", updated_at: expect.stringMatching(TIMESTAMP) });
    const upgraded = await operate("PATCH", `/workspaces/${created.id}`, { plan: "pro" });
    expect(upgraded).toMatchObject({ name: "Acme Ltd", plan: "pro", limits: { requests_per_minute: 300, webhooks: true } });
    expect(await operate("PATCH", `/workspaces/${created.id}`, {})).toMatchObject({ name: "Acme Ltd", plan: "pro" });
  });

  test("limits are merged, null removes one, false and 0 are values", async () => {
    const { id } = await addWorkspace();
    const patch = async (limits: object) => (await operate("PATCH", `/workspaces/${id}`, { limits })).limit_overrides;
    expect(await patch({ agents: 7, messages: 0 })).toEqual({ agents: 7, messages: 0 });
    expect(await patch({ sources: 9, webhooks: true })).toEqual({ agents: 7, messages: 0, sources: 9, webhooks: true });
    expect(await patch({ agents: null, messages: null, webhooks: false })).toEqual({ sources: 9, webhooks: false });
    expect(await patch({})).toEqual({ sources: 9, webhooks: false });
    expect((await operate("GET", `/workspaces/${id}`)).limits).toEqual({ ...FREE, sources: 9 });
    expect(await patch({ sources: null, webhooks: null })).toEqual({});
  });

  test("limits and retention are taken at creation, where null stands for the default", async () => {
    const limits = { requests_per_minute: 600, agents: null };
    const retention = { conversations_days: 90, leads_days: null };
    const created = await operate("POST", "/workspaces", { name: "Acme", slug: `acme-${crypto.randomUUID()}`, limits, retention });
    expect(created).toMatchObject({
      limits: { ...FREE, requests_per_minute: 600 },
      limit_overrides: { requests_per_minute: 600 },
      retention: { conversations_days: 90, leads_days: null, event_log_days: 30 },
    });
    expect(created.limit_overrides).not.toHaveProperty("agents");
    const [row] = await query<{ prune_at: number }>(created.id, "SELECT prune_at FROM workspaces WHERE id = ?", created.id);
    expect(row!.prune_at).toBeGreaterThan(0);
  });

  test("overrides survive a change of plan", async () => {
    const { id } = await addWorkspace();
    await operate("PATCH", `/workspaces/${id}`, { limits: { agents: 99 } });
    const { limits } = await operate("PATCH", `/workspaces/${id}`, { plan: "enterprise" });
    expect(limits).toMatchObject({ agents: 99, messages: 100_000 });
  });

  test("each limit can be overridden, and concurrent changes of different limits all apply", async () => {
    const { id } = await addWorkspace();
    const { webhooks: _, ...numbers } = FREE;
    const names = Object.keys(numbers);
    await Promise.all(names.map((name) => operate("PATCH", `/workspaces/${id}`, { limits: { [name]: 3 } })));
    const { limit_overrides } = await operate("GET", `/workspaces/${id}`);
    expect(limit_overrides).toEqual(Object.fromEntries(names.map((name) => [name, 3])));
  });
});

describe("an unknown workspace", () => {
  const operations: [string, string, object?][] = [
    ["GET", ""],
    ["PATCH", "", { name: "x" }],
    ["DELETE", ""],
    ["GET", "/keys"],
    ["POST", "/keys", { name: "x", scopes: ["*"] }],
    ["DELETE", `/keys/${NOBODY[0]}`],
    ["GET", "/agents"],
    ["POST", "/agents", { name: "x" }],
    ["GET", `/agents/${NOBODY[0]}`],
    ["PATCH", `/agents/${NOBODY[0]}`, { name: "x" }],
    ["DELETE", `/agents/${NOBODY[0]}`],
    ["POST", `/agents/${NOBODY[0]}/rotate-identity-secret`],
  ];

  test.each(NOBODY)("%s: 404, whichever shard it names", async (id) => {
    for (const [method, path, body] of operations) {
      const answer = await call(method, `/workspaces/${id}${path}`, body);
      expect([answer.status, answer.body.error?.code], `${method} ${path}`).toEqual([404, "not_found"]);
    }
  });

  test("a deleted one is not found from then on", async () => {
    const { id, slug } = await addWorkspace();
    const key = await operate("POST", `/workspaces/${id}/keys`, { name: "x", scopes: ["*"] });
    const agent = await operate("POST", `/workspaces/${id}/agents`, { name: "x" });
    expect((await call("DELETE", `/workspaces/${id}`)).status).toBe(204);
    for (const [method, path, body] of operations) {
      const own = path.replace(`keys/${NOBODY[0]}`, `keys/${key.id}`).replace(`agents/${NOBODY[0]}`, `agents/${agent.id}`);
      expect((await call(method, `/workspaces/${id}${own}`, body)).status, `${method} ${path}`).toBe(404);
    }
    expect((await send("GET", "/api/v1/me", { token: key.key, headers: newAddress() })).status).toBe(401);
    // Its slug is free at once.
    expect((await addWorkspace(slug)).id).not.toBe(id);
  });
});

test("errors and validation work as in the API", async () => {
  const invalid = await call("POST", "/workspaces", "{");
  expect(invalid.status).toBe(422);
  expect(invalid.body).toMatchObject({
    detail: [{ loc: ["body", 1], type: "json_invalid" }],
    error: { code: "validation_error", request_id: invalid.headers.get("X-Request-Id") },
  });
  const wrong = await call("PUT", "/workspaces");
  expect([wrong.status, wrong.headers.get("Allow"), wrong.body.error.code]).toEqual([405, "GET, HEAD, POST", "method_not_allowed"]);
  expect((await call("GET", "/nothing")).body.error.code).toBe("not_found");
  expect((await call("GET", "/workspaces?limit=101")).status).toBe(422);
});
