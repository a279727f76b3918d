import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, expect, test } from "vitest";
import { STATUS_OF } from "../../src/platform/http/errors.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { type Answer, databases, deliver, evict, query } from "../harness.ts";
import { OpenAiStandIn } from "../stand-ins/openai.ts";
import { type Fault, Faults, type Kind, KINDS, type QueuedMessage } from "./faults.ts";

/** The actions of a client, and what holds afterwards whatever fault occurred. */
export interface Scenario<Stage> {
  /** The queues whose messages belong to it. */
  queues?: readonly string[];
  /** The calls that get faults; by default all. */
  only?: RegExp;
  prepare(): Promise<Stage>;
  act(stage: Stage): Promise<void>;
  check(stage: Stage): Promise<void>;
}

/** The time that a client waits for an answer, and before it tries again. */
const CLIENT_PATIENCE_MS = 60_000;
const CLIENT_PAUSE_MS = 20_000;
const MAX_TRIES = 20;
/** More deliveries than the platform makes of one message. */
const MAX_ROUNDS = 40;
const ROUND_MS = 6 * 60_000;
/** More time than passes in any scenario. */
const LONGEST_SCENARIO_MS = 24 * 60 * 60_000;
/** The time by which the clock advances in each millisecond while everything waits for a call that hangs. */
const HASTE_MS = 10_000;
/** Milliseconds without a call after which some work waits for time to pass. */
const CALM_TICKS = 30;

/** With this inactivity, no conversation is resolved as idle, however the clock goes on. */
export const YEAR_MINUTES = 365 * 24 * 60;

export const faults = new Faults();

/** Lets the service ask a model that replies as `scriptOf` says, and whose requests may fail too. */
export function useModel(scriptOf: ConstructorParameters<typeof OpenAiStandIn>[0]): void {
  Reflect.set(env, "OPENAI_BASE_URL", "http://model.test/v1");
  Reflect.set(env, "OPENAI_MODEL", "answer");
  faults.hosts.set("model.test", new OpenAiStandIn(scriptOf).fetch);
}

/** Requests that their clients gave up, but which continue. */
const abandoned: Promise<unknown>[] = [];

/**
 * Runs a scenario without a fault, which names its calls, and then defines a test for each call and each kind of fault.
 */
export async function withEachFault<Stage>(title: string, scenario: Scenario<Stage>): Promise<void> {
  faults.clock.install();
  afterAll(() => faults.clock.uninstall());
  const runs: Awaited<ReturnType<typeof run>>[] = [];
  try {
    // The sweep also does the work that other tests left, so that only calls of all three runs belong to the scenario.
    while (runs.length < 3) runs.push(await run(scenario, undefined));
  } catch (error) {
    // Without tests, `afterAll` does not run, and files share their modules.
    faults.clock.uninstall();
    throw error;
  }
  const named = runs.map(({ points }) => new Set(points.map(nameOf)));
  const isOwn = (name: string) => named.every((names) => names.has(name)) && (scenario.only?.test(name) ?? true);
  const own = runs[0]!.points.filter((point) => isOwn(nameOf(point)));
  const cases = own.flatMap((point) => kindsAt(point).map((kind): Fault => ({ ...point, kind })));
  test.for(cases)(`${title}: $name ($occurrence) $kind`, async (fault) => {
    const { hasHappened } = await run(scenario, fault);
    expect(hasHappened).toBe(true);
  });
}

function nameOf({ name, occurrence }: Pick<Fault, "name" | "occurrence">): string {
  return `${name} (${occurrence})`;
}

/** A read has done nothing, whenever it fails. What a busy database does is tried from each write on. */
const KINDS_OF_READS: Kind[] = ["fails before it is done", "hangs for ten minutes, and is done late"];

function kindsAt({ name }: { name: string }): readonly Kind[] {
  return name.startsWith("D1 reads") ? KINDS_OF_READS : KINDS;
}

async function run<Stage>(scenario: Scenario<Stage>, fault: Fault | undefined) {
  advanceToLongMonth();
  const stage = await scenario.prepare();
  const result = await faults.during(fault, async () => {
    await scenario.act(stage);
    await settle(scenario.queues ?? []);
  });
  await scenario.check(stage);
  return result;
}

/** Advances the clock to the next month if this one ends soon: scenarios read the usage of one month. */
function advanceToLongMonth(): void {
  const now = new Date(Date.now());
  const leftMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime();
  if (leftMs < LONGEST_SCENARIO_MS) faults.clock.advance(leftMs);
}

/** Sends a request as a client that retries after each failure. Every refusal must be one that the API documents. */
export async function sendUntilAnswered(send: () => Promise<Answer>, patienceMs = CLIENT_PATIENCE_MS): Promise<Answer> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const answer = await awaitWithClock(send(), patienceMs);
    if (answer && !isPassing(answer)) return answer;
    if (answer) expectRefusal(answer);
    faults.clock.advance(CLIENT_PAUSE_MS);
  }
  throw new Error("The request is not answered");
}

function isPassing({ status, headers }: Answer): boolean {
  return status >= 500 || (status === 409 && headers.has("Retry-After"));
}

function expectRefusal({ status, headers, body }: Answer): void {
  expect(STATUS_OF).toHaveProperty(body.error.code, status);
  expect(body.error.request_id).toBe(headers.get("X-Request-Id"));
  if (status === 503) expect(Number(headers.get("Retry-After"))).toBeGreaterThan(0);
}

/**
 * Waits for some work. While a call hangs, or none is in progress, the clock runs fast and alarms fire.
 * @returns undefined after the timeout, while the work continues.
 */
export async function awaitWithClock<Result>(work: Promise<Result>, limitMs = Number.POSITIVE_INFINITY): Promise<Result | undefined> {
  let isOver = false;
  const over = () => void (isOver = true);
  work.then(over, over);
  const fromMs = Date.now();
  for (let calm = 0; !isOver; calm = faults.isCalm ? calm + 1 : 0) {
    if (faults.hangs) faults.clock.advance(HASTE_MS);
    else if (calm > CALM_TICKS) {
      faults.clock.advance(CLIENT_PAUSE_MS);
      await wakeSessions();
    }
    if (Date.now() - fromMs > limitMs) {
      abandoned.push(work);
      return undefined;
    }
    await scheduler.wait(1);
  }
  return work;
}

/** Does what the platform does after a failure, until there is nothing left: delivers messages, wakes objects, and sweeps. */
async function settle(queues: readonly string[]): Promise<void> {
  let messages: (QueuedMessage & { attempts: number })[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    await awaitWithClock(Promise.allSettled(abandoned.splice(0)));
    await awaitWithClock(faults.quiet());
    messages.push(
      ...faults
        .takeQueued()
        .filter(({ queue }) => queues.includes(queue))
        .map((message) => ({ ...message, attempts: 1 })),
    );
    const [due, isWoken] = [messages, await wakeSessions()];
    messages = [];
    for (const message of due) if (await isRetried(message)) messages.push({ ...message, attempts: message.attempts + 1 });
    if (due.length === 0 && !isWoken && !(await findsWork()) && !faults.hasQueued(queues)) return;
  }
  throw new Error("There is always something left to do");
}

/** Sweeps once what was left to do may be taken up. @returns whether there was something: it asks each database what there is, once. */
async function findsWork(): Promise<boolean> {
  faults.clock.advance(ROUND_MS);
  return (await faults.unwatched(() => sweep(env, Date.now()))) > databases.length;
}

async function isRetried({ queue, body, attempts }: QueuedMessage & { attempts: number }): Promise<boolean> {
  const result = await awaitWithClock(deliver(queue, body, attempts));
  faults.clock.advance(CLIENT_PAUSE_MS);
  return result!.retryMessages.length > 0;
}

/** Turns are retried within the hour. A later alarm is for the expiry of traces. */
const LATEST_ALARM_MS = 24 * 60 * 60_000;

async function wakeSessions(): Promise<boolean> {
  let isWoken = false;
  for (const session of faults.calledSessions) {
    const alarm = await runInDurableObject(session, (_, { storage }) => storage.getAlarm());
    if (alarm === null || alarm > Date.now() + LATEST_ALARM_MS) continue;
    // The work of an alarm that fails waits for the next one.
    if (!(await runDurableObjectAlarm(session).catch(() => true))) continue;
    isWoken = true;
    faults.clock.advance(CLIENT_PAUSE_MS);
  }
  return isWoken;
}

/** Evicts a workspace's gate, so that the next request reads the workspace again. */
export async function evictGate({ id }: { id: string }): Promise<void> {
  await evict(env.GATE.getByName(id));
}

/** Counts the rows of each kind in a workspace. */
export async function countBy(table: string, column: string, workspaceId: string): Promise<Record<string, number>> {
  const statement = `SELECT ${column} AS kind, count(*) AS count FROM ${table} WHERE workspace_id = ? GROUP BY 1`;
  const rows = await query<{ kind: string; count: number }>(workspaceId, statement, workspaceId);
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
}
