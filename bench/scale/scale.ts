import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Flags } from "../bench.ts";
import { load, send } from "../load.ts";
import { forEach, median, timed } from "../measure.ts";
import type { Report, Table } from "../report.ts";
import { type Build, buildService, createSecrets, linesDuring, type RunningWorker, startWorker } from "../service.ts";
import { createTenant } from "../tenant.ts";
import { leadCount, type WorkspaceHistory } from "./history.ts";
import { loadHistory, writeState } from "./loading.ts";
import { requestsTo } from "./requests.ts";

/*
 * The same requests to a workspace with few conversations and to one with many, each beside a hundred others in a service
 * of its own, in alternating rounds, so that whatever else slows the machine slows both.
 */

/** One request at a time: what a caller waits for, without a queue before it. */
const CONNECTIONS = 1;
const ROUNDS = 5;
const WARM_UP_SECONDS = 0.2;
/** Other workspaces in the same database, and the conversations of each. */
const OTHER_WORKSPACES = 100;
const OTHER_CONVERSATIONS = 100;
const AGENTS = 10;
/** The longest that an agent may wait: else the sweep would resolve idle conversations while the bench measures. */
const INACTIVITY_MINUTES = 60 * 24 * 365;
/** How many leads one run of the sweep hands to the index. */
const LEADS_A_SWEEP = 1_000;

/** A running service with a workspace of some size beside others, and the requests to it. */
interface Side {
  worker: RunningWorker;
  requests: Awaited<ReturnType<typeof requestsTo>>;
}

/** Compares the same requests to a small workspace and to a large one. */
export async function benchScale({ small, large, seconds }: Flags): Promise<Report> {
  const build = await buildService();
  const sides: Side[] = [];
  try {
    for (const conversations of [small, large]) {
      const { result, ms } = await timed(() => prepare(build, conversations));
      sides.push(result);
      console.error(`Loaded ${conversations.toLocaleString("en")} conversations in ${(ms / 1000).toFixed(0)} s.`);
    }
    const [few, many] = sides as [Side, Side];
    const sizes = [small, large].map((size) => size.toLocaleString("en")) as [string, string];
    const table: Table = [];
    for (const at of few.requests.keys()) table.push(await compare(few, many, at, seconds, sizes));
    return { tables: [table], notes: [`One request at a time, ${ROUNDS} rounds of ${seconds} s a side. Rows read are D1's.`] };
  } finally {
    await Promise.all(sides.map(({ worker }) => worker.close()));
  }
}

/** Creates the workspaces through the service's API, fills its database while it is down, and starts it again. */
async function prepare(build: Build, conversations: number): Promise<Side> {
  const state = await mkdtemp(join(tmpdir(), "scale-"));
  const secrets = createSecrets();
  const empty = await startWorker(build, secrets, state);
  const nowMs = Date.now();
  const sizes = [conversations, ...Array<number>(OTHER_WORKSPACES).fill(OTHER_CONVERSATIONS)];
  const workspaces: (WorkspaceHistory & { headers: Record<string, string> })[] = [];
  for (const [number, size] of sizes.entries()) {
    const agent = { inactivity_minutes: INACTIVITY_MINUTES };
    const { workspaceId, agentId, headers, createAgent } = await createTenant(empty.port, secrets.OPERATOR_TOKEN, `scale-${number}`, {
      agent,
    });
    const agentIds = [agentId];
    while (agentIds.length < AGENTS) agentIds.push(await createAgent({ name: `Agent ${agentIds.length}`, ...agent }));
    workspaces.push({ number, workspaceId, agentIds, conversations: size, nowMs, headers });
  }
  await empty.close();
  await writeState(state, async (db) => {
    for (const workspace of workspaces.toReversed()) await loadHistory(db, workspace);
  });
  const worker = await startWorker(build, secrets, state);
  const leads = workspaces.reduce((sum, workspace) => sum + leadCount(workspace), 0);
  for (let handed = 0; handed < leads; handed += LEADS_A_SWEEP) await worker.sweep();
  return { worker, requests: await requestsTo(worker.port, workspaces[0]!, workspaces[0]!.headers) };
}

async function compare(few: Side, many: Side, at: number, seconds: number, [fewer, more]: [string, string]): Promise<Table[number]> {
  const label = few.requests[at]!.label;
  const first = async ({ worker: { port }, requests }: Side) => (await timed(() => send(port, requests[at]!.request))).ms;
  const rowsRead = async ({ worker, requests }: Side) => {
    const lines = await linesDuring(worker, () => send(worker.port, requests[at]!.request));
    return lines.find(({ event }) => event === "request")?.rows_read ?? "?";
  };
  const p50Ms = async ({ worker: { port }, requests }: Side, roundSeconds: number) =>
    median((await load(port, requests[at]!.request, CONNECTIONS, roundSeconds)).latenciesMs);
  await first(few);
  const firstMs = await first(many);
  const [rowsOfFew, rowsOfMany] = [await rowsRead(few), await rowsRead(many)];
  for (const side of [few, many]) await p50Ms(side, WARM_UP_SECONDS);
  const rounds = await forEach(Array(ROUNDS), async () => ({ few: await p50Ms(few, seconds), many: await p50Ms(many, seconds) }), 1);
  const middle = (of: (round: (typeof rounds)[0]) => number) => median(rounds.map(of)).toFixed(2);
  const ratio = middle((round) => round.many / round.few);
  console.error(`${label}: ${middle((round) => round.many)} ms, ${ratio} of the small one`);
  return {
    request: label,
    [`p50 ms, ${fewer}`]: middle((round) => round.few),
    [`p50 ms, ${more}`]: middle((round) => round.many),
    ratio,
    [`rows read, ${fewer}`]: rowsOfFew,
    [`rows read, ${more}`]: rowsOfMany,
    [`first, ms, ${more}`]: firstMs.toFixed(1),
  };
}
