import { type Database, dbFor, isBoundShard } from "../db/client.ts";
import type { sources } from "../db/schema.ts";
import { transact } from "../db/transact.ts";
import { newId, shardOf } from "../db/ids.ts";
import { Meter } from "../meter.ts";
import { addSourceEvent, IF_CHANGED } from "../webhooks/events-store.ts";
import { wakeDeliveries } from "../webhooks/wake.ts";
import { claimSource, failSource, sourceExists, updateClaimed } from "./store.ts";
import { indexOf } from "./stub.ts";

/** A wake-up: which source to look at. What there is to do stands in its row. */
export interface IngestionMessage {
  workspaceId: string;
  agentId: string;
  sourceId: string;
}

/** Longer than any one step takes; renewed while work goes on. */
const LEASE_MS = 2 * 60_000;
const RENEW_AFTER_MS = 30_000;

type SourceRow = typeof sources.$inferSelect;
type Finished = { outcome: "ready"; pagesIndexed: number; chunksCount: number } | { outcome: "failed"; code: string; message: string };

/**
 * Works on one source until it is ready or failed. Twice the same wake-up does the work once: a source is taken by one
 * run at a time, and one that is neither waiting nor abandoned is left alone.
 */
export async function ingest(env: Env, message: IngestionMessage): Promise<void> {
  const { sourceId } = message;
  if (!isBoundShard(env, sourceId)) return;
  const meter = new Meter();
  const db = dbFor(env, sourceId, meter);
  const lease = { id: crypto.randomUUID(), untilMs: Date.now() + LEASE_MS };
  const [[source], [existing]] = await db.batch([claimSource(db, sourceId, lease, Date.now()), sourceExists(db, sourceId)]);
  if (!existing) await forget(env, meter, message);
  if (!source) return;
  try {
    const finished = source.type === "text" ? await ingestText(env, meter, db, source, lease.id) : noCrawler(source);
    if (finished) await finish(env, meter, db, source, lease.id, finished);
  } catch (error) {
    const changes = { status: "pending" as const, leaseId: null, leaseUntil: null, updatedAt: Date.now() };
    await db.batch([updateClaimed(db, sourceId, lease.id, changes)]);
    throw error;
  }
}

/** Gives up on a source whose wake-up failed as often as it may. */
export async function giveUp(env: Env, { workspaceId, sourceId }: IngestionMessage): Promise<void> {
  if (!isBoundShard(env, sourceId)) return;
  const db = dbFor(env, sourceId, new Meter());
  const error = {
    code: "ingestion_failed",
    message: "Reading this source failed several times. Sync it again; what was read before stays in use.",
  };
  const nowMs = Date.now();
  const event = { id: newId(shardOf(sourceId), nowMs), workspaceId, nowMs };
  const [, ...written] = await db.batch([
    failSource(db, sourceId, error, nowMs),
    ...addSourceEvent(db, event, "source.failed", sourceId, IF_CHANGED),
  ]);
  await wakeDeliveries(env, written);
}

/** Builds the source's next generation step by step; undefined when another run has taken over. */
async function ingestText(env: Env, meter: Meter, db: Database, source: SourceRow, leaseId: string): Promise<Finished | undefined> {
  let renewedAtMs = Date.now();
  for (;;) {
    const progress = await indexOf(env, meter, source.workspaceId, source.agentId).ingestText(source.id, leaseId);
    if (progress.done) return progress;
    if (Date.now() - renewedAtMs < RENEW_AFTER_MS) continue;
    renewedAtMs = Date.now();
    const [[held]] = await db.batch([updateClaimed(db, source.id, leaseId, { leaseUntil: renewedAtMs + LEASE_MS })]);
    if (!held) return undefined;
  }
}

function noCrawler(source: SourceRow): Finished {
  const what = source.type === "website" ? "websites" : "web pages";
  return {
    outcome: "failed",
    code: "crawler_unavailable",
    message: `This version does not read ${what} yet. Add their text as a source of type text.`,
  };
}

async function finish(env: Env, meter: Meter, db: Database, source: SourceRow, leaseId: string, finished: Finished): Promise<void> {
  const nowMs = Date.now();
  const released = { leaseId: null, leaseUntil: null, updatedAt: nowMs };
  const event = { id: newId(shardOf(source.id), nowMs), workspaceId: source.workspaceId, nowMs };
  const type = finished.outcome === "ready" ? "source.synced" : "source.failed";
  const { before, written, after } = await transact(db, {
    before: [updateClaimed(db, source.id, leaseId, { ...released, ...columnsOf(finished, nowMs) })],
    writes: addSourceEvent(db, event, type, source.id, IF_CHANGED),
    after: [sourceExists(db, source.id)],
  });
  await wakeDeliveries(env, written);
  const [[held], [existing]] = [before[0], after[0]];
  if (!held && !existing) await forget(env, meter, { ...source, sourceId: source.id });
}

/** The source was deleted while its text was kept or read: what was written into the index since goes too. */
async function forget(env: Env, meter: Meter, { workspaceId, agentId, sourceId }: IngestionMessage): Promise<void> {
  await indexOf(env, meter, workspaceId, agentId).removeSource(sourceId);
}

function columnsOf(finished: Finished, nowMs: number) {
  if (finished.outcome === "failed") return { status: "failed" as const, errorCode: finished.code, errorMessage: finished.message };
  const { pagesIndexed, chunksCount } = finished;
  const counts = { pagesFound: pagesIndexed, pagesIndexed, pagesFailed: 0, pagesSkipped: 0, chunksCount };
  return { status: "ready" as const, errorCode: null, errorMessage: null, lastSyncedAt: nowMs, ...counts };
}
