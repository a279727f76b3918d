import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { decryptHeaders } from "../../src/agents/secrets.ts";
import { app } from "../../src/app.ts";
import { replaceSecrets } from "../../src/operator/secret-store.ts";
import { encryptSecret, stateOfSecret } from "../../src/platform/crypto/secrets.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import type { StoredHttpTool } from "../../src/platform/db/columns.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createErasure } from "../../src/privacy/erasure-store.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { sealSecret } from "../../src/webhooks/signature.ts";
import { mintApiKey } from "../../src/workspaces/api-key.ts";
import {
  type Answer,
  costOf,
  createWorkspace,
  createWorkspaceOn,
  deliver,
  envWith,
  evict,
  newAddress,
  operate,
  query,
  send,
} from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import { solve } from "../stand-ins/siteverify.ts";
import {
  attemptsOf,
  changeEndpoint,
  createReceiver,
  deliveryOf,
  endpointOf,
  HOUR,
  MINUTE,
  verify,
  DeliverySimulation,
} from "../webhooks/simulation.ts";
import { hashOf } from "../widget/widget.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** The service before the rotation, while it goes on, and after it. The tests' own environment is the one after it. */
const OLD = { ENCRYPTION_KEY: "old-encryption-key", KEY_SECRET: "old-key-secret" };
const BOTH = { ENCRYPTION_KEY: `${env.ENCRYPTION_KEY},${OLD.ENCRYPTION_KEY}`, KEY_SECRET: `${env.KEY_SECRET},${OLD.KEY_SECRET}` };
const NEW = {};

type Bindings = Partial<Record<keyof typeof OLD | "RETIRED_KEY_SECRET", string>>;
type Options = { token?: string | undefined; body?: unknown; headers?: Record<string, string> };

/** A request to a service with these secrets. */
async function sendTo(bindings: Bindings, method: string, path: string, { token, body, headers }: Options = {}): Promise<Answer> {
  const all = { ...newAddress(), ...(token && { Authorization: `Bearer ${token}` }), "Content-Type": "application/json", ...headers };
  const init = { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await app.fetch(new Request(`http://service.test${path}`, init), envWith(bindings), createExecutionContext());
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? "" : JSON.parse(text) };
}

const operateOn = async (bindings: Bindings, method: string, path: string, body?: unknown) => {
  const answer = await sendTo(bindings, method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};

/** All steps from the beginning to the end. */
async function walk(bindings: Bindings, method: "GET" | "POST"): Promise<any[]> {
  const steps: any[] = [];
  for (let cursor: string | null = ""; cursor !== null; cursor = steps.at(-1).next_cursor) {
    const path = `/secrets${method === "POST" ? "/reencrypt" : ""}${cursor && `?cursor=${cursor}`}`;
    steps.push(await operateOn(bindings, method, path));
  }
  return steps;
}

/** The outdated API keys of a workspace that a walk finds. */
async function outdatedKeysOf(workspace: { id: string }): Promise<any[]> {
  const steps = await walk(BOTH, "GET");
  return steps.flatMap((step) => step.api_keys.outdated).filter((key) => key.workspace_id === workspace.id);
}

/** Every secret that is stored of a workspace, by where it stands. */
async function storedOf({ id }: { id: string }): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const agent of await query<any>(id, "SELECT * FROM agents WHERE workspace_id = ?", id)) {
    if (agent.turnstile_secret) found["turnstile"] = agent.turnstile_secret;
    if (!agent.identity_secret) continue;
    found["identity"] = agent.identity_secret;
    found["previous identity"] = agent.previous_identity_secret;
    for (const tool of JSON.parse(agent.tools))
      for (const [name, text] of Object.entries(tool.headers)) found[`${tool.name} ${name}`] = text as string;
  }
  for (const version of await query<any>(id, "SELECT * FROM agent_versions WHERE workspace_id = ?", id)) {
    for (const tool of JSON.parse(version.settings).tools)
      for (const [name, text] of Object.entries(tool.headers)) found[`version ${version.number}: ${tool.name} ${name}`] = text as string;
  }
  for (const endpoint of await query<any>(id, "SELECT * FROM webhook_endpoints WHERE workspace_id = ?", id)) {
    found["webhook"] = endpoint.secret;
    found["previous webhook"] = endpoint.previous_secret;
    found["older webhook"] = JSON.parse(endpoint.older_secrets)[0].secret;
  }
  for (const erasure of await query<any>(id, "SELECT * FROM privacy_erasures WHERE workspace_id = ?", id))
    found["erasure"] = erasure.identifier;
  return found;
}

const statesOf = async (bindings: Bindings, workspace: { id: string }) => {
  const stored = Object.entries(await storedOf(workspace));
  return Object.fromEntries(await Promise.all(stored.map(async ([at, text]) => [at, await stateOfSecret(envWith(bindings), text)])));
};

const all = (state: string) => ({
  identity: state,
  "previous identity": state,
  turnstile: state,
  "order_status Authorization": state,
  "order_status X-Shop": state,
  "shop Authorization": state,
  "version 1: order_status Authorization": state,
  "version 1: order_status X-Shop": state,
  "version 1: shop Authorization": state,
  webhook: state,
  "previous webhook": state,
  "older webhook": state,
});

const TURNSTILE = { site_key: "0x4site", secret: "0x4secret" };

/** A workspace of the time before the rotation, with a secret of every kind. */
async function liveBefore(shard?: number) {
  const workspace = shard === undefined ? await createWorkspace() : await createWorkspaceOn(shard);
  const { id, key } = await operateOn(OLD, "POST", `/workspaces/${workspace.id}/keys`, { name: "Old", scopes: ["*"] });
  const host = newHost();
  const headers = { Authorization: "Bearer shop-token", "X-Shop": "7" };
  const parameters = { type: "object", properties: { order: { type: "string" } }, required: ["order"] };
  const tool = { name: "order_status", description: "Orders.", parameters, method: "GET", url: `https://${host}/{order}`, headers };
  const shopHost = newHost();
  await behaveAt(shopHost, { mcp: { tools: [{ name: "find_order" }] } });
  const shop = { type: "mcp", name: "shop", url: `https://${shopHost}/mcp`, headers: { Authorization: headers.Authorization } };
  const agent = await operateOn(OLD, "POST", `/workspaces/${workspace.id}/agents`, { name: "Agent", tools: [tool, shop] });
  const guarded = await operateOn(OLD, "POST", `/workspaces/${workspace.id}/agents`, { name: "Guarded", turnstile: TURNSTILE });
  const rotation = `/workspaces/${workspace.id}/agents/${agent.id}/rotate-identity-secret`;
  const previousIdentity: string = (await operateOn(OLD, "POST", rotation)).secret;
  const identity: string = (await operateOn(OLD, "POST", rotation)).secret;
  const call = (bindings: Bindings, method: string, path: string, body?: unknown, more?: Record<string, string>) =>
    sendTo(bindings, method, `/api/v1${path}`, { token: key, body, ...(more && { headers: more }) });
  const endpoint = (await call(OLD, "POST", "/webhooks", { url: `https://${host}/hooks`, events: ["*"] })).body;
  const once = (await call(OLD, "POST", `/webhooks/${endpoint.id}/rotate-secret`)).body;
  const rotated = (await call(OLD, "POST", `/webhooks/${endpoint.id}/rotate-secret`)).body;
  const askGuarded = (bindings: Bindings) =>
    sendTo(bindings, "POST", `/widget/v1/agents/${guarded.id}/messages`, {
      body: { message: "Hello?", turnstile_token: solve({ secret: TURNSTILE.secret, hostname: "service.test" }) },
    });
  const ask = (bindings: Bindings, userHash?: string) =>
    sendTo(bindings, "POST", `/widget/v1/agents/${agent.id}/messages`, {
      body: { message: "Hello?", ...(userHash && { user_hash: userHash, user: { id: "u-1" } }) },
    });
  const webhook: { id: string; secret: string; previousSecrets: string[] } = {
    ...rotated,
    previousSecrets: [endpoint.secret, once.secret],
  };
  return { workspace, key: { id, key }, agent, headers, host, identity, previousIdentity, webhook, call, ask, askGuarded };
}

describe("a rotation", () => {
  test.each([0, 1])(
    "on shard %i leaves nothing encrypted with the old keys, and everything works with the new ones alone",
    async (shard) => {
      const { workspace, agent, headers, host, identity, previousIdentity, webhook, call, ask, askGuarded } = await liveBefore(shard);
      expect(await statesOf(BOTH, workspace)).toEqual(all("outdated"));
      expect(await statesOf(NEW, workspace)).toEqual(all("unreadable"));

      await walk(BOTH, "POST");

      expect(await statesOf(NEW, workspace)).toEqual(all("current"));
      expect(await statesOf(OLD, workspace)).toEqual(all("unreadable"));
      // Several secrets sign during a webhook's own rotations, and the receiver may hold any of them.
      await behaveAt(host, {});
      const young = await operate("POST", `/workspaces/${workspace.id}/keys`, { name: "Young", scopes: ["*"] });
      const tested = await send("POST", `/api/v1/webhooks/${webhook.id}/test`, { token: young.key });
      expect(tested.body).toMatchObject({ status: "succeeded" });
      for (const secret of [webhook.secret, ...webhook.previousSecrets]) expect(await verified(secret, host)).toBe("webhook.test");
      for (const secret of [identity, previousIdentity]) expect((await ask(NEW, await hashOf(secret, "u-1"))).status).toBe(200);
      expect(await headersOf(workspace, agent.id)).toEqual(headers);
      expect((await askGuarded(NEW)).status).toBe(200);
      expect((await call(NEW, "GET", "/me")).body.error).toMatchObject({ code: "invalid_api_key" });
    },
  );

  test("changes only the secrets, and a second one changes nothing", async () => {
    const { workspace } = await liveBefore();
    const rows = async () => {
      const agents = await query<any>(workspace.id, "SELECT * FROM agents WHERE workspace_id = ?", workspace.id);
      const endpoints = await query<any>(workspace.id, "SELECT * FROM webhook_endpoints WHERE workspace_id = ?", workspace.id);
      return [...agents, ...endpoints];
    };
    const bare = async () =>
      (await rows()).map(
        ({
          identity_secret: _a,
          previous_identity_secret: _b,
          turnstile_secret: _c,
          tools: _d,
          secret: _e,
          previous_secret: _f,
          older_secrets: _g,
          ...row
        }) => row,
      );
    const before = await bare();
    await walk(BOTH, "GET");
    expect(await statesOf(BOTH, workspace)).toEqual(all("outdated"));
    await walk(BOTH, "POST");
    expect(await bare()).toEqual(before);
    const once = await rows();
    const again = await walk(BOTH, "POST");
    expect(await rows()).toEqual(once);
    for (const { secrets } of again) for (const counts of Object.values<any>(secrets)) expect(counts.reencrypted).toBe(0);
  });

  test("can be stopped at any step, and reversed", async () => {
    const { workspace } = await liveBefore();
    await operateOn(BOTH, "POST", "/secrets/reencrypt");
    const back = { ENCRYPTION_KEY: `${OLD.ENCRYPTION_KEY},${env.ENCRYPTION_KEY}` };
    await walk(back, "POST");
    expect(await statesOf(OLD, workspace)).toEqual(all("current"));
    await walk(BOTH, "POST");
    expect(await statesOf(NEW, workspace)).toEqual(all("current"));
  });

  test("counts what it finds by kind and key", async () => {
    const kinds = (steps: any[]) => {
      const sums: Record<string, Record<string, number>> = {};
      for (const [kind, counts] of steps.flatMap(({ secrets }) => Object.entries<Record<string, number>>(secrets))) {
        const sum = (sums[kind] ??= {});
        for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
      }
      return sums;
    };
    await walk(BOTH, "POST");
    const before = kinds(await walk(BOTH, "GET"));
    await liveBefore();
    const counted = kinds(await walk(BOTH, "GET"));
    const grown = (kind: string, name: string) => counted[kind]![name]! - before[kind]![name]!;
    const made = ["identity_secrets", "turnstile_secrets", "tool_headers", "webhook_secrets"].map((kind) => grown(kind, "outdated"));
    // The headers of the tools are those of the agent and of its version.
    expect(made).toEqual([2, 1, 6, 3]);
    expect(grown("webhook_secrets", "current")).toBe(0);
    expect(kinds(await walk(BOTH, "POST"))["tool_headers"]).toMatchObject({ outdated: 0, reencrypted: 6 });
    expect(kinds(await walk(BOTH, "GET"))["tool_headers"]).toMatchObject({ outdated: 0, reencrypted: 0 });
  });

  test("a secret that is changed between read and write keeps the change", async () => {
    const { workspace, agent, webhook } = await liveBefore();
    const { db } = newOperation(env, new Meter(), workspace.id);
    const now = await storedOf(workspace);
    const [identity, previous] = [now["identity"]!, now["previous identity"]!];
    const pair = { identitySecret: "x", previousIdentitySecret: "x" };
    const writes = [
      replaceSecrets(db, "agents", agent.id, { identitySecret: "other", previousIdentitySecret: previous }, pair),
      replaceSecrets(db, "agents", agent.id, { identitySecret: identity, previousIdentitySecret: null }, pair),
      replaceSecrets(db, "agents", agent.id, { tools: "[]" }, { tools: "[1]" }),
      replaceSecrets(
        db,
        "webhook_endpoints",
        webhook.id,
        { secret: "other", previousSecret: now["previous webhook"]! },
        { secret: "x", previousSecret: "x" },
      ),
      replaceSecrets(
        db,
        "webhook_endpoints",
        webhook.id,
        { secret: now["webhook"]!, previousSecret: null },
        { secret: "x", previousSecret: "x" },
      ),
      replaceSecrets(db, "privacy_erasures", webhook.id, { identifier: "other" }, { identifier: "x" }),
    ] as const;
    expect(await db.batch(writes)).toEqual(writes.map(() => []));
    expect(await storedOf(workspace)).toEqual(now);
  });

  test("an expired secret is neither reencrypted nor counted", async () => {
    const { workspace } = await liveBefore();
    await query(workspace.id, "UPDATE agents SET previous_identity_secret_until = 1 WHERE workspace_id = ?", workspace.id);
    const expire = "UPDATE webhook_endpoints SET previous_secret_until = 1, older_secrets = json_set(older_secrets, '$[0].untilMs', 1)";
    await query(workspace.id, `${expire} WHERE workspace_id = ?`, workspace.id);
    await walk(BOTH, "POST");
    expect(await statesOf(NEW, workspace)).toEqual({
      ...all("current"),
      "previous identity": "unreadable",
      "previous webhook": "unreadable",
      "older webhook": "unreadable",
    });
  });
});

/** The event type of the last request that a host got, if its signature holds. */
async function verified(secret: string, host: string): Promise<string> {
  return (verify(secret, (await receivedBy(host)).at(-1)!) as { type: string }).type;
}

async function headersOf(workspace: { id: string }, agentId: string): Promise<Record<string, string>> {
  const [row] = await query<{ tools: string }>(workspace.id, "SELECT tools FROM agents WHERE id = ?", agentId);
  return decryptHeaders(env, agentId, (JSON.parse(row!.tools) as StoredHttpTool[])[0]!);
}

describe("API keys that an old secret signed", () => {
  test("are listed, with their last use to the hour, until they are revoked", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const { workspace, key, call } = await liveBefore();
    const named = { id: key.id, workspace_id: workspace.id, name: "Old", prefix: key.key.slice(0, 16) };
    const use = async () => {
      expect((await call(BOTH, "GET", "/me")).status).toBe(200);
      // Its background work is finished before it is evicted.
      await evict(env.GATE.getByName(workspace.id));
    };
    expect(await outdatedKeysOf(workspace)).toEqual([{ ...named, last_used_at: null }]);
    const firstMs = Date.now();
    await use();
    expect(await outdatedKeysOf(workspace)).toEqual([{ ...named, last_used_at: new Date(firstMs).toISOString() }]);
    vi.setSystemTime(firstMs + 59 * MINUTE);
    await use();
    expect(await outdatedKeysOf(workspace)).toMatchObject([{ last_used_at: new Date(firstMs).toISOString() }]);
    vi.setSystemTime(firstMs + HOUR);
    await use();
    expect(await outdatedKeysOf(workspace)).toMatchObject([{ last_used_at: new Date(firstMs + HOUR).toISOString() }]);
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${key.id}`);
    expect(await outdatedKeysOf(workspace)).toEqual([]);
  });

  test("cost a request no extra round trip", async () => {
    const { workspace, call } = await liveBefore();
    const { key } = await operate("POST", `/workspaces/${workspace.id}/keys`, { name: "Young", scopes: ["*"] });
    await send("GET", "/api/v1/agents", { token: key });
    const usual = await costOf(() => send("GET", "/api/v1/agents", { token: key }));
    const { object_hops: hops, d1_trips: trips } = await costOf(() => call(BOTH, "GET", "/agents"));
    expect([hops, trips]).toEqual([usual.object_hops, usual.d1_trips]);
  });
});

test("a leaked secret can be retired immediately: its API keys keep working, its visitor tokens are refused", async () => {
  const { workspace, agent, call, ask } = await liveBefore();
  const token = (await ask(OLD)).body.visitor_token;
  const again = (bindings: Bindings) =>
    sendTo(bindings, "POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: "Hello?", visitor_token: token } });
  expect((await again(BOTH)).status).toBe(200);
  const retired = { RETIRED_KEY_SECRET: `older, ${OLD.KEY_SECRET}` };
  expect((await again(retired)).body.error.code).toBe("invalid_visitor_token");
  expect((await call(retired, "GET", "/me")).status).toBe(200);
  await evict(env.GATE.getByName(workspace.id));
  expect(await outdatedKeysOf(workspace)).toMatchObject([{ name: "Old", last_used_at: expect.any(String) }]);
  expect((await call(NEW, "GET", "/me")).status).toBe(401);
});

describe("without the old key", () => {
  test("a delivery fails without counting against its endpoint, and is sent once the key is back", async () => {
    const receiver = await createReceiver();
    await changeEndpoint(receiver, { secret: await sealSecret(envWith(OLD), receiver.secret, receiver.id) });
    await behaveAt(receiver.host, {});
    const simulation = new DeliverySimulation(Date.now());
    const [id] = (await simulation.emit([receiver])) as [string];
    await simulation.runUntil(simulation.nowMs);
    expect(await attemptsOf(id)).toMatchObject([{ error: "secret_unreadable", response_status: null, url: receiver.url }]);
    expect(await deliveryOf(id)).toMatchObject({ status: "pending", attempt_count: 1, lease_until: null });
    expect(await endpointOf(receiver)).toMatchObject({ enabled: 1, failure_streak: 0, failing_since: null });
    expect(await receivedBy(receiver.host)).toEqual([]);
    await walk(BOTH, "POST");
    await simulation.runUntil(simulation.nowMs + MINUTE);
    expect(await deliveryOf(id)).toMatchObject({ status: "succeeded", attempt_count: 2 });
    expect((await receivedBy(receiver.host)).map((request) => verify(receiver.secret, request, simulation.nowMs).type)).toEqual([
      "lead.created",
    ]);
  });

  test("a delivery that has failed by then can be redelivered", async () => {
    const receiver = await createReceiver();
    await changeEndpoint(receiver, { secret: await sealSecret(envWith(OLD), receiver.secret, receiver.id) });
    await behaveAt(receiver.host, {});
    const simulation = new DeliverySimulation(Date.now());
    const [id] = (await simulation.emit([receiver])) as [string];
    await simulation.runUntil(simulation.nowMs + 7 * HOUR);
    expect(await deliveryOf(id)).toMatchObject({ status: "failed", attempt_count: 9 });
    await walk(BOTH, "POST");
    const again = await receiver.workspace.call("POST", `/webhooks/deliveries/${id}/redeliver`);
    expect(again.status).toBe(202);
    await deliver("support-agent-deliveries", { deliveryId: again.body.id });
    expect(await deliveryOf(again.body.id)).toMatchObject({ status: "succeeded" });
  });

  test("a test event reports the reason", async () => {
    const { call, webhook, host } = await liveBefore();
    await behaveAt(host, {});
    const lost = { ...BOTH, ENCRYPTION_KEY: "another" };
    const { status, body } = await call(lost, "POST", `/webhooks/${webhook.id}/test`);
    expect([status, body]).toMatchObject([200, { status: "failed", attempts: [{ error: "secret_unreadable", response_status: null }] }]);
    expect(await receivedBy(host)).toEqual([]);
    expect((await call(BOTH, "POST", `/webhooks/${webhook.id}/test`)).body).toMatchObject({ status: "succeeded" });
  });

  test("an identity is neither accepted nor refused: 503, while other visitors are served", async () => {
    const { ask, identity, previousIdentity, workspace } = await liveBefore();
    const lost = await ask(NEW, await hashOf(identity, "u-1"));
    expect([lost.status, lost.body.error.code, lost.headers.get("Retry-After")]).toEqual([503, "unavailable", "60"]);
    expect(lost.body.error.message).toContain("cannot be read at the moment");
    expect((await ask(NEW)).status).toBe(200);
    // A new secret serves at once; what only the unreadable one could vouch for waits.
    const [agent] = await query<{ id: string }>(workspace.id, "SELECT id FROM agents WHERE workspace_id = ?", workspace.id);
    const { secret } = await operate("POST", `/workspaces/${workspace.id}/agents/${agent!.id}/rotate-identity-secret`);
    expect((await ask(NEW, await hashOf(secret, "u-1"))).status).toBe(200);
    expect((await ask(NEW, await hashOf(identity, "u-1"))).status).toBe(503);
    expect((await ask(BOTH, await hashOf(identity, "u-1"))).status).toBe(200);
    expect((await ask(BOTH, await hashOf(previousIdentity, "u-1"))).status).toBe(401);
  });

  test("a stored response is not returned, its request is not repeated, and it is counted until it expires", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const { call, agent } = await liveBefore();
    const key = { "Idempotency-Key": `ann@example.com ${crypto.randomUUID()}` };
    const answer = { question: "How?", answer: "So." };
    const post = (bindings: Bindings) => call(bindings, "POST", `/agents/${agent.id}/answers`, answer, key);
    const logs = (["log", "error"] as const).map((level) => vi.spyOn(console, level));
    const first = await post(OLD);
    const doneMs = Date.now();
    const lost = await post({ ...BOTH, ENCRYPTION_KEY: env.ENCRYPTION_KEY });
    expect([first.status, lost.status, lost.body.error.code]).toEqual([201, 503, "unavailable"]);
    const lines = logs.flatMap(({ mock }) => mock.calls.map(([line]) => String(line)));
    for (const log of logs) log.mockRestore();
    expect(lines.join("\n")).toContain("UnreadableSecretError");
    expect(lines.join("\n")).not.toContain("ann@example.com");
    const replayed = await post(BOTH);
    expect([replayed.body, replayed.headers.get("Idempotent-Replayed")]).toEqual([first.body, "true"]);
    expect((await call(BOTH, "GET", `/agents/${agent.id}/answers`)).body.total).toBe(1);
    const keepUntil = async () =>
      (await walk(BOTH, "POST"))
        .map((step) => step.keep_until)
        .filter((at) => at !== null)
        .toSorted()
        .at(-1);
    expect(await keepUntil()).toBe(new Date(doneMs + 24 * HOUR).toISOString());
    vi.setSystemTime(doneMs + 24 * HOUR);
    expect(await keepUntil()).toBeUndefined();
  });

  test("a person's unfinished erasure waits without blocking others", async () => {
    const workspace = await createWorkspaceOn(0);
    const { db } = newOperation(env, new Meter(), workspace.id);
    const begin = async (bindings: Bindings, atMs: number) => {
      const id = newId(shardOf(workspace.id), atMs);
      const identifier = await encryptSecret(envWith(bindings), JSON.stringify({ type: "anon_id", value: id }), `privacy/${id}`);
      const audit = { id, workspaceId: workspace.id, actor: "test", action: "privacy.erase", subjectHash: "h", createdAt: atMs };
      await db.batch(createErasure(db, audit, identifier, []));
      return id;
    };
    const unfinished = async () => {
      const rows = await query<{ id: string }>(
        workspace.id,
        "SELECT id FROM privacy_erasures WHERE workspace_id = ? ORDER BY id",
        workspace.id,
      );
      return rows.map(({ id }) => id);
    };
    const nowMs = Date.now();
    const waiting: string[] = [];
    for (let at = 0; at < 6; at++) waiting.push(await begin(OLD, nowMs + at));
    await begin(NEW, nowMs + 10);
    await sweep(env, nowMs + 10 * MINUTE);
    // The first five fail and are put off.
    await sweep(env, nowMs + 10 * MINUTE + 1);
    expect(await unfinished()).toEqual(waiting);
    await walk(BOTH, "POST");
    await sweep(env, nowMs + 11 * MINUTE);
    await sweep(env, nowMs + 12 * MINUTE);
    expect(await unfinished()).toEqual([]);
  });
});

describe("a step", () => {
  test("reads a page of a table in one trip, and writes it in another", async () => {
    await liveBefore(0);
    const read = await costOf(() => operateOn(BOTH, "GET", "/secrets"));
    expect([read.object_hops, read.d1_trips]).toEqual([0, 1]);
    const written = await costOf(() => operateOn(BOTH, "POST", "/secrets/reencrypt"));
    expect([written.object_hops, written.d1_trips]).toEqual([0, 2]);
  });

  test("is recorded in the audit log where it changes something", async () => {
    await liveBefore(1);
    const recorded = () => operate("GET", "/audit?operation=reencryptSecrets&limit=1");
    const before = await recorded();
    await walk(BOTH, "GET");
    expect(await recorded()).toEqual(before);
    await walk(BOTH, "POST");
    const after = await recorded();
    expect(after.total).toBeGreaterThan(before.total);
    expect(after.data).toMatchObject([{ operation: "reencryptSecrets", workspace_id: null, target_id: null, fields: [] }]);
    await walk(BOTH, "POST");
    expect(await recorded()).toEqual(after);
  });

  test("continues after the last row, through all pages, tables and shards", async () => {
    const workspace = await createWorkspaceOn(1);
    const made = await Promise.all(
      Array.from({ length: 27 }, (_, at) => operate("POST", `/workspaces/${workspace.id}/agents`, { name: `Agent ${at}` })),
    );
    expect(made.length).toBe(27);
    const steps = await walk(NEW, "GET");
    const cursors = steps.map((step) => step.next_cursor).filter((cursor) => cursor !== null);
    expect(cursors).toContainEqual(expect.stringMatching(/^1\.agents\.[0-9a-f-]{36}$/));
    expect(new Set(cursors).size).toBe(cursors.length);
    for (const table of ["webhook_endpoints", "privacy_erasures", "idempotency_records", "api_keys"]) {
      for (const shard of [0, 1]) expect(cursors).toContain(`${shard}.${table}.`);
    }
  });

  test.each(["x", "0.users.", "0.agents.'", "-1.agents.", "0.agents", "0.agents.z", " "])("the cursor %j is refused", async (cursor) => {
    const answer = await send("GET", `/operator/v1/secrets?cursor=${encodeURIComponent(cursor)}`, { token: env.OPERATOR_TOKEN });
    expect([answer.status, answer.body.detail[0]]).toMatchObject([422, { loc: ["query", "cursor"], type: "value_error" }]);
  });

  test("a cursor beyond the last shard is refused", async () => {
    const answer = await send("POST", "/operator/v1/secrets/reencrypt?cursor=7.agents.", { token: env.OPERATOR_TOKEN });
    expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
  });

  describe("with missing databases", () => {
    const ask = async (bindings: Record<string, unknown>, cursor: string) => {
      const headers = { ...newAddress(), Authorization: `Bearer ${env.OPERATOR_TOKEN}` };
      const request = new Request(`http://service.test/operator/v1/secrets?cursor=${cursor}`, { headers });
      return (await app.fetch(request, envWith(bindings), createExecutionContext())).json<any>();
    };

    test.each([
      ["between others", { DB_1: undefined, DB_2: env.DB_1 }],
      ["at the end", { DB_1: undefined }],
    ])("one that holds workspaces is not passed over: %s", async (_, bindings) => {
      await createWorkspaceOn(1);
      expect((await ask(bindings, "0.api_keys.")).next_cursor).toBe("1.agents.");
      expect((await ask(bindings, "1.agents.")).error.code).toBe("unavailable");
    });

    test("numbers that were never used are", async () => {
      const bindings = { DB_5: env.DB_1 };
      expect((await ask(bindings, "1.api_keys.")).next_cursor).toBe("5.agents.");
      expect((await ask(bindings, "3.agents.")).error.code).toBe("not_found");
      expect((await ask(bindings, "5.api_keys.")).next_cursor).toBeNull();
    });
  });

  test("a workspace's key is refused", async () => {
    const workspace = await createWorkspace();
    for (const [method, path] of [
      ["GET", "/operator/v1/secrets"],
      ["POST", "/operator/v1/secrets/reencrypt"],
    ] as const) {
      expect((await send(method, path, { token: workspace.key, headers: newAddress() })).status).toBe(401);
      expect((await send(method, path, { headers: newAddress() })).status).toBe(401);
    }
  });

  test("counts unreadable secrets, and leaves them", async () => {
    const { workspace, agent } = await liveBefore(0);
    const before = await storedOf(workspace);
    const steps = await walk({ ...BOTH, ENCRYPTION_KEY: `${env.ENCRYPTION_KEY},another` }, "POST");
    const unreadable = steps.reduce((sum, { secrets }) => sum + secrets.tool_headers.unreadable, 0);
    expect(unreadable).toBeGreaterThanOrEqual(2);
    expect(await storedOf(workspace)).toEqual(before);
    // A text that says it is of a key that is there, and was moved.
    const identities = async () => (await walk(BOTH, "POST")).reduce((sum, { secrets }) => sum + secrets.identity_secrets.unreadable, 0);
    const others = await identities();
    const sealed = await encryptSecret(envWith(OLD), "x", "agent/elsewhere");
    await query(workspace.id, "UPDATE agents SET identity_secret = ? WHERE id = ?", sealed, agent.id);
    expect(await identities()).toBe(others + 1);
    expect((await storedOf(workspace))["identity"]).toBe(sealed);
  });
});

test("a new key records the secret that signed it, and a forged key is refused", async () => {
  const { workspace } = await liveBefore();
  const foreign = await mintApiKey(workspace.id, OLD.KEY_SECRET);
  expect((await sendTo(BOTH, "GET", "/api/v1/me", { token: foreign.key })).status).toBe(401);
  const { key } = await operateOn(BOTH, "POST", `/workspaces/${workspace.id}/keys`, { name: "Young", scopes: ["*"] });
  expect((await outdatedKeysOf(workspace)).map(({ name }) => name)).toEqual(["Old"]);
  expect((await sendTo(NEW, "GET", "/api/v1/me", { token: key })).status).toBe(200);
});
