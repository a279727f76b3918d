import { createExecutionContext } from "cloudflare:test";
import { env, withEnv } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { EVENT_TYPES } from "../../src/events/event-types.ts";
import { decryptSecret } from "../../src/platform/crypto/secrets.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { eventSchema } from "../../src/webhooks/wire.ts";
import {
  costOf,
  createKey,
  createNeighbour,
  createWorkspace,
  databases,
  envWith,
  listen,
  operate,
  query,
  send,
  type Workspace,
} from "../harness.ts";
import { newHost, RESOLVER, resolverBehaves, resolveTo } from "../outbound.ts";
import { missing, notBoolean, notOneOf, notString, tooFew, tooLong, tooMany, tooShort, wrong } from "../platform/http/items.ts";

const URL = "https://hooks.example.com/support";
const TYPES = [...EVENT_TYPES, "*"];
const EXPECTED = `${TYPES.slice(0, -1)
  .map((type) => `'${type}'`)
  .join(", ")} or '*'`;
const DAY_MS = 24 * 60 * 60 * 1000;

/** An endpoint with deliveries of these statuses, oldest first, each with the attempts that it would have had. */
async function createLog(statuses: string[], made?: Promise<Workspace>) {
  const workspace = await (made ?? createWorkspace());
  const endpoint = await listen(workspace);
  const eventId = await addEvent(workspace, "conversation.created");
  const ids: string[] = [];
  for (const [at, status] of statuses.entries())
    ids.push(await addDelivery(workspace, endpoint.id, { eventId, status, atMs: 1_790_000_000_000 + at }));
  return { workspace, endpoint, eventId, ids, path: `/webhooks/${endpoint.id}` };
}

async function addEvent({ id }: Workspace, type: string): Promise<string> {
  const eventId = newId(shardOf(id), Date.now());
  await query(id, "INSERT INTO events (id, workspace_id, type, payload, created_at) VALUES (?, ?, ?, '{}', 1)", eventId, id, type);
  return eventId;
}

async function addDelivery(
  { id: workspaceId }: Workspace,
  webhookId: string,
  { eventId, status, atMs, type = "conversation.created" }: { eventId: string; status: string; atMs: number; type?: string },
): Promise<string> {
  const id = newId(shardOf(workspaceId), atMs);
  const insert = `INSERT INTO deliveries (id, workspace_id, webhook_id, event_id, event_type, status, "trigger", attempt_count, next_attempt_at, created_at)
    VALUES (?, ?, ?, ?, ?, ?, 'event', 2, ?, ?)`;
  await query(workspaceId, insert, id, workspaceId, webhookId, eventId, type, status, status === "pending" ? atMs + 5000 : null, atMs);
  const attempt = `INSERT INTO delivery_attempts (delivery_id, workspace_id, number, started_at, duration_ms, response_status, response_body, response_truncated, error, url)
    VALUES (?, ?, ?, ?, 12, 500, 'no', 0, 'http_error', ?)`;
  for (const number of [2, 1]) await query(workspaceId, attempt, id, workspaceId, number, atMs + number, URL);
  return id;
}

const rowOf = async (id: string) => (await query<Record<string, any>>(id, "SELECT * FROM webhook_endpoints WHERE id = ?", id))[0]!;

describe("POST /webhooks", () => {
  test("returns the endpoint with its secret, which is stored encrypted and shown nowhere else", async () => {
    const workspace = await createWorkspace();
    const body = { url: URL, events: ["lead.created", "handoff.created", "lead.created"], description: "Our desk" };
    const { status, body: created } = await workspace.call("POST", "/webhooks", body);
    expect(status).toBe(201);
    const { secret, ...endpoint } = created;
    expect(endpoint).toEqual({
      id: expect.any(String),
      url: URL,
      events: ["lead.created", "handoff.created"],
      description: "Our desk",
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
      failure_streak: 0,
      last_success_at: null,
      last_skipped_at: null,
      created_at: expect.any(String),
      updated_at: created.created_at,
    });
    expect(secret).toMatch(/^whsec_/);
    expect(Uint8Array.fromBase64(secret.slice("whsec_".length))).toHaveLength(32);
    const row = await rowOf(endpoint.id);
    expect(row["secret"]).not.toContain(secret.slice(6, 20));
    expect(await decryptSecret(env, row["secret"], `webhook/${endpoint.id}`)).toBe(secret);
    expect((await workspace.call("GET", `/webhooks/${endpoint.id}`)).body).toEqual(endpoint);
    expect((await workspace.call("GET", "/webhooks")).body.data).toEqual([endpoint]);
  });

  test("creates a disabled endpoint, and one for every type by *", async () => {
    const workspace = await createWorkspace();
    const { body } = await workspace.call("POST", "/webhooks", { url: URL, events: ["*"], enabled: false, description: null });
    expect(body).toMatchObject({
      events: ["*"],
      enabled: false,
      disabled_reason: "manual",
      disabled_at: body.created_at,
      description: null,
    });
  });

  test.for<[name: string, body: object, detail: unknown[]]>([
    ["nothing", {}, [missing("body.url", {}), missing("body.events", {})]],
    ["short and long", { url: "https:/", events: [] }, [tooShort("body.url", "https:/", 8), tooFew("body.events", [], 1)]],
    [
      "too much",
      { url: `https://a.example/${"x".repeat(500)}`, events: Array(11).fill("lead.created"), description: "d".repeat(301) },
      [
        tooLong("body.url", `https://a.example/${"x".repeat(500)}`, 500),
        tooMany("body.events", Array(11).fill("lead.created"), 10),
        tooLong("body.description", "d".repeat(301), 300),
      ],
    ],
    ["types unknown", { url: URL, events: ["lead.created", "webhook.test"] }, [notOneOf("body.events.1", "webhook.test", EXPECTED)]],
    [
      "* among others",
      { url: URL, events: ["*", "lead.created"] },
      [wrong("body.events", ["*", "lead.created"], "send * alone: it stands for every type")],
    ],
    [
      "other types of value",
      { url: 1, events: [URL], enabled: "yes", description: 2 },
      [
        notString("body.url", 1),
        notOneOf("body.events.0", URL, EXPECTED),
        notString("body.description", 2),
        notBoolean("body.enabled", "yes"),
      ],
    ],
  ])("%s: each failed check is told", async ([, body, detail]) => {
    const workspace = await createWorkspace();
    const refused = await workspace.call("POST", "/webhooks", body);
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toEqual(detail);
    expect((await workspace.call("GET", "/webhooks")).body.total).toBe(0);
  });

  test.for([
    "http://hooks.example.com/",
    "https://localhost/hook",
    "https://127.0.0.1/hook",
    "https://2130706433/hook",
    "https://[::1]/hook",
    "https://user:pass@hooks.example.com/",
    "https://hooks.example.com:22/",
    "https://hooks.internal/x",
    "ftp://hooks.example.com/",
    "not a url at all",
  ])("refuses %s and says what to do, on creation and change", async (url) => {
    const workspace = await createWorkspace();
    const endpoint = await listen(workspace);
    for (const [method, path, body] of [
      ["POST", "/webhooks", { url, events: ["*"] }],
      ["PATCH", `/webhooks/${endpoint.id}`, { url }],
    ] as const) {
      const refused = await workspace.call(method, path, body);
      expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "url"], type: "value_error" }] } });
      expect(refused.body.detail[0].msg).toContain("Use an https URL on a public host");
    }
    expect((await workspace.call("GET", "/webhooks")).body).toMatchObject({ total: 1, data: [{ url: URL }] });
  });

  test("refuses a host with private addresses, and says when it cannot be resolved, on creation and change", async () => {
    const workspace = await createWorkspace();
    const { id } = await listen(workspace);
    const asking = envWith({ DNS_OVER_HTTPS_URL: RESOLVER });
    const ask = async (method: string, path: string, body: object) =>
      (await withEnv(asking, async () => {
        const headers = { Authorization: `Bearer ${workspace.key}`, "Content-Type": "application/json" };
        const request = new Request(`http://service.test/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
        const response = await app.fetch(request, asking, createExecutionContext());
        return { status: response.status, body: await response.json() };
      })) as { status: number; body: unknown };
    const [inside, outside, unknown] = [newHost(), newHost(), newHost()];
    await resolveTo(inside, { A: ["10.0.0.1"] });
    await resolveTo(outside, { A: ["93.184.215.14"] });
    await resolverBehaves(unknown, { status: 500, body: "oops" });
    for (const [method, path] of [
      ["POST", "/webhooks"],
      ["PATCH", `/webhooks/${id}`],
    ] as const) {
      const refused = await ask(method, path, { url: `https://${inside}/`, events: ["*"] });
      const error: unknown = expect.stringMatching(/not public\. Use an https URL/);
      expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "url"], type: "value_error", ctx: { error } }] } });
      expect(await ask(method, path, { url: `https://${unknown}/`, events: ["*"] })).toMatchObject({ status: 503 });
      expect((await ask(method, path, { url: `https://${outside}/`, events: ["*"] })).status).toBeLessThan(300);
    }
    expect((await workspace.call("GET", "/webhooks")).body.data.map(({ url }: any) => url)).toEqual(Array(2).fill(`https://${outside}/`));
  });

  test("answers 409 past a hundred endpoints, also to concurrent requests", async () => {
    const workspace = await createWorkspace();
    for (let at = 0; at < 98; at++) await listen(workspace);
    const last = await Promise.all(Array.from({ length: 5 }, () => workspace.call("POST", "/webhooks", { url: URL, events: ["*"] })));
    expect(last.map(({ status }) => status).toSorted()).toEqual([201, 201, 409, 409, 409]);
    const refused = last.find(({ status }) => status === 409)!;
    expect(refused.body.error).toMatchObject({ code: "conflict", message: expect.stringContaining("Delete one first") });
    expect((await workspace.call("GET", "/webhooks")).body).toMatchObject({ total: 100, limit: 100, has_more: false });
  });
});

test("GET /webhooks shows every event type with an example body", async () => {
  const workspace = await createWorkspace();
  const { body } = await workspace.call("GET", "/webhooks");
  expect(body).toMatchObject({ data: [], total: 0, has_more: false });
  expect(body.event_types.map(({ type }: any) => type)).toEqual(EVENT_TYPES);
  for (const { type, description, example } of body.event_types) {
    expect(description).toMatch(/^[A-Z].*\.$/);
    expect(example).toMatchObject({ type, api_version: "1.0.0" });
    expect(eventSchema.parse(example)).toEqual(example);
  }
});

describe("PATCH /webhooks/{id}", () => {
  test("changes the given fields; null leaves a field as it is, but clears the description", async () => {
    const workspace = await createWorkspace();
    const { secret: _, ...endpoint } = await listen(workspace);
    const path = `/webhooks/${endpoint.id}`;
    const change = async (body: object) => (await workspace.call("PATCH", path, body)).body;
    expect(await change({})).toEqual(endpoint);
    const changed = await change({ url: "https://other.example.com/x", events: ["lead.created"], description: "Leads" });
    expect(changed).toMatchObject({ url: "https://other.example.com/x", events: ["lead.created"], description: "Leads", enabled: true });
    expect(await change({ url: null, events: null, enabled: null })).toMatchObject({ ...changed, updated_at: expect.any(String) });
    expect(await change({ description: null })).toMatchObject({ ...changed, description: null, updated_at: expect.any(String) });
    expect((await workspace.call("PATCH", path, { events: [] })).body.detail).toEqual([tooFew("body.events", [], 1)]);
    expect((await workspace.call("PATCH", path, { events: null, url: "x", enabled: 1 })).body.detail).toHaveLength(2);
  });

  test("enabling resets the failure streak", async () => {
    const workspace = await createWorkspace();
    const { id } = await listen(workspace);
    const fail = `UPDATE webhook_endpoints SET enabled = 0, disabled_reason = 'failing', disabled_at = 5, failure_streak = 20, failing_since = 1 WHERE id = ?`;
    await query(id, fail, id);
    const kept = await workspace.call("PATCH", `/webhooks/${id}`, { enabled: false });
    expect(kept.body).toMatchObject({
      enabled: false,
      disabled_reason: "failing",
      disabled_at: "1970-01-01T00:00:00.005Z",
      failure_streak: 20,
    });
    const { body } = await workspace.call("PATCH", `/webhooks/${id}`, { enabled: true });
    expect(body).toMatchObject({ enabled: true, disabled_reason: null, disabled_at: null, failure_streak: 0 });
    expect(await rowOf(id)).toMatchObject({ failing_since: null });
    await query(id, "UPDATE webhook_endpoints SET failure_streak = 3, failing_since = 1 WHERE id = ?", id);
    expect((await workspace.call("PATCH", `/webhooks/${id}`, { enabled: true })).body.failure_streak).toBe(0);
  });

  test("disabling cancels pending deliveries in the log, but not one that is being sent", async () => {
    const { workspace, endpoint, ids, path } = await createLog(["pending", "succeeded", "pending", "pending"]);
    const [waiting, , leased, stale] = ids as [string, string, string, string];
    await query(workspace.id, "UPDATE deliveries SET lease_until = ? WHERE id = ?", Date.now() + 60_000, leased);
    await query(workspace.id, "UPDATE deliveries SET lease_until = 1 WHERE id = ?", stale);
    const { body } = await workspace.call("PATCH", path, { enabled: false });
    expect(body).toMatchObject({ enabled: false, disabled_reason: "manual", disabled_at: body.updated_at });
    const { data } = (await workspace.call("GET", `${path}/deliveries`)).body;
    const of = (id: string) => data.find((delivery: any) => delivery.id === id);
    for (const id of [waiting, stale]) {
      expect(of(id)).toMatchObject({ status: "failed", attempt_count: 3, next_attempt_at: null, completed_at: body.disabled_at });
      expect(of(id).attempts[2]).toEqual({
        number: 3,
        started_at: body.disabled_at,
        duration_ms: 0,
        response_status: null,
        response_body: null,
        response_truncated: false,
        error: "endpoint_disabled",
        url: endpoint["url"],
      });
    }
    expect(of(leased)).toMatchObject({ status: "pending", attempt_count: 2 });
    expect(of(ids[1]!)).toMatchObject({ status: "succeeded", attempt_count: 2 });
  });
});

describe("DELETE /webhooks/{id}", () => {
  test("deletes the endpoint's log and nothing of the others", async () => {
    const { workspace, endpoint, path } = await createLog(["pending", "succeeded", "failed"]);
    const other = await createLog(["succeeded"], Promise.resolve(workspace));
    expect((await workspace.call("DELETE", path)).status).toBe(204);
    expect((await workspace.call("GET", path)).status).toBe(404);
    expect((await workspace.call("DELETE", path)).status).toBe(404);
    expect(await query(workspace.id, "SELECT id FROM deliveries WHERE workspace_id = ?", workspace.id)).toEqual([{ id: other.ids[0] }]);
    expect(await query(workspace.id, "SELECT number FROM delivery_attempts WHERE workspace_id = ?", workspace.id)).toHaveLength(2);
    expect(await query(workspace.id, "SELECT id FROM webhook_erasures WHERE id = ?", endpoint.id)).toEqual([]);
  });

  test("deletes a long log in the background, while nothing is sent any more", async () => {
    const { workspace, endpoint, path, eventId } = await createLog([]);
    const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1300)
      INSERT INTO deliveries (id, workspace_id, webhook_id, event_id, event_type, status, "trigger", created_at)
      SELECT ? || i, ?, ?, ?, 'lead.created', 'pending', 'event', 1 FROM n`;
    await query(workspace.id, many, endpoint.id, workspace.id, endpoint.id, eventId);
    expect((await workspace.call("DELETE", path)).status).toBe(204);
    const left = () => query(workspace.id, "SELECT count(*) AS count FROM deliveries WHERE workspace_id = ?", workspace.id);
    expect(await left()).toEqual([{ count: 800 }]);
    expect((await workspace.call("GET", `${path}/deliveries`)).status).toBe(404);
    await sweep(env, Date.now());
    expect(await left()).toEqual([{ count: 0 }]);
    expect(await query(workspace.id, "SELECT id FROM webhook_erasures WHERE id = ?", endpoint.id)).toEqual([]);
  });
});

describe("GET /webhooks/{id}/deliveries", () => {
  test("lists deliveries newest first, with their attempts in order", async () => {
    const { workspace, endpoint, eventId, ids, path } = await createLog(["succeeded", "pending"]);
    const { body } = await workspace.call("GET", `${path}/deliveries`);
    expect(body).toMatchObject({ total: 2, limit: 20, offset: 0, has_more: false, next_cursor: null });
    expect(body.data.map(({ id }: any) => id)).toEqual([ids[1], ids[0]]);
    const attempt = {
      duration_ms: 12,
      response_status: 500,
      response_body: "no",
      response_truncated: false,
      error: "http_error",
      url: URL,
    };
    expect(body.data[0]).toEqual({
      id: ids[1],
      webhook_id: endpoint.id,
      event_id: eventId,
      event_type: "conversation.created",
      status: "pending",
      trigger: "event",
      attempt_count: 2,
      next_attempt_at: new Date(1_790_000_005_001).toISOString(),
      created_at: new Date(1_790_000_000_001).toISOString(),
      completed_at: null,
      attempts: [1, 2].map((number) => ({ number, started_at: new Date(1_790_000_000_001 + number).toISOString(), ...attempt })),
    });
  });

  test("filters by status, with exact totals, by offset and by cursor", async () => {
    const statuses = Array.from({ length: 12 }, (_, at) => ["pending", "succeeded", "failed"][at % 3]!);
    const { workspace, endpoint, eventId, ids, path } = await createLog(statuses);
    const list = async (query = "") => (await workspace.call("GET", `${path}/deliveries${query}`)).body;
    for (const [at, status] of ["pending", "succeeded", "failed"].entries()) {
      const { data, total } = await list(`?status=${status}`);
      expect([total, data.map(({ id }: any) => id)]).toEqual([4, ids.filter((_, index) => index % 3 === at).reverse()]);
    }
    const second = await list("?limit=5&offset=5");
    expect(second).toMatchObject({ total: 12, limit: 5, offset: 5, has_more: true });
    expect(second.data.map(({ id }: any) => id)).toEqual(ids.toReversed().slice(5, 10));
    const walked: string[] = [];
    let cursor = "";
    do {
      const page = await list(`?limit=5${cursor === "" ? "" : `&cursor=${cursor}`}`);
      walked.push(...page.data.map(({ id }: any) => id));
      for (const { attempts } of page.data) expect(attempts).toHaveLength(2);
      // Deliveries that are added between two pages are newer, and do not shift them.
      await addDelivery(workspace, endpoint.id, { eventId, status: "failed", atMs: 1_790_000_100_000 });
      cursor = page.next_cursor ?? "";
    } while (cursor !== "");
    expect(walked).toEqual(ids.toReversed());
    expect((await list("?status=done&limit=0&cursor=x")).detail.map(({ loc }: any) => loc[1]).toSorted()).toEqual([
      "cursor",
      "limit",
      "status",
    ]);
  });

  test("keeps the totals exact when a delivery changes", async () => {
    const { workspace, ids, path } = await createLog(["pending", "pending", "pending"]);
    const totals = async () => {
      const of = async (status: string) => (await workspace.call("GET", `${path}/deliveries?limit=1&status=${status}`)).body.total;
      return [await of("pending"), await of("succeeded"), await of("failed")];
    };
    await query(workspace.id, "UPDATE deliveries SET status = 'succeeded' WHERE id = ?", ids[0]);
    await query(workspace.id, "UPDATE deliveries SET status = 'succeeded', attempt_count = 9 WHERE id = ?", ids[0]);
    await query(workspace.id, "UPDATE deliveries SET status = 'failed' WHERE id = ?", ids[1]);
    expect(await totals()).toEqual([1, 1, 1]);
    await query(workspace.id, "DELETE FROM deliveries WHERE id IN (?, ?)", ids[1], ids[2]);
    expect(await totals()).toEqual([0, 1, 0]);
  });
});

describe("POST /webhooks/deliveries/{id}/redeliver", () => {
  const redeliver = (workspace: Workspace, id: string, headers?: Record<string, string>) =>
    workspace.call("POST", `/webhooks/deliveries/${id}/redeliver`, undefined, headers);

  test.for(["succeeded", "failed"])("a delivery that %s is redelivered as a new one of the same event", async (status) => {
    const { workspace, endpoint, eventId, ids, path } = await createLog([status]);
    const { status: answered, body } = await redeliver(workspace, ids[0]!);
    expect(answered).toBe(202);
    expect(body).toEqual({
      id: expect.any(String),
      webhook_id: endpoint.id,
      event_id: eventId,
      event_type: "conversation.created",
      status: "pending",
      trigger: "redelivery",
      attempt_count: 0,
      next_attempt_at: body.created_at,
      created_at: expect.any(String),
      completed_at: null,
      attempts: [],
    });
    expect((await workspace.call("GET", `${path}/deliveries`)).body.data[0]).toEqual(body);
  });

  test("a pending delivery, a disabled endpoint, a test and a deleted event are 409 each, and nothing is queued", async () => {
    const { workspace, eventId, endpoint, ids, path } = await createLog(["pending", "failed"]);
    const testId = await addEvent(workspace, "webhook.test");
    const tested = await addDelivery(workspace, endpoint.id, { eventId: testId, status: "failed", atMs: Date.now(), type: "webhook.test" });
    const refusal = async (id: string) => (await redeliver(workspace, id)).body.error;
    expect(await refusal(ids[0]!)).toMatchObject({ code: "conflict", message: expect.stringContaining("still pending") });
    expect(await refusal(tested)).toMatchObject({ code: "conflict", message: expect.stringContaining("Send a new test") });
    await workspace.call("PATCH", path, { enabled: false });
    expect(await refusal(ids[1]!)).toMatchObject({ code: "endpoint_disabled", message: expect.stringContaining("Enable it") });
    await workspace.call("PATCH", path, { enabled: true });
    await query(workspace.id, "DELETE FROM events WHERE id = ?", eventId);
    expect(await refusal(ids[1]!)).toMatchObject({ code: "conflict", message: expect.stringContaining("no longer kept") });
    expect(
      await query(workspace.id, "SELECT id FROM deliveries WHERE workspace_id = ? AND \"trigger\" = 'redelivery'", workspace.id),
    ).toEqual([]);
  });

  test("with an Idempotency-Key there is one new delivery, also after a crash in between", async () => {
    const { workspace, ids } = await createLog(["failed"]);
    const headers = { "Idempotency-Key": "again" };
    const first = await redeliver(workspace, ids[0]!, headers);
    await query(
      workspace.id,
      "UPDATE idempotency_records SET response_status = NULL, lease_until = 0 WHERE workspace_id = ?",
      workspace.id,
    );
    const second = await redeliver(workspace, ids[0]!, headers);
    expect(second).toMatchObject({ status: 202, body: { id: first.body.id } });
    expect((await redeliver(workspace, ids[0]!, headers)).headers.get("Idempotent-Replayed")).toBe("true");
    expect(await query(workspace.id, "SELECT id FROM deliveries WHERE workspace_id = ?", workspace.id)).toHaveLength(2);
  });
});

describe("POST /webhooks/{id}/rotate-secret", () => {
  test("returns a new secret; the previous one stays valid for a day", async () => {
    const workspace = await createWorkspace();
    const { secret: before, ...endpoint } = await listen(workspace);
    const { status, body } = await workspace.call("POST", `/webhooks/${endpoint.id}/rotate-secret`);
    expect(status).toBe(200);
    const { secret, ...rotated } = body;
    expect(rotated).toEqual({ ...endpoint, updated_at: expect.any(String) });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(secret).not.toBe(before);
    const row = await rowOf(endpoint.id);
    const place = `webhook/${endpoint.id}`;
    expect(await decryptSecret(env, row["secret"], place)).toBe(secret);
    expect(await decryptSecret(env, row["previous_secret"], place)).toBe(before);
    expect(row["previous_secret_until"]).toBe(Date.parse(rotated.updated_at) + DAY_MS);
  });

  test("a further rotation leaves each previous secret its day, up to five of them", async () => {
    const workspace = await createWorkspace();
    const { id, secret: first } = await listen(workspace);
    const rotate = () => workspace.call("POST", `/webhooks/${id}/rotate-secret`);
    const signing = async () => {
      const { previous_secret, older_secrets } = await rowOf(id);
      const stored = [...JSON.parse(older_secrets).map(({ secret }: { secret: string }) => secret), previous_secret];
      return Promise.all(stored.map((secret) => decryptSecret(env, secret, `webhook/${id}`)));
    };
    const secrets = [first];
    for (let at = 0; at < 5; at++) secrets.push((await rotate()).body.secret);
    expect(await signing()).toEqual(secrets.slice(0, 5));
    const refused = await rotate();
    expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
    expect(await signing()).toEqual(secrets.slice(0, 5));
    await query(id, "UPDATE webhook_endpoints SET older_secrets = json_set(older_secrets, '$[0].untilMs', 1) WHERE id = ?", id);
    expect((await rotate()).status).toBe(200);
    expect(await signing()).toEqual(secrets.slice(1));
  });

  test("is carried out once when repeated with its Idempotency-Key after a crash: the receivers' secret still signs", async () => {
    const workspace = await createWorkspace();
    const { id, secret: before } = await listen(workspace);
    const rotate = () => workspace.call("POST", `/webhooks/${id}/rotate-secret`, undefined, { "Idempotency-Key": "turn" });
    const first = await rotate();
    await query(
      workspace.id,
      "UPDATE idempotency_records SET response_status = NULL, lease_until = 0 WHERE workspace_id = ?",
      workspace.id,
    );
    const second = await rotate();
    expect(second.body.secret).toBe(first.body.secret);
    expect(await decryptSecret(env, (await rowOf(id))["previous_secret"], `webhook/${id}`)).toBe(before);
  });
});

test("a creation that is repeated with its Idempotency-Key returns the same secret, and no table stores one in plain text", async () => {
  const workspace = await createWorkspace();
  const create = () => workspace.call("POST", "/webhooks", { url: URL, events: ["*"] }, { "Idempotency-Key": "new" });
  const { body } = await create();
  expect((await create()).body).toEqual(body);
  await query(workspace.id, "UPDATE idempotency_records SET response_status = NULL, lease_until = 0 WHERE workspace_id = ?", workspace.id);
  expect((await create()).body).toEqual(body);
  expect((await workspace.call("GET", "/webhooks")).body.total).toBe(1);
  const rotated = await workspace.call("POST", `/webhooks/${body.id}/rotate-secret`, undefined, { "Idempotency-Key": "turn" });
  const secrets = [body.secret, rotated.body.secret].map((secret: string) => secret.slice("whsec_".length));
  let rows = 0;
  for (const database of databases) {
    const { results: tables } = await database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .all();
    for (const { name } of tables) {
      const { results } = await database.prepare(`SELECT * FROM "${String(name)}"`).all();
      rows += results.length;
      for (const secret of secrets) expect(JSON.stringify(results).includes(secret), String(name)).toBe(false);
    }
  }
  expect(rows).toBeGreaterThan(5);
  expect(await query(workspace.id, "SELECT 1 FROM idempotency_records WHERE workspace_id = ?", workspace.id)).toHaveLength(2);
});

describe("without webhooks in the plan", () => {
  test("creating, changing, testing and redelivering are 403; reading, rotating and deleting are not", async () => {
    const { workspace, ids, endpoint, path } = await createLog(["failed"]);
    await operate("PATCH", `/workspaces/${workspace.id}`, { plan: "starter" });
    const unknown = newId(shardOf(workspace.id), Date.now());
    const redelivery = (id: string) => `/webhooks/deliveries/${id}/redeliver`;
    for (const [method, own, body, other] of [
      ["POST", "/webhooks", { url: URL, events: ["*"] }, undefined],
      ["PATCH", path, { enabled: false }, `/webhooks/${unknown}`],
      ["POST", `${path}/test`, undefined, `/webhooks/${unknown}/test`],
      ["POST", redelivery(ids[0]!), undefined, redelivery(unknown)],
    ] as const) {
      const refused = await workspace.call(method, own, body);
      expect([method, own, refused.status, refused.body.error.code]).toEqual([method, own, 403, "plan_required"]);
      expect(refused.body.error.message).toContain("Ask for one that does");
      if (other !== undefined) expect((await workspace.call(method, other, body)).status, `${method} ${other}`).toBe(404);
    }
    expect((await workspace.call("GET", "/webhooks")).body).toMatchObject({ total: 1, data: [{ id: endpoint.id, enabled: true }] });
    expect((await workspace.call("GET", `${path}/deliveries`)).body.total).toBe(1);
    expect((await workspace.call("POST", `${path}/rotate-secret`)).status).toBe(200);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { webhooks: true } });
    expect((await workspace.call("PATCH", path, { description: "Again" })).status).toBe(200);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { webhooks: null } });
    expect((await workspace.call("DELETE", path)).status).toBe(204);
  });
});

test("another workspace's endpoints and deliveries are not found, and a key without the scope changes nothing", async () => {
  const { workspace, path, ids } = await createLog(["failed"]);
  const other = await createNeighbour(workspace);
  const reader = await createKey(workspace, ["webhooks:read"]);
  for (const [method, own, body] of [
    ["GET", path, undefined],
    ["PATCH", path, { enabled: false }],
    ["DELETE", path, undefined],
    ["POST", `${path}/test`, undefined],
    ["POST", `${path}/rotate-secret`, undefined],
    ["GET", `${path}/deliveries`, undefined],
    ["POST", `/webhooks/deliveries/${ids[0]!}/redeliver`, undefined],
  ] as const) {
    expect((await other.call(method, own, body)).status, `${method} ${own}`).toBe(404);
    const { status } = await send(method, `/api/v1${own}`, { token: reader.key, body });
    expect(status, `${method} ${own}`).toBe(method === "GET" ? 200 : 403);
  }
  expect((await workspace.call("GET", path)).body).toMatchObject({ enabled: true });
  expect((await workspace.call("GET", `${path}/deliveries`)).body.total).toBe(1);
});

test("the cost of a page of deliveries does not grow with the log", async () => {
  const { workspace, endpoint, eventId, path } = await createLog(["failed", "failed", "failed"]);
  const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
    INSERT INTO deliveries (id, workspace_id, webhook_id, event_id, event_type, status, "trigger", created_at)
    SELECT '01' || i || ?, ?, ?, ?, 'lead.created', 'failed', 'event', 1 FROM n`;
  const cost = async () => (await costOf(() => workspace.call("GET", `${path}/deliveries?status=failed&limit=2`))).rows_read;
  const before = await cost();
  await query(workspace.id, many, endpoint.id, workspace.id, endpoint.id, eventId);
  expect((await workspace.call("GET", `${path}/deliveries?limit=2`)).body.total).toBe(503);
  expect(await cost()).toBeLessThanOrEqual(before + 1);
});

test("a url of the developer's own machine is refused with the words that let it through", async () => {
  const workspace = await createWorkspace();
  const { status, body } = await workspace.call("POST", "/webhooks", { url: "http://localhost:9000/hook", events: ["*"] });
  expect(status).toBe(422);
  expect(body.detail[0].msg).toContain("npm run dev -- --var ALLOW_PRIVATE_TARGETS:true");
  const typo = await workspace.call("POST", "/webhooks", { url: "ftp://hooks.example.com/", events: ["*"] });
  expect(typo.body.detail[0].msg).not.toContain("ALLOW_PRIVATE_TARGETS");
});
