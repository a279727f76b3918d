import { setTimeout as sleep } from "node:timers/promises";
import { type Service, withService } from "./answers/service.ts";
import type { Report } from "./report.ts";
import { workerdMegabytes } from "./service.ts";
import { serveSite, type Site } from "./stand-ins/site.ts";

/** Sizes of the sites: memory may not grow from one to the next. */
const SIZES = [500, 2_000, 6_000];
const DEADLINE_MS = 15 * 60_000;
const POLL_MS = 200;
/** The site is this machine's own, and needs no rest. */
const BINDINGS = { ALLOW_PRIVATE_TARGETS: "true", CRAWL_PAUSE_MS: "0" };

interface Source {
  id: string;
  status: string;
  pages_indexed: number;
  chunks_count: number;
  error: unknown;
}

interface Crawled {
  site: string;
  pages: number;
  seconds: number;
  chunks: number;
  requests: number;
  /** The most that workerd held while it read. */
  megabytes: number;
}

/** How quickly websites are read, then read again after some changes, and how much memory that takes. */
export async function benchCrawl(): Promise<Report> {
  const crawls: Crawled[] = [];
  for (const size of SIZES) {
    const site = await serveSite(size);
    try {
      crawls.push(...(await withService((service) => crawlTwice(service, site, size), BINDINGS)));
    } finally {
      await site.close();
    }
  }
  const columns = ["site", "pages", "s", "pages/s", "chunks", "requests", "workerd, MB"];
  const rows = crawls.map(({ site, pages, seconds, chunks, requests, megabytes }) => {
    return [site, pages, seconds.toFixed(1), (pages / seconds).toFixed(0), chunks, requests, megabytes];
  });
  const notes = ["A pause of 0 between requests; site, service and queue share the machine."];
  return { tables: [{ columns, rows }], notes, data: { crawls } };
}

async function crawlTwice(service: Service, site: Site, size: number): Promise<Crawled[]> {
  const agentId = await service.createAgent("Reader");
  const sources = `/agents/${agentId}/sources`;
  const body = { type: "website", name: "Site", url: `${site.origin}/`, max_pages: 10_000 };
  const source = await service.call<Source>("POST", sources, body, 202);
  const first = await watch(service, sources, source.id, site);
  for (let article = 0; article < size / 100; article++) site.edit(article);
  await service.call("POST", `${sources}/${source.id}/sync`, undefined, 202);
  return [
    { site: `${size} pages`, ...first },
    { site: "1 % changed", ...(await watch(service, sources, source.id, site)) },
  ];
}

/** Waits until a crawl ends. */
async function watch({ call }: Service, sources: string, id: string, site: Site): Promise<Omit<Crawled, "site">> {
  const startedAtMs = Date.now();
  const requestsBefore = site.requests.length;
  let megabytes = 0;
  while (Date.now() - startedAtMs < DEADLINE_MS) {
    await sleep(POLL_MS);
    megabytes = Math.max(megabytes, workerdMegabytes() ?? 0);
    const { data } = await call<{ data: Source[] }>("GET", sources, undefined, 200);
    const source = data.find((each) => each.id === id);
    if (source?.status === "failed") throw new Error(`The crawl failed: ${JSON.stringify(source.error)}`);
    if (source?.status !== "ready") continue;
    const seconds = (Date.now() - startedAtMs) / 1000;
    return {
      pages: source.pages_indexed,
      seconds,
      chunks: source.chunks_count,
      requests: site.requests.length - requestsBefore,
      megabytes,
    };
  }
  throw new Error("The crawl does not end.");
}
