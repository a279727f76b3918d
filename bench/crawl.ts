import { peakMegabytes, timed } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { buildService, type RunningService, withService } from "./service.ts";
import { serveSite, type Site } from "./stand-ins/site.ts";
import { createTenant, type Source, type Tenant, untilReady } from "./tenant.ts";

/** Sizes of the sites: memory must not grow from one to the next. */
const SIZES = [500, 2_000, 6_000];
/** The site is on this machine, so that the crawl needs no pauses. */
const BINDINGS = { ALLOW_PRIVATE_TARGETS: "true", CRAWL_PAUSE_MS: "0" };

/** Measures how quickly websites are read, and read again after some changes, and how much memory that takes. */
export async function benchCrawl(): Promise<Report> {
  const table: Table = [];
  const build = await buildService();
  for (const size of SIZES) {
    const site = await serveSite(size);
    try {
      table.push(...(await withService(build, BINDINGS, (service) => crawlTwice(service, site, size))));
    } finally {
      await site.close();
    }
  }
  return { tables: [table], notes: ["There is no pause between requests; site, service and queue share the machine."] };
}

async function crawlTwice({ port, operatorToken }: RunningService, site: Site, size: number): Promise<Table> {
  const tenant = await createTenant(port, operatorToken, "crawl");
  const sources = `/agents/${tenant.agentId}/sources`;
  const body = { type: "website", name: "Site", url: `${site.origin}/`, max_pages: 10_000 };
  const source = await tenant.call<Source>("POST", sources, body);
  const first = await watch(`${size} pages`, tenant, site);
  for (let article = 0; article < size / 100; article++) site.edit(article);
  await tenant.call("POST", `${sources}/${source.id}/sync`);
  return [first, await watch("1 % changed", tenant, site)];
}

/** Waits until a crawl ends. */
async function watch(name: string, tenant: Tenant, site: Site): Promise<Table[number]> {
  const requestsBefore = site.requests();
  const { result: megabytes, ms } = await timed(() => peakMegabytes(() => untilReady(tenant, tenant.agentId)));
  const [source] = await untilReady(tenant, tenant.agentId);
  const { pages_indexed: pages, chunks_count: chunks } = source!;
  return {
    site: name,
    pages,
    s: (ms / 1000).toFixed(1),
    "pages/s": ((pages * 1000) / ms).toFixed(0),
    chunks,
    requests: site.requests() - requestsBefore,
    "workerd, MB": megabytes,
  };
}
