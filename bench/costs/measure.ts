import { setTimeout as sleep } from "node:timers/promises";
import { type PreparedRequest, send } from "../load.ts";
import { mean, workerdCpuMs } from "../measure.ts";
import { seed, type Seed } from "../seed.ts";
import { type Build, buildVariant, linesDuring, type LogLine, type RunningService, type RunningWorker, withService } from "../service.ts";
import { type CountingModel, startCountingModel } from "../stand-ins/counting-model.ts";
import { type Receiver, startReceiver } from "../stand-ins/receiver.ts";
import { serveSite, type Site } from "../stand-ins/site.ts";
import { createTenant, type Source, untilReady } from "../tenant.ts";
import { createEventSource } from "../webhooks.ts";
import { type Item, LOG_LINE_BYTES, type Usage } from "./prices.ts";

export interface Measurements {
  /** A question that begins a conversation, answered by a model. */
  ask: Usage;
  /** A question within a conversation. */
  further: Usage;
  /** A request that reads: a page of 20 conversations. */
  read: Usage;
  /** A reply of the team that nobody is notified of. */
  reply: Usage;
  crawl: Crawl;
  /** What one webhook adds to a reply of the team: the event, its delivery, and the record of both. */
  event: Usage;
  /** The tokens that the model reads for a question, four characters each. */
  promptTokens: number;
  /** What a conversation of one question adds to its database, and what each further question adds. */
  conversationBytes: number;
  questionBytes: number;
  /** What an event with its delivery and one attempt adds; it is deleted with the event log. */
  eventBytes: number;
  /** One run of the cron with nothing to do. */
  sweep: ReturnType<typeof spentBy>;
}

/** A website that is read and indexed, on average of its pages. */
export interface Crawl {
  /** A page that is read for the first time, without its vectors' neurons. */
  page: Usage;
  /** A page that has not changed since. */
  unchanged: Usage;
  chunks: number;
  /** The tokens that are embedded, four characters each. */
  embeddedTokens: number;
  /** Megabytes of text, as the plans limit it. */
  textMb: number;
  /** What the page adds to the agent's object, with its vectors. */
  objectBytes: number;
}

/** Enough requests for the growth of a database in pages of 4 KB to be exact. */
const ASKS = 300;
const EVENTS = 100;
const READS = 100;
/** A start page, a PDF and articles of some 2,000 characters. A calendar adds a few pages. */
const PAGES = 302;
const CHARACTERS_A_TOKEN = 4;
/** What a request leaves behind to do comes after its response. */
const SETTLE_MS = 1_500;

/** Runs the built service with a model that answers at once, and measures what questions and events use. */
export async function measure(): Promise<Measurements> {
  const build = await buildVariant("object-rows");
  const [model, receiver] = [await startCountingModel(), await startReceiver()];
  const bindings = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "costs", ALLOW_PRIVATE_TARGETS: "true" };
  try {
    const crawl = await measureCrawl(build, model);
    return await withService(build, bindings, async (service) => {
      const filled = await seed(service);
      const sweep = await measureSweep(service);
      model.prompts.length = 0;
      const asked = await measureAsks(service, filled);
      const promptTokens = mean(model.prompts) / CHARACTERS_A_TOKEN;
      const [read] = await average(service, READS, () => filled.call("GET", "/conversations?limit=20"));
      return { ...asked, ...(await measureEvents(service, receiver)), read, crawl, promptTokens, sweep };
    });
  } finally {
    await Promise.all([receiver.close(), model.close()]);
  }
}

async function measureAsks(worker: RunningWorker, { ask: request }: Seed) {
  const first = await send<{ conversation_id: string }>(worker.port, request);
  const more: PreparedRequest = { ...request, body: { ...(request.body as object), conversation_id: first.conversation_id } };
  const [ask, conversationBytes] = await average(worker, ASKS, () => send(worker.port, request));
  const [further, questionBytes] = await average(worker, ASKS, () => send(worker.port, more));
  return { ask, further, conversationBytes, questionBytes };
}

/** Measures a reply of the team with one endpoint listening, less the same without. */
async function measureEvents(service: RunningService, receiver: Receiver) {
  const source = await createEventSource(service);
  await source.reply();
  const [silent, silentBytes] = await average(service, EVENTS, () => source.reply());
  const unlisten = await source.listen([receiver.url("/costs")]);
  const [heard, heardBytes] = await average(service, EVENTS, async () => {
    const before = receiver.deliveries.length;
    await source.reply();
    await receiver.until(() => receiver.deliveries.length > before);
  });
  await unlisten();
  const added = Object.entries(heard).map(([item, amount]) => [item, Math.max(0, amount - silent[item as Item]!)]);
  const event: Usage = { ...Object.fromEntries(added), workerRequest: 1 };
  return { event, reply: silent, eventBytes: heardBytes - silentBytes };
}

/** Reads and indexes a website with vectors, and then reads it again although nothing has changed. */
async function measureCrawl(build: Build, model: CountingModel): Promise<Crawl> {
  const site = await serveSite(PAGES);
  const bindings = {
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_EMBEDDING_MODEL: "costs",
    ALLOW_PRIVATE_TARGETS: "true",
    CRAWL_PAUSE_MS: "0",
  };
  try {
    return await withService(build, bindings, (service) => crawlTwice(service, site, model));
  } finally {
    await site.close();
  }
}

async function crawlTwice(service: RunningService, site: Site, model: CountingModel): Promise<Crawl> {
  const tenant = await createTenant(service.port, service.operatorToken, "crawl");
  const sources = `/agents/${tenant.agentId}/sources`;
  const body = { type: "website", name: "Site", url: `${site.origin}/`, max_pages: 10_000 };
  // Polling costs, too. It is a request, and a crawl is jobs alone.
  const crawled = async (start: () => Promise<unknown>) => {
    const { usage, lines } = await spentDuring(service, async () => {
      await start();
      await untilReady(tenant, tenant.agentId);
      await untilQuiet(() => model.embedded.length);
    });
    const jobs = lines.filter(({ event }) => event === "job");
    const messages = jobs.reduce((sum, job) => sum + (job.messages ?? 0), 0);
    return { ...usage, ...usageOfLines(jobs), workerRequest: jobs.length, queueOperation: 3 * messages };
  };
  const indexBytes = async () => {
    const path = `/index-bytes?index=${tenant.workspaceId}/${tenant.agentId}`;
    return (await send<{ bytes: number }>(service.port, { method: "GET", path })).bytes;
  };
  const emptyBytes = await indexBytes();
  const source: { id?: string } = {};
  const first = await crawled(async () => Object.assign(source, await tenant.call<Source>("POST", sources, body)));
  const addedBytes = (await indexBytes()) - emptyBytes;
  const embeddedTokens = model.embedded.reduce((sum, length) => sum + length, 0) / CHARACTERS_A_TOKEN;
  const again = await crawled(() => tenant.call("POST", `${sources}/${source.id}/sync`));
  const [{ chunks_count: chunks, pages_indexed: pages }] = (await untilReady(tenant, tenant.agentId)) as [Source];
  const { usage } = await tenant.call<{ usage: { knowledge_mb_per_agent: number } }>("GET", "/usage");
  return {
    page: divide(first, pages),
    unchanged: divide(again, pages),
    chunks: chunks / pages,
    embeddedTokens: embeddedTokens / pages,
    textMb: usage.knowledge_mb_per_agent / pages,
    objectBytes: addedBytes / pages,
  };
}

/** Waits until a count has stayed the same for a while: vectors are made after a source is ready. */
async function untilQuiet(count: () => number): Promise<void> {
  for (let before = -1; before !== count(); await sleep(SETTLE_MS)) before = count();
}

async function measureSweep(worker: RunningWorker): Promise<Measurements["sweep"]> {
  const lines = await linesDuring(worker, () => worker.sweep(), SETTLE_MS);
  const spent = spentBy(lines.filter(({ job }) => job === "sweep"));
  if (spent.d1Trips === 0) throw new Error("The cron's run logged no line with its cost.");
  return spent;
}

/** Returns what an operation and its jobs use, and the bytes that it adds to the database, on average of so many times. */
async function average(worker: RunningWorker, times: number, operation: () => Promise<unknown>): Promise<[Usage, number]> {
  const startBytes = await worker.databaseBytes();
  const { usage } = await spentDuring(worker, async () => {
    for (let at = 0; at < times; at++) await operation();
  });
  return [{ ...divide(usage, times), workerRequest: 1 }, ((await worker.databaseBytes()) - startBytes) / times];
}

/** Returns what is used while the work is done, and the lines that it logs. */
async function spentDuring(worker: RunningWorker, work: () => Promise<unknown>): Promise<{ usage: Usage; lines: LogLine[] }> {
  const takeRows = () => send<{ read: number; written: number }>(worker.port, { method: "GET", path: "/object-rows" });
  await takeRows();
  let lines: LogLine[] = [];
  const cpuMs = await workerdCpuMs(async () => (lines = await linesDuring(worker, work, SETTLE_MS)));
  const { read, written } = await takeRows();
  // The CPU time of workerd, with D1 and the objects, which the platform bills otherwise: more than the Worker's own.
  return { usage: { workerCpuMs: cpuMs, objectRowRead: read, objectRowWritten: written, ...usageOfLines(lines) }, lines };
}

function divide(usage: Usage, by: number): Usage {
  return Object.fromEntries(Object.entries(usage).map(([item, amount]) => [item, amount / by]));
}

/** Returns what is used for the lines, and for what they say was used. */
export function usageOfLines(lines: readonly LogLine[]): Usage {
  const { objectHops, rowsRead, rowsWritten } = spentBy(lines);
  const bytes = lines.reduce((sum, line) => sum + JSON.stringify(line).length + LOG_LINE_BYTES, 0);
  return {
    d1RowRead: rowsRead,
    d1RowWritten: rowsWritten,
    objectRequest: objectHops,
    logMb: bytes / 1e6,
    dataPoint: lines.filter(({ event }) => event === "request" || event === "job").length,
  };
}

/** Adds up what was used. The line of a turn is left out, because the request that waited for the turn includes it in its own line. */
export function spentBy(lines: readonly LogLine[]) {
  const counted = lines.filter(({ job }) => job !== "turn");
  const sum = (of: (line: LogLine) => number | undefined) => counted.reduce((total, line) => total + (of(line) ?? 0), 0);
  return {
    objectHops: sum((line) => line.object_hops),
    d1Trips: sum((line) => line.d1_trips),
    rowsRead: sum((line) => line.rows_read),
    rowsWritten: sum((line) => line.rows_written),
  };
}
