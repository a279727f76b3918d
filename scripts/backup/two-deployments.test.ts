import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { buildService, type RunningWorker, startWorker } from "../../bench/service.ts";
import { listen } from "../shared/ports.ts";
import { call, type Client, createClient, poll } from "../shared/service.ts";
import { createOperator } from "./operator.ts";
import { importFile, verifyFile, writeExport } from "./restore.ts";

/*
 * Two deployments on this machine, each with secrets of its own: a workspace with something of everything moves from one to
 * the other, and what its API answers there is the same.
 */

const PAGES: Record<string, string> = {
  "/": "<title>Shop</title><h1>Shop</h1><p>We sell lamps and chairs.</p><a href='/returns'>Returns</a>",
  "/returns": "<title>Returns</title><h1>Returns</h1><p>Chairs may be returned within sixty days of delivery.</p>",
};
const SETTLE_LIMIT_MS = 30_000;

interface Deployment {
  url: string;
  operator: Client;
  token: string;
}

let folder: string;
let site: Server;
let origin: string;
const servers: RunningWorker[] = [];
let first: Deployment;
let second: Deployment;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "two-deployments-"));
  site = createServer(({ method, url }, response) => {
    const page = PAGES[url ?? ""];
    // What is posted are webhooks' events.
    response.writeHead(method === "POST" || page ? 200 : 404, { "Content-Type": "text/html" }).end(page ?? "");
  });
  origin = await listen(site);
  const built = await buildService(folder);
  const start = async (name: string, secrets: { KEY_SECRET: string; ENCRYPTION_KEY: string }): Promise<Deployment> => {
    const token = `operator-of-${name}`;
    const bindings = { OPERATOR_TOKEN: token, ALLOW_PRIVATE_TARGETS: "true", CRAWL_PAUSE_MS: "0", ...secrets };
    const served = await startWorker(built, bindings, join(folder, name));
    servers.push(served);
    const url = `http://127.0.0.1:${served.port}`;
    return { url, token, operator: createClient(url, token) };
  };
  first = await start("first", { KEY_SECRET: "first keys", ENCRYPTION_KEY: "first storage" });
  second = await start("second", { KEY_SECRET: "second keys,first keys", ENCRYPTION_KEY: "second storage,first storage" });
});

after(async () => {
  for (const server of servers) await server.close();
  site.close();
  await rm(folder, { recursive: true, force: true });
});

/** Makes a workspace with something of everything, and waits until nothing in it moves any more. */
async function createWorkspace({ url, operator }: Deployment) {
  const workspace = await call<{ id: string }>(operator, "POST", "/operator/v1/workspaces", {
    name: "Acme",
    slug: "desk",
    plan: "enterprise",
  });
  const path = `/operator/v1/workspaces/${workspace.id}`;
  const { key } = await call<{ key: string }>(operator, "POST", `${path}/keys`, { name: "All", scopes: ["*"] });
  const tool = {
    name: "order_status",
    description: "Looks an order up",
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
    method: "GET",
    url: `${origin}/orders/{order}`,
    headers: { "X-Token": "tool secret" },
  };
  const agent = await call<{ id: string }>(operator, "POST", `${path}/agents`, {
    name: "Ada",
    tools: [tool],
    email_address: "ada@example.com",
    allowed_origins: ["*"],
  });
  await call(operator, "POST", `${path}/agents/${agent.id}/rotate-identity-secret`);
  const api = createClient(url, key);
  const ofAgent = `/api/v1/agents/${agent.id}`;
  await call(api, "POST", "/api/v1/webhooks", { url: `${origin}/hook`, events: ["*"] });
  await call(api, "POST", `${ofAgent}/sources`, {
    type: "text",
    name: "Handbook",
    text: "# Refunds\n\nRefunds are paid within five working days.",
  });
  await call(api, "POST", `${ofAgent}/sources`, { type: "website", name: "Site", url: `${origin}/`, max_pages: 5 });
  await call(api, "POST", `${ofAgent}/answers`, { question: "Where are you?", answer: "In Bern." });
  await settle(api, `${ofAgent}/sources`, ["pending", "processing"]);
  const user = { id: "u-1", name: "Ann", email: "ann@example.com" };
  const asked = await call<{ conversation_id: string }>(api, "POST", `${ofAgent}/messages`, { message: "When are refunds paid?", user });
  await call(api, "POST", `${ofAgent}/messages`, { message: "How do I bake bread?", user: { id: "u-2" } });
  await call(api, "POST", `${ofAgent}/messages`, { message: "May chairs be returned?" });
  const talk = `/api/v1/conversations/${asked.conversation_id}`;
  await call(api, "POST", `${talk}/messages`, { content: "A colleague here.", resolve: true });
  const visitor = await call<{ visitor_token: string }>(createClient(url, ""), "POST", `/widget/v1/agents/${agent.id}/messages`, {
    message: "Where are you?",
  });
  await call(createClient(url, ""), "POST", `/widget/v1/agents/${agent.id}/leads`, {
    name: "Acme",
    email: "acme@example.com",
    visitor_token: visitor.visitor_token,
  });
  await call(api, "DELETE", "/api/v1/privacy/visitors?external_id=u-2");
  const { data } = await call<{ data: { id: string }[] }>(api, "GET", "/api/v1/webhooks");
  await settle(api, `/api/v1/webhooks/${data[0]!.id}/deliveries?status=pending`, ["pending"]);
  return { workspaceId: workspace.id, key, agentId: agent.id, webhookId: data[0]!.id };
}

/** Waits until no record of a list is in one of these states. */
async function settle(api: Client, path: string, states: readonly string[]): Promise<void> {
  const isSettled = await poll(async () => {
    const { data } = await call<{ data: { status: string }[] }>(api, "GET", path);
    return data.every(({ status }) => !states.includes(status)) || undefined;
  }, SETTLE_LIMIT_MS);
  assert.ok(isSettled, `${path} does not settle`);
}

/** What the API answers about everything that there is. */
async function answersOf(
  { url, operator }: Deployment,
  workspace: Awaited<ReturnType<typeof createWorkspace>>,
): Promise<Record<string, unknown>> {
  const api = createClient(url, workspace.key);
  const ofAgent = `/agents/${workspace.agentId}`;
  const answers: Record<string, unknown> = {};
  const get = async (path: string) => (answers[path] = await call(api, "GET", `/api/v1${path}`));
  const lists = ["/agents", `${ofAgent}/sources`, `${ofAgent}/answers`, "/conversations", "/leads", "/leads?q=acme", "/webhooks"];
  const paths = ["/me", "/usage", ofAgent, "/analytics/overview?days=30", ...lists, `/webhooks/${workspace.webhookId}/deliveries`];
  for (const path of [...paths, "/privacy/visitors?external_id=u-1", "/privacy/visitors?external_id=u-2"]) await get(path);
  const idsOf = (path: string) => (answers[path] as { data: { id: string }[] }).data.map(({ id }) => id);
  for (const id of idsOf("/conversations")) await get(`/conversations/${id}`);
  for (const id of idsOf(`${ofAgent}/sources`)) await get(`${ofAgent}/sources/${id}/pages`);
  for (const query of ["refunds", "returned chairs", "Where are you?"]) {
    answers[`search ${query}`] = await call(api, "POST", `/api/v1${ofAgent}/search`, { query });
  }
  const agents = `/operator/v1/workspaces/${workspace.workspaceId}/agents`;
  return { ...answers, agents: await call(operator, "GET", agents) };
}

void test("a workspace moves to another deployment, and its API answers the same there", async () => {
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const workspace = await createWorkspace(first);
  const file = join(folder, "desk.ndjson");
  const [from, to] = [createOperator(first.url, first.token, say), createOperator(second.url, second.token, say)];
  await writeExport(from, workspace.workspaceId, file, say);
  const before = await answersOf(first, workspace);
  assert.ok(Object.keys(before).length > 20);

  await importFile(to, file, say);
  assert.equal(said.filter((line) => line.startsWith("WARNING")).join(), "");
  assert.deepEqual(await answersOf(second, workspace), before);
  assert.equal(await verifyFile(to, file, say), true);

  // The same again changes nothing; and the workspace lives: it is asked, and its endpoint's secret signs.
  await importFile(to, file, say);
  assert.match(said.at(-1)!, /imported before/);
  assert.equal(await verifyFile(to, file, say), true);
  const api = createClient(second.url, workspace.key);
  await call(api, "POST", `/api/v1/webhooks/${workspace.webhookId}/test`);
  await call(api, "POST", `/api/v1/agents/${workspace.agentId}/messages`, { message: "When are refunds paid?", user: { id: "u-1" } });
  assert.equal(await verifyFile(to, file, say), false);
  assert.match(said.at(-1)!, /not as in the file/);
  // One conversation, its question and its answer came, and what tells of them was changed.
  const [inFile, there] = said
    .map((line) => /^messages: (\d+) in the file, (\d+) in the deployment$/.exec(line))
    .find((found) => found)!
    .slice(1);
  assert.equal(Number(there), Number(inFile) + 2);
  assert.ok(said.some((line) => line.startsWith("  differs:                workspace_id=") && line.includes("period=")));
});

void test("a file that was cut off or changed is not imported", async () => {
  const file = join(folder, "desk.ndjson");
  const operator = { send: () => assert.fail("something was sent") };
  const text = await readFile(file, "utf8");
  const damaged = join(folder, "damaged.ndjson");
  await writeFile(damaged, text.slice(0, text.lastIndexOf("\n", text.length - 2)));
  await assert.rejects(
    importFile(operator, damaged, () => undefined),
    /cut off/,
  );
  await assert.rejects(
    importFile(operator, join(folder, "nowhere.ndjson"), () => undefined),
    /cannot be read: ENOENT/,
  );
  await writeFile(damaged, text.replace("Refunds are paid", "Refunds are lost"));
  await assert.rejects(
    importFile(operator, damaged, () => undefined),
    /changed or damaged/,
  );
});
