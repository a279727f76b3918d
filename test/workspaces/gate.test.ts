import { createExecutionContext, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { app } from "../../src/app.ts";
import { mintApiKey, verifyApiKey } from "../../src/workspaces/api-key.ts";
import { join } from "../members/team.ts";
import { type Answer, costOf, createKey, createWorkspace, evict, newAddress, operate, query, send } from "../harness.ts";

afterEach(() => {
  vi.useRealTimers();
});

const me = (token: string, headers = newAddress()) => send("GET", "/api/v1/me", { token, headers });
const remaining = ({ headers }: Answer) => Number(headers.get("X-RateLimit-Remaining"));
const times = <Result>(count: number, call: () => Promise<Result>) => Promise.all(Array.from({ length: count }, call));
/** Counts the answers of each status. */
function statuses(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Calls with another configuration of secrets. */
async function meWith(bindings: Partial<Env>, token: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}`, ...newAddress() };
  const request = new Request("http://service.test/api/v1/me", { headers });
  return (await app.fetch(request, { ...env, ...bindings }, createExecutionContext())).status;
}

describe("the workspace's rate limit", () => {
  test("of 100 concurrent requests on the free plan exactly 60 are accepted", async () => {
    const workspace = await createWorkspace({ plan: "free" });
    const answers = await times(100, () => me(workspace.key));
    expect(statuses(answers)).toEqual({ 200: 60, 429: 40 });
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted.map(remaining).sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, left) => left));
    for (const refused of answers.filter(({ status }) => status === 429)) {
      expect(remaining(refused)).toBe(0);
      expect(refused.headers.get("X-RateLimit-Limit")).toBe("60");
      expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(55);
      expect(Number(refused.headers.get("Retry-After"))).toBeLessThanOrEqual(60);
      expect(refused.body.error).toMatchObject({ code: "rate_limited", message: expect.stringContaining("rate limit") });
    }
  });

  test("all keys of a workspace share it", async () => {
    const workspace = await createWorkspace({ limits: { requests_per_minute: 5 } });
    const { key } = await createKey(workspace, ["leads:read"]);
    const counts = [await me(workspace.key), await me(key), await me(workspace.key), await me(key), await me(key)].map(remaining);
    expect(counts).toEqual([4, 3, 2, 1, 0]);
    expect((await me(workspace.key)).status).toBe(429);
    expect((await me(key)).status).toBe(429);
  });

  test("each member in the console has their own, and takes nothing from the keys", async () => {
    const workspace = await createWorkspace();
    const members = [await join(workspace, "agent"), await join(workspace, "viewer")];
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { requests_per_minute: 4 } });
    for (const member of members) {
      const answers = await times(5, () => member.call("GET", "/me"));
      // The sign-in was the first request.
      expect(statuses(answers)).toEqual({ 200: 3, 429: 2 });
      expect(answers.at(-1)!.body.error.message).toMatch(/^The rate limit is exceeded\./);
    }
    // The key has invited two.
    expect(remaining(await me(workspace.key))).toBe(1);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { requests_per_minute: 0 } });
    expect((await members[0]!.call("GET", "/me")).status).toBe(429);
  });

  test("another workspace has its own", async () => {
    const [full, other] = [
      await createWorkspace({ limits: { requests_per_minute: 1 } }),
      await createWorkspace({ limits: { requests_per_minute: 1 } }),
    ];
    expect(statuses(await times(3, () => me(full.key)))).toEqual({ 200: 1, 429: 2 });
    expect((await me(other.key)).status).toBe(200);
  });

  test("every accepted request counts, also one that fails", async () => {
    const workspace = await createWorkspace({ limits: { requests_per_minute: 10 } });
    const { key } = await createKey(workspace, ["leads:read"]);
    await workspace.call("GET", "/agents/x");
    await workspace.call("GET", "/nothing");
    await workspace.call("PUT", "/me");
    await send("GET", "/api/v1/agents", { token: key });
    expect(remaining(await me(workspace.key))).toBe(5);
  });

  test("refused requests do not count: 60 s after the first accepted one there is room again", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const startMs = Date.now();
    const workspace = await createWorkspace({ limits: { requests_per_minute: 2 } });
    const first = await me(workspace.key);
    expect(first.headers.get("X-RateLimit-Reset")).toBe(String(Math.ceil((startMs + 60_000) / 1000)));
    vi.setSystemTime(startMs + 20_000);
    await me(workspace.key);
    for (const [afterMs, retryAfter] of [
      [30_000, 30],
      [45_500, 15],
      [59_999, 1],
    ] as const) {
      vi.setSystemTime(startMs + afterMs);
      const refused = await me(workspace.key);
      expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, String(retryAfter)]);
      expect(refused.headers.get("X-RateLimit-Reset")).toBe(String(Math.ceil((startMs + 80_000) / 1000)));
    }
    vi.setSystemTime(startMs + 60_000);
    expect((await me(workspace.key)).status).toBe(200);
    expect((await me(workspace.key)).headers.get("Retry-After")).toBe("20");
    vi.setSystemTime(startMs + 80_000);
    expect((await me(workspace.key)).status).toBe(200);
  });

  test("the count survives an eviction", async () => {
    const workspace = await createWorkspace({ limits: { requests_per_minute: 10 } });
    await times(7, () => me(workspace.key));
    await evict(env.GATE.getByName(workspace.id));
    expect(remaining(await me(workspace.key))).toBe(2);
    await evict(env.GATE.getByName(workspace.id));
    const answers = await times(10, () => me(workspace.key));
    expect(statuses(answers)).toEqual({ 200: 2, 429: 8 });
    await evict(env.GATE.getByName(workspace.id));
    expect((await me(workspace.key)).status).toBe(429);
  });

  test("the count survives evictions minute after minute, while its slots are reused", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const startMs = Date.now();
    const workspace = await createWorkspace({ limits: { requests_per_minute: 4 } });
    const accepted: number[] = [];
    for (let atMs = 0; atMs < 200_000; atMs += 7_300) {
      vi.setSystemTime(startMs + atMs);
      const inWindow = accepted.filter((earlier) => earlier > atMs - 60_000).length;
      const answer = await me(workspace.key);
      expect(answer.status, `after ${atMs} ms`).toBe(inWindow < 4 ? 200 : 429);
      if (answer.status === 200) accepted.push(atMs);
      await evict(env.GATE.getByName(workspace.id));
    }
    expect(accepted.length).toBeGreaterThan(12);
  });
});

describe("a change takes effect on the next request", () => {
  test("revoking a key", async () => {
    const workspace = await createWorkspace();
    const { id, key } = await createKey(workspace, ["*"]);
    expect((await me(key)).status).toBe(200);
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${id}`);
    const answer = await me(key);
    expect([answer.status, answer.body.error.code]).toEqual([401, "revoked_api_key"]);
    expect((await me(workspace.key)).status).toBe(200);
    await evict(env.GATE.getByName(workspace.id));
    expect((await me(key)).body.error.code).toBe("revoked_api_key");
  });

  test("revoking a key that the gate failed to reload", async () => {
    const workspace = await createWorkspace();
    const { id, key } = await createKey(workspace, ["*"]);
    expect((await me(key)).status).toBe(200);
    await query(workspace.id, "UPDATE api_keys SET revoked_at = 1 WHERE id = ?", id);
    await runInDurableObject(env.GATE.getByName(workspace.id), async (gate) => {
      const object = gate as unknown as { env: Env };
      const bound = object.env;
      // The object has no database.
      object.env = {} as Env;
      await expect(gate.reload()).rejects.toThrow("No D1 database is bound");
      object.env = bound;
    });
    expect((await me(key)).body.error.code).toBe("revoked_api_key");
  });

  test("revoking many keys at once, under traffic", async () => {
    const workspace = await createWorkspace();
    const keys = await times(8, () => createKey(workspace, ["*"]));
    await evict(env.GATE.getByName(workspace.id));
    await Promise.all(
      keys.map(async ({ id, key }) => {
        const traffic = times(5, () => me(key));
        await operate("DELETE", `/workspaces/${workspace.id}/keys/${id}`);
        // Whatever else is being revoked or read just now: this one is.
        for (const answer of await times(3, () => me(key))) expect(answer.body.error?.code).toBe("revoked_api_key");
        for (const { status } of await traffic) expect([200, 401]).toContain(status);
      }),
    );
    expect((await me(workspace.key)).status).toBe(200);
  });

  test("a new key, also many at once", async () => {
    const workspace = await createWorkspace();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { key } = await createKey(workspace, ["agents:read"]);
        expect((await me(key)).status).toBe(200);
      }),
    );
  });

  test("plan and limits", async () => {
    const workspace = await createWorkspace({ plan: "free" });
    expect((await me(workspace.key)).headers.get("X-RateLimit-Limit")).toBe("60");
    await operate("PATCH", `/workspaces/${workspace.id}`, { plan: "pro" });
    const pro = await me(workspace.key);
    expect([pro.headers.get("X-RateLimit-Limit"), remaining(pro), pro.body.plan]).toEqual(["300", 298, "pro"]);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { requests_per_minute: 3 } });
    const limited = await me(workspace.key);
    expect([limited.headers.get("X-RateLimit-Limit"), remaining(limited)]).toEqual(["3", 0]);
    expect((await me(workspace.key)).status).toBe(429);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { requests_per_minute: null } });
    expect(remaining(await me(workspace.key))).toBe(296);
  });

  test("the name", async () => {
    const workspace = await createWorkspace();
    await me(workspace.key);
    await operate("PATCH", `/workspaces/${workspace.id}`, { name: "Renamed" });
    expect((await me(workspace.key)).body.workspace.name).toBe("Renamed");
  });

  test("deleting the workspace", async () => {
    const workspace = await createWorkspace();
    expect((await me(workspace.key)).status).toBe(200);
    await operate("DELETE", `/workspaces/${workspace.id}`);
    expect((await me(workspace.key)).body.error.code).toBe("invalid_api_key");
  });
});

describe("a change that the service died in, between D1 and the gate, takes effect within 60 s", () => {
  const SLOW_CHANGES: [name: string, statement: string, code: string][] = [
    ["revoking a key", "UPDATE api_keys SET revoked_at = 1 WHERE workspace_id = ?", "revoked_api_key"],
    ["deleting the workspace", "UPDATE workspaces SET deleted_at = 1 WHERE id = ?", "invalid_api_key"],
  ];
  /** Waits for the read of the directory that runs beside the requests. */
  const refreshed = ({ id }: { id: string }) =>
    runInDurableObject(env.GATE.getByName(id), (gate) => (gate as unknown as { refreshing?: Promise<void> }).refreshing);
  /** Leaves the gate without any database while something runs. */
  const withoutDatabase = async ({ id }: { id: string }, run: () => Promise<void>) => {
    const setEnv = (bound: Env) =>
      runInDurableObject(env.GATE.getByName(id), (gate) => {
        const object = gate as unknown as { env: Env };
        const before = object.env;
        object.env = bound;
        return before;
      });
    const bound = await setEnv({} as Env);
    await run();
    await setEnv(bound);
  };

  test.each(SLOW_CHANGES)("%s, though nothing was asked in between", async (_, statement, code) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const workspace = await createWorkspace();
    expect((await me(workspace.key)).status).toBe(200);
    await query(workspace.id, statement, workspace.id);
    vi.setSystemTime(Date.now() + 60_000);
    const answers = await times(5, () => me(workspace.key));
    for (const { body } of answers) expect(body.error?.code).toBe(code);
  });

  test.each(SLOW_CHANGES)("%s, under traffic that waits for no read", async (_, statement, code) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const workspace = await createWorkspace();
    expect((await me(workspace.key)).status).toBe(200);
    await query(workspace.id, statement, workspace.id);
    vi.setSystemTime(Date.now() + 30_000);
    expect(await costOf(() => me(workspace.key))).toMatchObject({ object_hops: 1, d1_trips: 0, status: 200 });
    await refreshed(workspace);
    expect((await me(workspace.key)).body.error?.code).toBe(code);
  });

  test("a raised limit", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const workspace = await createWorkspace();
    await me(workspace.key);
    await query(workspace.id, `UPDATE workspaces SET limits = '{"requests_per_minute":7}' WHERE id = ?`, workspace.id);
    vi.setSystemTime(Date.now() + 60_000);
    expect((await me(workspace.key)).headers.get("X-RateLimit-Limit")).toBe("7");
  });

  test("while D1 is out of reach, a directory serves for 60 s and no longer", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const workspace = await createWorkspace();
    await me(workspace.key);
    await withoutDatabase(workspace, async () => {
      vi.setSystemTime(Date.now() + 59_999);
      expect((await me(workspace.key)).status).toBe(200);
      await refreshed(workspace).catch(() => {});
      expect((await me(workspace.key)).status).toBe(200);
      await refreshed(workspace).catch(() => {});
      vi.setSystemTime(Date.now() + 1);
      expect((await me(workspace.key)).status).toBe(503);
    });
    expect((await me(workspace.key)).status).toBe(200);
  });
});

test("a read of D1 that hangs is given up: requests that wait for it get a Retry-After, and the next request reads anew", async () => {
  const workspace = await createWorkspace();
  const { id, key } = await createKey(workspace, ["*"]);
  const gate = env.GATE.getByName(workspace.id);
  await evict(gate);
  const hanging = { prepare: (text: string) => env.DB.prepare(text), batch: () => new Promise(() => {}) };
  const bound = await runInDurableObject(gate, (object) => {
    const { env: before } = object as unknown as { env: Env };
    Object.assign(object, { readLimitMs: 20, env: { ...before, DB: hanging, DB_1: hanging } });
    return before;
  });
  for (const { status, headers, body } of await times(3, () => me(key))) {
    expect([status, body.error.code, Number(headers.get("Retry-After"))]).toEqual([503, "unavailable", expect.any(Number)]);
  }
  const revoke = () => send("DELETE", `/operator/v1/workspaces/${workspace.id}/keys/${id}`, { token: env.OPERATOR_TOKEN });
  expect((await revoke()).status).toBe(503);
  await runInDurableObject(gate, (object) => void Object.assign(object, { env: bound }));
  expect((await me(key)).body.error.code).toBe("revoked_api_key");
  expect((await me(workspace.key)).status).toBe(200);
});

describe("refused keys", () => {
  test("a flood of a revoked key reaches the gate once in 10 s, and its log lines name workspace and key", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const workspace = await createWorkspace();
    const { id, key } = await createKey(workspace, ["*"]);
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${id}`);
    const refusal = (hops: number) => ({ status: 401, object_hops: hops, d1_trips: 0, workspace_id: workspace.id, key_id: id });
    expect(await costOf(() => me(key))).toMatchObject(refusal(1));
    expect(await costOf(() => me(key))).toMatchObject(refusal(0));
    expect((await me(key)).body.error.code).toBe("revoked_api_key");
    expect((await me(workspace.key)).status).toBe(200);
    vi.setSystemTime(Date.now() + 10_000);
    expect(await costOf(() => me(key))).toMatchObject(refusal(1));
  });

  test("a flood of a genuine key that the workspace does not have reaches the gate once in 10 s", async () => {
    const workspace = await createWorkspace();
    const { key } = await mintApiKey(workspace.id, env.KEY_SECRET);
    expect(await costOf(() => me(key))).toMatchObject({ status: 401, object_hops: 1, workspace_id: workspace.id });
    expect(await costOf(() => me(key))).toMatchObject({ status: 401, object_hops: 0, workspace_id: workspace.id });
  });

  test("keys of a workspace that does not exist yet are not remembered", async () => {
    const workspace = await createWorkspace();
    await query(workspace.id, "UPDATE workspaces SET deleted_at = 1 WHERE id = ?", workspace.id);
    await env.GATE.getByName(workspace.id).reload();
    expect((await me(workspace.key)).status).toBe(401);
    await query(workspace.id, "UPDATE workspaces SET deleted_at = NULL WHERE id = ?", workspace.id);
    await env.GATE.getByName(workspace.id).reload();
    expect((await me(workspace.key)).status).toBe(200);
  });

  test("the gate loads the latest 100 revoked keys; older ones are unknown", async () => {
    const workspace = await createWorkspace();
    const { key } = await createKey(workspace, ["*"]);
    const revoke = "UPDATE api_keys SET revoked_at = 1000 WHERE workspace_id = ? AND name = 'Extra'";
    const copy = `INSERT INTO api_keys (id, workspace_id, name, prefix, hash, secret_id, created_at, revoked_at)
      SELECT lower(hex(randomblob(16))), ?, 'Old', 'sk_live_', lower(hex(randomblob(32))), 'secret', 1, value FROM json_each(?)`;
    await query(workspace.id, revoke, workspace.id);
    await query(workspace.id, copy, workspace.id, JSON.stringify(Array.from({ length: 99 }, (_, at) => 1001 + at)));
    await env.GATE.getByName(workspace.id).reload();
    expect((await me(key)).body.error.code).toBe("revoked_api_key");
    await query(workspace.id, copy, workspace.id, "[1100]");
    await env.GATE.getByName(workspace.id).reload();
    const claim = await verifyApiKey(key, [env.KEY_SECRET]);
    expect((await env.GATE.getByName(workspace.id).admit(claim!)).outcome).toBe("unknown_key");
  });
});

describe("forged keys", () => {
  const madeUp = () => `sk_live_${crypto.getRandomValues(new Uint8Array(64)).toBase64({ alphabet: "base64url", omitPadding: true })}`;

  test("reach no object and no database", async () => {
    const workspace = await createWorkspace();
    await me(workspace.key);
    const objects = (await listDurableObjectIds(env.GATE)).length;
    const headers = newAddress();
    const other = await mintApiKey(workspace.id, "another secret");
    const bytes = Uint8Array.fromBase64(workspace.key.slice(8), { alphabet: "base64url" });
    bytes[63]! ^= 1;
    const flipped = `sk_live_${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
    for (const key of [madeUp(), other.key, flipped, `${workspace.key}A`, "x"]) {
      expect((await me(key, headers)).body.error.code).toBe("invalid_api_key");
      expect(await costOf(() => me(key, headers))).toMatchObject({ object_hops: 0, d1_trips: 0, rows_read: 0 });
    }
    expect(await costOf(() => send("GET", "/api/v1/me", { headers }))).toMatchObject({ object_hops: 0, d1_trips: 0 });
    expect((await listDurableObjectIds(env.GATE)).length).toBe(objects);
  });

  test("do not count against a workspace's rate limit", async () => {
    const workspace = await createWorkspace({ limits: { requests_per_minute: 5 } });
    const { key } = await mintApiKey(workspace.id, env.KEY_SECRET);
    for (let at = 0; at < 10; at++) expect((await me(key)).body.error.code).toBe("invalid_api_key");
    expect(remaining(await me(workspace.key))).toBe(4);
  });

  test("a genuine key of a workspace that does not exist is invalid", async () => {
    const { key } = await mintApiKey("019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00", env.KEY_SECRET);
    expect((await me(key)).body.error.code).toBe("invalid_api_key");
  });

  test("KEY_SECRET can be rotated: keys of the old value stay valid", async () => {
    const workspace = await createWorkspace();
    expect(await meWith({ KEY_SECRET: `new-secret,${env.KEY_SECRET}` }, workspace.key)).toBe(200);
    expect(await meWith({ KEY_SECRET: ` new-secret , ${env.KEY_SECRET} ` }, workspace.key)).toBe(200);
    expect(await meWith({ KEY_SECRET: "new-secret" }, workspace.key)).toBe(401);
  });

  test.each(["bearer", "BEARER", "Bearer  "])("the authentication scheme is case-insensitive: %j", async (scheme) => {
    const workspace = await createWorkspace();
    const answer = await send("GET", "/api/v1/me", { headers: { Authorization: `${scheme} ${workspace.key}` } });
    expect(answer.status).toBe(200);
  });
});

describe("the address's rate limit", () => {
  test("60 requests a minute without a valid key, then 429; a valid key from the same address still works", async () => {
    const workspace = await createWorkspace();
    const headers = newAddress();
    const answers = await times(60, () => me("sk_live_junk", headers));
    expect(statuses(answers)).toEqual({ 401: 60 });
    expect(answers.map(remaining).sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, left) => left));
    for (const refused of [await me("sk_live_junk", headers), await send("GET", "/api/v1/me", { headers })]) {
      expect(refused.status).toBe(429);
      expect(refused.body.error.code).toBe("rate_limited");
      expect(refused.headers.get("X-RateLimit-Limit")).toBe("60");
      expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(50);
    }
    const valid = await me(workspace.key, headers);
    expect([valid.status, valid.headers.get("X-RateLimit-Limit")]).toEqual([200, "1200"]);
    expect((await me("sk_live_junk")).status).toBe(401);
  });

  test("missing, invalid and revoked keys, the OpenAPI document and the operator API share it", async () => {
    const workspace = await createWorkspace();
    const { id, key } = await createKey(workspace, ["*"]);
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${id}`);
    const headers = newAddress();
    await times(20, () => me(key, headers));
    await times(20, () => send("GET", "/api/v1/me", { headers }));
    await times(10, () => send("GET", "/api/v1/openapi.json", { headers }));
    await times(10, () => send("GET", "/operator/v1/workspaces", { token: "wrong", headers }));
    expect((await me(key, headers)).status).toBe(429);
    expect((await send("GET", "/api/v1/openapi.json", { headers })).status).toBe(429);
    expect((await send("GET", "/operator/v1/workspaces", { token: "wrong", headers })).status).toBe(429);
    expect((await send("GET", "/operator/v1/workspaces", { token: env.OPERATOR_TOKEN, headers })).status).toBe(200);
  });

  test("an IPv6 address counts as its network, an IPv4 address as itself", async () => {
    const admit = (address: string) => send("GET", "/api/v1/me", { headers: { "CF-Connecting-IP": address } });
    const remaining = async (address: string) => Number((await admit(address)).headers.get("X-RateLimit-Remaining"));
    expect(await remaining("2001:db8:1:2::1")).toBe(59);
    expect(await remaining("2001:DB8:1:2:ffff:ffff:ffff:ffff")).toBe(58);
    expect(await remaining("2001:db8:1:3::1")).toBe(59);
    expect(await remaining("192.0.2.1")).toBe(59);
    expect(await remaining("::ffff:192.0.2.1")).toBe(58);
    expect(await remaining("192.0.2.2")).toBe(59);
  });

  test("after 60 s the address may try again", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const headers = newAddress();
    await times(60, () => me("junk", headers));
    const refused = await me("junk", headers);
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "60"]);
    vi.setSystemTime(Date.now() + 60_000);
    expect((await me("junk", headers)).status).toBe(401);
  });
});

describe("the cost of authentication", () => {
  test("one call of a warm gate", async () => {
    const workspace = await createWorkspace();
    await me(workspace.key);
    expect(await costOf(() => me(workspace.key))).toMatchObject({ object_hops: 1, d1_trips: 0, rows_read: 0 });
  });

  test("a cold gate loads its directory once for any number of concurrent requests", async () => {
    const workspace = await createWorkspace();
    await evict(env.GATE.getByName(workspace.id));
    const log = vi.spyOn(console, "log");
    await times(20, () => me(workspace.key));
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line))).filter(({ event }) => event === "request");
    log.mockRestore();
    expect(lines).toHaveLength(20);
    expect(lines.reduce((sum, line) => sum + line.d1_trips, 0)).toBe(1);
  });
});
