import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Prepared, send } from "../load.ts";
import { workerdCpuMs } from "../memory.ts";
import { makeSecrets } from "../secrets.ts";
import { operations, type Seed, seed } from "../seed.ts";
import { serve, type Served, wrangler } from "../serve.ts";
import { openDesk } from "../webhooks/desk.ts";
import { openReceiver } from "../webhooks/receiver.ts";
import { type Line, spentBy } from "./lines.ts";
import { openModel } from "./model.ts";

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
  const secrets = makeSecrets();
  await wrangler("deploy", "bench/workers/object-rows.ts", "--dry-run", "--config", "wrangler.toml", "--env=", "--outdir", directory);
  const build = { config: "wrangler.toml", directory, script: "object-rows.js", upload: join(directory, "upload.bundle") };
  const [model, receiver] = [await openModel(), await openReceiver()];
  const bindings = { ...secrets, OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "costs", ALLOW_PRIVATE_TARGETS: "true" };
  const served = await serve(build, bindings);
  try {
    const filled = await seed(served.port, secrets.OPERATOR_TOKEN);
    const sweep = await measureSweep(served);
    model.prompts.length = 0;
    const asked = await measureAsks(served, filled);
    const promptTokens = model.prompts.reduce((sum, length) => sum + length, 0) / model.prompts.length / CHARACTERS_A_TOKEN;
    const events = await measureEvents(served, secrets.OPERATOR_TOKEN, receiver);
    return { ...asked, ...events, promptTokens, sweep };
  } finally {
    await Promise.all([receiver.close(), model.close()]);
    await served.close();
  }
}

async function measureAsks(served: Served, filled: Seed) {
  const { request } = operations(filled).find(({ name }) => name === "ask")!;
  const first = (await send(served.port, request)) as { conversation_id: string };
  const more: Prepared = { ...request, body: { ...(request.body as object), conversation_id: first.conversation_id } };
  const startBytes = await served.databaseBytes();
  const ask = await average(served, ASKS, () => send(served.port, request));
  const middleBytes = await served.databaseBytes();
  const further = await average(served, ASKS, () => send(served.port, more));
  const endBytes = await served.databaseBytes();
  return { ask, further, conversationBytes: (middleBytes - startBytes) / ASKS, questionBytes: (endBytes - middleBytes) / ASKS };
}

/** A reply of the team with one endpoint listening, less the same without. */
async function measureEvents(served: Served, operatorToken: string, receiver: Awaited<ReturnType<typeof openReceiver>>) {
  const desk = await openDesk(served.port, operatorToken);
  await desk.reply();
  const startBytes = await served.databaseBytes();
  const silent = await average(served, EVENTS, () => desk.reply());
  const silentBytes = (await served.databaseBytes()) - startBytes;
  const unlisten = await desk.listen([receiver.url("/costs")]);
  const heard = await average(served, EVENTS, async () => {
    const before = receiver.arrivals.length;
    await desk.reply();
    await receiver.until(() => receiver.arrivals.length > before, DEADLINE_MS);
  });
  const heardBytes = (await served.databaseBytes()) - startBytes - silentBytes;
  await unlisten();
  const difference = Object.entries(heard).map(([name, value]) => [name, Math.max(0, value - silent[name as keyof Measured])]);
  return { event: Object.fromEntries(difference) as unknown as Measured, eventBytes: (heardBytes - silentBytes) / EVENTS };
}

async function measureSweep(served: Served): Promise<Measurements["sweep"]> {
  const lines = await linesOf(served, () => served.sweep());
  const { d1Trips, rowsRead } = spentBy(lines.filter(({ job }) => job === "sweep"));
  if (d1Trips === 0) throw new Error("The cron's run left no line with its cost.");
  return { d1Trips, rowsRead };
}

/** What an operation takes on average: of everything that is logged while it is done so often, its jobs included. */
async function average(served: Served, times: number, operation: () => Promise<unknown>): Promise<Measured> {
  await takeObjectRows(served);
  const startMs = workerdCpuMs() ?? Number.NaN;
  const lines = await linesOf(served, async () => {
    for (let at = 0; at < times; at++) await operation();
  });
  const cpuMs = (workerdCpuMs() ?? Number.NaN) - startMs;
  const objectRows = await takeObjectRows(served);
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

async function linesOf(served: Served, run: () => Promise<unknown>): Promise<Line[]> {
  const lines: Line[] = [];
  served.onLog = (line) => void (line.startsWith('{"event"') && lines.push(JSON.parse(line) as Line));
  await run();
  await sleep(SETTLE_MS);
  served.onLog = undefined;
  return lines;
}

function takeObjectRows({ port }: Served): Promise<{ read: number; written: number }> {
  return send(port, { method: "GET", path: "/object-rows", status: 200 }) as Promise<{ read: number; written: number }>;
}
