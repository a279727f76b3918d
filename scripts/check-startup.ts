import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";
import { activeMs, Wrangler } from "./deploy/wrangler.ts";
import { ROOT } from "./shared/cli.ts";
import { type Evaluated, evaluatedAtStart, findGrowth, kib } from "./startup/evaluated.ts";
import { buildWorker, prebuilt } from "./worker.ts";

/*
 * What the Worker evaluates whenever an isolate starts, by package and by folder of our own, and how long that takes, by `wrangler
 * check startup`: needs no account. Ends with 1 where something is evaluated that startup/bounds.json does not list, where it has
 * outgrown its bound, and over the platform's limit. `--update` writes what is evaluated now, and half as much again, as the bounds.
 */

const BOUNDS = join(ROOT, "scripts/startup/bounds.json");
/** Room for the next versions of a package, and for more of our own code; a table or a library that comes along is larger. */
const ROOM = 1.5;
/** The platform refuses Workers that take longer. Its machines are not this one: what comes near is too slow as well. */
const LIMIT_MS = 1_000;
const CONFIG = join(ROOT, "wrangler.toml");
const ENV = "production";
const SHOWN = 10;

const directory = join(ROOT, "dist");
mkdirSync(directory, { recursive: true });
const wrangler = new Wrangler({ config: CONFIG, env: ENV });
const profile = join(directory, "startup.cpuprofile");
const metafile = await buildWorker();
const config = readConfig({ config: CONFIG, env: ENV }, { hideWarnings: true });
const args = [...prebuilt(config), `--env=${ENV}`].join(" ");
const { stdout } = await wrangler.run("check", "startup", `--args=${args}`, `--outfile=${profile}`);
checkTime(activeMs(stdout));
checkPackages(evaluatedAtStart(metafile, "src/index.ts"));

function checkTime(startMs: number): void {
  console.log(`The Worker starts within ${startMs} ms of CPU; the platform allows ${LIMIT_MS}. ${profile} shows what takes the time.`);
  if (startMs > LIMIT_MS) process.exitCode = 1;
}

function checkPackages(evaluated: Evaluated): void {
  const largest = [...evaluated.bytes].sort(([, one], [, other]) => other - one);
  const total = largest.reduce((sum, [, bytes]) => sum + bytes, 0);
  console.log(`A start evaluates ${kib(total)} KiB of code, most of it of:`);
  for (const [name, bytes] of largest.slice(0, SHOWN)) console.log(`${String(kib(bytes)).padStart(6)} KiB  ${name}`);
  if (process.argv.includes("--update")) {
    const byName = largest.toSorted(([one], [other]) => one.localeCompare(other));
    const bounds = Object.fromEntries(byName.map(([name, bytes]) => [name, kib(bytes * ROOM)]));
    writeFileSync(BOUNDS, `${JSON.stringify(bounds, null, 2)}\n`);
  }
  const problems = findGrowth(evaluated, JSON.parse(readFileSync(BOUNDS, "utf8")) as Record<string, number>);
  if (problems.length === 0) return;
  console.error(
    `${problems.join("\n")}\nImport it with \`await import("…")\` where it is used, or allow it in scripts/startup/bounds.json.`,
  );
  process.exitCode = 1;
}
