import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";

const run = promisify(execFile);
const WRANGLER = join(createRequire(import.meta.url).resolve("wrangler/package.json"), "../bin/wrangler.js");
const MIGRATIONS = "migrations";

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
export interface Served {
  port: number;
  /** Sees each line that the worker logs, while it is set. */
  onLog: ((line: string) => void) | undefined;
  /** How large shard 0's database is. */
  databaseBytes(): Promise<number>;
  /** Runs the cron handler once. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/** Runs wrangler, with no account and no question asked. */
export async function wrangler(...args: string[]): Promise<string> {
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" };
  const { stdout } = await run(process.execPath, [WRANGLER, ...args], { env });
  return stdout;
}

/** Bundles the worker of a wrangler.toml without deploying it. */
export async function build(config: string, script: string, directory: string): Promise<Build> {
  const upload = join(directory, "upload.bundle");
  await wrangler("deploy", "--dry-run", "--config", config, "--env=", "--outdir", directory, "--outfile", upload);
  return { config, directory, script, upload };
}

/**
 * Serves a build in a workerd of its own. Its storage lies in the folder that is given, where a second start finds it again,
 * or else in a temporary one, which `close` removes.
 */
export async function serve(build: Build, bindings: Record<string, string>, state?: string): Promise<Served> {
  const name = build.script.replace(/\.js$/, "");
  const { workerOptions } = unstable_getMiniflareWorkerOptions(build.config);
  // Miniflare puts three workers of its own before one that has assets, which on the network is not done by workers.
  delete workerOptions["assets"];
  const port = await freePort();
  const texts = (await readdir(build.directory))
    .filter((file) => file.endsWith(".browser.js"))
    .map((file) => ({ type: "Text" as const, path: join(build.directory, file) }));
  const served: Pick<Served, "port" | "onLog"> = { port, onLog: undefined };
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
          modules: [{ type: "ESModule", path: join(build.directory, build.script) }, ...texts],
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
