import { expect, test } from "vitest";
import { createAgent, createKey, createNeighbour, createWorkspace, operate, query, send } from "../harness.ts";
import document from "../openapi.json";

const TOOL = {
  name: "order_status",
  description: "Reads an order.",
  method: "GET",
  url: "https://api.example.com/orders",
  headers: { "X-Key": "secret" },
};

test("a workspace adds, changes and deletes its own agents", async () => {
  const workspace = await createWorkspace();
  const created = await workspace.call("POST", "/agents", { name: "Acme support", instructions: "Be brief.", tools: [TOOL] });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({ name: "Acme support", slug: "acme-support", instructions: "Be brief.", has_identity_secret: false });
  expect(created.body.tools[0].headers).toEqual({ "X-Key": null });
  const path = `/agents/${created.body.id}`;
  const changed = await workspace.call("PATCH", path, { status: "paused", slug: "acme" });
  expect(changed.body).toMatchObject({ status: "paused", slug: "acme", instructions: "Be brief." });
  expect((await workspace.call("GET", path)).body).toEqual(changed.body);
  expect((await operate("GET", `/workspaces/${workspace.id}${path}`)).slug).toBe("acme");
  expect((await workspace.call("DELETE", path)).status).toBe(204);
  expect((await workspace.call("GET", path)).status).toBe(404);
});

test("the settings of an agent are for keys with agents:write", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { instructions: "Say nothing of MARK.", tools: [TOOL], model: "MARK-model" });
  const reader = await createKey(workspace, ["agents:read"]);
  for (const path of [`/agents/${agent.id}`, "/agents"]) {
    const seen = await send("GET", `/api/v1${path}`, { token: reader.key });
    expect(seen.status).toBe(200);
    expect(JSON.stringify(seen.body)).not.toContain("MARK");
    for (const field of ["instructions", "tools", "model", "allowed_origins"])
      expect(JSON.stringify(seen.body)).not.toContain(`"${field}"`);
    const { body } = await workspace.call("GET", path);
    expect(body.data?.[0] ?? body).toMatchObject({ instructions: "Say nothing of MARK.", model: "MARK-model" });
  }
});

test("an agent that is read can be sent back", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { email_address: `${crypto.randomUUID()}@support.example.com` });
  const { body } = await workspace.call("GET", `/agents/${agent.id}`);
  const changed = await workspace.call("PATCH", `/agents/${agent.id}`, body);
  expect(changed.status).toBe(200);
  expect(changed.headers.get("X-Unknown-Fields")).toContain("has_identity_secret");
  expect({ ...changed.body, updated_at: "" }).toEqual({ ...body, updated_at: "" });
});

test("only the operator gives an agent a mailbox", async () => {
  const workspace = await createWorkspace();
  const email_address = `${crypto.randomUUID()}@support.example.com`;
  const refused = await workspace.call("POST", "/agents", { name: "Post", email_address });
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toMatchObject([{ loc: ["body", "email_address"], type: "value_error" }]);
  const agent = await createAgent(workspace);
  expect((await workspace.call("PATCH", `/agents/${agent.id}`, { email_address })).status).toBe(422);
  await operate("PATCH", `/workspaces/${workspace.id}/agents/${agent.id}`, { email_address });
  const { body } = await workspace.call("PATCH", `/agents/${agent.id}`, { email_address: null });
  expect(body).toMatchObject({ email_address: null, channels: ["widget", "hosted", "api"] });
});

test("an agent over the plan's limit is 403, and a taken slug is 409", async () => {
  const workspace = await createWorkspace({ limits: { agents: 1 } });
  await createAgent(workspace, { name: "One", slug: "one" });
  const many = await workspace.call("POST", "/agents", { name: "Two" });
  expect([many.status, many.body.error.code]).toEqual([403, "plan_required"]);
  const taken = await workspace.call("POST", "/agents", { name: "One", slug: "one" });
  expect([taken.status, taken.body.error.code]).toEqual([409, "conflict"]);
});

test("a repeated request adds one agent, also when its response was lost", async () => {
  const workspace = await createWorkspace();
  const request = () => workspace.call("POST", "/agents", { name: "Once" }, { "Idempotency-Key": "once" });
  const first = await request();
  await query(
    workspace.id,
    "UPDATE idempotency_records SET response_status = NULL, response_body = NULL, lease_until = 0 WHERE workspace_id = ?",
    workspace.id,
  );
  const second = await request();
  expect([second.status, second.body]).toEqual([201, first.body]);
  expect((await workspace.call("GET", "/agents")).body.total).toBe(1);
});

test("an identity secret is rotated; a repeated request does not end the one before", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const rotate = (headers?: Record<string, string>, body?: object) =>
    workspace.call("POST", `/agents/${agent.id}/rotate-identity-secret`, body, headers);
  const first = await rotate();
  expect(first.body).toEqual({ secret: expect.stringMatching(/^[\w-]{43}$/), previous_valid_until: null });
  const second = await rotate({ "Idempotency-Key": "rotate" });
  expect(second.body.previous_valid_until).toMatch(/Z$/);
  await query(
    workspace.id,
    "UPDATE idempotency_records SET response_status = NULL, response_body = NULL, lease_until = 0 WHERE workspace_id = ?",
    workspace.id,
  );
  expect((await rotate({ "Idempotency-Key": "rotate" })).body).toEqual(second.body);
  expect((await rotate(undefined, { revoke: true })).body.previous_valid_until).toBeNull();
});

test("an agent's slug is taken wherever its id is, in its own workspace alone", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { name: "Front desk" });
  const neighbour = await createNeighbour(workspace);
  const { body: asked } = await workspace.call("POST", "/agents/front-desk/messages", { message: "Is there a student discount?" });
  const start = { agent_id: "front-desk", channel: "api", content: "Hello", user: { id: "ann" } };
  expect(await workspace.call("POST", "/conversations", start)).toMatchObject({ status: 201, body: { agent_id: agent.id } });
  for (const [path, value] of [
    ["/agents/front-desk", { id: agent.id }],
    ["/agents/front-desk/sources", { total: 0 }],
    ["/conversations?agent_id=front-desk", { data: [{ agent_id: agent.id }, { id: asked.conversation_id }] }],
    ["/analytics/overview?agent_id=front-desk", { agent_id: agent.id }],
  ] as const)
    expect((await workspace.call("GET", path)).body, path).toMatchObject(value);
  for (const path of ["/agents/front-desk", "/agents/front-desk/sources", "/conversations?agent_id=front-desk"]) {
    const { status, body } = await neighbour.call("GET", path);
    expect([status, body.error.code], path).toEqual([404, "not_found"]);
  }
  const { body } = await workspace.call("GET", "/agents/Front%20desk");
  expect(body.detail).toMatchObject([{ loc: ["path", "agent_id"], msg: "Write the id or slug of an agent" }]);
});

test("no operation of the integrators' API takes an agent's id alone", () => {
  const parameters = Object.values(document.paths).flatMap((methods: any) =>
    Object.values(methods).flatMap((each: any) => each.parameters ?? []),
  );
  const agents = parameters.filter(({ name }: any) => name === "agent_id");
  expect(agents.length).toBeGreaterThan(30);
  expect(agents.filter(({ schema }: any) => schema.format === "uuid")).toEqual([]);
});
