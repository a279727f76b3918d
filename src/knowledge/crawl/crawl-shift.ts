import { crawlPauseMs } from "../../config.ts";
import { fetchPage } from "./fetch-page.ts";
import { type CrawlEnd, type CrawlProgress, type CrawlStep, LONG_WAIT_MS, type PageCounts, type PageResult } from "./protocol.ts";

/** How long one message works: others of its queue wait meanwhile, and what it holds in memory is let go after it. */
const SHIFT_MS = 15_000;
/** About so many characters of results go in one step: the index takes them in about 50 ms. */
const CHARS_PER_STEP = 500_000;
const LINK_CHARS = 200;

/** How a shift ended: with the end of the crawl, or with the time until which the crawl has nothing to do. */
export type ShiftEnd = CrawlEnd | { done: false; counts: PageCounts; resumeInMs: number };

/** What a shift works with. */
export interface Shift {
  env: Env;
  /** Asks the agent's index for a step. */
  step: (step: CrawlStep) => Promise<CrawlProgress | undefined>;
  /** Tells how far the crawl is; false when somebody else goes on with it, or nobody. */
  report: (counts: PageCounts) => Promise<boolean>;
  /** Unix milliseconds. */
  clock: () => number;
}

/** Crawls for a bounded time, one page after another. Undefined when the source was removed or another run took over its lease. */
export async function workShift(shift: Shift): Promise<ShiftEnd | undefined> {
  const { clock } = shift;
  const endsAtMs = clock() + SHIFT_MS;
  let progress = await ask(shift, [], { isFirst: true });
  while (progress && !progress.done) {
    const { counts, waitMs } = progress;
    const isOver = clock() >= endsAtMs;
    if (isOver || waitMs > LONG_WAIT_MS) return { done: false, counts, resumeInMs: waitMs };
    if (!(await shift.report(counts))) return undefined;
    if (waitMs > 0) await scheduler.wait(waitMs);
    progress = await fetchSome(shift, progress, endsAtMs);
  }
  return progress;
}

/** Fetches what was handed out, as far as time and memory reach, and hands over what came of it. */
async function fetchSome(
  shift: Shift,
  { fetch: pages, pauseMs }: Extract<CrawlProgress, { done: false }>,
  endsAtMs: number,
): Promise<CrawlProgress | undefined> {
  const results: PageResult[] = [];
  let asked = 0;
  for (const [at, page] of pages.entries()) {
    if (at > 0 && pauseMs > 0) await scheduler.wait(pauseMs);
    for await (const result of fetchPage(shift.env, page)) {
      const isPart = result.outcome === "sitemap" && !result.isLast;
      if (!isPart) results.push(result);
      else if (!(await ask(shift, [result], { isLast: true }))) return undefined;
    }
    asked++;
    if (shift.clock() >= endsAtMs || charsOf(results) > CHARS_PER_STEP || wantsRest(results.at(-1))) break;
  }
  const unasked = pages.slice(asked).map(({ id }) => id);
  return ask(shift, results, { isLast: shift.clock() >= endsAtMs, unasked });
}

type Asking = Partial<Pick<CrawlStep, "isFirst" | "isLast" | "unasked">>;

function ask({ env, step, clock }: Shift, results: PageResult[], { isFirst = false, isLast = false, unasked = [] }: Asking) {
  return step({ results, unasked, isFirst, isLast, pauseMs: crawlPauseMs(env), nowMs: clock() });
}

/** Whether the site asked to be left alone. */
function wantsRest(result: PageResult | undefined): boolean {
  return result?.outcome === "failed" && result.retryAfterSeconds !== null;
}

function charsOf(results: PageResult[]): number {
  return results.reduce((sum, result) => sum + (result.outcome === "page" ? result.text.length + result.links.length * LINK_CHARS : 0), 0);
}
