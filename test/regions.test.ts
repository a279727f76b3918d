import { env, exports } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { configProblems } from "../src/platform/config.ts";
import { shardOf } from "../src/platform/db/ids.ts";
import { objectOf, regionOf } from "../src/platform/objects.ts";
import { eraseDeleted } from "../src/operator/erasure.ts";
import { collect, type Live, openBrowser } from "./console/browser.ts";
import { distantTrips } from "./distance.ts";
import { createAgent, createWorkspace, deliver, envWith, evict, learn, newAddress, operate, query, send } from "./harness.ts";
import { join } from "./members/team.ts";
import { readEvents } from "./stream-client.ts";

const bindings = { ...env };
const ONE_REGION = "0=weur, 1=weur";
const TWO_REGIONS = "0=weur, 1=enam";

const setRegions = (regions: string) => Reflect.set(env, "DATABASE_REGIONS", regions);
afterEach(() => {
  Object.assign(env, bindings);
  vi.restoreAllMocks();
});

const add = (body: object = {}) =>
  send("POST", "/operator/v1/workspaces", { token: env.OPERATOR_TOKEN, body: { name: "Acme", slug: crypto.randomUUID(), ...body } });

/** The events that the service logs while something runs. */
async function linesOf(run: () => Promise<unknown>): Promise<Record<string, any>[]> {
  const spies = [vi.spyOn(console, "log"), vi.spyOn(console, "error").mockImplementation(() => undefined)];
  await run();
  const lines = spies.flatMap((spy) => spy.mock.calls.map(([line]) => JSON.parse(String(line))));
  for (const spy of spies) spy.mockRestore();
  return lines;
}

/** Lets the entries of all regions fail so many times. @returns how often they were called. */
function failEntries(times: number): { calls: string[] } {
  const real = env.ENTRY;
  const seen = { calls: [] as string[] };
  const getByName = (name: string) => ({
    fetch: async (request: Request) => {
      seen.calls.push(name);
      if (seen.calls.length > times) return real.getByName(name).fetch(request);
      await request.body?.cancel();
      throw new Error("Network connection lost.");
    },
  });
  Reflect.set(env, "ENTRY", { getByName });
  return seen;
}

test("a workspace is created in the region that is named, or else in that of the first database", async () => {
  setRegions(TWO_REGIONS);
  for (const [region, shard] of [
    ["weur", 0],
    ["enam", 1],
    [undefined, 0],
  ] as const) {
    const { status, body } = await add({ region });
    expect([status, shardOf(body.id), body.region]).toEqual([201, shard, shard === 0 ? "weur" : "enam"]);
    expect(await operate("GET", `/workspaces/${body.id}`)).toEqual(body);
    expect((await operate("GET", "/workspaces?limit=1")).data).toEqual([body]);
  }
});

test("without regions, workspaces have none, and go to any database", async () => {
  const shards = new Set<number>();
  for (let at = 0; at < 4; at++) {
    const { body } = await add();
    expect(body.region).toBeNull();
    shards.add(shardOf(body.id));
  }
  expect(shards).toEqual(new Set([0, 1]));
});

test("an unknown region, and one without a database, are refused", async () => {
  setRegions(TWO_REGIONS);
  const slug = crypto.randomUUID();
  for (const [region, type] of [
    ["apac", "value_error"],
    ["mars", "literal_error"],
  ]) {
    const { status, body } = await add({ slug, region });
    expect([status, body.detail[0]]).toMatchObject([422, { loc: ["body", "region"], type, input: region }]);
  }
  expect((await add({ slug })).status).toBe(201);
});

test("a slug is unique across regions", async () => {
  setRegions(TWO_REGIONS);
  const slug = crypto.randomUUID();
  expect((await add({ slug, region: "weur" })).status).toBe(201);
  expect((await add({ slug, region: "enam" })).status).toBe(409);
});

test("every object of a workspace is created in its region, from the first request to its erasure", async () => {
  setRegions(ONE_REGION);
  const hints = new Set<unknown>();
  const names = ["GATE", "INDEX", "SESSION", "LEADS", "CONVERSATIONS", "FILES", "LIVE", "ENTRY"] as const;
  for (const name of names) {
    const real = env[name] as DurableObjectNamespace;
    const getByName = (object: string, options?: DurableObjectNamespaceGetDurableObjectOptions) => {
      hints.add(`${name} ${options?.locationHint}`);
      return real.getByName(object, options);
    };
    Reflect.set(env, name, { getByName });
  }
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "Refunds take five days.");
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "How long do refunds take?" });
  await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body: { email: "ann@example.com" }, headers: newAddress() });
  await workspace.call("GET", "/leads?q=ann");
  await workspace.call("GET", "/conversations?q=refunds");
  await workspace.call("DELETE", "/privacy/visitors?email=ann@example.com");
  await operate("DELETE", `/workspaces/${workspace.id}`);
  while ((await eraseDeleted(env, { workspaceId: workspace.id })) === "goes_on");
  expect([...hints].toSorted()).toEqual(names.map((name) => `${name} weur`).toSorted());
});

test("a jurisdiction's objects are in its namespace, and no others", () => {
  const named: string[] = [];
  const inside = (jurisdiction: string) => ({ getByName: (name: string) => void named.push(`${jurisdiction} ${name}`) });
  const namespace = { ...inside("none"), jurisdiction: inside } as unknown as typeof env.GATE;
  const production = envWith({
    ENVIRONMENT: "production",
    DATABASE_REGIONS: "1=eu, 2=us, 3=weur",
    SHARD_MAP: "0=DB, 1=DB_1, 2=DB_2, 3=DB_3",
  });
  const ids = ["00", "01", "02", "03"].map((shard) => `01a20000-0000-7000-8000-0000000000${shard}`);
  for (const id of ids) objectOf(production, namespace, `${id}/more`);
  expect(named).toEqual([`none ${ids[0]}/more`, `eu ${ids[1]}/more`, `us ${ids[2]}/more`, `none ${ids[3]}/more`]);
});

test("a request is answered in its region as it is at the edge, and has one line in the log", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ask = () => workspace.call("POST", `/agents/${agent.id}/search`, { query: "refunds" });
  const near = await ask();
  setRegions(ONE_REGION);
  let far = near;
  const lines = await linesOf(async () => {
    far = await ask();
  });
  expect([far.status, far.body]).toEqual([near.status, near.body]);
  expect([...far.headers.keys()]).toEqual([...near.headers.keys()]);
  const requests = lines.filter(({ event }) => event === "request");
  expect(requests).toMatchObject([
    { operation: "searchKnowledge", request_id: far.headers.get("X-Request-Id"), workspace_id: workspace.id },
  ]);
  // The entry, the gate and the index.
  expect(requests[0]).toMatchObject({ object_hops: 3, d1_trips: 1 });
});

test("a visitor's request is answered in its region, for the browser's origin", async () => {
  setRegions(ONE_REGION);
  const agent = await createAgent(await createWorkspace(), { allowed_origins: ["https://shop.example"] });
  const ask = (origin: string) =>
    send("POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: "Hello" }, headers: { ...newAddress(), Origin: origin } });
  const answered = await ask("https://shop.example");
  expect([answered.status, answered.headers.get("Access-Control-Allow-Origin")]).toEqual([200, "https://shop.example"]);
  const headers = { ...newAddress(), Authorization: `Bearer ${answered.body.visitor_token}` };
  expect((await send("GET", `/widget/v1/conversations/${answered.body.conversation_id}/messages`, { headers })).body.data).toHaveLength(2);
  expect((await send("POST", "/widget/v1/sessions/end", { headers })).status).toBe(204);
  expect((await ask("https://elsewhere.example")).status).toBe(403);
});

test("a visitor learns of a reply through the region", async () => {
  setRegions(ONE_REGION);
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const { body } = await send("POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: "Hello" }, headers: newAddress() });
  const { conversation_id: id, visitor_token: token } = body;
  const headers = { ...newAddress(), Upgrade: "websocket", "Sec-WebSocket-Protocol": `support-agent, ${token}` };
  const connect = () => exports.default.fetch(new Request(`http://service.test/widget/v1/conversations/${id}/live`, { headers }));
  let live: Live | undefined;
  const trips = await distantTrips("weur", async () => {
    live = collect(await connect());
  });
  expect([live!.status, trips]).toEqual([101, ["ENTRY"]]);
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello" });
  expect(await live!.next(() => true)).toEqual({ kind: "conversation", id });
});

test("a stream comes through its region event by event", async () => {
  setRegions(ONE_REGION);
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "Refunds take five days.");
  const headers = { Authorization: `Bearer ${workspace.key}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ message: "How long do refunds take?", stream: true });
  const response = await exports.default.fetch(
    new Request(`http://service.test/api/v1/agents/${agent.id}/messages`, { method: "POST", headers, body }),
  );
  expect(response.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
  const events = await readEvents(response.body).rest();
  expect([events[0]!.event, events.at(-1)!.event]).toEqual(["start", "done"]);
});

test("the console signs in at the edge, and its requests are answered in the workspace's region", async () => {
  setRegions(ONE_REGION);
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  for (const secret of [workspace.key, env.OPERATOR_TOKEN]) {
    const browser = openBrowser();
    expect((await browser.call("POST", "/console/session", { secret, name: "Grace" })).status).toBe(200);
    expect((await browser.call("GET", "/console/session")).body.name).toBe("Grace");
    const path = secret === workspace.key ? `/api/v1/agents/${agent.id}` : `/operator/v1/workspaces/${workspace.id}/agents/${agent.id}`;
    let answer: { status: number; body: any } | undefined;
    const trips = await distantTrips("weur", async () => {
      answer = await browser.call("GET", path);
    });
    expect([answer!.status, answer!.body.id, trips]).toEqual([200, agent.id, ["ENTRY"]]);
    if (secret !== workspace.key) continue;
    const live = await browser.live();
    const { body } = await browser.call("POST", `/api/v1/agents/${agent.id}/messages`, { message: "Hello" });
    await live.next(({ changes }) => changes?.some(({ id }: { id: string }) => id === body.conversation_id));
    live.close();
    await browser.call("DELETE", "/console/session");
    expect((await browser.call("GET", path)).status).toBe(401);
  }
});

test("the session of a key ends in the workspace's region too when keys are switched off, and the key stays valid", async () => {
  setRegions(ONE_REGION);
  const workspace = await createWorkspace();
  const browser = openBrowser();
  await browser.call("POST", "/console/session", { secret: workspace.key });
  const owner = await join(workspace, "owner");
  const oidc = { issuer: "https://id.example.com", client_id: "console" };
  expect((await browser.call("PATCH", "/api/v1/sign-in", { oidc })).status).toBe(200);
  expect((await owner.call("PATCH", "/sign-in", { methods: ["oidc"] })).status).toBe(200);
  const { status, body } = await browser.call("GET", "/api/v1/agents");
  expect([status, body.error?.code]).toEqual([401, "invalid_api_key"]);
  expect((await owner.call("GET", "/agents")).status).toBe(200);
  expect((await workspace.call("GET", "/agents")).status).toBe(200);
});

test("a key that was revoked is refused by its region, and then at the edge", async () => {
  setRegions(ONE_REGION);
  const workspace = await createWorkspace();
  expect((await workspace.call("GET", "/me")).status).toBe(200);
  await operate("DELETE", `/workspaces/${workspace.id}/keys/${workspace.keyId}`);
  const entries = failEntries(0);
  for (let at = 0; at < 3; at++) {
    const { status, body } = await workspace.call("GET", "/me");
    expect([status, body.error.code]).toEqual([401, "revoked_api_key"]);
  }
  expect(entries.calls).toHaveLength(1);
});

test("when an entry fails, reads are sent again and writes are not", async () => {
  setRegions(ONE_REGION);
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const reads = failEntries(1);
  expect((await workspace.call("GET", `/agents/${agent.id}`)).status).toBe(200);
  expect(reads.calls).toHaveLength(2);
  Object.assign(env, bindings);
  setRegions(ONE_REGION);
  const writes = failEntries(1);
  const lines = await linesOf(async () => {
    const { status, body } = await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Where?", answer: "Here." });
    expect([status, body.error.code, body.error.message]).toEqual([503, "unavailable", expect.stringContaining("may have taken effect")]);
  });
  expect(writes.calls).toHaveLength(1);
  expect(lines.filter(({ event }) => event === "request")).toMatchObject([{ status: 503, operation: "createAnswer" }]);
});

test("a path without an id of a region is answered at the edge", async () => {
  setRegions(ONE_REGION);
  const entries = failEntries(Number.POSITIVE_INFINITY);
  for (const path of ["/healthz", "/api/v1/openapi.json", "/widget/v1/agents/none", "/api/v1/me"])
    await send("GET", path, { headers: newAddress() });
  await operate("GET", "/workspaces");
  expect(entries.calls).toEqual([]);
});

test("a workspace whose database is moved to another jurisdiction is unreachable, and the log says what to set", async () => {
  const workspace = await createWorkspace();
  expect(await query(workspace.id, "SELECT jurisdiction FROM workspaces WHERE id = ?", workspace.id)).toEqual([{ jurisdiction: null }]);
  const read = async (regions: string) => {
    setRegions(regions);
    await evict(objectOf(env, env.GATE, workspace.id));
    return workspace.call("GET", "/me");
  };
  expect((await read(ONE_REGION)).status).toBe(200);
  const lines = await linesOf(async () => expect((await read("0=eu, 1=eu")).status).toBe(503));
  const detail = `those of DB${shardOf(workspace.id) === 0 ? "" : "_1"} were created in none. Set DATABASE_REGIONS back`;
  expect(lines.find(({ event }) => event === "database_fault")!["detail"]).toContain(detail);
  expect((await read("")).status).toBe(200);
});

test("a workspace that is created in a jurisdiction stays there", async () => {
  setRegions("0=eu, 1=eu");
  const workspace = await createWorkspace();
  expect(regionOf(env, workspace.id)).toBe("eu");
  expect(await query(workspace.id, "SELECT jurisdiction FROM workspaces WHERE id = ?", workspace.id)).toEqual([{ jurisdiction: "eu" }]);
  expect((await workspace.call("GET", "/me")).status).toBe(200);
  const agent = await createAgent(workspace);
  const { body } = await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: "A", text: "B" });
  await deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId: agent.id, sourceId: body.id });
  expect((await workspace.call("GET", `/agents/${agent.id}/sources`)).body.data).toMatchObject([{ status: "ready" }]);
});

test.each([
  ["", true],
  ["0=weur", true],
  ["0 = weur,1= eu , 7=me", true],
  ["weur", false],
  ["0=mars", false],
  ["0=weur=eu", false],
  ["256=weur", false],
  ["-1=weur", false],
  ["0=weur, 0=eu", false],
  ["0=weur, 00=eu", false],
  ["0=", false],
])("DATABASE_REGIONS %j: valid %j", (regions, isValid) => {
  const problems = configProblems({ ...env, DATABASE_REGIONS: regions });
  expect(problems).toEqual(
    isValid ? [] : [expect.stringMatching(/^DATABASE_REGIONS is not a list of databases, each with one region of wnam/)],
  );
});
