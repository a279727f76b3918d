import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { createAgent, createWorkspace, envWith, newAddress, operate, send } from "../../harness.ts";
import { watch } from "./watch.ts";

const COST = { duration_ms: expect.any(Number), object_hops: expect.any(Number), d1_trips: expect.any(Number) };
const ROWS = { rows_read: expect.any(Number), rows_written: expect.any(Number) };

/** The only line of a request. */
async function lineOf(request: () => Promise<unknown>): Promise<Record<string, any>> {
  const { lines } = await watch(request);
  const found = lines.filter(({ event }) => event === "request");
  expect(found).toHaveLength(1);
  return found[0]!;
}

test("a request's log line has its caller, operation, status and cost, and nothing else", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const answer = { headers: new Headers() };
  const line = await lineOf(async () =>
    Object.assign(answer, await workspace.call("GET", `/agents/${agent.id}?email=lovelace@example.com`)),
  );
  expect(line).toEqual({
    event: "request",
    operation: "getAgent",
    status: 200,
    error_code: null,
    surface: "api",
    workspace_id: workspace.id,
    key_id: workspace.keyId,
    request_id: answer.headers.get("X-Request-Id"),
    method: "GET",
    route: "/api/v1/agents/:agent_id",
    ...COST,
    ...ROWS,
    object_hops: 1,
    d1_trips: 1,
  });
});

test("a refused request is logged with its operation and error code", async () => {
  const workspace = await createWorkspace({ limits: { requests_per_minute: 2 }, scopes: ["leads:read"] });
  const call = (path: string, token?: string) => lineOf(() => send("GET", `/api/v1${path}`, { token, headers: newAddress() }));
  const known = { workspace_id: workspace.id, key_id: workspace.keyId };
  const unknown = { workspace_id: null, key_id: null };
  expect(await call("/agents")).toMatchObject({ operation: "listAgents", status: 401, error_code: "missing_api_key", ...unknown });
  expect(await call("/agents", "sk_live_lovelace")).toMatchObject({ operation: "listAgents", status: 401, error_code: "invalid_api_key" });
  expect(await call("/agents", workspace.key)).toMatchObject({ status: 403, error_code: "insufficient_scope", ...known });
  expect(await call("/leads?limit=0", workspace.key)).toMatchObject({
    operation: "listLeads",
    status: 422,
    error_code: "validation_error",
  });
  expect(await call("/leads", workspace.key)).toMatchObject({ operation: "listLeads", status: 429, error_code: "rate_limited", ...known });
});

test("a path without an operation is not logged", async () => {
  const workspace = await createWorkspace();
  for (const path of ["/api/v1/lovelace@example.com", "/lovelace/ada?email=lovelace", "/api/v1/agents/lovelace/ada"]) {
    const { texts, lines } = await watch(() => send("GET", path, { token: workspace.key }));
    expect(lines).toMatchObject([{ operation: null, route: null, status: 404 }]);
    expect(texts.join()).not.toContain("lovelace");
  }
  expect(await lineOf(() => send("GET", "/healthz"))).toMatchObject({
    operation: null,
    route: "/healthz",
    surface: "healthz",
    status: 200,
  });
});

test("requests of the operator and the visitors are logged", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { allowed_origins: ["https://shop.example.com"] });
  const operator = { surface: "operator", workspace_id: workspace.id, key_id: null };
  expect(await lineOf(() => operate("GET", `/workspaces/${workspace.id}`))).toMatchObject({ operation: "getWorkspace", ...operator });
  const settings = `/widget/v1/agents/${agent.id}`;
  const widget = { surface: "widget", workspace_id: workspace.id, key_id: null };
  expect(await lineOf(() => send("GET", settings, { headers: newAddress() }))).toMatchObject({ operation: "getWidgetSettings", ...widget });
  const headers = { ...newAddress(), Origin: "https://shop.example.com" };
  expect(await lineOf(() => send("OPTIONS", settings, { headers }))).toMatchObject({
    operation: "preflight",
    surface: "widget",
    status: 204,
  });
});

test("every operation of the contract is logged by its id", async () => {
  const document = (await send("GET", "/api/v1/openapi.json", { headers: newAddress() })).body;
  const id = crypto.randomUUID();
  for (const [path, operations] of Object.entries<Record<string, { operationId: string }>>(document.paths)) {
    for (const [method, { operationId }] of Object.entries(operations)) {
      const line = await lineOf(() => send(method.toUpperCase(), `/api/v1${path.replaceAll(/\{\w+\}/g, id)}`, { headers: newAddress() }));
      expect([path, method, line["operation"]]).toEqual([path, method, operationId]);
      expect(line["route"]).toBe(`/api/v1${path.replaceAll(/\{(\w+)\}/g, ":$1")}`);
    }
  }
});

test("an unexpected error is logged with its location and the request's id", async () => {
  const workspace = await createWorkspace();
  const failing = { prepare: (text: string) => env.DB.prepare(text), batch: () => Promise.reject(new SyntaxError("lovelace is no JSON")) };
  const request = new Request("http://service.test/api/v1/agents", { headers: { Authorization: `Bearer ${workspace.key}` } });
  const { lines, texts } = await watch(async () => app.fetch(request, envWith({ DB: failing, DB_1: failing }), createExecutionContext()));
  expect(lines).toMatchObject([
    { event: "failure", operation: "listAgents", error: "SyntaxError", at: expect.any(Array) },
    { event: "request", operation: "listAgents", status: 500, error_code: "internal_error" },
  ]);
  expect(lines[0]!["request_id"]).toBe(lines[1]!["request_id"]);
  expect(texts.join()).not.toContain("lovelace");
});

test("each request is one data point with the documented columns", async () => {
  const workspace = await createWorkspace({ scopes: ["agents:read"] });
  const { points, lines } = await watch(async () => {
    await workspace.call("GET", "/agents");
    await workspace.call("GET", "/leads");
    await send("GET", "/nothing");
  });
  const { duration_ms, rows_read } = lines[0]!;
  expect(points).toEqual([
    {
      indexes: [workspace.id],
      blobs: ["request", "listAgents", "200", "api", workspace.keyId, ""],
      doubles: [duration_ms, 1, 1, rows_read, 0, 1, 0],
    },
    {
      indexes: [workspace.id],
      blobs: ["request", "listLeads", "403", "api", workspace.keyId, "insufficient_scope"],
      doubles: [expect.any(Number), 1, 0, 0, 0, 1, 0],
    },
    { indexes: [""], blobs: ["request", "", "404", "", "", "not_found"], doubles: [expect.any(Number), 0, 0, 0, 0, 1, 0] },
  ]);
});

test("a dataset that throws fails no request, and is logged once a minute", async () => {
  const METRICS = { writeDataPoint: () => expect.fail("it is full") };
  const workspace = await createWorkspace();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60 * 60_000 });
  const statuses: number[] = [];
  const { lines } = await watch(async () => {
    for (let at = 0; at < 3; at++) {
      const request = new Request("http://service.test/api/v1/me", { headers: { Authorization: `Bearer ${workspace.key}` } });
      statuses.push((await app.fetch(request, envWith({ METRICS }), createExecutionContext())).status);
    }
  });
  vi.useRealTimers();
  expect(statuses).toEqual([200, 200, 200]);
  expect(lines.map(({ event }) => event)).toEqual(["request", "metrics_failed", "request", "request"]);
});
