import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { activeMs, Wrangler } from "./deploy/wrangler.ts";
import { ROOT } from "./shared/cli.ts";

/*
 * `npm run check:startup`: what the Worker evaluates whenever an isolate starts, by package, in KiB of minified code, against
 * startup.json; fails where one is new or has grown. `--update` writes down what is. Then how long the start takes here, by
 * `wrangler check startup`, which needs no account; fails over the platform's limit.
 */

const TABLE = join(ROOT, "scripts/startup.json");
const ENTRY = "src/index.ts";
/** The platform refuses Workers that take longer. Its machines are not this one: what comes near is too slow as well. */
const LIMIT_MS = 1_000;
const ENV = "production";

type Shares = Record<string, number>;

/** The code that is loaded with the entry point, before anything is called. */
function startModules({ outputs }: Metafile): Map<string, number> {
  const bytes = new Map<string, number>();
  const entry = Object.keys(outputs).find((path) => outputs[path]!.entryPoint === ENTRY)!;
  const seen = new Set([entry]);
  for (const path of seen) {
    const { imports, inputs } = outputs[path]!;
    for (const { path: imported, kind, external } of imports) if (kind === "import-statement" && !external) seen.add(imported);
    for (const [input, { bytesInOutput }] of Object.entries(inputs)) bytes.set(input, (bytes.get(input) ?? 0) + bytesInOutput);
  }
  return bytes;
}

/** The package of a module; `src` for our own. */
function packageOf(module: string): string {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? "src";
}

function sharesOf(modules: Map<string, number>): Shares {
  const bytes: Shares = {};
  for (const [module, size] of modules) if (size > 0) bytes[packageOf(module)] = (bytes[packageOf(module)] ?? 0) + size;
  return Object.fromEntries(
    Object.entries(bytes)
      .map(([name, size]): [string, number] => [name, Math.ceil(size / 1024)])
      .sort(([one], [other]) => one.localeCompare(other)),
  );
}

/** How the entry point comes to import a package, as the modules on the way. */
function chainTo(name: string, { inputs }: Metafile): string {
  const chains = new Map([[ENTRY, [ENTRY]]]);
  for (const [module, chain] of chains) {
    if (packageOf(module) === name) return chain.join(" > ");
    for (const { path, kind } of inputs[module]?.imports ?? []) {
      if (kind !== "dynamic-import" && !chains.has(path)) chains.set(path, [...chain, path]);
    }
  }
  return ENTRY;
}

function checkShares(): void {
  const metafile = JSON.parse(readFileSync(join(ROOT, "dist/worker/meta.json"), "utf8")) as Metafile;
  const shares = sharesOf(startModules(metafile));
  if (process.argv.includes("--update")) writeFileSync(TABLE, `${JSON.stringify(shares, null, 2)}\n`);
  const allowed = JSON.parse(readFileSync(TABLE, "utf8")) as Shares;
  console.log(
    `A start evaluates, in KiB: ${Object.entries(shares)
      .map((share) => share.join(" "))
      .join(", ")}.`,
  );
  const grown = Object.entries(shares).filter(([name, kib]) => kib > (allowed[name] ?? 0));
  if (grown.length === 0) return;
  for (const [name, kib] of grown) {
    console.error(
      `${name}: ${kib} KiB at every start, allowed ${allowed[name] ?? 0}${name === "src" ? "" : `; by ${chainTo(name, metafile)}`}`,
    );
  }
  console.error("Import what few requests need with `await import(…)`, or accept this by `npm run check:startup -- --update`.");
  process.exitCode = 1;
}

async function checkTime(): Promise<void> {
  const directory = join(ROOT, "node_modules/.cache");
  mkdirSync(directory, { recursive: true });
  const wrangler = new Wrangler({ config: join(ROOT, "wrangler.toml"), env: ENV });
  const profile = join(directory, "startup.cpuprofile");
  const { stdout } = await wrangler.run("check", "startup", `--args=--env=${ENV}`, `--outfile=${profile}`);
  const startMs = activeMs(stdout);
  console.log(`It starts within ${startMs} ms of CPU; the platform allows ${LIMIT_MS}.`);
  if (startMs <= LIMIT_MS) return;
  console.error(`Build less at module load. ${profile} shows what takes the time.`);
  process.exitCode = 1;
}

// Builds the Worker.
await checkTime();
checkShares();
