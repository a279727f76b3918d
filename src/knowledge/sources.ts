import type { z } from "@hono/zod-openapi";
import { findAgentBrief } from "../agents/store.ts";
import type { Operation } from "../platform/db/client.ts";
import type { sources } from "../platform/db/schema.ts";
import { IF_CHANGED, transact } from "../platform/db/sql.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { Fault } from "../platform/telemetry/errors.ts";
import { dayWindow, type LimitWindow, findFullWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts } from "../workspaces/usage-limit-store.ts";
import { type Limits, MEGABYTE } from "../workspaces/plans.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";
import { stageFile } from "./files.ts";
import { knowledgeIndexOf } from "./knowledge-index.ts";
import type { DocumentName, SourcePassage } from "./retrieval/document.ts";
import {
  createSource,
  endStaging,
  eraseSource,
  findSource,
  requestSync,
  sourceExists,
  STAGING_LEASE,
  updateSource,
  updateText,
} from "./store.ts";
import { isCrawled, nextSyncAtMs } from "./sync-schedule.ts";
import type { sourceCreateSchema, sourcePatchSchema } from "./wire.ts";

type SourceRow = typeof sources.$inferSelect;

/** An operation on an agent's knowledge. */
export type KnowledgeOperation = Operation & { agentId: string };

/** The agent's texts would exceed its limit with this number of bytes. */
type TooLarge = { outcome: "too_large"; bytes: number };

export type SourceCreation =
  | { outcome: "done"; source: SourceRow }
  | { outcome: "agent_not_found" }
  | { outcome: "too_many" }
  | TooLarge
  /** The agent's waiting files have reached their limit. */
  | { outcome: "too_many_waiting" }
  | RateLimited;

/** The day's syncs are used up. */
type RateLimited = { outcome: "rate_limited"; full: LimitWindow };

export type SourceChange =
  | { outcome: "done"; source: SourceRow }
  | { outcome: "not_found" }
  | { outcome: "not_a_text" }
  | TooLarge
  | RateLimited;

/** The duration of a staging lease, longer than any request. */
const STAGING_MS = 60_000;

type SentSource = z.output<typeof sourceCreateSchema>;

/** A new source: its settings with its URL, text or file. */
type NewSource = (SentSource | (Pick<SentSource, "name" | "max_pages" | "schedule" | "metadata"> & UploadedFile)) & {
  /** The caller's key, and the hash of the content. */
  keyed?: { key: string; contentHash: string };
};

export interface UploadedFile {
  type: "file";
  pieces: Uint8Array[];
}

/**
 * Adds a source and queues its ingestion. The row is added first, so that limits and agent are checked before a text or file is
 * stored. Until that is stored, the row has a staging lease; if the request is interrupted, the sweep removes the row.
 */
export async function addSource(op: KnowledgeOperation, limits: Limits, body: NewSource): Promise<SourceCreation> {
  const { db, workspaceId, agentId, nowMs } = op;
  const row = {
    id: op.newId(),
    workspaceId,
    agentId,
    type: body.type,
    name: body.name,
    url: body.type === "website" || body.type === "url" ? body.url! : null,
    status: "pending" as const,
    schedule: body.schedule,
    maxPages: Math.min(body.max_pages, limits.max_pages),
    metadata: body.metadata,
    ...body.keyed,
    ...(!isCrawled(body.type) && { leaseId: STAGING_LEASE, leaseUntil: nowMs + STAGING_MS }),
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const day = syncsOfDay(limits, nowMs);
  const { before, after } = await transact(db, {
    before: [findAgentBrief(db, workspaceId, agentId), listCounts(db, workspaceId, [day])],
    writes: createSource(db, row, limits.sources, day),
    after: [findSource(db, workspaceId, agentId, row.id)],
  });
  const [[agent], sent] = before;
  const [[source]] = after;
  if (!agent) return { outcome: "agent_not_found" };
  if (!source) return findFullWindow([day], sent) ? { outcome: "rate_limited", full: day } : { outcome: "too_many" };
  // If the request is a repetition, the first one may have stored the content.
  const refusal = source.leaseId === STAGING_LEASE ? await stage(op, limits, source, body) : undefined;
  if (refusal) return refusal;
  await wakeSource(op.env, source);
  return { outcome: "done", source };
}

type StagingRefusal = Extract<SourceCreation, { outcome: "too_large" | "too_many_waiting" }>;

/**
 * Stores a new source's text or file. If it cannot be stored, or the source was removed meanwhile, all of the source is removed.
 * @returns the refusal, if the content was refused.
 */
async function stage(op: KnowledgeOperation, limits: Limits, source: SourceRow, body: NewSource): Promise<StagingRefusal | undefined> {
  const { db, workspaceId, agentId } = op;
  const { id } = source;
  try {
    const refusal = await storeContent(op, limits, source, body);
    if (refusal) {
      await db.batch([eraseSource(db, workspaceId, agentId, id)]);
      return refusal;
    }
    const [, [existing]] = await db.batch([endStaging(db, id), sourceExists(db, id)]);
    if (!existing) throw new Fault("The source was removed while its content was stored");
    return undefined;
  } catch (error) {
    // If this fails too, the sweep removes the source.
    await db.batch([eraseSource(db, workspaceId, agentId, id)]);
    // The consumer finds no row, and removes what was stored.
    await wakeSource(op.env, source);
    throw error;
  }
}

async function storeContent(
  op: KnowledgeOperation,
  limits: Limits,
  { id, name }: SourceRow,
  body: NewSource,
): Promise<StagingRefusal | undefined> {
  const index = knowledgeIndexOf(op, op.agentId);
  if (body.type === "file") return (await stageFile(index, id, body.pieces)) ? undefined : { outcome: "too_many_waiting" };
  const bytes = await index.stageText(id, name, body.text!, maxBytesOf(limits));
  return bytes === undefined ? undefined : { outcome: "too_large", bytes };
}

/** The window in which requested syncs are counted. */
export function syncsOfDay(limits: Limits, nowMs: number): LimitWindow {
  return dayWindow("syncs", limits.syncs_per_day, nowMs);
}

export function maxBytesOf(limits: Limits): number {
  return limits.knowledge_mb_per_agent * MEGABYTE;
}

/**
 * Changes a source. A new text, or a new name of a text, is stored before a sync is requested: if the request is interrupted in between, the
 * old index stays in use, and the request can be repeated.
 */
export async function changeSource(
  op: KnowledgeOperation,
  limits: Limits,
  sourceId: string,
  body: z.output<typeof sourcePatchSchema>,
): Promise<SourceChange> {
  const { db, workspaceId, agentId, nowMs } = op;
  const day = syncsOfDay(limits, nowMs);
  const [[source], sent] = await db.batch([findSource(db, workspaceId, agentId, sourceId), listCounts(db, workspaceId, [day])]);
  if (!source) return { outcome: "not_found" };
  const text = body.text ?? null;
  if (text !== null && source.type !== "text") return { outcome: "not_a_text" };
  const name = body.name ?? source.name;
  const isTextChanged = !isCrawled(source.type) && (text !== null || name !== source.name);
  if (isTextChanged) {
    if (findFullWindow([day], sent)) return { outcome: "rate_limited", full: day };
    // The hash is that of the previous text. A request that is interrupted must not leave it beside the new one.
    if (source.contentHash !== null) await db.batch([updateSource(db, workspaceId, agentId, sourceId, { contentHash: null })]);
    const excess = await knowledgeIndexOf(op, agentId).stageText(sourceId, name, text, maxBytesOf(limits));
    if (excess !== undefined) return { outcome: "too_large", bytes: excess };
  }
  const replaced = isTextChanged && { contentHash: null };
  const changes = { name, ...replaced, ...changedSettings(source, body, limits, nowMs), updatedAt: nowMs };
  const update = isTextChanged ? updateText : updateSource;
  const [[changed]] = await db.batch([
    update(db, workspaceId, agentId, sourceId, changes, nowMs),
    ...(isTextChanged ? countInWindows(db, workspaceId, [day], IF_CHANGED) : []),
  ]);
  // The consumer finds no row of a source that was deleted meanwhile, and removes its text.
  if (isTextChanged) await wakeSource(op.env, changed ?? source);
  return changed ? { outcome: "done", source: changed } : { outcome: "not_found" };
}

function changedSettings(source: SourceRow, body: z.output<typeof sourcePatchSchema>, limits: Limits, nowMs: number) {
  const schedule = body.schedule ?? source.schedule;
  const nextSyncAt = nextSyncAtMs({ ...source, schedule }, source.lastSyncedAt ?? nowMs);
  return {
    ...(schedule !== source.schedule && { schedule, nextSyncAt }),
    ...(body.max_pages && { maxPages: Math.min(body.max_pages, limits.max_pages) }),
    ...(body.metadata && { metadata: body.metadata }),
  };
}

/** Requests a sync, unless one is waiting or running already. Returns the source as it is now. */
export async function syncSource(op: KnowledgeOperation, limits: Limits, sourceId: string): Promise<SourceChange> {
  const { db, workspaceId, agentId, nowMs } = op;
  const day = syncsOfDay(limits, nowMs);
  const [request, ...counts] = requestSync(db, workspaceId, agentId, sourceId, day, nowMs);
  const [[requested], [source], sent] = await db.batch([
    request,
    findSource(db, workspaceId, agentId, sourceId),
    listCounts(db, workspaceId, [day]),
    ...counts,
  ]);
  if (!source) return { outcome: "not_found" };
  const isSyncing = source.status === "pending" || source.status === "processing";
  if (!isSyncing && findFullWindow([day], sent)) return { outcome: "rate_limited", full: day };
  if (requested) await wakeSource(op.env, requested);
  return { outcome: "done", source };
}

/**
 * Removes a source and its indexed content.
 * @returns whether the agent had it.
 */
export async function removeSource(op: KnowledgeOperation, sourceId: string): Promise<boolean> {
  const { db, workspaceId, agentId } = op;
  const [[source]] = await db.batch([findSource(db, workspaceId, agentId, sourceId)]);
  if (!source) return false;
  // The index comes first: if the request is interrupted in between, the source is still listed and can be deleted again.
  await knowledgeIndexOf(op, agentId).removeSource(sourceId);
  await db.batch([eraseSource(db, workspaceId, agentId, sourceId)]);
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
  return ofSource(op, sourceId, knowledgeIndexOf(op, op.agentId).listPages(sourceId, states, page));
}

/**
 * Lists the passages of a source, or of its page with this URL, that the agent answers from now.
 * @returns undefined when the agent has no such source.
 */
export async function listSourcePassages(
  op: KnowledgeOperation,
  name: DocumentName,
  page: { limit: number; offset: number },
): Promise<{ passages: SourcePassage[]; total: number } | undefined> {
  return ofSource(op, name.sourceId, knowledgeIndexOf(op, op.agentId).listPassages(name, page));
}

/** Returns what the agent's index is reading of a source; undefined when the agent has no such source. */
async function ofSource<Read>(op: KnowledgeOperation, sourceId: string, reading: Promise<Read>): Promise<Read | undefined> {
  const { db, workspaceId, agentId } = op;
  const [[[source]], read] = await Promise.all([db.batch([findSource(db, workspaceId, agentId, sourceId)]), reading]);
  return source && read;
}

/** A wake-up for one source, whose row has the work to be done. */
export interface IngestionMessage {
  workspaceId: string;
  agentId: string;
  sourceId: string;
  /** The sync that the wake-up is for; undefined in wake-ups that an earlier version of the service has sent. */
  syncNumber?: number;
}

/** The columns of a source that a wake-up needs. */
export type WakeableSource = Pick<SourceRow, "id" | "workspaceId" | "agentId" | "type" | "syncNumber">;

/**
 * Sends wake-ups for sources. Crawls and files have their own queue, since they take longer than texts. It delivers one message at a
 * time, so that a file that ends its reader uses up the retries of no other source.
 */
export async function wakeSources(env: Env, sources: readonly WakeableSource[], delaySeconds = 0): Promise<void> {
  const messagesOf = (isText: boolean): IngestionMessage[] =>
    sources
      .filter(({ type }) => (type === "text") === isText)
      .map(({ id, workspaceId, agentId, syncNumber }) => ({ workspaceId, agentId, sourceId: id, syncNumber }));
  await Promise.all([
    sendWakeUps(env.INGESTION_QUEUE, messagesOf(true), delaySeconds),
    sendWakeUps(env.CRAWL_QUEUE, messagesOf(false), delaySeconds),
  ]);
}

/** Sends a wake-up for one source. */
export function wakeSource(env: Env, source: WakeableSource, delaySeconds = 0): Promise<void> {
  return wakeSources(env, [source], delaySeconds);
}
