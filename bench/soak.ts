import { randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { errorText, UserError, withUsage } from "../scripts/shared/cli.ts";
import { publishReport, type Report, type Table } from "./report.ts";
import { seed } from "./seed.ts";
import { buildService, createSecrets, temporaryDirectory } from "./service.ts";
import { check, type Finding, RECORD_EVENTS } from "./soak/check.ts";
import { SoakClient } from "./soak/client.ts";
import { KillableService } from "./soak/killable-service.ts";
import { type Deed, Load, type Target } from "./soak/load.ts";
import { type Receiver, startReceiver } from "./stand-ins/receiver.ts";

const USAGE = `npm run soak [-- FLAGS]: kills the service again and again under load, and checks that nothing acknowledged is lost or doubled.

  --kills N    how often it is killed (20); some five seconds each, and a few minutes at the end
  --state DIR  keeps the service's storage in a folder
  --json FILE  also writes the figures to a file`;

const FLAGS = {
  kills: { type: "string", default: "20" },
  state: { type: "string" },
  json: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** How long the service runs between two kills, at most. */
const LONGEST_LIFE_MS = 3_000;
/** One of so many kills comes while the service is starting. */
const KILLS_PER_STARTING = 10;
const LONGEST_START_MS = 1_000;
/** Leases and backoffs of what the last kill interrupted end within minutes. */
const SETTLE_MS = 10 * 60_000;
const SETTLE_CHECK_MS = 15_000;

interface SoakResults {
  kills: number;
  killsWhileStarting: number;
  seconds: number;
  settleSeconds: number;
  deeds: readonly Deed[];
  deliveries: number;
  events: number;
  findings: Finding[];
}

/** Runs the load with so many kills, lets the service finish what it has taken, and checks everything. */
async function soak(directory: string, state: string, kills: number): Promise<SoakResults> {
  const secrets = createSecrets();
  const service = new KillableService({
    build: await buildService(directory),
    bindings: { ...secrets, ALLOW_PRIVATE_TARGETS: "true" },
    state,
  });
  const receiver = await startReceiver();
  try {
    service.start();
    const target = await prepare(service, secrets.OPERATOR_TOKEN, receiver);
    const load = new Load(target);
    const startMs = Date.now();
    load.start();
    const killsWhileStarting = await killAgainAndAgain(service, kills, load);
    await load.stop();
    const seconds = (Date.now() - startMs) / 1000;
    console.error("Waiting for what was interrupted …");
    const stoppedMs = Date.now();
    const findings = await settle(target, load.deeds, receiver);
    const settleSeconds = (Date.now() - stoppedMs) / 1000;
    const events = new Set(receiver.arrivals.map(({ eventId }) => eventId)).size;
    const counts = { kills, killsWhileStarting, seconds, settleSeconds };
    return { ...counts, deeds: load.deeds, deliveries: receiver.arrivals.length, events, findings };
  } finally {
    await service.kill();
    await receiver.close();
  }
}

async function prepare(service: KillableService, operatorToken: string, receiver: Receiver): Promise<Target> {
  const { authorization, agentId, scratchAgentId } = await seed(await service.port, operatorToken);
  const client = new SoakClient(service, authorization["Authorization"]!.replace("Bearer ", ""));
  const operator = new SoakClient(service, operatorToken);
  const { workspace } = await client.call<{ workspace: { id: string } }>("GET", "/api/v1/me");
  await operator.call("PATCH", `/operator/v1/workspaces/${workspace.id}`, { limits: LIMITS });
  for (const type of Object.values(RECORD_EVENTS)) {
    await client.call("POST", "/api/v1/webhooks", { url: receiver.url(`/${type}`), events: [type] });
  }
  return { client, agentId, scratchAgentId };
}

/** Nothing of the load is refused for a plan's sake. */
const LIMITS = { sources: 1_000_000, answers_per_agent: 1_000_000, leads_per_day: 1_000_000, visitor_messages_per_day: 1_000_000 };

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
    if (at % 10 === 0) console.error(`${at} kills, ${load.deeds.length} requests`);
  }
  await service.port;
  return whileStarting;
}

/** Checks until nothing is wrong any more, or until nothing can be expected to change. */
async function settle(target: Target, deeds: readonly Deed[], receiver: Receiver): Promise<Finding[]> {
  for (const deadlineMs = Date.now() + SETTLE_MS; ;) {
    await sleep(SETTLE_CHECK_MS);
    const findings = await check(target, deeds, receiver);
    console.error(
      `${findings.length} findings; ${findings
        .slice(0, 3)
        .map(({ kind, text }) => `${kind} ${text}`)
        .join("; ")}`,
    );
    if (findings.length === 0 || Date.now() > deadlineMs) return findings;
  }
}

function reportOf(results: SoakResults): Report {
  const { kills, killsWhileStarting, seconds, settleSeconds, deeds, deliveries, events, findings } = results;
  const columns = ["", "sent", "acknowledged", "of these repeated", "response lost, not repeated", "lost", "half done", "doubled"];
  const kinds = [...new Set(deeds.map(({ kind }) => kind))].sort();
  const problemsOf = (kind: string) =>
    (["lost", "half", "doubled"] as const).map((problem) => findings.filter((one) => one.kind === kind && one.problem === problem).length);
  const rows: Table["rows"] = kinds.map((kind) => {
    const own = deeds.filter((deed) => deed.kind === kind);
    const acknowledged = own.filter(({ outcome }) => outcome === "acknowledged");
    const repeated = acknowledged.filter(({ attempts }) => attempts > 1).length;
    const unknown = own.filter(({ outcome }) => outcome === "unknown").length;
    return [kind, own.length, acknowledged.length, repeated, unknown, ...problemsOf(kind)];
  });
  for (const [kind, count] of [
    ["events", events],
    ["counters", 3],
  ] as const)
    rows.push([kind, count, count, 0, 0, ...problemsOf(kind)]);
  const notes = [
    `${kills} kills of the whole process group in ${seconds.toFixed(0)} s, ${killsWhileStarting} of them while it was starting.`,
    `${events} events came, ${deliveries - events} of them more than once. Everything was finished ${settleSeconds.toFixed(0)} s after the load.`,
    ...findings.map(({ kind, problem, text }) => `${problem}: ${kind} ${text}`),
  ];
  return { tables: [{ columns, rows }], notes, data: { ...results, deeds: undefined } };
}

async function main(): Promise<void> {
  const { values: flags } = withUsage(USAGE, () => parseArgs({ options: FLAGS }));
  if (flags.help) return console.log(USAGE);
  const kills = Number(flags.kills);
  if (!Number.isInteger(kills) || kills < 0) throw new UserError("--kills takes a number of kills.");
  const directory = await temporaryDirectory("soak-");
  const state = resolve(flags.state ?? join(directory, "state"));
  mkdirSync(state, { recursive: true });
  const results = await soak(directory, state, kills);
  await publishReport(reportOf(results), flags.json);
  if (results.findings.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});
