import type { IndexStore } from "../indexing/store.ts";
import { type CrawlRow, CrawlStore } from "./crawl-store.ts";
import { FetchQueue } from "./fetch-queue.ts";
import { Frontier } from "./frontier.ts";
import { PageIndexing } from "./page-indexing.ts";
import { PageResults } from "./page-results.ts";
import type { CrawlEnd, CrawlProgress, CrawlSource, CrawlStep } from "./protocol.ts";
import { Traps } from "./traps.ts";
import { normalisedUrl } from "./urls.ts";

/** The state of one step of a crawl. */
export interface StepContext {
  store: CrawlStore;
  crawl: CrawlRow;
  frontier: Frontier;
  traps: Traps;
  /** The host whose pauses and leases apply. With and without `www.` it is the same host. */
  host: string;
  nowMs: number;
}

/** Crawls sites and indexes their pages in bounded steps; the caller fetches between them. All state is in storage. */
export class SiteCrawl {
  private readonly indexing = new PageIndexing();

  constructor(private readonly index: IndexStore) {}

  /** Applies the results of one batch and returns the next; undefined when the source was removed. Idempotent. */
  step(source: CrawlSource, step: CrawlStep): CrawlProgress | undefined {
    const store = new CrawlStore(this.index, source);
    const known = store.find();
    const isKnown = known?.syncNumber === source.syncNumber;
    if (!isKnown && (!step.isFirst || (known && known.syncNumber > source.syncNumber))) return undefined;
    if (isKnown && known.phase === "done") return store.readEnd();
    return this.index.write(() => {
      const progress = this.proceed(store, isKnown ? known : start(store), step);
      if (progress.done) store.finish(progress);
      return progress;
    });
  }

  private proceed(store: CrawlStore, crawl: CrawlRow, step: CrawlStep): CrawlProgress {
    const { index, pages, source } = store;
    if (crawl.phase === "crawling") {
      const next = crawlOn(contextOf(store, crawl, step.nowMs), step);
      if ("fetch" in next) {
        store.save(crawl);
        return { done: false, ...next, counts: pages.countPages() };
      }
      if (next.failure) {
        const live = index.countLive(source.id);
        const counts = { ...pages.countPages(), indexed: live.pages };
        return { done: true, outcome: "failed", ...next.failure, counts, chunksCount: live.chunks };
      }
      crawl.phase = "indexing";
      store.save(crawl);
    }
    if (this.indexing.step(store)) return { done: false, fetch: [], waitMs: 0, pauseMs: 0, counts: pages.countPages() };
    this.indexing.switchLive(store);
    store.deleteIdleHosts(step.nowMs);
    return { done: true, outcome: "ready", counts: pages.countPages(), chunksCount: index.countLive(source.id).chunks };
  }
}

function start(store: CrawlStore): CrawlRow {
  const { index, pages, source } = store;
  const building = index.findGeneration(source.id, "building");
  if (building) index.deleteGeneration(building);
  pages.reset();
  const startUrl = normalisedUrl(source.url) ?? source.url;
  const crawl = store.start(new URL(startUrl).origin);
  contextOf(store, crawl, 0).frontier.addRoots(startUrl);
  return crawl;
}

function contextOf(store: CrawlStore, crawl: CrawlRow, nowMs: number): StepContext {
  const traps = new Traps(store);
  const host = new URL(crawl.origin).host.replace(/^www\./, "");
  return { store, crawl, traps, frontier: new Frontier(store, crawl, traps), host, nowMs };
}

type Batch = Pick<Extract<CrawlProgress, { done: false }>, "fetch" | "waitMs" | "pauseMs">;
export type CrawlFailure = Pick<Extract<CrawlEnd, { outcome: "failed" }>, "code" | "message">;

/** Applies the results of a batch. Returns the next batch, or at the end of the crawl why it failed, if it did. */
function crawlOn(context: StepContext, { results, unfetched, isLast, pauseMs, nowMs }: CrawlStep): Batch | { failure?: CrawlFailure } {
  const { store, host, frontier } = context;
  const applied = new PageResults(context);
  for (const result of results) applied.apply(result);
  if (unfetched.length > 0) store.pages.release(unfetched);
  const pause = Math.max(pauseMs, frontier.delayInSeconds * 1000);
  store.releaseHost(host);
  if (results.length > 0 && pause > 0) store.pauseHost(host, nowMs + pause);
  const queue = new FetchQueue(context, pause);
  const next = queue.next(isLast);
  return next ? { ...next, pauseMs: pause } : queue.close();
}
