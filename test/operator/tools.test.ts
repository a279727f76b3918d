import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { BUILT_IN_NAMES } from "../../src/agents/tool-wire.ts";
import { builtInTools, type ToolContext } from "../../src/chat/built-in-tools.ts";
import { decryptSecret } from "../../src/platform/crypto/secrets.ts";
import { type Answer, createAgent, createKey, createWorkspace, operate, query, send, type Workspace } from "../harness.ts";

const SECRET = "Bearer s3cr3t-of-the-operator";

const TOOL = {
  name: "order_status",
  description: "Says where an order is.",
  parameters: {
    type: "object",
    properties: { order: { type: "string", maxLength: 20 }, detail: { type: "string", enum: ["short", "long"] } },
    required: ["order"],
  },
  method: "GET",
  url: "https://api.example.com/orders/{order}",
  headers: { Authorization: SECRET, "X-Tenant": "acme" },
  timeout_seconds: 5,
};
const SHOWN = {
  type: "http",
  ...TOOL,
  body: {},
  requires_verified_visitor: false,
  requires_approval: false,
  headers: { Authorization: null, "X-Tenant": null },
};

const agentsOf = (workspace: { id: string }) => `/workspaces/${workspace.id}/agents`;
const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  send(method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, body });
const create = async (tools: unknown, workspace?: Workspace) => call("POST", agentsOf(workspace ?? (await shared)), { name: "Ada", tools });
/** Enough for tests that create nothing in it. */
const shared = createWorkspace();

interface Row {
  tools: string;
}
const storedOf = async (id: string): Promise<Record<string, any>[]> =>
  JSON.parse((await query<Row>(id, "SELECT tools FROM agents WHERE id = ?", id))[0]!.tools);

async function createWithTool(tool: object = TOOL) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { tools: [tool] });
  const path = `${agentsOf(workspace)}/${agent.id}`;
  const valueOf = async (header: string, name = TOOL.name) => {
    const stored = (await storedOf(agent.id)).find((one) => one["name"] === name);
    const [, sealed] = Object.entries<string>(stored!["headers"]).find(([one]) => one.toLowerCase() === header.toLowerCase())!;
    return decryptSecret(env, sealed, `tool/${agent.id}/${name}/${header.toLowerCase()}`);
  };
  return { workspace, agent, path, valueOf, patch: (...tools: object[]) => call("PATCH", path, { tools }) };
}

describe("an agent's tools", () => {
  test("are stored and returned, without the values of their headers", async () => {
    const { agent, path, workspace } = await createWithTool();
    expect(agent["tools"]).toEqual([SHOWN]);
    expect((await operate("GET", path)).tools).toEqual([SHOWN]);
    expect((await operate("GET", agentsOf(workspace))).data[0].tools).toEqual([SHOWN]);
  });

  test("have defaults: no parameters, no headers, ten seconds", async () => {
    const tool = { name: "ping", description: "Pings.", method: "POST", url: "https://api.example.com/ping" };
    const { agent } = await createWithTool(tool);
    expect(agent["tools"]).toEqual([
      {
        type: "http",
        ...tool,
        parameters: { type: "object", properties: {} },
        headers: {},
        body: {},
        requires_verified_visitor: true,
        requires_approval: false,
        timeout_seconds: 10,
      },
    ]);
  });

  test.each(["GET", "POST", "PUT", "PATCH", "DELETE"])(
    "with %s require a verified visitor unless it is GET, or as the team decides",
    async (method) => {
      const tool = { name: "ping", description: "Pings.", method, url: "https://api.example.com/ping" };
      const required = async (settings: object) =>
        (await createWithTool({ ...tool, ...settings })).agent["tools"][0].requires_verified_visitor;
      expect(await required({})).toBe(method !== "GET");
      for (const decided of [true, false]) expect(await required({ requires_verified_visitor: decided })).toBe(decided);
    },
  );

  test("are not shown to a key without agents:write", async () => {
    const { workspace, agent } = await createWithTool();
    const { key } = await createKey(workspace, ["agents:read"]);
    const shown = await send("GET", `/api/v1/agents/${agent.id}`, { token: key });
    expect(JSON.stringify(shown.body)).not.toMatch(/tools|order_status|api\.example\.com/);
  });

  test.each([
    {
      type: "object",
      properties: { a: { type: ["string", "null"], pattern: "^[A-Z]\\d+$", description: "x", default: "A1", examples: ["A1"] } },
    },
    { type: "object", properties: { a: { anyOf: [{ type: "string", format: "email" }, { const: 7 }] } }, additionalProperties: false },
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        list: {
          type: "array",
          items: { type: "object", properties: { n: { type: "number", minimum: 0.5 } }, required: ["n"] },
          maxItems: 3,
        },
      },
    },
    { type: "object" },
  ])("take parameters such as %j", async (parameters) => {
    const { agent } = await createWithTool({ ...TOOL, url: "https://api.example.com/", parameters });
    expect(agent["tools"][0].parameters).toEqual({ properties: {}, ...parameters });
  });
});

const deep = (levels: number): object => (levels === 0 ? { type: "string" } : { type: "array", items: deep(levels - 1) });
const many = (count: number, of: (at: number) => [string, unknown]) => Object.fromEntries(Array.from({ length: count }, (_, at) => of(at)));
const withParameters = (parameters: unknown) => ({ parameters, url: "https://api.example.com/" });
const withProperty = (property: unknown) => withParameters({ type: "object", properties: { a: property } });

const FILLED = {
  ...TOOL,
  name: "own_orders",
  method: "POST",
  url: "https://api.example.com/{visitor.external_id}/orders/{order}?ref={conversation.id}",
  headers: { Authorization: SECRET, "X-Email": "<{visitor.email}>", "X-Odd": "{order} {a.b}" },
  body: { customer: "{visitor.external_id}", query: "{ orders }" },
  requires_verified_visitor: true,
};

describe("a tool that the service fills in", () => {
  test("is shown as it was sent, and knows what its hidden headers name", async () => {
    const { agent, patch } = await createWithTool(FILLED);
    const headers = { Authorization: null, "X-Email": null, "X-Odd": null };
    expect(agent["tools"]).toEqual([{ type: "http", requires_approval: false, ...FILLED, headers }]);
    const named = { Authorization: [], "X-Email": ["visitor.email"], "X-Odd": [] };
    expect((await storedOf(agent.id))[0]).toMatchObject({ headerVariables: named });
    await patch({ ...FILLED, headers });
    expect((await storedOf(agent.id))[0]!["headerVariables"]).toEqual(named);
    await patch({ ...FILLED, headers: { "x-email": null, "X-New": "{conversation.id}" } });
    expect((await storedOf(agent.id))[0]!["headerVariables"]).toEqual({ "x-email": ["visitor.email"], "X-New": ["conversation.id"] });
    await patch({ ...FILLED, headers: { "X-Email": "none" } });
    expect((await storedOf(agent.id))[0]!["headerVariables"]).toEqual({ "X-Email": [] });
  });
});

describe("a tool is refused", () => {
  test.each<[string, object, (string | number)[], string]>([
    ["a name in capitals", { name: "OrderStatus" }, ["name"], "lower-case letters"],
    ["a name that begins with a digit", { name: "1st" }, ["name"], "lower-case letters"],
    ["an empty name", { name: "" }, ["name"], "lower-case letters"],
    ["a long name", { name: "a".repeat(65) }, ["name"], "lower-case letters"],
    ["a name with an end of line", { name: "a\n" }, ["name"], "lower-case letters"],
    ["a built-in name", { name: "search_knowledge" }, ["name"], "built in"],
    ["no description", { description: "" }, ["description"], "at least 1"],
    ["a long description", { description: "x".repeat(1_001) }, ["description"], "at most 1000"],
    ["another method", { method: "HEAD" }, ["method"], "'GET'"],
    ["no time", { timeout_seconds: 0 }, ["timeout_seconds"], "greater than or equal to 1"],
    ["too much time", { timeout_seconds: 31 }, ["timeout_seconds"], "less than or equal to 30"],
    ["half a second", { timeout_seconds: 1.5 }, ["timeout_seconds"], "integer"],
    ["an http URL", { url: "http://api.example.com/{order}" }, ["url"], "https"],
    ["a private host", { url: "https://localhost/{order}" }, ["url"], "single name"],
    ["an inner name", { url: "https://api.internal/{order}" }, ["url"], ".internal"],
    ["an IP address", { url: "https://10.0.0.1/{order}" }, ["url"], "IP address"],
    ["another port", { url: "https://api.example.com:22/{order}" }, ["url"], "port"],
    ["a user name", { url: "https://u:p@api.example.com/{order}" }, ["url"], "user name"],
    ["a URL with a blank", { url: "https://api.example.com/a b/{order}" }, ["url"], "white space"],
    ["a host by placeholder", { url: "https://{order}.example.com/" }, ["url"], "path and query"],
    ["an unknown placeholder", { url: "https://api.example.com/{customer}" }, ["url"], "{customer}"],
    ["a placeholder that need not be given", { url: "https://api.example.com/{detail}" }, ["url"], "{detail}"],
    ["a long URL", { url: `https://api.example.com/${"x".repeat(1_000)}` }, ["url"], "at most 1000"],
    ["parameters that are no object", withParameters({ type: "string" }), ["parameters", "type"], "'object'"],
    ["parameters that are text", withParameters("none"), ["parameters"], "an object"],
    ["a required one that is not declared", withParameters({ type: "object", required: ["b"] }), ["parameters", "required"], "b is not"],
    ["others let in", withParameters({ type: "object", additionalProperties: true }), ["parameters", "additionalProperties"], "'false'"],
    [
      "another draft",
      withParameters({ $schema: "http://json-schema.org/draft-04/schema#", type: "object" }),
      ["parameters", "$schema"],
      "2020-12",
    ],
    ["a reference", withProperty({ $ref: "https://evil.test/schema" }), ["parameters", "properties", "a"], "$ref"],
    ["a condition", withProperty({ if: {} }), ["parameters", "properties", "a"], "if"],
    ["an unknown type", withProperty({ type: "text" }), ["parameters", "properties", "a", "type"], "Use one of"],
    ["an unknown format", withProperty({ type: "string", format: "phone" }), ["parameters", "properties", "a", "format"], "'email'"],
    [
      "a broken pattern",
      withProperty({ type: "string", pattern: "(" }),
      ["parameters", "properties", "a", "pattern"],
      "regular expression",
    ],
    [
      "a pattern with a lookahead",
      withProperty({ items: { type: "string", pattern: "^(?=.*\\d)" } }),
      ["parameters", "properties", "a", "items", "pattern"],
      "RE2",
    ],
    ["examples that are no list", withProperty({ examples: { $id: "::" } }), ["parameters", "properties", "a", "examples"], "list"],
    ["a long pattern", withProperty({ type: "string", pattern: "a".repeat(201) }), ["parameters", "properties", "a", "pattern"], "200"],
    ["a negative length", withProperty({ type: "string", minLength: -1 }), ["parameters", "properties", "a", "minLength"], "0"],
    ["an odd name", withParameters({ type: "object", properties: { "a b": {} } }), ["parameters", "properties", "a b"], "Name it"],
    [
      "a name of JavaScript's",
      withParameters({ type: "object", properties: { __defineGetter__: {} } }),
      ["parameters", "properties", "__defineGetter__"],
      "Name it",
    ],
    [
      "too many",
      withParameters({ type: "object", properties: many(51, (at) => [`p${at}`, {}]) }),
      ["parameters", "properties"],
      "at most 50",
    ],
    ["deep nesting", withProperty(deep(20)), ["parameters"], "16 deep"],
    ["long parameters", withProperty({ description: "x".repeat(4_096) }), ["parameters"], "4096"],
    ["an unknown variable", { url: "https://api.example.com/{visitor.phone}/{order}" }, ["url"], "{visitor.phone} is not known"],
    ["a variable in its host", { url: "https://{visitor.external_id}.example.com/{order}" }, ["url"], "path and query"],
    ["an unknown variable in a header", { headers: { "X-A": "{conversation.title}" } }, ["headers", "X-A"], "{conversation.title} is not"],
    ["an unknown variable in its body", { method: "POST", body: { a: ["{visitor.id}"] } }, ["body"], "{visitor.id} is not known"],
    ["a body that it cannot have", { body: { a: 1 } }, ["body"], "GET has no body"],
    ["a field that the model writes too", { method: "POST", body: { detail: "long" } }, ["body"], "detail is a parameter too"],
    ["a long body", { method: "POST", body: { a: "x".repeat(4_096) } }, ["body"], "4096"],
    ["a body that is text", { method: "POST", body: "a" }, ["body"], "an object"],
    ["a Host header", { headers: { Host: "evil.test" } }, ["headers", "Host"], "sets this header itself"],
    ["a Content-Length", { headers: { "content-length": "1" } }, ["headers", "content-length"], "sets this header itself"],
    ["a Transfer-Encoding", { headers: { "Transfer-Encoding": "chunked" } }, ["headers", "Transfer-Encoding"], "itself"],
    ["a Connection", { headers: { Connection: "close" } }, ["headers", "Connection"], "itself"],
    ["a key of idempotency", { headers: { "Idempotency-Key": "x" } }, ["headers", "Idempotency-Key"], "itself"],
    ["the platform's header", { headers: { "CF-Connecting-IP": "1.1.1.1" } }, ["headers", "CF-Connecting-IP"], "itself"],
    ["a proxy's header", { headers: { "Proxy-Authorization": "x" } }, ["headers", "Proxy-Authorization"], "itself"],
    ["a header's name with a blank", { headers: { "X Y": "x" } }, ["headers", "X Y"], "letters, digits"],
    ["a header's name with a line", { headers: { "X\r\nY": "x" } }, ["headers", "X\r\nY"], "letters, digits"],
    ["a header's name of 65", { headers: { ["x".repeat(65)]: "x" } }, ["headers", "x".repeat(65)], "letters, digits"],
    ["a header twice", { headers: { "X-A": "1", "x-a": "2" } }, ["headers"], "once"],
    ["many headers", { headers: many(11, (at) => [`X-${at}`, "x"]) }, ["headers"], "at most 10"],
    ["a value with a line", { headers: { "X-A": "a\r\nHost: evil.test" } }, ["headers", "X-A"], "visible ASCII"],
    ["a value with NUL", { headers: { "X-A": "a\0" } }, ["headers", "X-A"], "visible ASCII"],
    ["a value that is cut on the way", { headers: { "X-A": " a" } }, ["headers", "X-A"], "visible ASCII"],
    ["a value that is not ASCII", { headers: { "X-A": "ü" } }, ["headers", "X-A"], "visible ASCII"],
    ["an empty value", { headers: { "X-A": "" } }, ["headers", "X-A"], "at least 1"],
    ["a long value", { headers: { "X-A": "x".repeat(4_097) } }, ["headers", "X-A"], "at most 4096"],
    ["a value that is a number", { headers: { "X-A": 1 } }, ["headers", "X-A"], "string"],
    ["a value to keep where there is none", { headers: { "X-A": null } }, ["headers", "X-A"], "No value is stored"],
  ])("for %s", async (_, change, path, message) => {
    const answer = await create([{ ...TOOL, ...change }]);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0]).toMatchObject({ loc: ["body", "tools", 0, ...path], msg: expect.stringContaining(message) });
  });

  test("for missing fields", async () => {
    const answer = await create([{}]);
    expect(answer.body.detail.map(({ loc, type }: any) => [loc.at(-1), type])).toEqual(
      ["name", "description", "method", "url"].map((field) => [field, "missing"]),
    );
  });

  test("in a list with a duplicate name, more than twenty tools, or too much text", async () => {
    const tool = { ...TOOL, headers: {} };
    expect((await create([tool, tool])).body.detail[0]).toMatchObject({ loc: ["body", "tools", 1, "name"] });
    const twenty = Array.from({ length: 20 }, (_, at) => ({ ...tool, name: `tool_${at}` }));
    expect((await create(twenty, await createWorkspace())).status).toBe(201);
    expect((await create([...twenty, tool])).body.detail[0]).toMatchObject({ loc: ["body", "tools"], type: "too_long" });
    const wordy = twenty.map((one) => ({
      ...one,
      description: "x".repeat(1_000),
      parameters: { ...one.parameters, description: "y".repeat(200) },
    }));
    expect((await create(wordy)).body.detail[0]).toMatchObject({ loc: ["body", "tools"], msg: expect.stringContaining("24000") });
    expect((await create("none")).body.detail[0]).toMatchObject({ loc: ["body", "tools"], type: "list_type" });
  });

  test("however deep its parameters are nested", async () => {
    const nested = `{"type":"object","properties":{"a":${'{"items":'.repeat(9_000)}{}${"}".repeat(9_000)}}}`;
    const text = JSON.stringify({ name: "Ada", tools: [{ ...TOOL, parameters: "HERE" }] }).replace('"HERE"', nested);
    expect((await call("POST", agentsOf(await shared), text)).status).toBe(422);
  });
});

test("the names of the built-in tools are reserved", () => {
  expect(builtInTools({} as ToolContext).map(({ name }) => name)).toEqual([...BUILT_IN_NAMES]);
});

describe("a header's value", () => {
  test("is stored encrypted for its agent, tool and header", async () => {
    const { agent, valueOf } = await createWithTool();
    expect(JSON.stringify(await query(agent.id, "SELECT * FROM agents WHERE id = ?", agent.id))).not.toContain("s3cr3t");
    expect(await valueOf("Authorization")).toBe(SECRET);
    const [stored] = await storedOf(agent.id);
    const { Authorization: sealed } = stored!["headers"];
    for (const place of [`tool/${agent.id}/order_status/x-tenant`, `tool/${agent.id}/other/authorization`, `agent/${agent.id}/identity`])
      await expect(decryptSecret(env, sealed, place)).rejects.toThrow();
  });

  test("stays if the operator sends the returned value, null, or no headers", async () => {
    const { valueOf, patch } = await createWithTool();
    const { headers: _, ...without } = SHOWN;
    for (const tool of [SHOWN, without, { ...SHOWN, headers: { authorization: null, "x-tenant": null } }]) {
      expect((await patch(tool)).status).toBe(200);
      expect(await valueOf("Authorization")).toBe(SECRET);
    }
  });

  test("is replaced by a new value, and removed with its header or tool", async () => {
    const { agent, valueOf, patch } = await createWithTool();
    await patch({ ...SHOWN, headers: { Authorization: "Bearer new", "X-Tenant": null } });
    expect([await valueOf("Authorization"), await valueOf("X-Tenant")]).toEqual(["Bearer new", "acme"]);
    const dropped = await patch({ ...SHOWN, headers: { "X-Tenant": null } });
    expect(dropped.body.tools[0].headers).toEqual({ "X-Tenant": null });
    expect((await patch(SHOWN)).body.detail[0].loc).toEqual(["body", "tools", 0, "headers", "Authorization"]);
    const renamed = await patch({ ...SHOWN, name: "renamed", headers: { "X-Tenant": null } });
    expect(renamed.body.detail[0]).toMatchObject({ loc: ["body", "tools", 0, "headers", "X-Tenant"] });
    expect((await patch()).body.tools).toEqual([]);
    expect(await storedOf(agent.id)).toEqual([]);
  });

  test("is not kept for another host, which it was not meant for", async () => {
    const { patch, valueOf } = await createWithTool();
    expect((await patch({ ...SHOWN, url: "https://api.example.com/v2/{order}" })).status).toBe(200);
    expect(await valueOf("Authorization")).toBe(SECRET);
    expect((await patch({ ...SHOWN, url: "https://evil.example.org/{order}" })).status).toBe(422);
    const moved = await patch({ ...SHOWN, url: "https://other.example.org/{order}", headers: undefined });
    expect(moved.body.tools[0].headers).toEqual({});
  });

  test("stays if another field of the agent changes, and is not shared", async () => {
    const { path, agent, valueOf, workspace } = await createWithTool();
    await operate("PATCH", path, { name: "Grace" });
    expect(await valueOf("Authorization")).toBe(SECRET);
    const other = await createAgent(workspace, { name: "Other" });
    const answer = await call("PATCH", `${agentsOf(workspace)}/${other.id}`, { tools: [SHOWN] });
    expect(answer.status).toBe(422);
    expect((await call("PATCH", `${agentsOf(workspace)}/${crypto.randomUUID()}`, { tools: [SHOWN] })).status).toBe(404);
    expect((await storedOf(agent.id)).length).toBe(1);
  });

  test("does not appear in any error", async () => {
    const refused = [
      [{ ...TOOL, name: undefined }],
      [{ ...TOOL, url: 7 }],
      [{ ...TOOL, headers: { Authorization: `${SECRET}\r\n` } }],
      [{ ...TOOL, headers: { Authorization: { value: SECRET } } }],
      [{ ...TOOL, headers: [SECRET] }],
      [{ ...TOOL, headers: { Host: SECRET } }],
      [{ ...TOOL, headers: { "X-A": "1", "x-a": SECRET } }],
      [TOOL, TOOL],
      { "0": TOOL },
      Array.from({ length: 21 }, () => TOOL),
    ];
    for (const tools of refused) {
      const answer = await create(tools);
      expect(answer.status).toBe(422);
      expect(JSON.stringify(answer.body)).not.toContain("s3cr3t");
    }
    const nameless = await call("POST", agentsOf(await shared), { tools: [TOOL] });
    expect([nameless.status, JSON.stringify(nameless.body).includes("s3cr3t")]).toEqual([422, false]);
  });
});
