import { crawlPauseMs } from "../platform/config.ts";
import type { Sized } from "./agent-knowledge.ts";
import { fetchPage } from "./crawl/fetch-page.ts";
import { type CrawlEnd, type CrawlProgress, type CrawlStep, LONG_WAIT_MS, type PageCounts, type PageResult } from "./crawl/protocol.ts";

/** The time that one message may crawl, before other messages of the queue get their turn. */
const TIME_SLICE_MS = 15_000;
/** The characters of results in one step, which the index stores in about 50 ms. */
const CHARS_PER_STEP = 500_000;
const LINK_CHARS = 200;

/** The result of a time slice: the end of the crawl, or the time after which it can continue. */
export type TimeSliceEnd = Sized<CrawlEnd> | { done: false; counts: PageCounts; resumeInMs: number };

interface TimeSlice {
  env: Env;
  /** Calls the agent's index. */
  step: (step: CrawlStep) => Promise<Sized<CrawlProgress> | undefined>;
  /** Stores the progress; false when this run has lost its lease. */
  report: (counts: PageCounts) => Promise<boolean>;
  /** Unix milliseconds. */
  clock: () => number;
}

/**
 * Crawls one batch after another for a time slice.
 * @returns undefined if the source was removed or another run has its lease.
 */
export async function runTimeSlice(slice: TimeSlice): Promise<TimeSliceEnd | undefined> {
  const { clock } = slice;
  const endsAtMs = clock() + TIME_SLICE_MS;
  let progress = await requestStep(slice, [], { isFirst: true });
  while (progress && !progress.done) {
    const { counts, waitMs } = progress;
    const isOver = clock() >= endsAtMs;
    if (isOver || waitMs > LONG_WAIT_MS) return { done: false, counts, resumeInMs: waitMs };
    if (!(await slice.report(counts))) return undefined;
    if (waitMs > 0) await scheduler.wait(waitMs);
    progress = await fetchBatch(slice, progress, endsAtMs);
  }
  return progress;
}

/** Fetches as much of a batch as time and memory allow, and submits the results. */
async function fetchBatch(
  slice: TimeSlice,
  { fetch: pages, pauseMs }: Extract<CrawlProgress, { done: false }>,
  endsAtMs: number,
): Promise<Sized<CrawlProgress> | undefined> {
  const results: PageResult[] = [];
  let fetched = 0;
  for (const [at, page] of pages.entries()) {
    if (at > 0 && pauseMs > 0) await scheduler.wait(pauseMs);
    for await (const result of fetchPage(slice.env, page)) {
      const isPart = result.outcome === "sitemap" && !result.isLast;
      if (!isPart) results.push(result);
      else if (!(await requestStep(slice, [result], { isLast: true }))) return undefined;
    }
    fetched++;
    if (slice.clock() >= endsAtMs || charsOf(results) > CHARS_PER_STEP || requestsPause(results.at(-1))) break;
  }
  const unfetched = pages.slice(fetched).map(({ id }) => id);
  return requestStep(slice, results, { isLast: slice.clock() >= endsAtMs, unfetched });
}

type StepOptions = Partial<Pick<CrawlStep, "isFirst" | "isLast" | "unfetched">>;

function requestStep(
  { env, step, clock }: TimeSlice,
  results: PageResult[],
  { isFirst = false, isLast = false, unfetched = [] }: StepOptions,
) {
  return step({ results, unfetched, isFirst, isLast, pauseMs: crawlPauseMs(env), nowMs: clock() });
}

/** Returns whether the site sent Retry-After. */
function requestsPause(result: PageResult | undefined): boolean {
  return result?.outcome === "failed" && result.retryAfterSeconds !== null;
}

function charsOf(results: PageResult[]): number {
  return results.reduce((sum, result) => sum + (result.outcome === "page" ? result.text.length + result.links.length * LINK_CHARS : 0), 0);
}
