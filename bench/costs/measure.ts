import { setTimeout as sleep } from "node:timers/promises";
import { type PreparedRequest, send } from "../load.ts";
import { operations, type Seed, seed } from "../seed.ts";
import { buildVariant, createSecrets, type RunningWorker, startWorker, workerdCpuMs } from "../service.ts";
import { startCountingModel } from "../stand-ins/counting-model.ts";
import { startReceiver } from "../stand-ins/receiver.ts";
import { createEventSource } from "../webhooks.ts";

/** What one operation took, on average. */
export interface Measured {
  objectHops: number;
  d1Trips: number;
  d1RowsRead: number;
  d1RowsWritten: number;
  objectRowsRead: number;
  objectRowsWritten: number;
  /** Of workerd: D1 and the objects included, which the platform bills in other ways, so it is more than the Worker's own. */
  cpuMs: number;
}

export interface Measurements {
  /** A question that begins a conversation, answered by a model. */
  ask: Measured;
  /** A question within a conversation. */
  further: Measured;
  /** What one webhook adds to a reply of the team: the event, its delivery, and the record of both. */
  event: Measured;
  /** Tokens that the model was given for a question, by four characters each. */
  promptTokens: number;
  /** What a conversation of one question adds to its database, and one more question. */
  conversationBytes: number;
  questionBytes: number;
  /** What an event with its delivery and one attempt adds; all of it goes with the event log. */
  eventBytes: number;
  /** One run of the cron with nothing to do. */
  sweep: { d1Trips: number; rowsRead: number };
}

/** Enough that a database's growth in pages of 4 KB says something. */
const ASKS = 300;
const EVENTS = 100;
const CHARACTERS_A_TOKEN = 4;
/** What a request leaves behind to do, and the last line of the log, come after its response. */
const SETTLE_MS = 1_500;
const DEADLINE_MS = 30_000;

/** Runs the built service here, with a model that answers at once, and takes down what questions and events cost. */
export async function measure(directory: string): Promise<Measurements> {
  const secrets = createSecrets();
  const build = await buildVariant("object-rows", directory);
  const [model, receiver] = [await startCountingModel(), await startReceiver()];
  const bindings = { ...secrets, OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "costs", ALLOW_PRIVATE_TARGETS: "true" };
  const worker = await startWorker(build, bindings);
  try {
    const filled = await seed(worker.port, secrets.OPERATOR_TOKEN);
    const sweep = await measureSweep(worker);
    model.prompts.length = 0;
    const asked = await measureAsks(worker, filled);
    const promptTokens = model.prompts.reduce((sum, length) => sum + length, 0) / model.prompts.length / CHARACTERS_A_TOKEN;
    const events = await measureEvents(worker, secrets.OPERATOR_TOKEN, receiver);
    return { ...asked, ...events, promptTokens, sweep };
  } finally {
    await Promise.all([receiver.close(), model.close()]);
    await worker.close();
  }
}

async function measureAsks(worker: RunningWorker, filled: Seed) {
  const { request } = operations(filled).find(({ name }) => name === "ask")!;
  const first = (await send(worker.port, request)) as { conversation_id: string };
  const more: PreparedRequest = { ...request, body: { ...(request.body as object), conversation_id: first.conversation_id } };
  const startBytes = await worker.databaseBytes();
  const ask = await average(worker, ASKS, () => send(worker.port, request));
  const middleBytes = await worker.databaseBytes();
  const further = await average(worker, ASKS, () => send(worker.port, more));
  const endBytes = await worker.databaseBytes();
  return { ask, further, conversationBytes: (middleBytes - startBytes) / ASKS, questionBytes: (endBytes - middleBytes) / ASKS };
}

/** A reply of the team with one endpoint listening, less the same without. */
async function measureEvents(worker: RunningWorker, operatorToken: string, receiver: Awaited<ReturnType<typeof startReceiver>>) {
  const source = await createEventSource(worker.port, operatorToken);
  await source.reply();
  const startBytes = await worker.databaseBytes();
  const silent = await average(worker, EVENTS, () => source.reply());
  const silentBytes = (await worker.databaseBytes()) - startBytes;
  const unlisten = await source.listen([receiver.url("/costs")]);
  const heard = await average(worker, EVENTS, async () => {
    const before = receiver.arrivals.length;
    await source.reply();
    await receiver.until(() => receiver.arrivals.length > before, DEADLINE_MS);
  });
  const heardBytes = (await worker.databaseBytes()) - startBytes - silentBytes;
  await unlisten();
  const difference = Object.entries(heard).map(([name, value]) => [name, Math.max(0, value - silent[name as keyof Measured])]);
  return { event: Object.fromEntries(difference) as unknown as Measured, eventBytes: (heardBytes - silentBytes) / EVENTS };
}

async function measureSweep(worker: RunningWorker): Promise<Measurements["sweep"]> {
  const lines = await linesOf(worker, () => worker.sweep());
  const { d1Trips, rowsRead } = spentBy(lines.filter(({ job }) => job === "sweep"));
  if (d1Trips === 0) throw new Error("The cron's run left no line with its cost.");
  return { d1Trips, rowsRead };
}

/** What an operation takes on average: of everything that is logged while it is done so often, its jobs included. */
async function average(worker: RunningWorker, times: number, operation: () => Promise<unknown>): Promise<Measured> {
  await takeObjectRows(worker);
  const startMs = workerdCpuMs() ?? Number.NaN;
  const lines = await linesOf(worker, async () => {
    for (let at = 0; at < times; at++) await operation();
  });
  const cpuMs = (workerdCpuMs() ?? Number.NaN) - startMs;
  const objectRows = await takeObjectRows(worker);
  const spent = spentBy(lines);
  return {
    objectHops: spent.objectHops / times,
    d1Trips: spent.d1Trips / times,
    d1RowsRead: spent.rowsRead / times,
    d1RowsWritten: spent.rowsWritten / times,
    objectRowsRead: objectRows.read / times,
    objectRowsWritten: objectRows.written / times,
    cpuMs: cpuMs / times,
  };
}

async function linesOf(worker: RunningWorker, run: () => Promise<unknown>): Promise<Line[]> {
  const lines: Line[] = [];
  worker.onLog = (line) => void (line.startsWith('{"event"') && lines.push(JSON.parse(line) as Line));
  await run();
  await sleep(SETTLE_MS);
  worker.onLog = undefined;
  return lines;
}

function takeObjectRows({ port }: RunningWorker): Promise<{ read: number; written: number }> {
  return send(port, { method: "GET", path: "/object-rows", status: 200 }) as Promise<{ read: number; written: number }>;
}

/** A line of the service's log, as far as it says what something cost. */
export interface Line {
  event: string;
  job?: string;
  object_hops?: number;
  d1_trips?: number;
  rows_read?: number;
  rows_written?: number;
}

/** What lines say was spent. */
export interface Spent {
  objectHops: number;
  d1Trips: number;
  rowsRead: number;
  rowsWritten: number;
}

/** What lines say was spent, all together. A turn's is left out: the request that waited for it has it in its own line. */
export function spentBy(lines: readonly Line[]): Spent {
  const spent: Spent = { objectHops: 0, d1Trips: 0, rowsRead: 0, rowsWritten: 0 };
  for (const line of lines) {
    if (line.job === "turn") continue;
    spent.objectHops += line.object_hops ?? 0;
    spent.d1Trips += line.d1_trips ?? 0;
    spent.rowsRead += line.rows_read ?? 0;
    spent.rowsWritten += line.rows_written ?? 0;
  }
  return spent;
}
