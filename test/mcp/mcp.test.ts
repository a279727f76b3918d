import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeAll, expect, test } from "vitest";
import { costOf, createAgent, createKey, createNeighbour, createWorkspace, learn, newAddress, send, type Workspace } from "../harness.ts";
import { longText } from "../knowledge/agent-index.ts";
import { createReader, createSite } from "../knowledge/crawl/site.ts";

const ENDPOINT = "http://service.test/mcp";
const NEWEST = "2026-07-28";

const open: Client[] = [];
afterEach(() => Promise.all(open.splice(0).map((client) => client.close())));

/** The official client, connected with this key. */
async function connect(key: string, mode: "auto" | "legacy" = "auto"): Promise<Client> {
  const client = new Client({ name: "tests", version: "1.0.0" }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(ENDPOINT), {
    fetch: (url, init) => exports.default.fetch(new Request(url, init)),
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  open.push(client);
  return client;
}

interface Outcome {
  isError: boolean;
  text: string;
  value: any;
}

async function use(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Outcome> {
  const { isError = false, content, structuredContent } = await client.callTool({ name, arguments: args });
  const [first] = content as { type: string; text: string }[];
  return { isError, text: first!.text, value: structuredContent };
}

/** Sends one message as any HTTP client can, by the protocol revisions of 2025. */
function post(key: string | undefined, message: unknown, headers: Record<string, string> = {}) {
  const accept = { Accept: "application/json, text/event-stream", ...newAddress(), ...headers };
  return send("POST", "/mcp", { token: key, body: message, headers: accept });
}

const call = (name: string, args: object = {}) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

const TOOLS: Record<string, string> = {
  search: "knowledge:read",
  fetch: "knowledge:read",
  ask_agent: "chat:write",
  list_agents: "agents:read",
  list_conversations: "conversations:read",
  get_conversation: "conversations:read",
  reply_to_conversation: "conversations:write",
  update_conversation: "conversations:write",
  list_saved_replies: "conversations:read",
  get_business_hours: "conversations:read",
  list_approvals: "conversations:read",
  decide_approval: "conversations:write",
  list_leads: "leads:read",
  get_analytics: "analytics:read",
  list_sources: "knowledge:read",
  add_answer: "knowledge:write",
  sync_source: "knowledge:write",
};

const QUESTION = "When are refunds paid?";

async function createFixture(made: Promise<Workspace> = createWorkspace()) {
  const workspace = await made;
  const agent = await createAgent(workspace, { name: "Grace" });
  const source = await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  return { workspace, agent, source };
}

let fixture: Awaited<ReturnType<typeof createFixture>>;
beforeAll(async () => {
  fixture = await createFixture();
});

test.each(["auto", "legacy"] as const)("the official client lists every tool with its contract (%s)", async (mode) => {
  const client = await connect(fixture.workspace.key, mode);
  expect(client.getNegotiatedProtocolVersion()).toBe(mode === "auto" ? NEWEST : "2025-11-25");
  expect(client.getServerVersion()).toMatchObject({ name: "support-agent-service", title: "Support Agent Service" });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(Object.keys(TOOLS));
  for (const { name, title, description, annotations, inputSchema, outputSchema } of tools) {
    expect([typeof title, typeof description], name).toEqual(["string", "string"]);
    expect([typeof annotations?.readOnlyHint, typeof annotations?.openWorldHint], name).toEqual(["boolean", "boolean"]);
    expect(inputSchema, name).toMatchObject({ type: "object", additionalProperties: false });
    for (const [field, schema] of Object.entries(inputSchema.properties as Record<string, object>)) {
      expect(schema, `${name}.${field}`).toHaveProperty("description");
    }
    expect(outputSchema?.["type"], name).toBe("object");
    expect(JSON.stringify([inputSchema, outputSchema])).not.toMatch(/_internal|"\$ref"/);
  }
});

test("a tool's arguments are described as the API describes them", async () => {
  const { tools } = await (await connect(fixture.workspace.key)).listTools();
  const propertiesOf = (name: string) => tools.find((tool) => tool.name === name)!.inputSchema.properties as Record<string, any>;
  expect(propertiesOf("search")["limit"]).toMatchObject({ type: "integer", minimum: 1, maximum: 20, default: 10 });
  expect(propertiesOf("search")["filter"].anyOf[0].additionalProperties.anyOf).toHaveLength(2);
  expect(propertiesOf("list_conversations")["updated_since"]).toMatchObject({ type: "string", format: "date-time" });
  expect(propertiesOf("reply_to_conversation")["content"]).toMatchObject({ type: "string", minLength: 1, maxLength: 8000 });
});

test("a key sees only the tools of its scopes, and other tools say which scope they need", async () => {
  for (const scope of new Set(Object.values(TOOLS))) {
    const { key } = await createKey(fixture.workspace, [scope]);
    const { tools } = await (await connect(key)).listTools();
    expect(tools.map(({ name }) => name)).toEqual(Object.keys(TOOLS).filter((name) => TOOLS[name] === scope));
  }
  const { key } = await createKey(fixture.workspace, ["webhooks:read"]);
  const client = await connect(key);
  expect((await client.listTools()).tools).toEqual([]);
  const id = crypto.randomUUID();
  for (const [name, scope] of Object.entries(TOOLS)) {
    const args: Record<string, string> = { agent_id: id, conversation_id: id, source_id: id, approval_id: id, decision: "approve" };
    const answer = await post(key, call(name, name === "fetch" ? { id: `${id}/${id}` } : pickKnown(name, args)));
    expect(answer.body.result.isError, name).toBe(true);
    expect(answer.body.result.content[0].text, name).toContain(`insufficient_scope: This needs the scope ${scope}.`);
  }
});

test("a decision about a tool call is one of two words", async () => {
  const { key } = await createKey(fixture.workspace, ["conversations:write"]);
  const answer = await post(key, call("decide_approval", { approval_id: crypto.randomUUID(), decision: "approved" }));
  expect(answer.body.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("use approve or decline") }] });
});

function pickKnown(name: string, args: Record<string, string>): object {
  const takes: Record<string, string[]> = {
    search: ["agent_id"],
    ask_agent: ["agent_id"],
    get_conversation: ["conversation_id"],
    reply_to_conversation: ["conversation_id"],
    update_conversation: ["conversation_id"],
    decide_approval: ["approval_id", "decision"],
    list_sources: ["agent_id"],
    add_answer: ["agent_id"],
    sync_source: ["agent_id", "source_id"],
  };
  return Object.fromEntries((takes[name] ?? []).map((field) => [field, args[field]]));
}

test.each(["auto", "legacy"] as const)("the official client calls every tool (%s)", async (mode) => {
  const { workspace, agent, source } = await createFixture();
  const client = await connect(workspace.key, mode);
  // The client checks what it gets against the tools' output schemas once it knows them.
  await client.listTools();

  const agents = await use(client, "list_agents");
  expect(agents.value).toMatchObject({ data: [{ id: agent.id, name: "Grace" }], total: 1, next_cursor: null });
  expect(JSON.parse(agents.text)).toEqual(agents.value);

  const found = await use(client, "search", { query: QUESTION });
  const [result] = found.value.results;
  expect(result).toMatchObject({ title: "Handbook › Refunds", url: "", text: "Refunds are paid within five working days.", type: "text" });
  const document = await use(client, "fetch", { id: result.id });
  expect(document.value).toMatchObject({ id: result.id, title: "Handbook", next_cursor: null });
  expect(document.value.text).toContain("Refunds are paid within five working days.");

  const asked = await use(client, "ask_agent", { message: QUESTION, user: { id: "u-1", name: "Ann" } });
  expect(asked.value).toMatchObject({ answer: expect.stringContaining("five working days"), status: "ai_handled" });
  const id = asked.value.conversation_id;
  const listed = await use(client, "list_conversations", { status: "ai_handled", agent_id: agent.id, q: "refunds paid" });
  expect(listed.value).toMatchObject({ data: [{ id, visitor: { external_id: "u-1" } }], total: 1, next_cursor: null });

  const replied = await use(client, "reply_to_conversation", { conversation_id: id, content: "This is Grace.", resolve: false });
  expect(replied.value).toMatchObject({ content: "This is Grace.", role: "human", conversation_status: "human_active" });
  const changed = await use(client, "update_conversation", { conversation_id: id, status: "resolved", tags: ["refund"] });
  expect(changed.value).toMatchObject({ id, status: "resolved", tags: ["refund"] });
  const read = await use(client, "get_conversation", { conversation_id: id });
  expect(read.value).toMatchObject({ id, status: "resolved", next_cursor: null });
  expect(read.value.messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "human"]);

  const lead = { name: "Ann", email: "ann@example.com", conversation_id: null };
  await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body: lead, headers: newAddress() });
  expect((await use(client, "list_leads", { q: "ann@" })).value).toMatchObject({ data: [{ email: "ann@example.com" }], next_cursor: null });

  const analytics = await use(client, "get_analytics", { days: 7 });
  expect(analytics.value).toMatchObject({ range: { days: 7 }, totals: { conversations: 1, ai_replies: 1, human_replies: 1 } });

  const sources = await use(client, "list_sources");
  expect(sources.value).toMatchObject({ data: [{ id: source.id, name: "Handbook", status: "ready" }], total: 1, next_cursor: null });
  const synced = await use(client, "sync_source", { source_id: source.id });
  expect(synced.value).toMatchObject({ id: source.id, agent_id: agent.id });

  const added = await use(client, "add_answer", { question: "Do you ship to Iceland?", answer: "Yes, in six days." });
  expect(added.value).toMatchObject({ agent_id: agent.id, answer: "Yes, in six days." });
  const curated = (await use(client, "search", { query: "Do you ship to Iceland?" })).value.results[0];
  expect(curated).toMatchObject({ type: "answer", text: "Yes, in six days." });
  expect((await use(client, "fetch", { id: curated.id })).value).toMatchObject({ text: "Yes, in six days.", metadata: { type: "answer" } });
});

test("lists and documents have pages of 20 with a cursor", async () => {
  const { workspace, agent } = await createFixture();
  const client = await connect(workspace.key);
  await client.listTools();
  for (let at = 0; at < 20; at++) await createAgent(workspace, { name: `Agent ${at}` });
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: `S${at}`, text: "." }),
    ),
  );
  const sections = Array.from(
    { length: 40 },
    (_, at) => `# Section ${at}\n\nThe number of this section in the handbook of our shop is ${at}.`,
  );
  await learn(workspace, agent.id, sections.join("\n\n"), "Long");
  const started = { agent_id: agent.id, channel: "api", content: "Hello" };
  const { body: conversation } = await workspace.call("POST", "/conversations", started);
  for (let at = 1; at < 22; at++) await workspace.call("POST", `/conversations/${conversation.id}/messages`, { content: `Message ${at}` });

  const pages = async (name: string, args: object, field = "data") => {
    const read: any[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { value, text, isError } = await use(client, name, { ...args, ...(cursor !== "" && { cursor }) });
      expect(isError, text).toBe(false);
      read.push(value[field]);
      cursor = value.next_cursor;
    }
    return read;
  };
  expect((await pages("list_agents", {})).map(({ length }) => length)).toEqual([20, 1]);
  expect((await pages("list_sources", { agent_id: agent.id })).map(({ length }) => length)).toEqual([20, 2]);
  const messages = await pages("get_conversation", { conversation_id: conversation.id }, "messages");
  expect(messages.map(({ length }) => length)).toEqual([20, 2]);
  const found = await use(client, "search", { agent_id: agent.id, query: "number of section 39", limit: 20 });
  expect(found.value.results.length).toBeLessThanOrEqual(20);
  const parts = await pages("fetch", { id: found.value.results[0].id }, "text");
  expect(parts.length).toBeGreaterThan(1);
  const whole = parts.join("\n\n");
  for (let at = 0; at < 40; at++) expect(whole.split(`handbook of our shop is ${at}.`).length, String(at)).toBe(2);
  for (const [name, args] of [
    ["list_sources", { agent_id: agent.id }],
    ["fetch", { id: found.value.results[0].id }],
    ["list_conversations", {}],
    ["list_agents", {}],
  ] as const) {
    expect(await use(client, name, { ...args, cursor: "x" }), name).toMatchObject({ isError: true });
  }
});

test("an error names what the model has to change", async () => {
  const client = await connect(fixture.workspace.key);
  const wrong = await use(client, "ask_agent", { message: "", conversation_id: "x" });
  expect(wrong.isError).toBe(true);
  expect(wrong.text).toMatch(/^validation_error: The request is not valid/);
  expect(wrong.text).toContain("- message: String should have at least 1 character");
  expect(wrong.text).toContain("- conversation_id: Input should be a valid UUID");
  const unknown = await use(client, "list_conversations", { state: "open" });
  expect(unknown.text).toContain("list_conversations takes no state. It takes q, status, channel");
  const missing = await use(client, "get_conversation", { conversation_id: crypto.randomUUID() });
  expect(missing.text).toMatch(/^not_found: No conversation with this id/);
  expect((await use(client, "get_conversation", { conversation_id: ".." })).text).toBe(".. is not an id.");
  expect((await use(client, "fetch", { id: "x" })).text).toContain("Give the id of a search result");
  await expect(client.callTool({ name: "erase_person", arguments: {} })).rejects.toThrow("Tool erase_person not found");
});

test("without an agent_id the only agent is used; if there are several, the error lists them", async () => {
  const workspace = await createWorkspace();
  const client = await connect(workspace.key);
  expect((await use(client, "search", { query: QUESTION })).text).toContain("has no agent yet");
  const [first, second] = [await createAgent(workspace, { name: "Ada" }), await createAgent(workspace, { name: "Grace" })];
  const { text, isError } = await use(client, "ask_agent", { message: QUESTION });
  expect(isError).toBe(true);
  expect(text).toBe(`Name one of the agents as agent_id:\n- ${first.id}: Ada\n- ${second.id}: Grace`);
});

test("a call with the same idempotency_key is done once", async () => {
  const { workspace, agent } = await createFixture();
  const client = await connect(workspace.key);
  const args = { question: "Who?", answer: "Us.", idempotency_key: "schlüssel 1" };
  const [first, again] = [await use(client, "add_answer", args), await use(client, "add_answer", args)];
  expect(again.value).toEqual(first.value);
  expect((await workspace.call("GET", `/agents/${agent.id}/answers`)).body.total).toBe(1);
  const other = await use(client, "add_answer", { ...args, answer: "Others." });
  expect(other.text).toMatch(/^idempotency_conflict: /);
  const question = { message: QUESTION, idempotency_key: "question" };
  const [asked, askedAgain] = [await use(client, "ask_agent", question), await use(client, "ask_agent", question)];
  expect(askedAgain.value).toEqual(asked.value);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(1);
});

test("documents and records of another workspace are not found", async () => {
  const yours = await createFixture(createNeighbour(fixture.workspace));
  const [theirs, mine] = [await connect(yours.workspace.key), await connect(fixture.workspace.key)];
  const { results } = (await use(theirs, "search", { query: QUESTION })).value;
  const asked = (await use(theirs, "ask_agent", { message: QUESTION })).value;
  for (const [name, args] of [
    ["fetch", { id: results[0].id }],
    ["search", { query: QUESTION, agent_id: yours.agent.id }],
    ["ask_agent", { message: QUESTION, agent_id: yours.agent.id }],
    ["get_conversation", { conversation_id: asked.conversation_id }],
    ["reply_to_conversation", { conversation_id: asked.conversation_id, content: "Hello" }],
    ["update_conversation", { conversation_id: asked.conversation_id, status: "resolved" }],
    ["list_sources", { agent_id: yours.agent.id }],
    ["add_answer", { agent_id: yours.agent.id, question: "Q", answer: "A" }],
    ["sync_source", { agent_id: yours.agent.id, source_id: yours.source.id }],
  ] as const) {
    const { isError, text } = await use(mine, name, args);
    expect([isError, text.split(":")[0]], name).toEqual([true, "not_found"]);
  }
  expect((await yours.workspace.call("GET", `/conversations/${asked.conversation_id}`)).body).toMatchObject({
    status: "ai_handled",
    message_count: 2,
  });
});

test("a list or an object in place of a text is refused", async () => {
  const client = await connect(fixture.workspace.key);
  const hostile = { toString: null, valueOf: "x" };
  for (const [name, args] of [
    ["get_conversation", { conversation_id: hostile }],
    ["list_leads", { q: [hostile] }],
    ["search", { query: "x", agent_id: hostile }],
    ["fetch", { id: hostile }],
    ["ask_agent", { message: "x", idempotency_key: hostile }],
  ] as const) {
    expect((await use(client, name, args)).text, name).toContain("is neither a text nor a number");
  }
});

test("a page of a website is read by its address", async () => {
  const [site, reader] = [await createSite(), await createReader()];
  await site.has("/", { text: "The shop is open on weekdays.", links: ["/refunds?lang=en"] });
  await site.has("/refunds?lang=en", { text: "Refunds are paid within five working days." });
  const source = await reader.read({ url: site.at("/") });
  const client = await connect(reader.key);
  const { results } = (await use(client, "search", { query: QUESTION })).value;
  const url = site.at("/refunds?lang=en");
  expect(results[0]).toMatchObject({ id: `${reader.agentId}/${source.id}/${url}`, url, type: "page" });
  const page = await use(client, "fetch", { id: results[0].id });
  expect(page.value).toMatchObject({ url, title: "Title of /refunds?lang=en", metadata: { type: "page" } });
  expect(page.value.text).toContain("five working days");
  expect(page.value.text).not.toContain("weekdays");
  await reader.call("DELETE", `${reader.path}/${source.id}`);
  expect((await use(client, "fetch", { id: results[0].id })).text).toMatch(/^not_found: No document/);
});

test("a text that is being read again is read as it was", async () => {
  const { workspace, agent, source } = await createFixture();
  const client = await connect(workspace.key);
  const index = env.INDEX.getByName(`${workspace.id}/${agent.id}`);
  await index.stageText(source.id, "Handbook", longText(2_000), 10_000_000);
  expect((await index.ingestText(source.id, "again")).done).toBe(false);
  const { value } = await use(client, "fetch", { id: `${agent.id}/${source.id}` });
  expect(value.text).toBe("# Refunds\n\nRefunds are paid within five working days.");
});

test("a request is admitted, limited and counted once, as under /api/v1", async () => {
  const workspace = await createWorkspace({ limits: { requests_per_minute: 3 } });
  await createAgent(workspace);
  const first = await post(workspace.key, call("list_agents"));
  expect(first.status).toBe(200);
  expect([first.headers.get("X-RateLimit-Limit"), first.headers.get("X-RateLimit-Remaining")]).toEqual(["3", "2"]);
  expect(first.headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(first.headers.get("X-Content-Type-Options")).toBe("nosniff");
  await post(workspace.key, call("list_conversations"));
  await post(workspace.key, LIST);
  const refused = await post(workspace.key, LIST);
  expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limited"]);
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
});

test("a tool costs the round trips of its operation, and the log names it", async () => {
  const { workspace, agent } = fixture;
  await post(workspace.key, call("list_agents"));
  const cost = await costOf(() => post(workspace.key, call("list_agents")));
  expect(cost).toMatchObject({
    event: "request",
    surface: "mcp",
    operation: "mcp.list_agents",
    object_hops: 1,
    d1_trips: 1,
    status: 200,
    error_code: null,
  });
  expect(await costOf(() => post(workspace.key, call("search", { query: QUESTION, agent_id: agent.id })))).toMatchObject({
    object_hops: 2,
    d1_trips: 1,
  });
  const failed = await costOf(() => post(workspace.key, call("get_conversation", { conversation_id: crypto.randomUUID() })));
  expect(failed).toMatchObject({ operation: "mcp.get_conversation", error_code: "not_found" });
});

test("without a valid key, from another site, in a batch or too long, nothing is done", async () => {
  const { workspace } = fixture;
  const anonymous = await post(undefined, LIST);
  expect([anonymous.status, anonymous.body.error.code, anonymous.headers.get("WWW-Authenticate")]).toEqual([
    401,
    "missing_api_key",
    "Bearer",
  ]);
  expect((await post("sk_live_junk", LIST)).body.error.code).toBe("invalid_api_key");
  for (const origin of ["https://evil.example", "null", "http://service.test"]) {
    const answer = await post(workspace.key, LIST, { Origin: origin });
    expect([answer.status, answer.body.error.code], origin).toEqual([403, "origin_not_allowed"]);
  }
  const batch = await post(workspace.key, [call("list_agents"), call("list_agents")]);
  expect([batch.status, batch.body.error]).toEqual([400, { code: -32600, message: "Send one message in a request." }]);
  expect((await post(workspace.key, "{")).body.error.code).toBe(-32700);
  expect((await post(workspace.key, call("search", { query: "x".repeat(600_000) }))).status).toBe(413);
  expect((await send("GET", "/mcp", { token: workspace.key })).status).toBe(405);
});

test("a page of this machine may connect to a service that is developed on it", async () => {
  const url = "http://localhost:8787/mcp";
  const headers = {
    Authorization: `Bearer ${fixture.workspace.key}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  };
  const response = await exports.default.fetch(
    new Request(url, { method: "POST", headers: { ...headers, Origin: "http://localhost:8787" }, body: JSON.stringify(LIST) }),
  );
  expect(response.status).toBe(200);
  await response.text();
});

test("a subscription to changes ends at once", async () => {
  const client = await connect(fixture.workspace.key);
  expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: false } });
});

test("saved replies are listed with the values of a conversation, and the team's hours are read", async () => {
  const { workspace, agent } = await createFixture();
  for (const name of ["Sent", "Late"]) {
    const content = `Hello {{visitor.name}} ({{visitor.email}}), this is {{member.name}} with {{agent.name}}.`;
    await workspace.call("POST", "/saved-replies", { name, content });
  }
  const user = { id: "u-1", name: "Ada {{agent.name}}" };
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: QUESTION, user });
  const client = await connect(workspace.key);
  const plain = await use(client, "list_saved_replies");
  expect(plain.value).toMatchObject({ total: 2, next_cursor: null, data: [{ name: "Sent" }, { name: "Late" }] });
  expect(plain.value.data[0].content).toContain("{{visitor.name}}");
  const filled = await use(client, "list_saved_replies", { conversation_id: asked.body.conversation_id });
  expect(filled.value.data[1].content).toBe("Hello Ada {{agent.name}} ({{visitor.email}}), this is {{member.name}} with Grace.");
  const { key } = await createKey(workspace, ["conversations:read"]);
  const fewer = await use(await connect(key), "list_saved_replies", { conversation_id: asked.body.conversation_id });
  expect(fewer.value.data[0].content).toContain("with {{agent.name}}.");
  const none = await use(client, "list_saved_replies", { conversation_id: fixture.workspace.id });
  expect([none.isError, none.text.split(":")[0]]).toEqual([true, "not_found"]);
  await workspace.call("PATCH", "/business-hours", { time_zone: "Europe/Vienna", hours: { monday: [{ from: "09:00", to: "17:00" }] } });
  const hours = await use(client, "get_business_hours");
  expect(hours.value).toMatchObject({ time_zone: "Europe/Vienna", hours: { monday: [{ from: "09:00", to: "17:00" }] } });
});
