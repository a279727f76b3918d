import { randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runMain, UserError, withUsage } from "../scripts/shared/cli.ts";
import { timed } from "./measure.ts";
import { publishReport, type Report } from "./report.ts";
import { useTemporaryFolder } from "./service.ts";
import { check, type Finding } from "./soak/check.ts";
import { soakHours } from "./soak/hours.ts";
import type { KillableService } from "./soak/killable-service.ts";
import { Load, type SoakRequest, type Target } from "./soak/load.ts";
import { SoakClient } from "./soak/client.ts";
import { countOutcomes, outcomeTable } from "./soak/outcome-counts.ts";
import { withWorld } from "./soak/setup.ts";
import { Splitting } from "./soak/split.ts";
import type { Receiver } from "./stand-ins/receiver.ts";

const USAGE = `npm run soak [-- FLAGS]: kills the service again and again under load, and checks that nothing acknowledged is lost or doubled.

  --kills N    how often it is killed (20); about five seconds each, and a few minutes at the end
  --split      meanwhile moves all shards from one database to another and back
  --hours N    instead: a mix of all requests for so many hours, which may be a fraction, with days that pass in minutes and a kill every
               few minutes, but none in the middle third; also checks that tables, files, queues, memory and response times
               do not grow
  --state DIR  keeps the service's storage in a folder
  --json FILE  also writes the figures to a file`;

const FLAGS = {
  kills: { type: "string", default: "20" },
  split: { type: "boolean", default: false },
  hours: { type: "string" },
  state: { type: "string" },
  json: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** The longest time that the service runs between two kills. */
const LONGEST_LIFE_MS = 3_000;
/** One of so many kills comes while the service is starting. */
const KILLS_PER_STARTING = 10;
const LONGEST_START_MS = 1_000;
/** A shorter run has too few nights to judge. */
const SHORTEST_HOURS = 0.3;
/** Leases and retries of what the last kill interrupted end within minutes. */
const SETTLE_MS = 10 * 60_000;
const SETTLE_CHECK_MS = 15_000;

/** Runs the load with so many kills, lets the service finish what it has accepted, and checks everything. */
function soak(state: string, kills: number, isSplit: boolean): Promise<[Report, boolean]> {
  return withWorld(state, false, async ({ service, operatorToken, target, receiver }) => {
    const load = new Load(target);
    const splitting = new Splitting(new SoakClient(service, { Authorization: `Bearer ${operatorToken}` }));
    const { result: whileStarting, ms } = await timed(async () => {
      load.start();
      if (isSplit) splitting.start();
      const starting = await killAgainAndAgain(service, kills, load);
      await load.stop();
      await splitting.stop();
      return starting;
    });
    console.error("Waiting for what was interrupted …");
    const { result: findings, ms: settleMs } = await timed(() => settle(target, load.requests, receiver));
    const deliveries = receiver.deliveries.length;
    const events = new Set(receiver.deliveries.map(({ eventId }) => eventId)).size;
    const notes = [
      `${kills} kills of the whole process group in ${(ms / 1000).toFixed(0)} s, ${whileStarting} of them while it was starting.`,
      `${events} events came, ${deliveries - events} of them more than once. Everything was finished ${(settleMs / 1000).toFixed(0)} s after the load.`,
      ...(isSplit ? [`All shards moved ${splitting.moves} times to the other database.`] : []),
      ...findings.map(({ kind, problem, text }) => `${problem}: ${kind} ${text}`),
    ];
    return [{ tables: [outcomeTable(countOutcomes(load.requests, events, findings))], notes }, findings.length === 0];
  });
}

/** Kills the service at random moments. @returns how often it was starting then. */
async function killAgainAndAgain(service: KillableService, kills: number, load: Load): Promise<number> {
  let whileStarting = 0;
  for (let at = 1; at <= kills; at++) {
    const isStarting = at % KILLS_PER_STARTING === 0;
    if (isStarting) whileStarting++;
    else await service.port;
    await sleep(randomInt(isStarting ? LONGEST_START_MS : LONGEST_LIFE_MS));
    await service.kill();
    service.start();
    if (at % 10 === 0) console.error(`${at} kills, ${load.requests.length} requests`);
  }
  await service.port;
  return whileStarting;
}

/** Checks until nothing is wrong any more, or until the deadline. */
async function settle(target: Target, requests: readonly SoakRequest[], receiver: Receiver): Promise<Finding[]> {
  for (const deadlineMs = Date.now() + SETTLE_MS; ;) {
    await sleep(SETTLE_CHECK_MS);
    const { findings } = await check(target, requests, receiver);
    const shown = findings.slice(0, 3).map(({ kind, text }) => `${kind} ${text}`);
    console.error(`${findings.length} findings; ${shown.join("; ")}`);
    if (findings.length === 0 || Date.now() > deadlineMs) return findings;
  }
}

async function main(): Promise<number | void> {
  const { values: flags } = withUsage(USAGE, () => parseArgs({ options: FLAGS }));
  if (flags.help) return console.log(USAGE);
  const kills = Number(flags.kills);
  const hours = flags.hours === undefined ? undefined : Number(flags.hours);
  if (hours !== undefined && !(hours >= SHORTEST_HOURS)) throw new UserError(`--hours takes a number of at least ${SHORTEST_HOURS}.`);
  if (!Number.isInteger(kills) || kills < 0) throw new UserError("--kills takes a number of kills.");
  const directory = useTemporaryFolder();
  const state = resolve(flags.state ?? join(directory, "state"));
  mkdirSync(state, { recursive: true });
  const [report, isPassed] = await (hours === undefined ? soak(state, kills, flags.split) : soakHours(state, hours));
  await publishReport(report, flags.json);
  return isPassed ? 0 : 1;
}

await runMain(main);
// Connections to killed processes may be open, and would keep this process alive.
process.exit();
