import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createOperator } from "../../scripts/backup/operator.ts";
import { readBackup } from "../../scripts/backup/records.ts";
import { percentile } from "../measure.ts";
import type { Report } from "../report.ts";
import { FAILING_PATH, SLOW_PATH } from "../stand-ins/receiver.ts";
import { check, type Finding, type Known, RECORD_EVENTS, type Stored } from "./check.ts";
import { growthTable, judge, judgeLatency, MAX_GROWTH_SHARE, type Point, unchangedNames } from "./growth.ts";
import { Load, type Pace, type SoakRequest, SOURCE_KINDS } from "./load.ts";
import { addCounts, countOutcomes, type OutcomeCounts, outcomeTable } from "./outcome-counts.ts";
import { type Listed, RetainedRecords } from "./retained-records.ts";
import { Samples } from "./samples.ts";
import { withWorld, type World } from "./setup.ts";

/*
 * A soak of hours. Each of its days takes some minutes: requests of all kinds, on most days with a kill among them, then a night, in
 * which the service's clock goes ahead by days, everything of the day is checked and the day's knowledge is removed. What was checked
 * is forgotten but for its id, so that the memory of the check depends on the retention alone.
 */

const DAY_MS = 24 * 60 * 60_000;
/** How long a day's requests are sent. */
const BUSY_MS = 110_000;
const PACE: Pace = { lanes: 3, pauseMs: 1_200 };
/** One of so many kills is followed by another one while the service starts. */
const KILLS_PER_STARTING = 5;
const LONGEST_START_MS = 1_000;
const SAMPLE_EVERY_MS = 15_000;
/** Work that a kill interrupts continues as soon as the clock is ahead of its lease, so this is enough. */
const SETTLE_MS = 4 * 60_000;
const SETTLE_CHECK_MS = 5_000;
const RETENTION_DAYS = 30;
const EVENT_LOG_DAYS = 7;
/** The records of a day must outlive the night in which they are checked. */
const MOST_DAYS_PER_NIGHT = 10;
/** The most faults that the report shows. */
const MOST_SHOWN = 50;
/** Nothing is killed in this part of the run, so that the memory of one process has time to grow. */
const UNDISTURBED = { from: 1 / 3, to: 2 / 3 };
/** An endpoint at a port on which nothing listens. */
const DEAD_URL = "http://127.0.0.1:9/dead";
/** The kinds whose response times are judged: those that a visitor waits for. */
const WAITED_FOR: ReadonlySet<string> = new Set(["ask", "stream", "visit", "lead"]);

interface Run {
  world: World;
  state: string;
  samples: Samples;
  conversations: RetainedRecords;
  leads: RetainedRecords;
  /** The messages that the service had counted at the end of the last night. */
  usedMessages: number;
  outcomeCounts: OutcomeCounts;
  latencies: Point[];
  /** Endpoints that fail, which their owner enables again each day. */
  failing: string[];
  /** Sources of which the slow endpoint has not been told. */
  sourcesNotDelivered: Set<string>;
  faults: string[];
  kills: number;
  /** Whether the process is the one that lives through days without kills. */
  isUndisturbed: boolean;
}

/** Runs the load for so many hours. @returns the report, and whether nothing was wrong. */
export function soakHours(state: string, hours: number): Promise<[Report, boolean]> {
  return withWorld(state, true, async (world) => {
    const run: Run = {
      world,
      state,
      samples: new Samples(),
      conversations: new RetainedRecords("conversation", RETENTION_DAYS * DAY_MS),
      leads: new RetainedRecords("lead", RETENTION_DAYS * DAY_MS),
      usedMessages: 0,
      outcomeCounts: {},
      latencies: [],
      failing: await prepare(world),
      sourcesNotDelivered: new Set(),
      faults: [],
      kills: 0,
      isUndisturbed: false,
    };
    await recordChecked(run, await check(world.target, [], world.receiver).then(({ stored }) => stored));
    let days = 0;
    // The retention is reached within the first third of the run, which is not judged.
    const nightsOfFirstThird = Math.floor((hours * 3_600_000) / 3 / (BUSY_MS * 1.4));
    const daysPerNight = Math.min(MOST_DAYS_PER_NIGHT, Math.ceil(RETENTION_DAYS / Math.max(1, nightsOfFirstThird - 1)));
    const sampling = setInterval(() => void run.samples.takeOften(world, run.isUndisturbed), SAMPLE_EVERY_MS);
    try {
      for (; run.samples.hour < hours; days++) {
        const share = run.samples.hour / hours;
        run.isUndisturbed ||= share >= UNDISTURBED.from && share < UNDISTURBED.to;
        await runDay(run, daysPerNight, share >= UNDISTURBED.to || !run.isUndisturbed);
        console.error(`Day ${days + 1}, hour ${run.samples.hour.toFixed(2)}: ${run.kills} kills, ${run.faults.length} faults`);
      }
    } finally {
      clearInterval(sampling);
    }
    await finish(run);
    return reportOf(run, days, days * daysPerNight);
  });
}

/** Sets retentions and adds endpoints that are slow or fail. @returns the ids of those that fail. */
async function prepare({ tenant, receiver }: World): Promise<string[]> {
  const retention = { conversations_days: RETENTION_DAYS, leads_days: RETENTION_DAYS, event_log_days: EVENT_LOG_DAYS };
  await tenant.operate("PATCH", `/workspaces/${tenant.workspaceId}`, { retention });
  const listen = async (url: string, type: string) => (await tenant.call<{ id: string }>("POST", "/webhooks", { url, events: [type] })).id;
  await listen(receiver.url(SLOW_PATH), RECORD_EVENTS.source);
  return [await listen(receiver.url(FAILING_PATH), RECORD_EVENTS.lead), await listen(DEAD_URL, RECORD_EVENTS.conversation)];
}

/** Sends the requests of a day, advances the clock by some days, and checks and deletes what the day has left. */
async function runDay(run: Run, daysPerNight: number, isKilled: boolean): Promise<void> {
  const { world, samples } = run;
  const { service, target, receiver } = world;
  for (const id of run.failing) await enableAgain(world, id);
  const load = new Load(target, PACE);
  const startHour = samples.hour;
  load.start();
  await (isKilled ? killOnce(run) : sleep(BUSY_MS));
  await load.stop();
  const answered = load.requests.filter(({ kind, firstMs }) => firstMs !== undefined && WAITED_FOR.has(kind));
  run.latencies.push(...answered.map(({ firstMs }) => ({ hour: startHour, value: firstMs! })));
  await service.advance(daysPerNight * DAY_MS);
  const { findings, stored } = await settle(run, load.requests);
  const events = new Set(receiver.deliveries.map(({ eventId }) => eventId)).size;
  addCounts(run.outcomeCounts, countOutcomes(load.requests, events, findings));
  run.faults.push(...findings.map(({ kind, problem, text }) => `${problem}: ${kind} ${text}`));
  for (const { kind, outcome, response } of load.requests) {
    const isRemoved = load.requests.some(({ prepared }) => prepared.path.endsWith(`/sources/${response.id}`));
    if (SOURCE_KINDS.has(kind) && outcome === "acknowledged" && !isRemoved) run.sourcesNotDelivered.add(response.id!);
  }
  collectSlow(run);
  receiver.deliveries.length = 0;
  await deleteDayRecords(world, stored);
  await recordChecked(run, stored);
  await samples.takeDaily(world, run.state);
}

/** Enables an endpoint if the service has disabled it, because it failed for a day. */
async function enableAgain({ target: { client } }: World, id: string): Promise<void> {
  const path = `/api/v1/webhooks/${id}`;
  const { enabled } = await client.call<{ enabled: boolean }>("GET", path);
  if (!enabled) await client.call("PATCH", path, { enabled: true });
}

function collectSlow({ world: { receiver }, sourcesNotDelivered }: Run): void {
  for (const { path, recordId } of receiver.deliveries) if (path === SLOW_PATH) sourcesNotDelivered.delete(recordId);
}

/** Disables the endpoints that fail, and waits until the slow one has all events and nothing waits. */
async function finish(run: Run): Promise<void> {
  const { world, samples } = run;
  for (const id of run.failing) await world.target.client.call("PATCH", `/api/v1/webhooks/${id}`, { enabled: false });
  for (const deadlineMs = Date.now() + SETTLE_MS; Date.now() < deadlineMs;) {
    await sleep(SETTLE_CHECK_MS);
    collectSlow(run);
    await samples.takeOften(world, run.isUndisturbed);
    if (run.sourcesNotDelivered.size === 0 && samples.waiting === 0) return;
  }
  for (const id of run.sourcesNotDelivered) run.faults.push(`lost: events the slow endpoint was not told of source ${id}`);
}

/** Kills the service at a random moment of the day's load. */
async function killOnce(run: Run): Promise<void> {
  const { service } = run.world;
  const killAtMs = randomInt(BUSY_MS);
  await sleep(killAtMs);
  await service.kill();
  run.isUndisturbed = false;
  service.start();
  if (++run.kills % KILLS_PER_STARTING === 0) {
    await sleep(randomInt(LONGEST_START_MS));
    await service.kill();
    service.start();
    run.kills++;
  }
  await sleep(BUSY_MS - killAtMs);
}

/** Checks the day until nothing is wrong any more, or until the deadline. */
async function settle(run: Run, requests: readonly SoakRequest[]): Promise<{ findings: Finding[]; stored: Stored }> {
  for (const deadlineMs = Date.now() + SETTLE_MS; ;) {
    await sleep(SETTLE_CHECK_MS);
    const found = await checkDay(run, requests);
    const { findings } = found;
    if (findings.length === 0 || Date.now() > deadlineMs) return found;
    const shown = findings.slice(0, 2).map(({ kind, problem, text }) => `${problem}: ${kind} ${text.slice(0, 200)}`);
    console.error(`${findings.length} findings; ${shown.join("; ")}`);
  }
}

async function checkDay(run: Run, requests: readonly SoakRequest[]): Promise<{ findings: Finding[]; stored: Stored }> {
  const { world, conversations, leads } = run;
  const { service, target, receiver } = world;
  const usedMessages = ((await service.sample())?.usedMessages ?? Number.NaN) - run.usedMessages;
  const known: Known = { ids: conversations.ids, usedMessages };
  const { findings, stored } = await check(target, requests, receiver, known);
  const markers = new Set(requests.map(({ marker }) => marker));
  const remains = [...stored.sources, ...stored.evaluations].filter(({ name }) => !markers.has(name ?? ""));
  findings.push(
    ...conversations.check(stored.conversations.map(toListed), service.nowMs),
    ...leads.check(stored.leads.map(toListed), service.nowMs),
    ...remains.map(({ id }): Finding => ({
      kind: "removal",
      problem: "half",
      text: `${id} is listed though it was deleted on another day`,
    })),
  );
  return { findings: findings.length > 0 ? findings : await checkExport(world, stored), stored };
}

function toListed(record: { id: string; updated_at?: string; created_at?: string }): Listed {
  return { id: record.id, atMs: Date.parse(record.updated_at ?? record.created_at ?? "") };
}

/** Checks that the export of the workspace has what its lists have. */
async function checkExport({ service, operatorToken, tenant }: World, stored: Stored): Promise<Finding[]> {
  const operator = createOperator(`http://127.0.0.1:${await service.port}`, operatorToken);
  const { records } = await readBackup(operator, tenant.workspaceId);
  const count = (type: string) => records.filter((record) => record.type === type).length;
  const [conversations, leads] = [count("conversations"), count("leads")];
  if (conversations === stored.conversations.length && leads === stored.leads.length) return [];
  const text = `has ${conversations} of ${stored.conversations.length} conversations and ${leads} of ${stored.leads.length} leads`;
  return [{ kind: "export of the workspace", problem: "lost", text }];
}

/** Deletes the sources, curated answers and evaluations of a day. */
async function deleteDayRecords({ target: { client, scratchAgentId } }: World, { sources, answers, evaluations }: Stored): Promise<void> {
  for (const [list, records] of Object.entries({ sources, answers, evaluations })) {
    for (const { id } of records) await client.call("DELETE", `/api/v1/agents/${scratchAgentId}/${list}/${id}`);
  }
}

/** Records what the checks of later days need of the records that were checked. */
async function recordChecked(run: Run, stored: Stored): Promise<void> {
  run.conversations.update(stored.conversations.map(toListed));
  run.leads.update(stored.leads.map(toListed));
  const sample = await run.world.service.sample();
  if (!sample) throw new Error("The process of the service does not tell how many messages were counted.");
  run.usedMessages = sample.usedMessages;
}

function reportOf(run: Run, days: number, clockDays: number): [Report, boolean] {
  const hours = run.samples.hour;
  const judgements = run.samples.all.map((series) => judge(series, hours));
  const latency = judgeLatency(run.latencies, hours);
  const p50 = percentile(
    run.latencies.map(({ value }) => value),
    0.5,
  );
  const faults = [
    ...run.faults,
    ...judgements.flatMap(({ fault }) => fault ?? []),
    ...(latency.fault === undefined ? [] : [latency.fault]),
  ];
  const notes = [
    `${hours.toFixed(2)} hours, ${days} days of requests, ${run.kills} kills. The service's clock went ahead by ${clockDays} days.`,
    `A series is flat if the line that fits its last two thirds rises by less than ${MAX_GROWTH_SHARE * 100}% of its mean, or by no more than chance. The memory of the process that is not killed is judged from the middle of the run.`,
    `These series never change: ${unchangedNames(judgements).join(", ")}.`,
    `The p50 of ${run.latencies.length} requests that a visitor waits for is ${p50.toFixed(0)} ms. Their p99 is ${latency.first.toFixed(0)} ms in the first third of the run and ${latency.last.toFixed(0)} ms in the last.`,
    faults.length === 0 ? "Nothing is lost, doubled or half done, and nothing grows that should not." : `${faults.length} faults:`,
    ...faults.slice(0, MOST_SHOWN).map((fault) => `- ${fault}`),
  ];
  return [
    { tables: [outcomeTable(run.outcomeCounts), growthTable(judgements)], notes, data: { series: run.samples.all } },
    faults.length === 0,
  ];
}
