import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { decryptSecret } from "../../src/platform/crypto/secrets.ts";
import { createAgent, operate, query, send } from "../harness.ts";
import { receivedBy } from "../outbound.ts";
import { solve, type Solved } from "../stand-ins/siteverify.ts";
import { claimsOf, createWidget, hashOf, newSecret, signJwt, type Visitor } from "./widget.ts";

const SITE_KEY = "0x4AAAAAAAsite-key";
const WWW = "https://www.example.com";

/** A widget whose agent asks for Turnstile, with a secret that no other test has. */
async function createGuarded() {
  const secret = `0x4${crypto.randomUUID().replaceAll("-", "")}`;
  const turnstile = { site_key: SITE_KEY, secret };
  const widget = await createWidget({ agent: { turnstile, allowed_origins: [WWW, "http://localhost:3000"] } });
  const path = `/workspaces/${widget.workspace.id}/agents/${widget.agent.id}`;
  const solved = (more: Partial<Solved> = {}) => solve({ secret, hostname: "www.example.com", ...more });
  const verifications = async () => {
    const received = await receivedBy("challenges.cloudflare.com");
    return received.map(({ body }) => JSON.parse(new TextDecoder().decode(body))).filter((each) => each.secret === secret);
  };
  const leave = (visitor: Visitor, body: Record<string, unknown> = {}) =>
    visitor.send("POST", `/agents/${widget.agent.id}/leads`, { email: "ada@example.com", ...body });
  return { ...widget, secret, path, solved, verifications, leave };
}

type Guarded = Awaited<ReturnType<typeof createGuarded>>;

/** Counts the rows that are stored about visitors. */
const storedIn = async ({ workspace: { id } }: Guarded) => {
  const fromVisitors = "(SELECT * FROM visitor_counts WHERE flow IN ('messages', 'leads'))";
  const tables = ["visitors", "conversations", "messages", "leads", fromVisitors];
  return Promise.all(tables.map(async (table) => (await query(id, `SELECT 1 FROM ${table} WHERE workspace_id = ?`, id)).length));
};

let guarded: Guarded;
beforeEach(async () => {
  guarded = await createGuarded();
});

describe("a visitor without a token", () => {
  test("needs a solved challenge for the first message, and none after it", async () => {
    const { visitor, solved, verifications, leave } = guarded;
    const ada = visitor();
    const refused = await ada.write({});
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "challenge_required" } } });
    expect(refused.body.error.message).toContain("turnstile_token");
    expect(await storedIn(guarded)).toEqual([0, 0, 0, 0, 0]);

    const turnstile_token = solved();
    const { status, body } = await ada.write({ turnstile_token });
    expect(status).toBe(200);
    expect(await verifications()).toEqual([{ secret: guarded.secret, response: turnstile_token }]);
    const { visitor_token, conversation_id } = body;
    expect((await ada.write({ visitor_token, conversation_id })).status).toBe(200);
    expect((await leave(ada, { visitor_token })).status).toBe(201);
    expect(await verifications()).toHaveLength(1);
  });

  test("needs one for a stream and for a lead too", async () => {
    const { visitor, solved, leave } = guarded;
    expect((await visitor().write({ stream: true })).body.error.code).toBe("challenge_required");
    expect((await leave(visitor())).body.error.code).toBe("challenge_required");
    expect(await storedIn(guarded)).toEqual([0, 0, 0, 0, 0]);
    expect((await visitor().write({ stream: true, turnstile_token: solved() })).body).toContain("event: done");
    expect((await leave(visitor(), { turnstile_token: solved() })).status).toBe(201);
  });

  test("needs none where a signature proves who it is", async () => {
    const { workspace, agent, visitor, verifications } = guarded;
    const secret = await newSecret(workspace, agent.id);
    expect((await visitor().write({ identity_token: await signJwt(secret, claimsOf("u-1")) })).status).toBe(200);
    expect((await visitor().write({ user: { id: "u-1" }, user_hash: await hashOf(secret, "u-1") })).status).toBe(200);
    const forged = await visitor().write({ identity_token: await signJwt("other", claimsOf("u-1")) });
    expect(forged.body.error.code).toBe("invalid_identity");
    expect(await verifications()).toEqual([]);
  });
});

describe("a challenge", () => {
  test("is good once", async () => {
    const { visitor, solved, leave } = guarded;
    const turnstile_token = solved();
    expect((await leave(visitor(), { turnstile_token })).status).toBe(201);
    const again = await leave(visitor(), { turnstile_token });
    expect(again).toMatchObject({ status: 403, body: { error: { code: "challenge_required" } } });
    expect(again.body.error.message).toContain("Send a new one");
    expect((await visitor().write({ turnstile_token })).status).toBe(403);
  });

  test("has to be solved on a host whose pages may use the agent, for this action or none", async () => {
    const { path, visitor, solved, leave } = guarded;
    const statusOf = async (more: Partial<Solved>) => (await leave(visitor(), { turnstile_token: solved(more) })).status;
    expect(await statusOf({ hostname: "localhost" })).toBe(201);
    // The service's own pages.
    expect(await statusOf({ hostname: "service.test" })).toBe(201);
    expect(await statusOf({ action: "support-agent" })).toBe(201);
    expect(await statusOf({ hostname: "evil.example" })).toBe(403);
    expect(await statusOf({ hostname: "example.com" })).toBe(403);
    expect(await statusOf({ hostname: "" })).toBe(403);
    expect(await statusOf({ action: "login" })).toBe(403);
    await operate("PATCH", path, { allowed_origins: ["*"] });
    expect(await statusOf({ hostname: "evil.example" })).toBe(201);
  });

  test.each<[string, Partial<Solved>]>([
    ["that has expired", { expired: true }],
    ["of another widget", { secret: "0x4another" }],
    ["that siteverify does not answer", { behaves: { fails: "silent" } }],
    ["at which the connection breaks off", { behaves: { fails: "reset" } }],
    ["that siteverify fails to verify", { behaves: { status: 500, body: "Internal Server Error" } }],
    ["that is answered with a page", { behaves: { body: "<title>OK</title>" } }],
    ["that is answered with another JSON", { behaves: { body: '{"success":"yes"}' } }],
    ["that is answered with too much", { behaves: { body: `{"success":true}`, times: 2_000 } }],
    ["that is redirected", { behaves: { status: 302, headers: { Location: `${WWW}/` } } }],
  ])("%s is refused, and nothing is stored", async (_, more) => {
    const { visitor, solved, leave } = guarded;
    const refused = await leave(visitor(), { turnstile_token: solved(more) });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "challenge_required" } } });
    expect(await storedIn(guarded)).toEqual([0, 0, 0, 0, 0]);
  });

  test("that is no token at all is refused", async () => {
    const { visitor, leave } = guarded;
    expect((await leave(visitor(), { turnstile_token: "XXXX.DUMMY.TOKEN.XXXX" })).status).toBe(403);
    expect((await leave(visitor(), { turnstile_token: "" })).status).toBe(403);
    expect((await leave(visitor(), { turnstile_token: "x".repeat(2049) })).status).toBe(422);
  });

  test("is not asked of a visitor whose conversation does not exist", async () => {
    const { visitor, verifications } = guarded;
    const { status } = await visitor().write({ conversation_id: crypto.randomUUID(), turnstile_token: guarded.solved() });
    expect(status).toBe(404);
    expect(await verifications()).toEqual([]);
  });
});

describe("an agent's Turnstile keys", () => {
  test("are stored encrypted: the operator reads the site key, and so does the widget", async () => {
    const { workspace, agent, path, secret, visitor } = guarded;
    expect(agent["turnstile"]).toEqual({ site_key: SITE_KEY });
    expect((await operate("GET", path)).turnstile).toEqual({ site_key: SITE_KEY });
    expect((await visitor().send("GET", `/agents/${agent.id}`)).body.turnstile_site_key).toBe(SITE_KEY);
    expect(JSON.stringify((await workspace.call("GET", `/agents/${agent.id}`)).body)).not.toContain(secret);
    const [row] = await query<{ turnstile_secret: string }>(agent.id, "SELECT * FROM agents WHERE id = ?", agent.id);
    expect(JSON.stringify(row)).not.toContain(secret);
    expect(await decryptSecret(env, row!.turnstile_secret, `agent/${agent.id}/turnstile`)).toBe(secret);
  });

  test("are changed together, stay with other changes, and are removed by null", async () => {
    const { workspace, agent, path, visitor } = guarded;
    await operate("PATCH", path, { name: "Renamed" });
    expect((await visitor().write({})).status).toBe(403);
    const renewed = { site_key: "0x4other", secret: "0x4renewed" };
    expect((await operate("PATCH", path, { turnstile: renewed })).turnstile).toEqual({ site_key: "0x4other" });
    const turnstile_token = solve({ secret: "0x4renewed", hostname: "www.example.com" });
    expect((await visitor().write({ turnstile_token })).status).toBe(200);
    expect((await operate("PATCH", path, { turnstile: null })).turnstile).toBeNull();
    expect((await visitor().write({})).status).toBe(200);
    expect((await visitor().send("GET", `/agents/${agent.id}`)).body.turnstile_site_key).toBeNull();
    // One of the two keys is not enough.
    const incomplete = { token: env.OPERATOR_TOKEN, body: { turnstile: { site_key: "0x4other" } } };
    expect((await send("PATCH", `/operator/v1${path}`, incomplete)).status).toBe(422);
    expect((await createAgent(workspace, { name: "Other" }))["turnstile"]).toBeNull();
  });

  test("that cannot be decrypted let nobody in", async () => {
    const { agent, visitor, solved } = guarded;
    await query(agent.id, "UPDATE agents SET turnstile_secret = 'v1.00000000.broken' WHERE id = ?", agent.id);
    const { status, body } = await visitor().write({ turnstile_token: solved() });
    expect([status, body.error.code]).toEqual([503, "unavailable"]);
    expect(await storedIn(guarded)).toEqual([0, 0, 0, 0, 0]);
  });
});
