import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sink } from "../../scripts/backup/export.ts";
import { exportTo } from "../../scripts/backup/export.ts";
import { combine, emptySum, hashOf } from "../../scripts/backup/lines.ts";
import { operatorOf } from "../../scripts/backup/operator.ts";
import { importFile } from "../../scripts/backup/restore.ts";
import { call, type Client, createClient } from "../../scripts/shared/service.ts";

/** How large the workspace of a busy shop is. */
export const BUSY = { conversations: 10_000, sources: 200 };
const VISITORS = 200;
const MINUTE_MS = 60_000;
const STATUSES = ["needs_human", "ai_handled", "human_active", "resolved"];

type Row = Record<string, unknown>;
type Line = { type: string; record: Row };

/** Whom it is restored for: its conversations are a minute apart, the latest first, and every fourth one waits. */
export interface BusyWorkspace {
  key: string;
  agentId: string;
}

/**
 * Restores a workspace with many conversations and sources, from a backup that is made of a small one's: what would take hours to
 * ask.
 */
export async function restoreBusyWorkspace(url: string, operatorToken: string): Promise<BusyWorkspace> {
  const operator = createClient(url, operatorToken);
  const backup = operatorOf(url, operatorToken, () => undefined);
  const slug = `busy-${crypto.randomUUID().slice(0, 8)}`;
  const small = await call<{ id: string }>(operator, "POST", "/operator/v1/workspaces", { name: slug, slug, plan: "enterprise" });
  const path = `/operator/v1/workspaces/${small.id}`;
  const agent = await call<{ id: string }>(operator, "POST", `${path}/agents`, { name: "Shop" });
  const { key } = await call<{ key: string }>(operator, "POST", `${path}/keys`, { name: "Team", scopes: ["*"] });
  const client = createClient(url, key);
  await call(client, "POST", `/api/v1/agents/${agent.id}/messages`, { message: "Where is my parcel?", user: { id: "u", name: "Ada" } });
  await call(client, "POST", `/api/v1/agents/${agent.id}/sources`, { type: "text", name: "Delivery", text: "Five days." });
  let text = "";
  const sink: Sink = { write: async (part) => void (text += part), end: async () => undefined };
  await exportTo(backup, small.id, sink, () => undefined);
  await call(operator, "DELETE", path);
  const folder = await mkdtemp(join(tmpdir(), "busy-"));
  try {
    const file = join(folder, "workspace.ndjson");
    const { ids, lines } = multiply(text, { workspace: small.id, agent: agent.id });
    await writeFile(file, lines);
    await importFile(backup, file, () => undefined);
    const made = await call<{ key: string }>(operator, "POST", `/operator/v1/workspaces/${ids.workspace}/keys`, {
      name: "Team",
      scopes: ["*"],
    });
    await waitForSearch(createClient(url, made.key));
    return { key: made.key, agentId: ids.agent };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The first search has the index read all conversations. */
async function waitForSearch(client: Client): Promise<void> {
  while ((await client.send("GET", "/api/v1/conversations?q=urgent&limit=1")).status === 503) await sleep(500);
}

interface Ids {
  workspace: string;
  agent: string;
}

/** A backup of another workspace, with many records like each one of this. */
function multiply(text: string, own: Ids): { ids: Ids; lines: string } {
  const nowMs = Date.now();
  // The last byte is the shard.
  const id = () => crypto.randomUUID().slice(0, -2) + own.workspace.slice(-2);
  const ids = { workspace: id(), agent: id() };
  const [header, ...all] = text
    .replaceAll(own.workspace, ids.workspace)
    .replaceAll(own.agent, ids.agent)
    .replaceAll('"busy-', '"many-')
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line) as [Line, ...Line[]];
  const one = (type: string) => all.find((line) => line.type === type)!.record;
  const visitors = Array.from({ length: VISITORS }, (_, at) => ({
    ...one("visitors"),
    id: id(),
    anon_id: `api:u-${at}`,
    external_id: `u-${at}`,
    name: `Customer ${at}`,
  }));
  const conversations = Array.from({ length: BUSY.conversations }, (_, at): [Row, Row] => {
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
    return [
      conversation,
      { ...one("messages"), id: messageId, conversation_id: conversationId, content, quota_period: null, created_at: time },
    ];
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
  const records: Line[] = [
    ...conversations.map(([, record]) => ({ type: "messages", record })),
    ...visitors.map((record) => ({ type: "visitors", record })),
    ...conversations.map(([record]) => ({ type: "conversations", record })),
    ...sources.map((record) => ({ type: "sources", record })),
    ...all.filter(({ type }) => type === "agents" || type === "workspaces"),
  ];
  return { ids, lines: toFile(header, records) };
}

/** The lines of a backup, with its end. */
function toFile(header: Line, records: readonly Line[]): string {
  const sum = emptySum();
  const lines = records.map((record) => JSON.stringify(record));
  for (const line of lines) combine(sum, hashOf(line));
  const counts = Object.fromEntries([...Map.groupBy(records, ({ type }) => type)].map(([type, all]) => [type, all.length]));
  const end = { type: "end", counts, checksum: Buffer.from(sum).toString("hex") };
  return [JSON.stringify(header), ...lines, JSON.stringify(end), ""].join("\n");
}
