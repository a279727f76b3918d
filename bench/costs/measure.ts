import { type PreparedRequest, send } from "../load.ts";
import { mean, workerdCpuMs } from "../measure.ts";
import { seed, type Seed } from "../seed.ts";
import { addTexts } from "../tenant.ts";
import { buildVariant, linesDuring, type LogLine, type RunningService, type RunningWorker, withService } from "../service.ts";
import { startCountingModel } from "../stand-ins/counting-model.ts";
import { type Receiver, startReceiver } from "../stand-ins/receiver.ts";
import { createEventSource } from "../webhooks.ts";
import type { Item, Usage } from "./prices.ts";

export interface Measurements {
  /** A question that begins a conversation, answered by a model. */
  ask: Usage;
  /** A question within a conversation. */
  further: Usage;
  /** What one webhook adds to a reply of the team: the event, its delivery, and the record of both. */
  event: Usage;
  /** Ten thousand characters of text that an agent learns. */
  text: Usage;
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

/** Enough requests for the growth of a database in pages of 4 KB to be exact. */
const ASKS = 300;
const TEXTS = 20;
const EVENTS = 100;
export const CHARACTERS_A_TOKEN = 4;
/** A long page of a help center. */
export const TEXT_CHARACTERS = 10_000;
/** What a request leaves behind to do comes after its response. */
const SETTLE_MS = 1_500;

/** Runs the built service with a model that answers at once, and measures what questions and events use. */
export async function measure(): Promise<Measurements> {
  const build = await buildVariant("object-rows");
  const [model, receiver] = [await startCountingModel(), await startReceiver()];
  const bindings = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "costs", ALLOW_PRIVATE_TARGETS: "true" };
  try {
    return await withService(build, bindings, async (service) => {
      const filled = await seed(service);
      const sweep = await measureSweep(service);
      model.prompts.length = 0;
      const asked = await measureAsks(service, filled);
      const promptTokens = mean(model.prompts) / CHARACTERS_A_TOKEN;
      const text = await measureTexts(service, filled);
      return { ...asked, ...(await measureEvents(service, receiver)), text, promptTokens, sweep };
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

async function measureTexts(worker: RunningWorker, { scratchAgentId, ...tenant }: Seed): Promise<Usage> {
  const sentence = "A parcel that is returned within fourteen days of its delivery is paid back. ";
  let at = 0;
  const learn = () => addTexts(tenant, scratchAgentId, [{ name: `Page ${at++}`, text: textOf(sentence) }]);
  return (await average(worker, TEXTS, learn))[0];
}

function textOf(sentence: string): string {
  const count = Math.ceil(TEXT_CHARACTERS / sentence.length);
  return Array.from({ length: count }, (_, number) => `${number}. ${sentence}`)
    .join("")
    .slice(0, TEXT_CHARACTERS);
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
  return { event, eventBytes: heardBytes - silentBytes };
}

async function measureSweep(worker: RunningWorker): Promise<Measurements["sweep"]> {
  const lines = await linesDuring(worker, () => worker.sweep(), SETTLE_MS);
  const spent = spentBy(lines.filter(({ job }) => job === "sweep"));
  if (spent.d1Trips === 0) throw new Error("The cron's run logged no line with its cost.");
  return spent;
}

/** Returns what an operation and its jobs use, and the bytes that it adds to the database, on average of so many times. */
async function average(worker: RunningWorker, times: number, operation: () => Promise<unknown>): Promise<[Usage, number]> {
  const takeRows = () => send<{ read: number; written: number }>(worker.port, { method: "GET", path: "/object-rows" });
  const startBytes = await worker.databaseBytes();
  await takeRows();
  let lines: LogLine[] = [];
  const repeat = async () => {
    for (let at = 0; at < times; at++) await operation();
  };
  const cpuMs = await workerdCpuMs(async () => (lines = await linesDuring(worker, repeat, SETTLE_MS)));
  const { objectHops, rowsRead, rowsWritten } = spentBy(lines);
  const { read, written } = await takeRows();
  const usage: Usage = {
    workerRequest: 1,
    // The CPU time of workerd, with D1 and the objects, which the platform bills otherwise: more than the Worker's own.
    workerCpuMs: cpuMs / times,
    d1RowRead: rowsRead / times,
    d1RowWritten: rowsWritten / times,
    objectRequest: objectHops / times,
    objectRowRead: read / times,
    objectRowWritten: written / times,
    // Each line of the log has a data point.
    logEvent: lines.length / times,
    dataPoint: lines.length / times,
  };
  return [usage, ((await worker.databaseBytes()) - startBytes) / times];
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
