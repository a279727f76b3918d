import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { withoutData } from "../../../src/platform/telemetry/errors.ts";
import { isTransient } from "../../../src/platform/http/error-handler.ts";
import { type Answer, createAgent, createKey, createWorkspace, newAddress, operate, send } from "../../harness.ts";
import { listOperations } from "./document.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NO_AGENT = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

afterEach(() => {
  vi.restoreAllMocks();
});

/** Expects the headers of every answer under /api/v1. */
function expectHeaders({ headers }: Pick<Answer, "headers">, limit: number) {
  expect(headers.get("X-Request-Id")).toMatch(UUID_V7);
  expect(headers.get("X-RateLimit-Limit")).toBe(String(limit));
  expect(headers.get("X-RateLimit-Remaining")).toMatch(/^\d+$/);
  expect(Number(headers.get("X-RateLimit-Remaining"))).toBeLessThanOrEqual(limit);
  const reset = Number(headers.get("X-RateLimit-Reset"));
  const now = Date.now() / 1000;
  expect(reset).toBeGreaterThan(now - 10);
  expect(reset).toBeLessThan(now + 62);
  expect(Number.isInteger(reset)).toBe(true);
}

/** An error in the envelope, with its headers. */
function expectError(answer: Answer, status: number, code: string, limit: number) {
  expect(answer.status).toBe(status);
  expect(answer.headers.get("Content-Type")).toBe("application/json");
  expect(answer.body.error).toEqual({ code, message: expect.stringMatching(/\S.{10,}/), request_id: answer.headers.get("X-Request-Id") });
  expect(Object.keys(answer.body)).toEqual(code === "validation_error" ? ["detail", "error"] : ["error"]);
  expectHeaders(answer, limit);
}

/** A request to the app with another environment, as if the operator had configured or the platform behaved so. */
async function sendWith(
  bindings: Record<string, unknown>,
  path: string,
  { method = "GET", token, body }: { method?: string; token?: string; body?: unknown } = {},
): Promise<Answer> {
  const headers = new Headers({ ...newAddress(), "Content-Type": "application/json" });
  if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await app.fetch(new Request(`http://service.test${path}`, init), { ...env, ...bindings }, createExecutionContext());
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? text : JSON.parse(text) };
}

const SECRET_DETAIL = "D1_ERROR: malformed JSON in hunter2_internal at /srv/worker.js:17";

/** A database whose every use fails. */
function brokenDatabase(error: Error) {
  const fail = () => Promise.reject(error);
  const statement = { bind: () => statement, all: fail, run: fail, raw: fail };
  const database = { prepare: () => statement, batch: fail };
  return { DB: database, DB_1: database };
}

/** A gate whose every call fails. */
function brokenGate(error: Error) {
  return { GATE: { getByName: () => ({ admit: () => Promise.reject(error) }) } };
}

describe("every kind of response under /api/v1 has the four headers", () => {
  test("200, 201, 202 and 204", async () => {
    const workspace = await createWorkspace({ plan: "pro" });
    const agent = await createAgent(workspace);
    const got = await workspace.call("GET", "/me");
    const created = await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Q", answer: "A" });
    const accepted = await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: "N", text: "T" });
    const removed = await workspace.call("DELETE", `/agents/${agent.id}/sources/${accepted.body.id}`);
    expect([got, created, accepted, removed].map((answer) => answer.status)).toEqual([200, 201, 202, 204]);
    expect(removed.body).toBe("");
    for (const answer of [got, created, accepted, removed]) expectHeaders(answer, 300);
    expect(got.headers.get("X-RateLimit-Remaining")).toBe("299");
    expect(removed.headers.get("X-RateLimit-Remaining")).toBe("296");
    const ids = [got, created, accepted, removed].map((answer) => answer.headers.get("X-Request-Id"));
    expect(new Set(ids).size).toBe(4);
  });

  test("the OpenAPI document", async () => {
    const answer = await send("GET", "/api/v1/openapi.json", { headers: newAddress() });
    expect(answer.status).toBe(200);
    expectHeaders(answer, 60);
  });

  test("401, all three codes", async () => {
    const workspace = await createWorkspace();
    const { id, key } = await createKey(workspace, ["*"]);
    await operate("DELETE", `/workspaces/${workspace.id}/keys/${id}`);
    const headers = newAddress();
    const answers = [
      ["missing_api_key", await send("GET", "/api/v1/me", { headers })],
      ["missing_api_key", await send("GET", "/api/v1/me", { headers: { ...headers, Authorization: "Basic dTpw" } })],
      ["missing_api_key", await send("GET", "/api/v1/me", { headers: { ...headers, Authorization: workspace.key } })],
      ["invalid_api_key", await send("GET", "/api/v1/me", { token: "sk_live_junk", headers })],
      ["revoked_api_key", await send("GET", "/api/v1/me", { token: key, headers })],
    ] as const;
    for (const [code, answer] of answers) {
      expectError(answer, 401, code, 60);
      expect(answer.headers.get("WWW-Authenticate")).toBe("Bearer");
    }
    expect(answers.map(([, answer]) => answer.headers.get("X-RateLimit-Remaining"))).toEqual(["59", "58", "57", "56", "55"]);
  });

  test("402", async () => {
    const workspace = await createWorkspace({ limits: { messages: 0 } });
    const agent = await createAgent(workspace);
    expectError(await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi" }), 402, "quota_exceeded", 1200);
  });

  test("403, both codes", async () => {
    const workspace = await createWorkspace({ limits: { sources: 0 } });
    const agent = await createAgent(workspace);
    const { key } = await createKey(workspace, ["leads:read"]);
    const scope = await send("GET", "/api/v1/agents", { token: key });
    expectError(scope, 403, "insufficient_scope", 1200);
    expect(scope.body.error.message).toContain("agents:read");
    const plan = await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: "N", text: "T" });
    expectError(plan, 403, "plan_required", 1200);
  });

  test("404 for a record and for a path", async () => {
    const workspace = await createWorkspace();
    expectError(await workspace.call("GET", `/agents/${NO_AGENT}`), 404, "not_found", 1200);
    for (const path of ["/nothing", "/", "", "/me/", "//me", "/agents/", "/ME", `/agents/${NO_AGENT}/nothing`, "/me%2F"]) {
      expectError(await workspace.call("GET", path), 404, "not_found", 1200);
    }
  });

  test("405", async () => {
    const workspace = await createWorkspace();
    expectError(await workspace.call("PUT", "/me"), 405, "method_not_allowed", 1200);
  });

  test("409", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace, { status: "paused" });
    expectError(await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi" }), 409, "conflict", 1200);
  });

  test("413", async () => {
    const workspace = await createWorkspace();
    const body = { query: "x".repeat(600_000) };
    expectError(await workspace.call("POST", `/agents/${NO_AGENT}/search`, body), 413, "payload_too_large", 1200);
  });

  test("422", async () => {
    const workspace = await createWorkspace();
    expectError(await workspace.call("GET", "/agents?limit=0"), 422, "validation_error", 1200);
  });

  test("429", async () => {
    const workspace = await createWorkspace({ limits: { requests_per_minute: 1 } });
    await workspace.call("GET", "/me");
    const answer = await workspace.call("GET", "/nothing");
    expectError(answer, 429, "rate_limited", 1);
    expect(answer.headers.get("X-RateLimit-Remaining")).toBe("0");
    expect(Number(answer.headers.get("Retry-After"))).toBeGreaterThanOrEqual(59);
    expect(Number(answer.headers.get("Retry-After"))).toBeLessThanOrEqual(60);
  });

  test("500 without details of the error", async () => {
    const workspace = await createWorkspace();
    const log = vi.spyOn(console, "error");
    for (const error of [new Error(SECRET_DETAIL), new TypeError("hunter2 is not a function")]) {
      const answer = await sendWith(brokenDatabase(error), "/api/v1/agents", { token: workspace.key });
      expectError(answer, 500, "internal_error", 1200);
      expect(JSON.stringify(answer.body)).not.toMatch(/hunter2|D1_ERROR|worker\.js|Error:/);
      const logged = log.mock.calls.map(([line]) => String(line)).find((line) => line.includes(answer.body.error.request_id));
      // These texts are from D1 and the runtime; test/platform/telemetry/describe-error.test.ts has others.
      expect(logged).toContain("hunter2");
    }
  });

  test("500 when the gate fails: the rate headers are the address's", async () => {
    const workspace = await createWorkspace();
    const answer = await sendWith(brokenGate(new Error(SECRET_DETAIL)), "/api/v1/me", { token: workspace.key });
    expectError(answer, 500, "internal_error", 60);
    expect(JSON.stringify(answer.body)).not.toMatch(/hunter2|D1_ERROR|worker\.js/);
  });

  const TRANSIENT = [
    Object.assign(new Error("hunter2 is down"), { overloaded: true }),
    Object.assign(new Error("hunter2 is down"), { retryable: true }),
    new Error("D1_ERROR: database is locked: SQLITE_BUSY hunter2"),
    new Error("D1_ERROR: database table is locked: SQLITE_LOCKED hunter2"),
    new Error("D1_ERROR: D1 DB is overloaded. Requests queued for too long. hunter2"),
    new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued. hunter2"),
    new Error("D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset. hunter2"),
    new Error("D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset. hunter2"),
    new Error("D1_ERROR: D1 DB reset because its code was updated. hunter2"),
    new Error("D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node. hunter2"),
    new Error("D1_ERROR: Network connection lost. hunter2"),
    new Error("D1_ERROR: Can't read from request stream because client disconnected. hunter2"),
    new Error("D1_ERROR: Internal error in D1 DB storage caused object to be reset. hunter2"),
    new Error("D1_ERROR: D1 DB's isolate exceeded its memory limit and was reset. hunter2"),
    new Error("D1_ERROR: D1 DB exceeded its CPU time limit and was reset. hunter2"),
    new Error("Cannot resolve Durable Object due to transient issue on remote node. hunter2"),
    new Error("Internal error while starting up Durable Object storage caused object to be reset. hunter2"),
    new Error("Network connection lost. hunter2"),
    new Error("Durable Object storage operation exceeded timeout which caused object to be reset. hunter2"),
    new Error("Durable Object is overloaded. Too many requests queued. hunter2"),
    new Error("Failed query: select hunter2", { cause: new Error("D1_ERROR: database is locked: SQLITE_BUSY") }),
  ];

  test.each(TRANSIENT.filter(({ message }) => message !== "hunter2 is down"))("stays transient when it leaves an object: %s", (error) => {
    expect(isTransient(withoutData(error))).toBe(true);
  });

  test.each(TRANSIENT)("503 with Retry-After for transient errors of the platform: %s", async (error) => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const visitor = { method: "POST", body: { message: "Hi" } };
    const answers = [
      [60, await sendWith(brokenGate(error), "/api/v1/me", { token: workspace.key })],
      [1200, await sendWith(brokenDatabase(error), "/api/v1/agents", { token: workspace.key })],
      [null, await sendWith(brokenDatabase(error), `/widget/v1/agents/${agent.id}/messages`, visitor)],
      [null, await sendWith(brokenDatabase(error), "/operator/v1/workspaces", { token: env.OPERATOR_TOKEN })],
    ] as const;
    for (const [limit, answer] of answers) {
      expect([answer.status, answer.body.error?.code]).toEqual([503, "unavailable"]);
      if (limit !== null) expectError(answer, 503, "unavailable", limit);
      expect(answer.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
      expect(JSON.stringify(answer.body)).not.toContain("hunter2");
    }
  });

  test("503 in a minute when a database is full, and the log says what to do", async () => {
    const workspace = await createWorkspace();
    const log = vi.spyOn(console, "error");
    const answer = await sendWith(brokenDatabase(new Error("D1_ERROR: Exceeded maximum DB size")), "/api/v1/agents", {
      token: workspace.key,
    });
    expectError(answer, 503, "unavailable", 1200);
    expect(answer.headers.get("Retry-After")).toBe("60");
    expect(log.mock.calls.join()).toContain("A database is full");
  });
});

describe("paths and methods", () => {
  test("a wrong method on a documented path is 405 with Allow", async () => {
    const workspace = await createWorkspace();
    const operations = await listOperations();
    const byPath = Map.groupBy(operations, ({ path }) => path);
    expect(byPath.size).toBeGreaterThan(8);
    for (const [path] of byPath) {
      // A segment may be a name on one path and an identifier on another.
      const known = operations.filter((operation) => new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path));
      const allowed = known.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])).sort();
      for (const method of METHODS.filter((name) => !allowed.includes(name))) {
        const answer = await workspace.call(method, path.replaceAll(/\{\w+\}/g, NO_AGENT));
        // Errors of these paths have the fields of OpenAI's too.
        if (path.startsWith("/openai/")) expect(answer.body.error).toMatchObject({ code: "method_not_allowed", param: null });
        else expectError(answer, 405, "method_not_allowed", 1200);
        expect(answer.headers.get("Allow"), path).toBe(allowed.join(", "));
        expect(answer.body.error.message).toContain(allowed.join(", "));
      }
    }
  });

  test("a path finds its operation, and needs its key, however its letters are encoded", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const path = `/agents/${agent.id}/%73ources`;
    expect((await workspace.call("GET", path)).status).toBe(200);
    expect((await workspace.call("GET", path.replace("agents", "%61gents"))).status).toBe(200);
    expect((await send("GET", `/%61pi/v1${path}`, { headers: newAddress() })).status).toBe(401);
  });

  test("405 requires a valid key", async () => {
    expect((await send("PUT", "/api/v1/me", { headers: newAddress() })).status).toBe(401);
  });

  test.each([
    ["/healthz", "GET, HEAD"],
    ["/api/v1/openapi.json", "GET, HEAD"],
    ["/docs", "GET, HEAD"],
  ])("%s takes %s only", async (path, allow) => {
    const workspace = await createWorkspace();
    const answer = await send("POST", path, { token: workspace.key });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("Allow")).toBe(allow);
    expect(answer.body.error.code).toBe("method_not_allowed");
  });

  test("HEAD responds like GET, without a body", async () => {
    const workspace = await createWorkspace();
    const answer = await workspace.call("HEAD", "/me");
    expect([answer.status, answer.body]).toEqual([200, ""]);
    expectHeaders(answer, 1200);
  });

  test("a path outside of every surface is 404 in the same envelope", async () => {
    for (const path of ["/api", "/api/v2/me", "/nothing", "/API/V1/ME", "/api/v1x"]) {
      const answer = await send("GET", path);
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual({
        error: { code: "not_found", message: expect.any(String), request_id: answer.headers.get("X-Request-Id") },
      });
    }
  });
});

describe("the order of checks", () => {
  const ask = (token: string, body: unknown = { message: "" }) =>
    send("POST", `/api/v1/agents/${NO_AGENT}/messages`, { token, body, headers: newAddress() });

  test("credential, rate limit, scope, validation, existence", async () => {
    const workspace = await createWorkspace({ limits: { requests_per_minute: 3 } });
    const { key } = await createKey(workspace, ["leads:read"]);
    expect((await ask("sk_live_junk")).body.error.code).toBe("invalid_api_key");
    expect((await ask(key)).body.error.code).toBe("insufficient_scope");
    expect((await ask(workspace.key)).body.error.code).toBe("validation_error");
    expect((await ask(workspace.key, { message: "Hi" })).body.error.code).toBe("not_found");
    expect((await ask(key)).body.error.code).toBe("rate_limited");
    expect((await ask("sk_live_junk")).body.error.code).toBe("invalid_api_key");
  });

  test("existence comes before plan, state before quota", async () => {
    const workspace = await createWorkspace({ limits: { sources: 0, messages: 0 } });
    const source = { type: "text", name: "N", text: "T" };
    expect((await workspace.call("POST", `/agents/${NO_AGENT}/sources`, source)).status).toBe(404);
    const paused = await createAgent(workspace, { name: "Paused", status: "paused" });
    expect((await workspace.call("POST", `/agents/${paused.id}/messages`, { message: "Hi" })).status).toBe(409);
    expect((await workspace.call("POST", `/agents/${NO_AGENT}/messages`, { message: "Hi" })).status).toBe(404);
  });
});

describe("a configuration with problems", () => {
  test.each([
    ["KEY_SECRET", { KEY_SECRET: "" }],
    ["KEY_SECRET", { KEY_SECRET: undefined }],
    ["KEY_SECRET", { KEY_SECRET: " , " }],
    ["ENCRYPTION_KEY", { ENCRYPTION_KEY: "" }],
    ["ENCRYPTION_KEY", { ENCRYPTION_KEY: undefined }],
    ["ENCRYPTION_KEY", { ENCRYPTION_KEY: "," }],
    ["ALLOW_PRIVATE_TARGETS", { ENVIRONMENT: "production", ALLOW_PRIVATE_TARGETS: "true" }],
    ["OPENAI_BASE_URL", { OPENAI_BASE_URL: "api.example.com/v1", OPENAI_MODEL: "small" }],
    ["OPENAI_BASE_URL", { OPENAI_BASE_URL: "file:///etc/passwd", OPENAI_MODEL: "small" }],
    ["OPENAI_MODEL", { OPENAI_BASE_URL: "https://api.example.com/v1", OPENAI_MODEL: "" }],
    ["ENVIRONMENT", { ENVIRONMENT: "staging" }],
    ["DNS_OVER_HTTPS_URL", { DNS_OVER_HTTPS_URL: "http://1.1.1.1" }],
  ])("%s: 503, and the log names it (%j)", async (name, bindings) => {
    const workspace = await createWorkspace();
    const log = vi.spyOn(console, "error");
    const answer = await sendWith(bindings, "/api/v1/me", { token: workspace.key });
    expectError(answer, 503, "unavailable", 60);
    expect(answer.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    expect(JSON.stringify(answer.body)).not.toContain(name);
    expect(log.mock.calls.map(([line]) => String(line)).join("\n")).toContain(name);
    const operator = await sendWith(bindings, "/operator/v1/workspaces", { token: env.OPERATOR_TOKEN });
    expect(operator.status).toBe(503);
    expect(operator.body.error.code).toBe("unavailable");
  });

  test("a language server with a model is a valid configuration", async () => {
    const workspace = await createWorkspace();
    const bindings = { OPENAI_BASE_URL: "http://127.0.0.1:11434/v1", OPENAI_MODEL: "small" };
    expect((await sendWith(bindings, "/api/v1/me", { token: workspace.key })).status).toBe(200);
  });

  test("production without private targets works", async () => {
    const workspace = await createWorkspace();
    const long = "a-random-secret-of-more-than-32-characters";
    const bindings = {
      ENVIRONMENT: "production",
      OPERATOR_TOKEN: long,
      KEY_SECRET: `${long},${env.KEY_SECRET}`,
      ENCRYPTION_KEY: `${long},${env.ENCRYPTION_KEY}`,
    };
    expect((await sendWith(bindings, "/api/v1/me", { token: workspace.key })).status).toBe(200);
  });

  test.each([[{ OPERATOR_TOKEN: "" }], [{ OPERATOR_TOKEN: undefined }]])("with %j the operator API is 404", async (bindings) => {
    const workspace = await createWorkspace();
    for (const token of [env.OPERATOR_TOKEN, "", "undefined", undefined]) {
      const answer = await sendWith(bindings, "/operator/v1/workspaces", token === undefined ? {} : { token });
      expect(answer.status).toBe(404);
      expect(answer.body.error.code).toBe("not_found");
    }
    expect((await sendWith(bindings, "/api/v1/me", { token: workspace.key })).status).toBe(200);
  });

  test("/healthz responds whatever is missing", async () => {
    const answer = await sendWith({ KEY_SECRET: "", ENCRYPTION_KEY: "" }, "/healthz");
    expect([answer.status, answer.body]).toEqual([200, { status: "ok" }]);
  });
});
