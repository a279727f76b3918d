import { appendEvent, wakeDeliveries } from "../events/outbox.ts";
import { type Database, dbFor, isBoundShard } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import type { sources } from "../platform/db/schema.ts";
import { transact } from "../platform/db/sql.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { DAY_MS } from "../platform/time.ts";
import { runTimeSlice } from "./crawl/fetch-page.ts";
import type { CrawlSource, PageCounts } from "./crawl/protocol.ts";
import { indexOf } from "./index.ts";
import { type IngestionMessage, wakeSource } from "./sources.ts";
import { claimSource, failSource, findSource, sourceExists, sourceRecord, updateClaimed } from "./store.ts";

/** Longer than a crawl's shift and any one step take; renewed while work goes on. */
const LEASE_MS = 2 * 60_000;
/** How often whoever polls sees a crawl's progress; the lease is renewed with it. */
const REPORT_AFTER_MS = 5_000;
const RENEW_AFTER_MS = 30_000;

type SourceRow = typeof sources.$inferSelect;
type Finished =
  | { outcome: "ready"; counts: PageCounts; chunksCount: number }
  | { outcome: "failed"; code: string; message: string; counts?: PageCounts; chunksCount?: number };
type Ended = Finished | { outcome: "paused"; counts: PageCounts; resumeAtMs: number };

/** How a wake-up ended; with "lost" another run has taken the source over, or it was deleted. */
type IngestionOutcome = Ended["outcome"] | "nothing_to_do" | "lost";

/** One run of the consumer that holds a source. */
interface Run {
  env: Env;
  meter: Meter;
  db: Database;
  source: SourceRow;
  leaseId: string;
  clock: () => number;
}

/**
 * Works on one source: a text until it is ready or failed, a site for one shift, after which it sends itself a wake-up.
 * A repeated wake-up does the work once: one run holds a source's lease at a time, and a source that is neither waiting
 * nor abandoned is left alone.
 * @param clock Unix milliseconds.
 */
export async function ingest(
  env: Env,
  message: IngestionMessage,
  clock: () => number = Date.now,
  meter = new Meter(),
): Promise<IngestionOutcome> {
  const { sourceId } = message;
  if (!isBoundShard(env, sourceId)) return "nothing_to_do";
  const db = dbFor(env, sourceId, meter);
  const leaseId = crypto.randomUUID();
  const lease = { id: leaseId, untilMs: clock() + LEASE_MS };
  const [[source], [existing]] = await db.batch([claimSource(db, sourceId, lease, clock()), sourceExists(db, sourceId)]);
  if (!existing) await forget(env, meter, message);
  if (!source) return "nothing_to_do";
  const run = { env, meter, db, source, leaseId, clock };
  try {
    const ended = source.type === "text" ? await ingestText(run) : await crawl(run, source.type);
    if (ended) await end(run, ended);
    else await forgetIfDeleted(run);
    return ended?.outcome ?? "lost";
  } catch (error) {
    const changes = { status: "pending" as const, leaseId: null, leaseUntil: null, updatedAt: clock() };
    await db.batch([updateClaimed(db, sourceId, leaseId, changes)]);
    throw error;
  }
}

/** Fails a source whose wake-up has used up its retries. */
export async function giveUp(env: Env, { workspaceId, agentId, sourceId }: IngestionMessage, meter = new Meter()): Promise<void> {
  if (!isBoundShard(env, sourceId)) return;
  const db = dbFor(env, sourceId, meter);
  const [[source]] = await db.batch([findSource(db, workspaceId, agentId, sourceId)]);
  if (!source) return;
  const error = {
    code: "ingestion_failed",
    message: "Reading this source failed several times. Sync it again; what was read before stays in use.",
  };
  const nowMs = Date.now();
  const event = { id: newId(shardOf(sourceId), nowMs), workspaceId, nowMs };
  const [, ...written] = await db.batch([
    failSource(db, sourceId, error, nextSyncAtMs(source, nowMs), nowMs),
    ...appendEvent(db, event, "source.failed", sourceRecord(workspaceId, sourceId)),
  ]);
  await wakeDeliveries(env, written);
}

/** Builds the source's next generation step by step; undefined when another run has taken over. */
async function ingestText({ env, meter, db, source, leaseId, clock }: Run): Promise<Finished | undefined> {
  let renewedAtMs = clock();
  for (;;) {
    const progress = await indexOf(env, meter, source.workspaceId, source.agentId).ingestText(source.id, leaseId);
    if (progress.done) return progress.outcome === "failed" ? progress : { ...progress, counts: countsOfText(progress.pagesIndexed) };
    if (clock() - renewedAtMs < RENEW_AFTER_MS) continue;
    renewedAtMs = clock();
    const [[held]] = await db.batch([updateClaimed(db, source.id, leaseId, { leaseUntil: renewedAtMs + LEASE_MS })]);
    if (!held) return undefined;
  }
}

function countsOfText(pages: number): PageCounts {
  return { found: pages, indexed: pages, failed: 0, skipped: 0 };
}

/** Crawls for a while; undefined when another run has taken over, or the source was deleted. */
async function crawl(run: Run, type: CrawlSource["type"]): Promise<Ended | undefined> {
  const { env, meter, db, source, leaseId, clock } = run;
  const { id, maxPages, syncNumber } = source;
  const crawled: CrawlSource = { id, type, url: source.url!, maxPages: type === "url" ? 1 : maxPages, syncNumber };
  let reportedAtMs = clock();
  const shift = await runTimeSlice({
    env,
    clock,
    step: (step) => indexOf(env, meter, source.workspaceId, source.agentId).crawl(crawled, step),
    async report(counts) {
      if (clock() - reportedAtMs < REPORT_AFTER_MS) return true;
      reportedAtMs = clock();
      const changes = { ...columnsOfCounts(counts), leaseUntil: reportedAtMs + LEASE_MS };
      const [[held]] = await db.batch([updateClaimed(db, id, leaseId, changes)]);
      return held !== undefined;
    },
  });
  if (!shift || shift.done) return shift;
  return { outcome: "paused", counts: shift.counts, resumeAtMs: clock() + shift.resumeInMs };
}

/** Notes what came of it, if this run still holds the source: the end of a sync with its event, or when to go on. */
async function end(run: Run, ended: Ended): Promise<void> {
  const { env, db, source, leaseId, clock } = run;
  const nowMs = clock();
  if (ended.outcome === "paused") {
    // Nobody holds it, and yet it is nobody's to take up before its time.
    const released = { leaseId: null, leaseUntil: ended.resumeAtMs, updatedAt: nowMs };
    const [[held]] = await db.batch([updateClaimed(db, source.id, leaseId, { ...released, ...columnsOfCounts(ended.counts) })]);
    if (!held) return forgetIfDeleted(run);
    return wakeSource(env, source, Math.ceil((ended.resumeAtMs - nowMs) / 1000));
  }
  const event = { id: newId(shardOf(source.id), nowMs), workspaceId: source.workspaceId, nowMs };
  const type = ended.outcome === "ready" ? "source.synced" : "source.failed";
  const changes = {
    ...columnsOf(ended, nowMs),
    leaseId: null,
    leaseUntil: null,
    nextSyncAt: nextSyncAtMs(source, nowMs),
    updatedAt: nowMs,
  };
  const { before, written, after } = await transact(db, {
    before: [updateClaimed(db, source.id, leaseId, changes)],
    writes: appendEvent(db, event, type, sourceRecord(source.workspaceId, source.id)),
    after: [sourceExists(db, source.id)],
  });
  await wakeDeliveries(env, written);
  if (before[0].length === 0 && after[0].length === 0) await forget(env, run.meter, { ...source, sourceId: source.id });
}

async function forgetIfDeleted({ env, meter, db, source }: Run): Promise<void> {
  const [[existing]] = await db.batch([sourceExists(db, source.id)]);
  if (!existing) await forget(env, meter, { ...source, sourceId: source.id });
}

/** The source was deleted while its text was kept or read: what was written into the index since goes too. */
async function forget(env: Env, meter: Meter, { workspaceId, agentId, sourceId }: IngestionMessage): Promise<void> {
  await indexOf(env, meter, workspaceId, agentId).removeSource(sourceId);
}

/** A failed sync says what it met with, and leaves in use what was. */
function columnsOf(finished: Finished, nowMs: number) {
  const { counts, chunksCount } = finished;
  const columns = { ...(counts && columnsOfCounts(counts)), ...(chunksCount !== undefined && { chunksCount }) };
  if (finished.outcome === "ready")
    return { status: "ready" as const, errorCode: null, errorMessage: null, lastSyncedAt: nowMs, ...columns };
  return { status: "failed" as const, errorCode: finished.code, errorMessage: finished.message, ...columns };
}

function columnsOfCounts({ found, indexed, failed, skipped }: PageCounts) {
  return { pagesFound: found, pagesIndexed: indexed, pagesFailed: failed, pagesSkipped: skipped };
}

const PERIOD_MS = { daily: DAY_MS, weekly: 7 * DAY_MS };
/** Sources that were added together, by a script or an import, are not synced together for ever. */
const SPREAD = 0.1;

/**
 * When a source whose sync ends now is synced by itself again: after its schedule's period, up to a tenth sooner or later, always
 * the same for one source. Null for those that never are: on manual schedule, and texts, which change with nobody's site.
 */
export function nextSyncAtMs(
  { id, type, schedule }: { id: string; type: "website" | "url" | "text"; schedule: "manual" | "daily" | "weekly" },
  nowMs: number,
): number | null {
  if (type === "text" || schedule === "manual") return null;
  return nowMs + Math.round(PERIOD_MS[schedule] * (1 + SPREAD * deviationOf(id)));
}

/** -1 to 1, from the random part of an identifier. */
function deviationOf(id: string): number {
  return Number.parseInt(id.slice(24, 32), 16) / 2 ** 31 - 1;
}
