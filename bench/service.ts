import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig as readConfig } from "wrangler";
import { ROOT } from "../scripts/shared/cli.ts";
import { randomSecret } from "../scripts/shared/dev-vars.ts";
import { freePort } from "../scripts/shared/ports.ts";
import { prebuilt } from "../scripts/worker.ts";

const run = promisify(execFile);
const WRANGLER = join(createRequire(import.meta.url).resolve("wrangler/package.json"), "../bin/wrangler.js");
const CONFIG = "wrangler.toml";
const MIGRATIONS = "migrations";
/** The folder of the modules besides the first, where a bundle is split. */
const CHUNKS = "/chunks/";

/** A worker as wrangler deploys it. */
export interface Build {
  config: string;
  /** The folder that holds the bundle. */
  directory: string;
  /** The bundle's file name. */
  script: string;
  /** Whether the worker may load the sentence encoder. */
  hasEncoder?: boolean;
  /** Whether a second database is bound, as DB_1. */
  hasSecondDatabase?: boolean;
}

/** A worker that answers on a socket of its own, because Miniflare's entry worker answers at most 4,000 requests/s. */
export interface RunningWorker {
  port: number;
  /** Receives each line that the worker logs, while it is set. */
  onLog: ((line: string) => void) | undefined;
  /** Returns the size of the database DB. */
  databaseBytes: () => Promise<number>;
  /** Runs the cron handler once, by default as of now. */
  sweep: (cron?: string, at?: Date) => Promise<void>;
  /** Where the platform's own requests are sent, such as received mails. */
  platformUrl: URL;
  /** Runs a query of shard 0's database. */
  query: <Row>(sql: string) => Promise<Row[]>;
  close: () => Promise<void>;
}

/** The running service with the secrets that it was started with. */
export interface RunningService extends RunningWorker {
  operatorToken: string;
}

/** Puts all temporary files of this process into one folder, which is removed when the process ends. */
export function useTemporaryFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), "bench-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(130));
  process.env["TMPDIR"] = directory;
  return directory;
}

/** Builds the service. */
export function buildService(directory?: string): Promise<Build> {
  return bundle(CONFIG, "index.js", prebuilt(readConfig({ config: CONFIG }, { hideWarnings: true })), directory);
}

/** Builds the service with `workers/<name>.ts` in place of its entry. */
export function buildVariant(name: string): Promise<Build> {
  return bundle(CONFIG, `${name}.js`, [`bench/workers/${name}.ts`]);
}

/** Builds the worker of `workers/<name>.toml`, which is not the service. */
export function buildBare(name: string): Promise<Build> {
  return bundle(`bench/workers/${name}.toml`, `${name}.js`);
}

async function bundle(config: string, script: string, args: readonly string[] = [], parent = tmpdir()): Promise<Build> {
  const directory = mkdtempSync(join(parent, "worker-"));
  // wrangler needs no account for that, and asks no questions.
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" };
  await run(process.execPath, [WRANGLER, "deploy", ...args, "--dry-run", "--config", config, "--env=", "--outdir", directory], { env });
  return { config, directory, script };
}

/** Serves a build of the service with new secrets while the work is done. @param bindings variables besides wrangler.toml's. */
export async function withService<Result>(
  build: Build,
  bindings: Record<string, string>,
  work: (service: RunningService) => Promise<Result>,
): Promise<Result> {
  const secrets = createSecrets();
  return withWorker(build, { ...secrets, ...bindings }, (worker) => work(Object.assign(worker, { operatorToken: secrets.OPERATOR_TOKEN })));
}

/** Serves a build while the work is done. */
export async function withWorker<Result>(
  build: Build,
  bindings: Record<string, string>,
  work: (worker: RunningWorker) => Promise<Result>,
): Promise<Result> {
  const worker = await startWorker(build, bindings);
  try {
    return await work(worker);
  } finally {
    await worker.close();
  }
}

/** Creates secrets for a service that is measured, and sets them in this process's environment too. */
export function createSecrets() {
  const secrets = { OPERATOR_TOKEN: randomSecret(), KEY_SECRET: randomSecret(), ENCRYPTION_KEY: randomSecret() };
  // wrangler looks for required secrets there, and warns of missing ones.
  Object.assign(process.env, secrets, { WRANGLER_LOG: "error" });
  return secrets;
}

/**
 * Serves a build in a workerd process of its own.
 * @param state the folder of its storage, where a second start finds it again; else a temporary one, which `close` removes.
 * @param front answers the requests instead, and calls the Durable Objects of `build`, which also handles the queues.
 */
export async function startWorker(build: Build, bindings: Record<string, string>, state?: string, front?: Build): Promise<RunningWorker> {
  const name = build.script.replace(/\.js$/, "");
  const port = await freePort();
  const sockets = { unsafeDirectSockets: [{ host: "127.0.0.1", port }] };
  const options = { ...(await optionsOf(build, bindings)), name };
  const served: Pick<RunningWorker, "port" | "onLog"> = { port, onLog: undefined };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      logRequests: false,
      unsafeTriggerHandlers: true,
      ...(state !== undefined && { resourcePersistencePath: state }),
      handleStructuredLogs: ({ message }) => served.onLog?.(message),
      workers: front ? [options, { ...asFront(await optionsOf(front, bindings), name), ...sockets }] : [{ ...options, ...sockets }],
    }),
  );
  const platformUrl = await miniflare.ready;
  const db = await miniflare.getD1Database("DB", name);
  await migrate(db);
  if (build.hasSecondDatabase) await migrate(await miniflare.getD1Database("DB_1", name));
  const databaseBytes = async () => (await db.prepare("SELECT 1").run()).meta.size_after;
  const worker = await miniflare.getWorker(name);
  const sweep = async (cron = "* * * * *", at?: Date) => void (await worker.scheduled({ cron, ...(at && { scheduledTime: at }) }));
  const query = async <Row>(sql: string) => (await db.prepare(sql).all<Row>()).results;
  return Object.assign(served, { databaseBytes, sweep, platformUrl, query, close: () => miniflare.dispose() });
}

async function optionsOf(build: Build, bindings: Record<string, string>) {
  const { workerOptions } = unstable_getMiniflareWorkerOptions(build.config);
  // Miniflare puts three workers of its own before one that has assets, which on the network is not done by workers.
  delete workerOptions["assets"];
  const files = await readdir(build.directory, { recursive: true });
  const modulesOf = <Type extends string>(type: Type, ending: string) =>
    files.filter((file) => file.endsWith(ending)).map((file) => ({ type, path: join(build.directory, file) }));
  const chunks = modulesOf("ESModule", ".js").filter(({ path }) => path.includes(CHUNKS));
  const imported = [...chunks, ...modulesOf("Text", ".browser.js"), ...modulesOf("Data", ".bin"), ...modulesOf("CompiledWasm", ".wasm")];
  return {
    ...workerOptions,
    ...(build.hasSecondDatabase && { d1Databases: Object.assign({}, workerOptions.d1Databases, { DB_1: "database-1" }) }),
    ...(build.hasEncoder && { serviceBindings: { ASSETS: { disk: { path: ROOT } } } }),
    bindings: Object.assign({}, workerOptions.bindings, bindings),
    modulesRoot: build.directory,
    modules: [{ type: "ESModule" as const, path: join(build.directory, build.script) }, ...imported],
  };
}

/** Gives a worker the Durable Objects of another one, and no queues to consume. */
function asFront(options: Awaited<ReturnType<typeof optionsOf>>, scriptName: string) {
  const { durableObjects: own = {} } = options as { durableObjects?: Record<string, { className: string }> };
  const durableObjects = Object.fromEntries(Object.entries(own).map(([binding, { className }]) => [binding, { className, scriptName }]));
  return { ...options, name: `${scriptName}-front`, durableObjects, queueConsumers: {} };
}

/** Creates our tables, unless they are there. The floor has them too, so that its rows cost the same indexes and triggers. */
async function migrate(db: Awaited<ReturnType<Miniflare["getD1Database"]>>): Promise<void> {
  if (await db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'workspaces'").first()) return;
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith(".sql")).sort();
  for (const file of files) {
    const statements = (await readFile(join(MIGRATIONS, file), "utf8")).split("--> statement-breakpoint");
    await db.batch(statements.map((statement) => db.prepare(statement)));
  }
}

/** A line of the service's log. */
export interface LogLine {
  event: string;
  operation?: string;
  job?: string;
  /** The number of queue messages of a job. */
  messages?: number;
  object_hops?: number;
  d1_trips?: number;
  rows_read?: number;
  rows_written?: number;
}

/** Lines come by pipe: the last ones, and those of what a request leaves behind, come after its response. */
const LOG_SETTLE_MS = 500;

/** Returns the lines that a worker logs while the work is done, and for a moment after it. */
export async function linesDuring(worker: RunningWorker, work: () => Promise<unknown>, settleMs = LOG_SETTLE_MS): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  worker.onLog = (line) => void (line.startsWith('{"event"') && lines.push(JSON.parse(line) as LogLine));
  await work();
  await sleep(settleMs);
  worker.onLog = undefined;
  return lines;
}
