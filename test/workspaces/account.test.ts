import { afterEach, describe, expect, test, vi } from "vitest";
import { createAgent, createKey, createNeighbour, createWorkspace, learn, operate, send } from "../harness.ts";

afterEach(() => {
  vi.useRealTimers();
});

const ALL_SCOPES = [
  "agents:read",
  "agents:write",
  "chat:write",
  "conversations:read",
  "conversations:write",
  "leads:read",
  "knowledge:read",
  "knowledge:write",
  "analytics:read",
  "webhooks:read",
  "webhooks:write",
  "privacy:read",
  "privacy:write",
  "keys:write",
  "members:read",
  "members:write",
];

const NUMBERS = [
  "requests_per_minute",
  "messages",
  "messages_per_conversation",
  "visitor_messages_per_day",
  "leads_per_day",
  "visitor_attachments_per_day",
  "team_messages_per_day",
  "evaluation_cases_per_day",
  "erasures_per_day",
  "syncs_per_day",
  "agents",
  "api_keys",
  "members",
  "sources",
  "max_pages",
  "answers_per_agent",
  "knowledge_mb_per_agent",
  "deliveries_per_day",
  "delivery_log_mb",
  "attachments_mb",
] as const;

/** The table of plans, as the contract has it. */
const PLANS = {
  free: planOf([60, 100, 500, 50, 50, 50, 50, 50, 50, 50, 1, 10, 3, 5, 100, 50, 10, 1_000, 10, 100], false),
  starter: planOf([120, 2_000, 1_000, 500, 500, 500, 500, 500, 500, 500, 3, 20, 10, 20, 1_000, 500, 100, 2_000, 20, 1_000], false),
  pro: planOf(
    [300, 10_000, 2_000, 3_000, 5_000, 3_000, 3_000, 2_000, 2_000, 5_000, 10, 50, 50, 100, 5_000, 2_000, 500, 10_000, 100, 4_000],
    true,
  ),
  enterprise: planOf(
    [
      1_200, 100_000, 2_000, 30_000, 50_000, 30_000, 30_000, 10_000, 10_000, 100_000, 50, 200, 500, 1_000, 10_000, 5_000, 2_000, 50_000,
      1_000, 8_000,
    ],
    true,
  ),
};

function planOf(numbers: number[], webhooks: boolean) {
  const limits = Object.fromEntries(NUMBERS.map((name, at) => [name, numbers[at]!])) as Record<(typeof NUMBERS)[number], number>;
  return { ...limits, webhooks };
}

const NOTHING_USED = {
  messages: 0,
  redactions: 0,
  visitor_messages_today: 0,
  leads_today: 0,
  visitor_attachments_today: 0,
  team_messages_today: 0,
  evaluation_cases_today: 0,
  erasures_today: 0,
  syncs_today: 0,
  agents: 0,
  api_keys: 1,
  members: 0,
  sources: 0,
  pages: 0,
  answers: 0,
  knowledge_mb_per_agent: 0,
  deliveries_today: 0,
  delivery_log_mb: 0,
  attachments_mb: 0,
};
/** The usage of a text of some sentences. */
const A_LITTLE = { knowledge_mb_per_agent: 0.01 };

describe("GET /me", () => {
  test("returns the key's workspace and scopes, and nothing else", async () => {
    const workspace = await createWorkspace({ plan: "starter" });
    const key = await createKey(workspace, ["leads:read", "agents:read"]);
    const { name, slug } = await operate("GET", `/workspaces/${workspace.id}`);
    const answer = await send("GET", "/api/v1/me", { token: key.key });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      workspace: { id: workspace.id, name, slug },
      plan: "starter",
      api_key: { id: key.id, name: "Extra", prefix: key.key.slice(0, 16), scopes: ["agents:read", "leads:read"] },
      member: null,
      rate_limit: { requests_per_minute: 120 },
    });
  });

  test("any valid key may call it; * grants all scopes", async () => {
    const workspace = await createWorkspace();
    for (const scope of ALL_SCOPES) {
      const { key } = await createKey(workspace, [scope]);
      const answer = await send("GET", "/api/v1/me", { token: key });
      expect([answer.status, answer.body.api_key.scopes]).toEqual([200, [scope]]);
    }
    expect((await workspace.call("GET", "/me")).body.api_key.scopes).toEqual(ALL_SCOPES);
  });

  test("returns the effective rate limit", async () => {
    const workspace = await createWorkspace({ plan: "free", limits: { requests_per_minute: 77 } });
    const answer = await workspace.call("GET", "/me");
    expect(answer.body.rate_limit).toEqual({ requests_per_minute: 77 });
    expect(answer.headers.get("X-RateLimit-Limit")).toBe("77");
  });
});

describe("GET /usage", () => {
  test.each(Object.entries(PLANS))("the numbers of the plan %s", async (plan, limits) => {
    const workspace = await createWorkspace({ plan });
    const answer = await workspace.call("GET", "/usage");
    expect(answer.status).toBe(200);
    const now = new Date();
    const month = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString();
    expect(answer.body).toEqual({
      plan,
      period: { start: month(0), end: month(1) },
      limits,
      usage: NOTHING_USED,
      remaining: { messages: limits.messages },
    });
  });

  test("the operator's overrides replace the plan's limits", async () => {
    const workspace = await createWorkspace({ plan: "free", limits: { messages: 7, leads_per_day: 0, webhooks: true } });
    const { body } = await workspace.call("GET", "/usage");
    expect(body.limits).toEqual({ ...PLANS.free, messages: 7, leads_per_day: 0, webhooks: true });
    expect(body.remaining).toEqual({ messages: 7 });
  });

  test("counts questions, agents, sources, pages and curated answers, without deleted ones", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const spare = await createAgent(workspace, { name: "Spare" });
    const source = await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
    const curated = await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Do you ship?", answer: "Yes." });
    const search = await workspace.call("POST", `/agents/${agent.id}/search`, { query: "refunds" });
    expect(search.status).toBe(200);
    for (const message of ["When are refunds paid?", "And when are they paid?"]) {
      expect((await workspace.call("POST", `/agents/${agent.id}/messages`, { message })).status).toBe(200);
    }
    const before = (await workspace.call("GET", "/usage")).body;
    const used = { messages: 2, syncs_today: 1, agents: 2, sources: 1, pages: source["pages_indexed"], answers: 1 };
    expect(before.usage).toEqual({ ...NOTHING_USED, ...A_LITTLE, ...used });
    expect(before.usage.pages).toBe(1);
    expect(before.remaining).toEqual({ messages: PLANS.enterprise.messages - 2 });
    await workspace.call("DELETE", `/agents/${agent.id}/sources/${source.id}`);
    await workspace.call("DELETE", `/agents/${agent.id}/answers/${curated.body.id}`);
    await operate("DELETE", `/workspaces/${workspace.id}/agents/${spare.id}`);
    expect((await workspace.call("GET", "/usage")).body.usage).toEqual({
      ...NOTHING_USED,
      messages: 2,
      syncs_today: 1,
      agents: 1,
    });
  });

  test("counts the workspace's own records alone", async () => {
    const workspace = await createWorkspace();
    const neighbour = await createNeighbour(workspace);
    const agent = await createAgent(neighbour);
    await learn(neighbour, agent.id, "Refunds are paid within five working days.");
    await neighbour.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
    expect((await neighbour.call("GET", "/usage")).body.usage).toEqual({
      ...NOTHING_USED,
      ...A_LITTLE,
      messages: 1,
      syncs_today: 1,
      agents: 1,
      sources: 1,
      pages: 1,
    });
    expect((await workspace.call("GET", "/usage")).body.usage).toEqual(NOTHING_USED);
  });

  test("a question that a human has taken over, or that was refused, does not count", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const path = `/agents/${agent.id}/messages`;
    const first = await workspace.call("POST", path, { message: "I want to talk to a human." });
    expect(first.body.status).toBe("needs_human");
    await workspace.call("POST", path, { message: "Hello?", conversation_id: first.body.conversation_id });
    await workspace.call("POST", path, { message: "" });
    await workspace.call("POST", path, { message: "Hi", conversation_id: crypto.randomUUID() });
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(1);
  });

  test("remaining is never negative when the limit is lowered below the usage", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi" });
    await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi" });
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 1 } });
    const { body } = await workspace.call("GET", "/usage");
    expect([body.usage.messages, body.remaining.messages]).toEqual([2, 0]);
  });

  test("a period is a calendar month in UTC, and the next one starts at zero", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 11, 31, 23, 59, 59, 999) });
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi" });
    const december = (await workspace.call("GET", "/usage")).body;
    expect(december.period).toEqual({ start: "2027-12-01T00:00:00.000Z", end: "2028-01-01T00:00:00.000Z" });
    expect(december.usage.messages).toBe(1);
    vi.setSystemTime(Date.UTC(2028, 0, 1));
    const january = (await workspace.call("GET", "/usage")).body;
    expect(january.period).toEqual({ start: "2028-01-01T00:00:00.000Z", end: "2028-02-01T00:00:00.000Z" });
    expect(january.usage).toEqual({ ...NOTHING_USED, agents: 1 });
    expect(january.remaining.messages).toBe(PLANS.enterprise.messages);
  });
});
