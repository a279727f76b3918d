import { execFile } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig as readConfig } from "wrangler";
import { randomSecret } from "../scripts/shared/dev-vars.ts";
import { freePort } from "../scripts/shared/ports.ts";
import { prebuilt } from "../scripts/worker.ts";

const run = promisify(execFile);
const WRANGLER = join(createRequire(import.meta.url).resolve("wrangler/package.json"), "../bin/wrangler.js");
const CONFIG = "wrangler.toml";
const MIGRATIONS = "migrations";
/** The folder of the modules besides the first, where a bundle is split. */
const CHUNKS = "/chunks/";

/** A worker as wrangler would deploy it. */
export interface Build {
  config: string;
  /** The folder that holds the bundle. */
  directory: string;
  /** The bundle's file name. */
  script: string;
  /** The same as one file, for `wrangler check startup`. */
  upload: string;
}

/** A worker that answers on a socket of its own, past Miniflare's entry worker, which tops out at 4,000 requests/s. */
export interface RunningWorker {
  port: number;
  /** Sees each line that the worker logs, while it is set. */
  onLog: ((line: string) => void) | undefined;
  /** How large shard 0's database is. */
  databaseBytes(): Promise<number>;
  /** Runs the cron handler once. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/** Runs wrangler without an account; it asks no questions. */
export async function runWrangler(...args: string[]): Promise<string> {
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" };
  const { stdout } = await run(process.execPath, [WRANGLER, ...args], { env });
  return stdout;
}

/** Bundles the worker of a wrangler.toml without deploying it. */
export async function bundle(config: string, script: string, directory: string, ...args: readonly string[]): Promise<Build> {
  const upload = join(directory, "upload.bundle");
  await runWrangler("deploy", ...args, "--dry-run", "--config", config, "--env=", "--outdir", directory, "--outfile", upload);
  return { config, directory, script, upload };
}

/** Builds the service itself. */
export function buildService(directory: string): Promise<Build> {
  const config = readConfig({ config: CONFIG }, { hideWarnings: true });
  return bundle(CONFIG, "index.js", join(directory, "service"), ...prebuilt(config));
}

/** Builds the service with the additions of a file in bench/workers, under which only benches serve it. */
export function buildVariant(name: string, directory: string): Promise<Build> {
  return bundle(CONFIG, `${name}.js`, directory, `bench/workers/${name}.ts`);
}

/** Builds the bare worker that the service is compared with. */
export function buildFloor(directory: string): Promise<Build> {
  return bundle("bench/workers/floor.toml", "floor.js", join(directory, "floor"));
}

/**
 * Serves a build in a workerd of its own. Its storage lies in the folder that is given, where a second start finds it again,
 * or else in a temporary one, which `close` removes.
 */
export async function startWorker(build: Build, bindings: Record<string, string>, state?: string): Promise<RunningWorker> {
  const name = build.script.replace(/\.js$/, "");
  const { workerOptions } = unstable_getMiniflareWorkerOptions(build.config);
  // Miniflare puts three workers of its own before one that has assets, which on the network is not done by workers.
  delete workerOptions["assets"];
  const port = await freePort();
  const files = await readdir(build.directory, { recursive: true });
  const modulesOf = <Type extends string>(type: Type, ending: string) =>
    files.filter((file) => file.endsWith(ending)).map((file) => ({ type, path: join(build.directory, file) }));
  const chunks = modulesOf("ESModule", ".js").filter(({ path }) => path.includes(CHUNKS));
  const imported = [...chunks, ...modulesOf("Text", ".browser.js"), ...modulesOf("Data", ".bin")];
  const served: Pick<RunningWorker, "port" | "onLog"> = { port, onLog: undefined };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      logRequests: false,
      ...(state !== undefined && { resourcePersistencePath: state }),
      handleStructuredLogs: ({ message }) => served.onLog?.(message),
      workers: [
        {
          ...workerOptions,
          name,
          bindings: Object.assign({}, workerOptions.bindings, bindings),
          modulesRoot: build.directory,
          modules: [{ type: "ESModule", path: join(build.directory, build.script) }, ...imported],
          unsafeDirectSockets: [{ host: "127.0.0.1", port }],
        },
      ],
    }),
  );
  await miniflare.ready;
  const db = await miniflare.getD1Database("DB", name);
  await migrate(db);
  const databaseBytes = async () => (await db.prepare("SELECT 1").run()).meta.size_after;
  const worker = await miniflare.getWorker(name);
  const sweep = async () => void (await worker.scheduled({ cron: "* * * * *" }));
  return Object.assign(served, { databaseBytes, sweep, close: () => miniflare.dispose() });
}

/** Makes our tables, if they are not there. The floor has them too, so that its rows cost the same indexes and triggers. */
async function migrate(db: Awaited<ReturnType<Miniflare["getD1Database"]>>): Promise<void> {
  if (await db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'workspaces'").first()) return;
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith(".sql")).sort();
  for (const file of files) {
    const statements = (await readFile(join(MIGRATIONS, file), "utf8")).split("--> statement-breakpoint");
    await db.batch(statements.map((statement) => db.prepare(statement)));
  }
}

/** New secrets for a service that is measured; they are set in this process's environment too. */
export function createSecrets() {
  const secrets = { OPERATOR_TOKEN: randomSecret(), KEY_SECRET: randomSecret(), ENCRYPTION_KEY: randomSecret() };
  // wrangler looks for required secrets there, and warns of missing ones.
  Object.assign(process.env, secrets, { WRANGLER_LOG: "error" });
  return secrets;
}

/** A folder for all temporary files of this process, removed when it ends. */
export async function temporaryDirectory(prefix: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), prefix));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(130));
  process.env["TMPDIR"] = directory;
  return directory;
}

const PAGE_BYTES = 4096;
/** Linux counts processor time in hundredths of a second, wherever it runs today. */
const TICK_MS = 10;

/** How much memory the workerd processes that this one started hold, in MB. Undefined where the system has no /proc. */
export function workerdMegabytes(): number | undefined {
  const bytes = sumOfWorkerds(({ pid }) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES);
  return bytes === undefined ? undefined : Math.round(bytes / 1e6);
}

/** How much CPU time they have used, in ms. Undefined where the system has no /proc. */
export function workerdCpuMs(): number | undefined {
  // Of the process itself and of the kernel on its behalf.
  return sumOfWorkerds(({ fields }) => (Number(fields[11]) + Number(fields[12])) * TICK_MS);
}

interface Stat {
  pid: string;
  /** What /proc/PID/stat holds behind the name, from the state on. */
  fields: string[];
}

function sumOfWorkerds(valueOf: (stat: Stat) => number): number | undefined {
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.reduce((sum, pid) => sum + valueOfWorkerd(pid, valueOf), 0);
  } catch {
    return undefined;
  }
}

function valueOfWorkerd(pid: string, valueOf: (stat: Stat) => number): number {
  try {
    // The name stands in brackets and may hold anything; what follows it is the state and the parent.
    const [, name, rest = ""] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const fields = rest.split(" ");
    return name === "workerd" && fields[1] === String(process.pid) ? valueOf({ pid, fields }) : 0;
  } catch {
    return 0;
  }
}
