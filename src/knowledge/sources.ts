import type { z } from "@hono/zod-openapi";
import { findAgent } from "../agents/store.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { sources } from "../platform/db/schema.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { Fault } from "../platform/telemetry/errors.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import type { CallerWorkspace } from "../workspaces/gate.ts";
import { MEGABYTE } from "../workspaces/plans.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";
import { indexOf } from "./index.ts";
import { createSource, endStaging, eraseSource, findSource, requestSync, sourceExists, STAGING_LEASE } from "./store.ts";
import type { sourceCreateSchema } from "./wire.ts";

type SourceRow = typeof sources.$inferSelect;

/** What an operation on an agent's knowledge works with. */
export interface KnowledgeOperation {
  env: Env;
  meter: Meter;
  workspace: CallerWorkspace;
  agentId: string;
  nowMs: number;
  /** Creates an identifier. */
  newId: (shard: number) => string;
}

export type SourceChange =
  | { outcome: "done"; source: SourceRow }
  | { outcome: "agent_not_found" }
  | { outcome: "too_many" }
  /** With this text the agent would have so many bytes of text, more than it may. */
  | { outcome: "too_large"; bytes: number };

/** Longer than a request lives. */
const STAGING_MS = 60_000;

/**
 * Adds a source and queues its ingestion. The row is added first, so that limits and agent are checked before any text
 * is stored. Until the text is, the row has a lease of its own: when the request dies, the sweep removes it.
 */
export async function addSource(op: KnowledgeOperation, body: z.output<typeof sourceCreateSchema>): Promise<SourceChange> {
  const { env, workspace, agentId, nowMs } = op;
  const db = databaseOf(op);
  const row = {
    id: op.newId(shardOf(workspace.id)),
    workspaceId: workspace.id,
    agentId,
    type: body.type,
    name: body.name,
    url: body.type === "text" ? null : body.url!,
    status: "pending" as const,
    schedule: body.schedule,
    maxPages: Math.min(body.max_pages, workspace.limits.max_pages),
    ...(body.type === "text" && { leaseId: STAGING_LEASE, leaseUntil: nowMs + STAGING_MS }),
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const [[agent], , [source]] = await db.batch([
    findAgent(db, workspace.id, agentId),
    createSource(db, row, workspace.limits.sources),
    findSource(db, workspace.id, agentId, row.id),
  ]);
  if (!agent) return { outcome: "agent_not_found" };
  if (!source) return { outcome: "too_many" };
  const bytes = body.type === "text" ? await stageText(op, db, source, body.text!) : undefined;
  if (bytes !== undefined) return { outcome: "too_large", bytes };
  await wakeSource(env, source);
  return { outcome: "done", source };
}

/**
 * Stores a new source's text. Where it cannot be stored, or the source was removed meanwhile, nothing of it is left.
 * @returns how many bytes of text the agent would have, where that is more than it may.
 */
async function stageText(op: KnowledgeOperation, db: Database, source: SourceRow, text: string): Promise<number | undefined> {
  const { env, meter, workspace, agentId } = op;
  const { id, name } = source;
  try {
    const maxBytes = workspace.limits.knowledge_mb_per_agent * MEGABYTE;
    const excess = await indexOf(env, meter, workspace.id, agentId).stageText(id, name, text, maxBytes);
    if (excess !== undefined) {
      await db.batch([eraseSource(db, workspace.id, agentId, id)]);
      return excess;
    }
    const [, [existing]] = await db.batch([endStaging(db, id), sourceExists(db, id)]);
    if (!existing) throw new Fault("The source was removed while its text was stored");
    return undefined;
  } catch (error) {
    // Where this fails too, the sweep does it.
    await db.batch([eraseSource(db, workspace.id, agentId, id)]);
    // The consumer finds no row, and removes the text if it was stored.
    await wakeSource(env, source);
    throw error;
  }
}

/**
 * Requests a sync, unless one is waiting or running already.
 * @returns the source as it is now, or undefined when the agent has no such source.
 */
export async function syncSource(op: KnowledgeOperation, sourceId: string): Promise<SourceRow | undefined> {
  const { env, workspace, agentId, nowMs } = op;
  const db = databaseOf(op);
  const [[requested], [source]] = await db.batch([
    requestSync(db, workspace.id, agentId, sourceId, nowMs),
    findSource(db, workspace.id, agentId, sourceId),
  ]);
  if (requested) await wakeSource(env, requested);
  return source;
}

/**
 * Removes a source and its indexed content.
 * @returns whether the agent had it.
 */
export async function removeSource(op: KnowledgeOperation, sourceId: string): Promise<boolean> {
  const { env, meter, workspace, agentId } = op;
  const db = databaseOf(op);
  const [[source]] = await db.batch([findSource(db, workspace.id, agentId, sourceId)]);
  if (!source) return false;
  // The index comes first: if the request dies in between, the source is still listed and can be deleted again.
  await indexOf(env, meter, workspace.id, agentId).removeSource(sourceId);
  await db.batch([eraseSource(db, workspace.id, agentId, sourceId)]);
  return true;
}

/**
 * Lists the pages of a source's last or running crawl.
 * @returns undefined when the agent has no such source.
 */
export async function listSourcePages(
  op: KnowledgeOperation,
  sourceId: string,
  { states, ...page }: { states: readonly PageState[] | null; limit: number; offset: number },
): Promise<{ pages: ListedPage[]; total: number } | undefined> {
  const { env, meter, workspace, agentId } = op;
  const db = databaseOf(op);
  const [[[source]], listed] = await Promise.all([
    db.batch([findSource(db, workspace.id, agentId, sourceId)]),
    indexOf(env, meter, workspace.id, agentId).listPages(sourceId, states, page),
  ]);
  return source && listed;
}

function databaseOf({ env, workspace, meter }: KnowledgeOperation): Database {
  return dbFor(env, workspace.id, meter);
}

/** A wake-up for one source; its row says what to do. */
export interface IngestionMessage {
  workspaceId: string;
  agentId: string;
  sourceId: string;
}

/** What of a source a wake-up needs. */
export interface WakeableSource {
  id: string;
  workspaceId: string;
  agentId: string;
  type: "website" | "url" | "text";
}

/** Sends wake-ups for sources. Crawls have their own queue, since they take longer than texts. */
export async function wakeSources(env: Env, sources: readonly WakeableSource[], delaySeconds = 0): Promise<void> {
  const messagesOf = (isText: boolean): IngestionMessage[] =>
    sources
      .filter(({ type }) => (type === "text") === isText)
      .map(({ id, workspaceId, agentId }) => ({ workspaceId, agentId, sourceId: id }));
  await Promise.all([
    sendWakeUps(env.INGESTION_QUEUE, messagesOf(true), delaySeconds),
    sendWakeUps(env.CRAWL_QUEUE, messagesOf(false), delaySeconds),
  ]);
}

/** Sends a wake-up for one source. */
export function wakeSource(env: Env, source: WakeableSource, delaySeconds = 0): Promise<void> {
  return wakeSources(env, [source], delaySeconds);
}
