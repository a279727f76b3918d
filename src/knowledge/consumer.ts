import { announce } from "../events/live-channel.ts";
import { appendEvent, wakeDeliveries } from "../events/outbox.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { newOperation, type Operation } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import type { sources } from "../platform/db/schema.ts";
import { transact } from "../platform/db/sql.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { pacer } from "../platform/time.ts";
import { limitsOf } from "../workspaces/plans.ts";
import type { CrawlSource, PageCounts } from "./crawl/protocol.ts";
import { runTimeSlice } from "./crawl-slice.ts";
import { extractFile } from "./files.ts";
import { knowledgeIndexOf } from "./knowledge-index.ts";
import { type IngestionMessage, maxBytesOf, wakeSource } from "./sources.ts";
import {
  claimSource,
  eraseUnstaged,
  failSource,
  findSource,
  findSourceWithPlan,
  releaseSource,
  sourceExists,
  sourceRecord,
  updateClaimed,
} from "./store.ts";
import { isCrawled, nextSyncAtMs } from "./sync-schedule.ts";

/** The duration of a lease, longer than a time slice or any step. It is renewed while work goes on. */
const LEASE_MS = 2 * 60_000;
/** The time after which a crawl's progress is stored, and its lease renewed. */
const REPORT_AFTER_MS = 5_000;
const RENEW_AFTER_MS = 30_000;

type SourceRow = typeof sources.$inferSelect;
type SyncResult =
  | { outcome: "ready"; counts: PageCounts; chunksCount: number; textBytes: number }
  | { outcome: "failed"; code: string; message: string; counts?: PageCounts; chunksCount?: number; textBytes: number };
type RunResult = SyncResult | { outcome: "paused"; counts: PageCounts; resumeAtMs: number };

/** The outcome of a wake-up; "lost" if another run has taken over or the source was deleted. */
type IngestionOutcome = RunResult["outcome"] | "nothing_to_do" | "lost";

/** One run of the consumer, with the lease of a source. */
interface Run {
  op: Operation;
  source: SourceRow;
  /** The most text that the agent may have. */
  maxBytes: number;
  leaseId: string;
  clock: () => number;
}

/**
 * Ingests one source: a text to its end, a site for one time slice, after which another wake-up is sent. A repeated wake-up does
 * nothing: one run has a source's lease at a time, and only sources that are pending or whose lease has expired are claimed.
 * @param clock Unix milliseconds.
 */
export async function ingest(
  env: Env,
  message: IngestionMessage,
  clock: () => number = Date.now,
  meter = new Meter(),
): Promise<IngestionOutcome> {
  const { workspaceId, sourceId } = message;
  if (!hasDatabase(env, workspaceId)) return "nothing_to_do";
  const op = newOperation(env, meter, workspaceId);
  const { db } = op;
  const leaseId = crypto.randomUUID();
  const lease = { id: leaseId, untilMs: clock() + LEASE_MS };
  const [, [source], [existing]] = await db.batch([
    eraseUnstaged(db, sourceId, clock()),
    claimSource(db, sourceId, lease, clock()),
    findSourceWithPlan(db, sourceId),
  ]);
  if (!existing) await knowledgeIndexOf(op, message.agentId).removeSource(sourceId);
  if (!source || !existing?.plan) return "nothing_to_do";
  const limits = limitsOf(existing.plan, existing.overrides ?? {});
  // The limit may be lower than it was when the source was added.
  const maxPages = Math.min(source.maxPages, limits.max_pages);
  const run = { op, source: { ...source, maxPages }, maxBytes: maxBytesOf(limits), leaseId, clock };
  try {
    const result = isCrawled(source.type) ? await crawl(run, source.type) : await ingestText(run);
    if (result) await finishRun(run, result);
    else await cleanUpIfDeleted(run);
    return result?.outcome ?? "lost";
  } catch (error) {
    await db.batch([releaseSource(db, sourceId, leaseId, clock())]);
    throw error;
  }
}

/** Fails a source whose wake-up has failed too often, unless another run has claimed it or another sync was requested since. */
export async function failAfterRetries(env: Env, message: IngestionMessage, meter = new Meter()): Promise<void> {
  const { workspaceId, agentId, sourceId } = message;
  if (!hasDatabase(env, workspaceId)) return;
  const { db, nowMs, newId } = newOperation(env, meter, workspaceId);
  const [[source]] = await db.batch([findSource(db, workspaceId, agentId, sourceId)]);
  if (!source) return;
  const error = {
    code: "ingestion_failed",
    message: "Reading this source failed several times. Sync it again; what was read before stays in use.",
  };
  const event = { id: newId(), workspaceId, nowMs };
  const [, ...written] = await db.batch([
    failSource(db, message, error, nextSyncAtMs(source, nowMs), nowMs),
    ...appendEvent(db, event, "source.failed", sourceRecord(workspaceId, sourceId)),
  ]);
  await wakeDeliveries(env, written);
  announce(env, workspaceId, { kind: "source", id: sourceId });
}

/** Indexes a text or the text of a file, step by step; undefined when another run has taken over. */
async function ingestText({ op, source, maxBytes, leaseId, clock }: Run): Promise<SyncResult | undefined> {
  if (source.type === "file") {
    const extraction = await extractFile(source, maxBytes);
    if (extraction.outcome === "failed") return { ...extraction, textBytes: source.textBytes };
  }
  let renewedAtMs = clock();
  for (const pause = pacer(); ; await pause()) {
    const progress = await knowledgeIndexOf(op, source.agentId).ingestText(source.id, leaseId);
    if (progress.done) return progress.outcome === "failed" ? progress : { ...progress, counts: countsOfText(progress.pagesIndexed) };
    if (clock() - renewedAtMs < RENEW_AFTER_MS) continue;
    renewedAtMs = clock();
    const [[held]] = await op.db.batch([updateClaimed(op.db, source.id, leaseId, { leaseUntil: renewedAtMs + LEASE_MS })]);
    if (!held) return undefined;
  }
}

function countsOfText(pages: number): PageCounts {
  return { found: pages, indexed: pages, failed: 0, skipped: 0 };
}

/** Crawls for one time slice; undefined when another run has taken over, or the source was deleted. */
async function crawl(run: Run, type: CrawlSource["type"]): Promise<RunResult | undefined> {
  const { op, source, maxBytes, leaseId, clock } = run;
  const { id, maxPages, syncNumber } = source;
  const crawled: CrawlSource = { id, type, url: source.url!, maxPages: type === "url" ? 1 : maxPages, maxBytes, syncNumber };
  let reportedAtMs = clock();
  const slice = await runTimeSlice({
    env: op.env,
    clock,
    step: (step) => knowledgeIndexOf(op, source.agentId).crawl(crawled, step),
    async report(counts) {
      if (clock() - reportedAtMs < REPORT_AFTER_MS) return true;
      reportedAtMs = clock();
      const changes = { ...countColumns(counts), leaseUntil: reportedAtMs + LEASE_MS };
      const [[held]] = await op.db.batch([updateClaimed(op.db, id, leaseId, changes)]);
      return held !== undefined;
    },
  });
  if (!slice || slice.done) return slice;
  return { outcome: "paused", counts: slice.counts, resumeAtMs: clock() + slice.resumeInMs };
}

/**
 * Stores the result if this run still has the lease: the end of a sync with its event, or the time to continue. A source whose text
 * was changed since the run began becomes pending again instead.
 */
async function finishRun(run: Run, result: RunResult): Promise<void> {
  const { op, source, leaseId, clock } = run;
  const { env, db } = op;
  const nowMs = clock();
  if (result.outcome === "paused") {
    // The lease is released, but no run may claim the source before this time.
    const released = { leaseId: null, leaseUntil: result.resumeAtMs, updatedAt: nowMs };
    const [[held]] = await db.batch([updateClaimed(db, source.id, leaseId, { ...released, ...countColumns(result.counts) })]);
    if (!held) return cleanUpIfDeleted(run);
    announce(env, source.workspaceId, { kind: "source", id: source.id });
    return wakeSource(env, source, Math.ceil((result.resumeAtMs - nowMs) / 1000));
  }
  const event = { id: newId(shardOf(source.id), nowMs), workspaceId: source.workspaceId, nowMs };
  const type = result.outcome === "ready" ? "source.synced" : "source.failed";
  const changes = {
    ...resultColumns(result, nowMs),
    leaseId: null,
    leaseUntil: null,
    nextSyncAt: nextSyncAtMs(source, nowMs),
    updatedAt: nowMs,
  };
  const { written, after } = await transact(db, {
    before: [updateClaimed(db, source.id, leaseId, changes, source.syncNumber)],
    writes: appendEvent(db, event, type, sourceRecord(source.workspaceId, source.id)),
    after: [releaseSource(db, source.id, leaseId, nowMs), sourceExists(db, source.id)],
  });
  await wakeDeliveries(env, written);
  announce(env, source.workspaceId, { kind: "source", id: source.id });
  const [[outdated], [existing]] = after;
  if (outdated) await wakeSource(env, source);
  if (!existing) await knowledgeIndexOf(op, source.agentId).removeSource(source.id);
}

/** Removes from the index what was written for a source that was deleted meanwhile. */
async function cleanUpIfDeleted({ op, source }: Run): Promise<void> {
  const [[existing]] = await op.db.batch([sourceExists(op.db, source.id)]);
  if (!existing) await knowledgeIndexOf(op, source.agentId).removeSource(source.id);
}

function resultColumns(result: SyncResult, nowMs: number) {
  const { counts, chunksCount, textBytes } = result;
  const columns = { ...(counts && countColumns(counts)), ...(chunksCount !== undefined && { chunksCount }), textBytes };
  if (result.outcome === "ready") return { status: "ready" as const, errorCode: null, errorMessage: null, lastSyncedAt: nowMs, ...columns };
  // The content was not read, so the same content that is sent again is not what is in use.
  return { status: "failed" as const, errorCode: result.code, errorMessage: result.message, contentHash: null, ...columns };
}

function countColumns({ found, indexed, failed, skipped }: PageCounts) {
  return { pagesFound: found, pagesIndexed: indexed, pagesFailed: failed, pagesSkipped: skipped };
}
