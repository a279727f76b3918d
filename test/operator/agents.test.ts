import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { claimMailAddress } from "../../src/administration/agents.ts";
import { decryptSecret } from "../../src/platform/crypto/secrets.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { seededId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { type Answer, createAgent, createNeighbour, createWorkspace, learn, operate, query, send, type Workspace } from "../harness.ts";

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

afterEach(() => {
  vi.useRealTimers();
});

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  send(method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, ...(body !== undefined && { body }) });

const agentsOf = (workspace: { id: string }) => `/workspaces/${workspace.id}/agents`;
const newAddress = () => `help-${crypto.randomUUID()}@example.com`;

/** Two workspaces, one in each shard. */
async function createPair(): Promise<[Workspace, Workspace]> {
  const first = await createWorkspace();
  for (;;) {
    const second = await createWorkspace();
    if (second.id.slice(-2) !== first.id.slice(-2)) return [first, second];
  }
}

const FULL = {
  name: "Helper",
  slug: "helper",
  description: "Answers questions.",
  language: "de",
  instructions: "Be brief.",
  welcome_message: "Guten Tag!",
  handoff_message: "Ein Kollege meldet sich.",
  confidence_threshold: 0,
  inactivity_minutes: 30,
  status: "paused",
  model: "small",
  tools: [],
  allowed_origins: ["https://www.example.com", "http://localhost:3000", "*"],
  appearance: {
    accent: "#0a7d3f",
    position: "left",
    launcher: "label",
    greeting: "Moin",
    suggestions: ["Wann habt ihr geöffnet?"],
    theme: "dark",
    show_branding: false,
  },
  contact_form: { fields: [{ name: "email", label: null, required: true, options: [] }] },
  languages: { de: { launcher_label: "Frag uns" }, en: {} },
  hosted_page: { enabled: false, indexed: true },
};

const DEFAULT_APPEARANCE = {
  accent: "#3538cd",
  position: "right",
  launcher: "icon",
  greeting: null,
  suggestions: [],
  theme: "auto",
  show_branding: true,
};

describe("POST /workspaces/{id}/agents", () => {
  test("needs only a name", async () => {
    const workspace = await createWorkspace();
    const created = await call("POST", agentsOf(workspace), { name: "Helper" });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Helper",
      slug: "helper",
      description: null,
      status: "active",
      language: "en",
      welcome_message: expect.stringMatching(/./),
      handoff_message: expect.stringMatching(/./),
      handoff: "on",
      handoff_off_messages: {},
      handoff_words: [],
      confidence_threshold: 0.5,
      channels: ["widget", "hosted", "api"],
      sources_count: 0,
      answers_count: 0,
      created_at: expect.stringMatching(TIMESTAMP),
      version: 1,
      rollout: null,
      updated_at: expect.stringMatching(TIMESTAMP),
      instructions: null,
      inactivity_minutes: 1440,
      model: null,
      tools: [],
      allowed_origins: [],
      email_address: null,
      turnstile: null,
      has_identity_secret: false,
      appearance: DEFAULT_APPEARANCE,
      contact_form: null,
      languages: {},
      hosted_page: { enabled: true, indexed: false },
    });
    expect(await operate("GET", `${agentsOf(workspace)}/${created.body.id}`)).toEqual(created.body);
  });

  test("accepts every field", async () => {
    const workspace = await createWorkspace();
    const address = newAddress();
    const created = await operate("POST", agentsOf(workspace), { ...FULL, email_address: address.toUpperCase() });
    expect(created).toMatchObject({ ...FULL, email_address: address });
    expect(created.channels).toContain("email");
    expect(created.channels).not.toContain("hosted");
  });

  test("a mail address claimed for an agent that was never created is free after a minute", async () => {
    const workspace = await createWorkspace();
    const claimed = async (ageMs: number) => {
      const email_address = newAddress();
      const agentId = seededId(shardOf(workspace.id), Date.now() - ageMs, crypto.getRandomValues(new Uint8Array(16)));
      const claim = newOperation(env, new Meter(), workspace.id);
      expect(await claimMailAddress(claim, agentId, email_address)).toBe(true);
      return (await call("POST", agentsOf(workspace), { name: "Post", email_address })).status;
    };
    expect([await claimed(0), await claimed(61_000)]).toEqual([409, 201]);
  });

  test("checks the settings of the chat", async () => {
    const workspace = await createWorkspace();
    const refused = async (settings: Record<string, unknown>) =>
      (await call("POST", agentsOf(workspace), { name: "A", ...settings })).status;
    const email = { name: "email" };
    for (const settings of [
      { appearance: { accent: "red" } },
      { appearance: { suggestions: ["1", "2", "3", "4", "5"] } },
      { appearance: { theme: "blue" } },
      { contact_form: { fields: [] } },
      { contact_form: { fields: [{ name: "name" }] } },
      { contact_form: { fields: [email, email] } },
      { contact_form: { fields: [email, { name: "company" }] } },
      { languages: { xx: {} } },
      { languages: { en: { nothing: "Text" } } },
      { languages: { en: { send: "x".repeat(301) } } },
    ]) {
      expect(await refused(settings), JSON.stringify(settings)).toBe(422);
    }
    const created = await call("POST", agentsOf(workspace), {
      name: "A",
      appearance: { accent: "#ABCDEF" },
      contact_form: { fields: [email] },
    });
    expect(created.body.appearance).toEqual({ ...DEFAULT_APPEARANCE, accent: "#abcdef" });
    const emptied = await call("PATCH", `${agentsOf(workspace)}/${created.body.id}`, { appearance: {}, contact_form: null });
    expect(emptied.body).toMatchObject({ appearance: DEFAULT_APPEARANCE, contact_form: null });
  });

  test.each([
    ["Ärger & Freude", "a-rger-freude"],
    ["  --  ", "agent"],
    ["你好", "agent"],
    ["x".repeat(120), "x".repeat(50)],
    ["ﬁne ①", "fine-1"],
  ])("makes of the name %j the slug %j", async (name, slug) => {
    const workspace = await createWorkspace();
    expect((await createAgent(workspace, { name }))["slug"]).toBe(slug);
  });

  test("a derived slug that is taken gets a suffix; a given one is refused", async () => {
    const workspace = await createWorkspace();
    const other = await createNeighbour(workspace);
    const first = await createAgent(workspace, { name: "Helper" });
    const second = await createAgent(workspace, { name: "Helper" });
    expect(first["slug"]).toBe("helper");
    expect(second["slug"]).toMatch(/^helper-[0-9a-f]{6}$/);
    const third = await call("POST", agentsOf(workspace), { name: "Third", slug: "helper" });
    expect([third.status, third.body.error.code]).toEqual([409, "conflict"]);
    expect(third.body.error.message).toContain("slug");
    expect((await createAgent(other, { name: "Helper" }))["slug"]).toBe("helper");
  });

  test("the plan limits the number of agents", async () => {
    const workspace = await createWorkspace({ plan: "free" });
    const first = await createAgent(workspace);
    const second = await call("POST", agentsOf(workspace), { name: "Second" });
    expect([second.status, second.body.error.code]).toEqual([403, "plan_required"]);
    await operate("DELETE", `${agentsOf(workspace)}/${first.id}`);
    expect((await call("POST", agentsOf(workspace), { name: "Second" })).status).toBe(201);
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { agents: 2 } });
    expect((await call("POST", agentsOf(workspace), { name: "Third" })).status).toBe(201);
    expect((await call("POST", agentsOf(workspace), { name: "Fourth" })).status).toBe(403);
  });

  test("ten concurrent requests against a limit of three create three", async () => {
    const workspace = await createWorkspace({ limits: { agents: 3 } });
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => call("POST", agentsOf(workspace), { name: `Agent ${at}`, slug: `agent-${at}` })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array(7).fill(403)]);
    expect((await operate("GET", agentsOf(workspace))).total).toBe(3);
    // The address that a refused creation claimed is free again.
    expect((await call("POST", agentsOf(workspace), { name: "Late", email_address: address })).status).toBe(403);
    const other = await createWorkspace();
    expect((await call("POST", agentsOf(other), { name: "Mine", email_address: address })).status).toBe(201);
  });

  test("ten concurrent requests with one slug create one", async () => {
    const workspace = await createWorkspace();
    const answers = await Promise.all(Array.from({ length: 10 }, () => call("POST", agentsOf(workspace), { name: "A", slug: "same" })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });
});

describe("an email address belongs to one agent", () => {
  test("within the workspace, across workspaces and across shards", async () => {
    const [workspace, other] = await createPair();
    const address = newAddress();
    const holder = await createAgent(workspace, { name: "Holder", email_address: address });
    for (const taker of [workspace, other]) {
      const created = await call("POST", agentsOf(taker), { name: "Taker", email_address: address.toUpperCase() });
      expect([created.status, created.body.error.code]).toEqual([409, "conflict"]);
      expect(created.body.error.message).toContain("email_address");
      const agent = await createAgent(taker, { name: "Changer" });
      expect((await call("PATCH", `${agentsOf(taker)}/${agent.id}`, { email_address: address })).status).toBe(409);
      expect((await operate("GET", `${agentsOf(taker)}/${agent.id}`)).email_address).toBeNull();
    }
    expect((await operate("GET", `${agentsOf(workspace)}/${holder.id}`)).email_address).toBe(address);
    expect((await operate("GET", agentsOf(other))).total).toBe(1);
  });

  test("and is released when it is changed or cleared, or its agent is deleted", async () => {
    const [workspace, other] = await createPair();
    const [first, second, third] = [newAddress(), newAddress(), newAddress()];
    const agent = await createAgent(workspace, { email_address: first });
    const path = `${agentsOf(workspace)}/${agent.id}`;
    await operate("PATCH", path, { email_address: second });
    await createAgent(other, { name: "Changed", email_address: first });
    await operate("PATCH", path, { email_address: second, name: "Same again" });
    expect((await call("POST", agentsOf(other), { name: "Kept", email_address: second })).status).toBe(409);
    await operate("PATCH", path, { email_address: null });
    await createAgent(other, { name: "Cleared", email_address: second });
    await operate("PATCH", path, { email_address: third });
    await operate("DELETE", path);
    await createAgent(other, { name: "Deleted", email_address: third });
  });

  test("one of ten concurrent requests gets it", async () => {
    const [workspace, other] = await createPair();
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        call("POST", agentsOf(at % 2 ? workspace : other), { name: `A ${at}`, email_address: address }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });

  test("a change that is refused for its slug claims none", async () => {
    const workspace = await createWorkspace();
    const [kept, wanted] = [newAddress(), newAddress()];
    await createAgent(workspace, { name: "One", slug: "one" });
    const agent = await createAgent(workspace, { name: "Two", email_address: kept });
    const path = `${agentsOf(workspace)}/${agent.id}`;
    expect((await call("PATCH", path, { slug: "one", email_address: wanted })).status).toBe(409);
    expect((await operate("GET", path)).email_address).toBe(kept);
    expect((await call("POST", agentsOf(workspace), { name: "Three", email_address: kept })).status).toBe(409);
    expect((await call("POST", agentsOf(workspace), { name: "Three", email_address: wanted })).status).toBe(201);
  });
});

describe("PATCH /workspaces/{id}/agents/{agent_id}", () => {
  test("changes the given fields; null clears nullable ones", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const path = `${agentsOf(workspace)}/${agent.id}`;
    const full = await operate("PATCH", path, { ...FULL });
    expect(full).toMatchObject(FULL);
    const cleared = await operate("PATCH", path, { description: null, instructions: null, model: null, allowed_origins: [] });
    expect(cleared).toEqual({
      ...full,
      description: null,
      instructions: null,
      model: null,
      allowed_origins: [],
      version: full.version + 1,
      updated_at: expect.stringMatching(TIMESTAMP),
    });
    expect(await operate("PATCH", path, {})).toMatchObject({ name: "Helper", slug: "helper", status: "paused" });
    expect((await operate("PATCH", path, { slug: "helper" })).slug).toBe("helper");
    for (const field of ["name", "slug", "language", "welcome_message", "handoff_message", "status", "confidence_threshold"]) {
      expect((await call("PATCH", path, { [field]: null })).status, field).toBe(422);
    }
    expect(await operate("GET", path)).toMatchObject({ name: "Helper", slug: "helper" });
  });

  test("a slug of another agent is refused, and nothing changes", async () => {
    const workspace = await createWorkspace();
    await createAgent(workspace, { name: "One", slug: "one" });
    const agent = await createAgent(workspace, { name: "Two", slug: "two" });
    const path = `${agentsOf(workspace)}/${agent.id}`;
    const answer = await call("PATCH", path, { slug: "one", name: "Taken" });
    expect([answer.status, answer.body.error.code]).toEqual([409, "conflict"]);
    expect(await operate("GET", path)).toMatchObject({ name: "Two", slug: "two" });
  });

  test("status takes effect on the next question", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const ask = async () => (await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi" })).status;
    expect(await ask()).toBe(200);
    await operate("PATCH", `${agentsOf(workspace)}/${agent.id}`, { status: "paused" });
    expect(await ask()).toBe(409);
    await operate("PATCH", `${agentsOf(workspace)}/${agent.id}`, { status: "active" });
    expect(await ask()).toBe(200);
  });
});

test("an agent of another workspace is not found, in the same shard or another", async () => {
  const [mine, yours] = await createPair();
  const third = await createNeighbour(yours);
  const agent = await createAgent(yours, { name: "Yours" });
  for (const workspace of [mine, third]) {
    const path = `${agentsOf(workspace)}/${agent.id}`;
    for (const [method, at, body] of [
      ["GET", path],
      ["PATCH", path, { name: "Mine", email_address: newAddress() }],
      ["DELETE", path],
      ["POST", `${path}/rotate-identity-secret`],
    ] as const) {
      const answer = await call(method, at, body);
      expect([answer.status, answer.body.error?.code], method).toEqual([404, "not_found"]);
    }
  }
  expect(await operate("GET", `${agentsOf(yours)}/${agent.id}`)).toEqual(agent);
});

test("GET /workspaces/{id}/agents pages like every list, with the operator's fields", async () => {
  const workspace = await createWorkspace();
  const agents: unknown[] = [];
  for (let at = 0; at < 5; at++) agents.push(await createAgent(workspace, { name: `Agent ${at}`, instructions: "Be brief." }));
  const first = await operate("GET", `${agentsOf(workspace)}?limit=2`);
  expect(first).toEqual({ data: agents.slice(0, 2), total: 5, limit: 2, offset: 0, has_more: true });
  const last = await operate("GET", `${agentsOf(workspace)}?limit=2&offset=4`);
  expect(last).toEqual({ data: agents.slice(4), total: 5, limit: 2, offset: 4, has_more: false });
});

describe("rotate-identity-secret", () => {
  const HOUR_MS = 3_600_000;
  const stored = async (id: string) =>
    (
      await query<{ identity_secret: string; previous_identity_secret: string | null; previous_identity_secret_until: number | null }>(
        id,
        "SELECT identity_secret, previous_identity_secret, previous_identity_secret_until FROM agents WHERE id = ?",
        id,
      )
    )[0]!;

  test("shows a secret once, and stores it encrypted for its agent", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const path = `${agentsOf(workspace)}/${agent.id}`;
    const rotated = await call("POST", `${path}/rotate-identity-secret`);
    expect(rotated.status).toBe(200);
    expect(rotated.body).toEqual({ secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/), previous_valid_until: null });
    const { secret } = rotated.body;
    const row = JSON.stringify(await query(agent.id, "SELECT * FROM agents WHERE id = ?", agent.id));
    expect(row).not.toContain(secret);
    const { identity_secret: encrypted } = await stored(agent.id);
    expect(await decryptSecret(env, encrypted, `agent/${agent.id}/identity`)).toBe(secret);
    await expect(decryptSecret(env, encrypted, `agent/${crypto.randomUUID()}/identity`)).rejects.toThrow();
    const shown = await operate("GET", path);
    expect(shown.has_identity_secret).toBe(true);
    expect(JSON.stringify(shown)).not.toContain(secret);
  });

  test("two concurrent rotations run one after the other: both new secrets are valid", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const rotate = () => operate("POST", `${agentsOf(workspace)}/${agent.id}/rotate-identity-secret`);
    await rotate();
    const shown = await Promise.all([rotate(), rotate()]);
    const { identity_secret: current, previous_identity_secret: previous } = await stored(agent.id);
    const valid = await Promise.all([current, previous!].map((secret) => decryptSecret(env, secret, `agent/${agent.id}/identity`)));
    expect(valid.sort()).toEqual(shown.map(({ secret }) => secret).sort());
  });

  test("only the previous secret stays valid, for a day", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 0, 1) });
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const rotate = () => operate("POST", `${agentsOf(workspace)}/${agent.id}/rotate-identity-secret`);
    const first = await rotate();
    vi.setSystemTime(Date.UTC(2027, 0, 1, 5));
    const second = await rotate();
    expect(second.secret).not.toBe(first.secret);
    expect(second.previous_valid_until).toBe("2027-01-02T05:00:00.000Z");
    const row = await stored(agent.id);
    const place = `agent/${agent.id}/identity`;
    expect(await decryptSecret(env, row.identity_secret, place)).toBe(second.secret);
    expect(await decryptSecret(env, row.previous_identity_secret!, place)).toBe(first.secret);
    expect(row.previous_identity_secret_until).toBe(Date.UTC(2027, 0, 1, 5) + 24 * HOUR_MS);
    const third = await rotate();
    const after = await stored(agent.id);
    expect(await decryptSecret(env, after.previous_identity_secret!, place)).toBe(second.secret);
    expect(await decryptSecret(env, after.identity_secret, place)).toBe(third.secret);
  });

  test("with revoke, the one before is invalid at once", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const path = `${agentsOf(workspace)}/${agent.id}/rotate-identity-secret`;
    const first = await operate("POST", path, {});
    const second = await operate("POST", path, { revoke: true });
    expect(second).toEqual({ secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/), previous_valid_until: null });
    expect(second.secret).not.toBe(first.secret);
    const row = await stored(agent.id);
    expect(await decryptSecret(env, row.identity_secret, `agent/${agent.id}/identity`)).toBe(second.secret);
    expect(row).toMatchObject({ previous_identity_secret: null, previous_identity_secret_until: null });
    expect((await call("POST", path, { revoke: "yes" })).status).toBe(422);
  });

  test("changing the agent keeps it", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await operate("POST", `${agentsOf(workspace)}/${agent.id}/rotate-identity-secret`);
    const before = await stored(agent.id);
    await operate("PATCH", `${agentsOf(workspace)}/${agent.id}`, { name: "Renamed" });
    expect(await stored(agent.id)).toEqual(before);
  });
});

describe("DELETE /workspaces/{id}/agents/{agent_id}", () => {
  test("its knowledge is erased, its conversations stay", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const other = await createAgent(workspace, { name: "Other" });
    const text = "# Refunds\n\nRefunds are paid within five working days.";
    const source = await learn(workspace, agent.id, text);
    await learn(workspace, other.id, text);
    const curated = { question: "Where are you?", answer: "In Bern." };
    const answer = await workspace.call("POST", `/agents/${agent.id}/answers`, curated);
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
    expect(asked.body.citations).toHaveLength(1);

    const removed = await call("DELETE", `${agentsOf(workspace)}/${agent.id}`);
    expect([removed.status, removed.body]).toEqual([204, ""]);

    expect((await call("GET", `${agentsOf(workspace)}/${agent.id}`)).status).toBe(404);
    expect((await call("DELETE", `${agentsOf(workspace)}/${agent.id}`)).status).toBe(404);
    for (const [method, path, body] of [
      ["GET", ""],
      ["GET", "/sources"],
      ["GET", "/answers"],
      ["POST", "/messages", { message: "When are refunds paid?" }],
      ["POST", "/search", { query: "refunds" }],
      ["POST", "/sources", { type: "text", name: "N", text: "T" }],
      ["POST", "/answers", curated],
      ["DELETE", `/sources/${source.id}`],
      ["POST", `/sources/${source.id}/sync`],
      ["DELETE", `/answers/${answer.body.id}`],
    ] as const) {
      expect((await workspace.call(method, `/agents/${agent.id}${path}`, body)).status, `${method} ${path}`).toBe(404);
    }
    expect(await query(workspace.id, "SELECT id FROM sources WHERE agent_id = ?", agent.id)).toEqual([]);
    expect(await query(workspace.id, "SELECT id FROM answers WHERE agent_id = ?", agent.id)).toEqual([]);
    const index = env.INDEX.getByName(`${workspace.id}/${agent.id}`);
    const left = await index.search({ question: "When are refunds paid?", previousQuestions: [], limit: 8 });
    expect([left.passages, left.curated]).toEqual([[], []]);

    const conversation = await workspace.call("GET", `/conversations/${asked.body.conversation_id}`);
    expect(conversation.body.messages).toHaveLength(2);
    const stillThere = await workspace.call("POST", `/agents/${other.id}/search`, { query: "refunds" });
    expect(stillThere.body.data).toHaveLength(1);
    expect((await workspace.call("GET", "/usage")).body.usage).toMatchObject({ agents: 1, sources: 1, pages: 1, messages: 1 });
  });
});
