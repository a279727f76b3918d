import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createOperator } from "../../scripts/backup/operator.ts";
import { type Backup, readBackup, replaceWorkspace, writeBackup } from "../../scripts/backup/records.ts";
import { call, type Client, createClient } from "../../scripts/shared/service.ts";

/** The size of the workspace of a busy shop. */
export const BUSY = { conversations: 10_000, sources: 200 };
const VISITORS = 200;
const MINUTE_MS = 60_000;
const STATUSES = ["needs_human", "ai_handled", "human_active", "resolved"];

/** A workspace with many conversations. They are a minute apart, and every fourth one waits for a human. */
export interface BusyWorkspace {
  key: string;
  agentId: string;
}

/**
 * Restores a workspace with many conversations and sources, from a multiplied backup of a small one, because asking all
 * their questions would take hours.
 */
export async function restoreBusyWorkspace(url: string, operatorToken: string): Promise<BusyWorkspace> {
  const operator = createClient(url, operatorToken);
  const slug = `busy-${crypto.randomUUID().slice(0, 8)}`;
  const small = await call<{ id: string }>(operator, "POST", "/operator/v1/workspaces", { name: slug, slug, plan: "enterprise" });
  const path = `/operator/v1/workspaces/${small.id}`;
  const agent = await call<{ id: string }>(operator, "POST", `${path}/agents`, { name: "Shop" });
  const { key } = await call<{ key: string }>(operator, "POST", `${path}/keys`, { name: "Team", scopes: ["*"] });
  const client = createClient(url, key);
  await call(client, "POST", `/api/v1/agents/${agent.id}/messages`, { message: "Where is my parcel?", user: { id: "u", name: "Ada" } });
  await call(client, "POST", `/api/v1/agents/${agent.id}/sources`, { type: "text", name: "Delivery", text: "Five days." });
  const backup = await readBackup(createOperator(url, operatorToken), small.id);
  const folder = await mkdtemp(join(tmpdir(), "busy-"));
  try {
    const file = join(folder, "workspace.ndjson");
    await writeBackup(file, multiply(backup));
    await replaceWorkspace({ url, operatorToken }, file);
  } finally {
    await rm(folder, { recursive: true });
  }
  await waitForSearch(client);
  return { key, agentId: agent.id };
}

/** The first search makes the index read all conversations. */
async function waitForSearch(client: Client): Promise<void> {
  while ((await client.send("GET", "/api/v1/conversations?q=urgent&limit=1")).status === 503) await sleep(500);
}

/** The backup with many records in place of each one. */
function multiply({ header, records }: Backup): Backup {
  const nowMs = Date.now();
  // The last byte is the shard.
  const id = () => crypto.randomUUID().slice(0, -2) + header.workspace_id.slice(-2);
  const one = (type: string) => records.find((line) => line.type === type)!.record;
  const visitors = Array.from({ length: VISITORS }, (_, at) => ({
    ...one("visitors"),
    id: id(),
    anon_id: `api:u-${at}`,
    external_id: `u-${at}`,
    name: `Customer ${at}`,
  }));
  const conversations = Array.from({ length: BUSY.conversations }, (_, at) => {
    const time = nowMs - (at + 1) * MINUTE_MS;
    const [conversationId, messageId] = [id(), id()];
    const content = `Order ${at}: where is my parcel? ${at % 100 === 0 ? "It is urgent." : "I wait for it."}`;
    const conversation = {
      ...one("conversations"),
      id: conversationId,
      visitor_id: visitors[at % VISITORS]!.id,
      status: STATUSES[at % STATUSES.length],
      message_count: 1,
      unread_count: 0,
      last_message_preview: content,
      latest_message_id: messageId,
      idle_at: null,
      last_message_at: time,
      created_at: time,
      updated_at: time,
    };
    const message = { ...one("messages"), id: messageId, conversation_id: conversationId, content, quota_period: null, created_at: time };
    return { conversation, message };
  });
  const sources = Array.from({ length: BUSY.sources }, (_, at) => ({
    ...one("sources"),
    id: id(),
    name: `Guide ${at}`,
    status: "ready",
    lease_id: null,
    lease_until: null,
    last_synced_at: nowMs,
  }));
  const kept = new Set(["api_keys", "agents", "workspaces"]);
  const many = [
    ...conversations.map(({ message }) => ({ type: "messages", record: message })),
    ...visitors.map((record) => ({ type: "visitors", record })),
    ...conversations.map(({ conversation }) => ({ type: "conversations", record: conversation })),
    ...sources.map((record) => ({ type: "sources", record })),
  ];
  return { header, records: [...many, ...records.filter(({ type }) => kept.has(type))] };
}
