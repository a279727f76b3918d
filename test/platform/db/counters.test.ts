import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newId } from "../../../src/platform/db/ids.ts";
import { query } from "../../harness.ts";

/** Counters are the triggers' work, so rows are written here as any statement may write them. */
async function createRows() {
  const id = () => newId(0, Date.now());
  const [workspaceId, agentId, conversationId] = [id(), id(), id()];
  const run = (statement: string, ...values: unknown[]) => query(workspaceId, statement, ...values);
  const insert = (table: string, row: Record<string, unknown>, suffix = "") => {
    const names = Object.keys(row);
    const places = names.map(() => "?").join(", ");
    return run(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${places}) ${suffix}`, ...Object.values(row));
  };
  await insert("workspaces", { id: workspaceId, name: "Test", slug: workspaceId, plan: "free", created_at: 1, updated_at: 1 });
  const agent = (slug: string, agent_id = id()) => ({
    id: agent_id,
    workspace_id: workspaceId,
    name: "Agent",
    slug,
    status: "active",
    language: "en",
    welcome_message: "",
    handoff_message: "",
    confidence_threshold: 0.5,
    inactivity_minutes: 1,
    created_at: 1,
    updated_at: 1,
  });
  await insert("agents", agent("first", agentId));
  await insert("conversations", {
    id: conversationId,
    workspace_id: workspaceId,
    agent_id: agentId,
    channel: "api",
    status: "open",
    last_message_at: 10,
    created_at: 10,
    updated_at: 10,
  });
  return {
    id,
    workspaceId,
    agentId,
    conversationId,
    run,
    insert,
    agent,
    source: (changes: Record<string, unknown> = {}) => ({
      id: id(),
      workspace_id: workspaceId,
      agent_id: agentId,
      type: "text",
      name: "Handbook",
      status: "pending",
      schedule: "manual",
      max_pages: 1,
      created_at: 1,
      updated_at: 1,
      ...changes,
    }),
    message: (changes: Record<string, unknown> = {}) => ({
      id: id(),
      workspace_id: workspaceId,
      conversation_id: conversationId,
      role: "user",
      author_type: "visitor",
      content: "Hello",
      created_at: 20,
      ...changes,
    }),
    workspaceCounts: async () =>
      (await run("SELECT agents_count, sources_count, pages_count FROM workspaces WHERE id = ?", workspaceId))[0],
    agentCounts: async () => (await run("SELECT sources_count, answers_count FROM agents WHERE id = ?", agentId))[0],
    conversation: async () =>
      (
        await run(
          "SELECT message_count, last_message_preview AS preview, last_message_at, updated_at FROM conversations WHERE id = ?",
          conversationId,
        )
      )[0],
    usage: () => run("SELECT period, messages FROM usage_periods WHERE workspace_id = ? ORDER BY period", workspaceId),
  };
}

test("agents are counted in their workspace, a row that is written twice only once", async () => {
  const { insert, run, agent, workspaceCounts, workspaceId } = await createRows();
  const second = agent("second");
  await insert("agents", second);
  await insert("agents", second, "ON CONFLICT DO NOTHING");
  expect(await workspaceCounts()).toMatchObject({ agents_count: 2 });
  await run("DELETE FROM agents WHERE id = ?", second.id);
  await run("DELETE FROM agents WHERE id = ?", second.id);
  expect(await workspaceCounts()).toMatchObject({ agents_count: 1 });
  await run("DELETE FROM agents WHERE workspace_id = ?", workspaceId);
  expect(await workspaceCounts()).toMatchObject({ agents_count: 0 });
});

test("sources and their pages are counted in agent and workspace", async () => {
  const { insert, run, source, workspaceCounts, agentCounts, agentId } = await createRows();
  const [one, two] = [source(), source({ pages_indexed: 4 })];
  await insert("sources", one);
  await insert("sources", one, "ON CONFLICT DO NOTHING");
  await insert("sources", two);
  expect(await workspaceCounts()).toMatchObject({ sources_count: 2, pages_count: 4 });
  expect(await agentCounts()).toMatchObject({ sources_count: 2 });
  await run("UPDATE sources SET pages_indexed = 7, status = 'ready' WHERE id = ?", one.id);
  await run("UPDATE sources SET pages_indexed = 7, status = 'ready' WHERE id = ?", one.id);
  await run("UPDATE sources SET status = 'failed' WHERE id = ?", one.id);
  expect(await workspaceCounts()).toMatchObject({ pages_count: 11 });
  await run("UPDATE sources SET pages_indexed = 2 WHERE id = ?", one.id);
  expect(await workspaceCounts()).toMatchObject({ pages_count: 6 });
  await run("DELETE FROM sources WHERE agent_id = ?", agentId);
  expect(await workspaceCounts()).toMatchObject({ sources_count: 0, pages_count: 0 });
  expect(await agentCounts()).toMatchObject({ sources_count: 0 });
});

test("answers are counted in their agent", async () => {
  const { id, insert, run, workspaceId, agentId, agentCounts } = await createRows();
  const answer = { id: id(), workspace_id: workspaceId, agent_id: agentId, question: "A?", answer: "B.", created_at: 1, updated_at: 1 };
  await insert("answers", answer);
  await insert("answers", answer, "ON CONFLICT DO NOTHING");
  await insert("answers", { ...answer, id: id() });
  await run("UPDATE answers SET indexed_at = 5 WHERE agent_id = ?", agentId);
  expect(await agentCounts()).toMatchObject({ answers_count: 2 });
  await run("DELETE FROM answers WHERE agent_id = ?", agentId);
  expect(await agentCounts()).toMatchObject({ answers_count: 0 });
});

test("a message is counted in its conversation once, and is its preview and last activity", async () => {
  const { insert, message, conversation } = await createRows();
  const first = message({ content: "x".repeat(500), created_at: 30 });
  await insert("messages", first);
  await insert("messages", first, "ON CONFLICT DO NOTHING");
  expect(await conversation()).toEqual({ message_count: 1, preview: "x".repeat(200), last_message_at: 30, updated_at: 30 });
  // A message with an earlier time, from a clock that is behind, does not move the activity back.
  await insert("messages", message({ content: "Late", created_at: 25 }));
  expect(await conversation()).toEqual({ message_count: 2, preview: "Late", last_message_at: 30, updated_at: 30 });
});

test("a message with a period uses the month's quota, one without does not", async () => {
  const { insert, message, usage } = await createRows();
  const counted = message({ quota_period: "2026-11" });
  await insert("messages", counted);
  await insert("messages", counted, "ON CONFLICT DO NOTHING");
  await insert("messages", message());
  await insert("messages", message({ quota_period: "2026-11" }));
  await insert("messages", message({ quota_period: "2026-12" }));
  expect(await usage()).toEqual([
    { period: "2026-11", messages: 2 },
    { period: "2026-12", messages: 1 },
  ]);
});

test("quota is given back once, to the month in which it was counted", async () => {
  const { insert, run, message, usage } = await createRows();
  const [one, two] = [message({ quota_period: "2026-11" }), message({ quota_period: "2026-12" })];
  await insert("messages", one);
  await insert("messages", two);
  const giveBack = (id: string) => run("UPDATE messages SET quota_period = NULL WHERE id = ?", id);
  await giveBack(one.id);
  await giveBack(one.id);
  expect(await usage()).toEqual([
    { period: "2026-11", messages: 0 },
    { period: "2026-12", messages: 1 },
  ]);
  // Erasing a message gives nothing back: it was answered.
  await run("DELETE FROM messages WHERE id = ?", two.id);
  await run("UPDATE messages SET content = 'Changed' WHERE id = ?", one.id);
  expect((await usage()).at(-1)).toEqual({ period: "2026-12", messages: 1 });
});

test("conversations are counted by agent, channel and status, and recounted when their status changes", async () => {
  const { id, insert, run, workspaceId, agentId, conversationId } = await createRows();
  const counts = () => run("SELECT * FROM conversation_counts WHERE workspace_id = ? ORDER BY channel", workspaceId);
  const row = { workspace_id: workspaceId, agent_id: agentId, last_message_at: 10, created_at: 10, updated_at: 10 };
  const second = { ...row, id: id(), channel: "widget", status: "resolved" };
  await insert("conversations", second);
  await insert("conversations", second, "ON CONFLICT DO NOTHING");
  const none = { workspace_id: workspaceId, agent_id: agentId, open: 0, ai_handled: 0, needs_human: 0, human_active: 0, resolved: 0 };
  const [first, other] = [
    { ...none, channel: "api", open: 1 },
    { ...none, channel: "widget", resolved: 1 },
  ];
  expect(await counts()).toEqual([first, other]);
  await run("UPDATE conversations SET status = 'needs_human' WHERE id = ?", conversationId);
  await run("UPDATE conversations SET status = 'needs_human', updated_at = 11 WHERE id = ?", conversationId);
  const waiting = { ...none, channel: "api", needs_human: 1 };
  expect(await counts()).toEqual([waiting, other]);
  await run("DELETE FROM conversations WHERE id = ?", second.id);
  await run("DELETE FROM conversations WHERE id = ?", second.id);
  expect(await counts()).toEqual([waiting, { ...other, resolved: 0 }]);
});

test("leads are counted by agent", async () => {
  const { id, insert, run, workspaceId, agentId } = await createRows();
  const counts = () => run("SELECT agent_id, count FROM lead_counts WHERE workspace_id = ?", workspaceId);
  const lead = { id: id(), workspace_id: workspaceId, agent_id: agentId, created_at: 1 };
  await insert("leads", lead);
  await insert("leads", lead, "ON CONFLICT DO NOTHING");
  await insert("leads", { ...lead, id: id() });
  await run("UPDATE leads SET indexed_at = 5 WHERE workspace_id = ?", workspaceId);
  expect(await counts()).toEqual([{ agent_id: agentId, count: 2 }]);
  await run("DELETE FROM leads WHERE id = ?", lead.id);
  await run("DELETE FROM leads WHERE id = ?", lead.id);
  expect(await counts()).toEqual([{ agent_id: agentId, count: 1 }]);
});

test("a message says when its conversation is idle, and the agent's first one when it first replied", async () => {
  const { insert, run, message, conversationId } = await createRows();
  const times = async () => (await run("SELECT idle_at, first_ai_reply_at FROM conversations WHERE id = ?", conversationId))[0];
  expect(await times()).toEqual({ idle_at: null, first_ai_reply_at: null });
  await insert("messages", message({ created_at: 30 }));
  expect(await times()).toEqual({ idle_at: 60_030, first_ai_reply_at: null });
  await insert("messages", message({ role: "assistant", author_type: "agent", created_at: 40 }));
  await insert("messages", message({ role: "assistant", author_type: "agent", created_at: 50 }));
  expect(await times()).toEqual({ idle_at: 60_050, first_ai_reply_at: 40 });
  // A message with an earlier time, from a clock that is behind, does not move it back.
  await insert("messages", message({ created_at: 45 }));
  expect(await times()).toEqual({ idle_at: 60_050, first_ai_reply_at: 40 });
});

test("a failed statement leaves the counters unchanged", async () => {
  const { insert, message, source, conversation, usage, workspaceCounts } = await createRows();
  const used = message({ quota_period: "2026-11" });
  await insert("messages", used);
  await expect(insert("messages", used)).rejects.toThrow("UNIQUE");
  const kept = source();
  await insert("sources", kept);
  await expect(insert("sources", kept)).rejects.toThrow("UNIQUE");
  expect(await conversation()).toMatchObject({ message_count: 1 });
  expect(await usage()).toEqual([{ period: "2026-11", messages: 1 }]);
  expect(await workspaceCounts()).toMatchObject({ sources_count: 1 });
});

test("a batch that fails half-way leaves the counters unchanged", async () => {
  const { message, conversation } = await createRows();
  const { id, workspace_id: workspaceId, conversation_id: conversationId } = message();
  const statement = env.DB.prepare(
    "INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, created_at) VALUES (?, ?, ?, 'user', 'visitor', '', 1)",
  ).bind(id, workspaceId, conversationId);
  await expect(env.DB.batch([statement, statement])).rejects.toThrow("UNIQUE");
  expect(await conversation()).toMatchObject({ message_count: 0 });
});

test("the directory counts the workspaces of each shard", async () => {
  const { id, insert, run } = await createRows();
  const size = async () => (await run("SELECT workspaces_count AS size FROM shards WHERE shard = 9"))[0]?.size ?? 0;
  const entry = { workspace_id: id(), slug: `slug-${id()}`, shard: 9 };
  await insert("workspace_directory", entry);
  await insert("workspace_directory", entry, "ON CONFLICT DO NOTHING");
  await insert("workspace_directory", { ...entry, workspace_id: id() }, "ON CONFLICT DO NOTHING");
  expect(await size()).toBe(1);
  await run("DELETE FROM workspace_directory WHERE workspace_id = ?", entry.workspace_id);
  await run("DELETE FROM workspace_directory WHERE workspace_id = ?", entry.workspace_id);
  expect(await size()).toBe(0);
});
