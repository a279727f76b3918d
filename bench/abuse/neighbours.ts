import { randomInt } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median, percentile, type Report, type Table } from "../report.ts";
import { writeState } from "../scale/loading.ts";
import { type RunningWorker, startWorker } from "../service.ts";
import type { Abused } from "./abuse.ts";
import { untilReady } from "./memory.ts";
import { createTenant, sendAny, type Tenant } from "./tenant.ts";

/** What a quiet tenant sees, in ms. */
interface Seen {
  /** Of each read and question. */
  timesMs: number[];
  /** Of each of its texts, until it can be searched. */
  readyMs: number[];
}

/** What a quiet tenant sees beside a noise, and what it sees without. */
interface Neighbour {
  noise: string;
  alone: Seen;
  beside: Seen;
  /** How often the noise was answered with each status. */
  answered: Record<string, number>;
}

interface Noise {
  name: string;
  /** It does not end with the round, so that the quiet tenant is measured alone before. */
  lasts?: boolean;
  /** Goes on until it is aborted. */
  make: (signal: AbortSignal, answered: Record<string, number>) => Promise<void>;
}

const ROUNDS = 2;
/** Of a read and a question each. */
const PAIRS = 100;
const FLOOD_PER_SECOND = 50;
const LEADS_PER_SECOND = 10;
const STUCK_SOURCES = 1_000;
const STUCK_ERASURES = 5;
const SWEEP_MS = 1_000;
const LIMITS = { requests_per_minute: 1_000_000_000, messages: 1_000_000_000 };

/** What a quiet tenant sees beside each noise of another one. */
export async function benchNeighbours({ build, bindings, operatorToken, directory }: Abused): Promise<Report> {
  const state = join(directory, "neighbours");
  const first = await startWorker(build, bindings, state);
  const noisy = await createTenant(first.port, operatorToken, "noisy", "enterprise", LIMITS);
  await first.close();
  await writeState(state, async (db) => {
    const insert = db.prepare("INSERT INTO privacy_erasures (id, workspace_id, identifier, created_at) VALUES (?, ?, ?, ?)");
    // No key decrypts them, so that each attempt fails.
    for (let n = 0; n < STUCK_ERASURES; n++) insert.run(`${noisy.workspaceId.slice(0, -3)}${n}00`, noisy.workspaceId, "unreadable", n);
  });
  const served = await startWorker(build, bindings, state);
  const hanging = createServer(() => undefined).listen(0, "127.0.0.1");
  await new Promise((resolve) => hanging.once("listening", resolve));
  try {
    const quiet = await createTenant(served.port, operatorToken, "quiet", "enterprise", LIMITS);
    const loud = await createTenant(served.port, operatorToken, "loud", "enterprise", LIMITS);
    const small = await createTenant(served.port, operatorToken, "small", "free", { leads_per_day: 0 });
    const revoked = await createTenant(served.port, operatorToken, "revoked", "enterprise", LIMITS);
    await revoked.operate("DELETE", `/workspaces/${revoked.workspaceId}/keys/${revoked.keyId}`, undefined, 204);
    const hangingUrl = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
    const neighbours: Neighbour[] = [];
    await look(quiet, { timesMs: [], readyMs: [] });
    for (const noise of listNoises(served, { loud, small, revoked }, hangingUrl)) {
      console.error(`${noise.name} …`);
      neighbours.push(await measureBeside(noise, quiet));
    }
    const note = "All tenants, the noise and the quiet client share two cores and one thread of workerd here.";
    return { tables: [tableOf(neighbours)], notes: [note], data: { neighbours } };
  } finally {
    hanging.closeAllConnections();
    hanging.close();
    await served.close();
  }
}

function listNoises(
  served: RunningWorker,
  { loud, small, revoked }: Record<"loud" | "small" | "revoked", Tenant>,
  hangingUrl: string,
): Noise[] {
  const { port } = served;
  const leads =
    ({ agentId }: Tenant): Noise["make"] =>
    (signal, answered) =>
      flood(LEADS_PER_SECOND, signal, answered, (n) => {
        const headers = { "CF-Connecting-IP": `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}` };
        const body = { name: "x".repeat(120), email: `a${n}@example.com`, message: "x".repeat(4_000) };
        return sendAny(port, { method: "POST", path: `/widget/v1/agents/${agentId}/leads`, headers, body });
      });
  const sweepEachSecond = async (signal: AbortSignal) => {
    for (; !signal.aborted; await sleep(SWEEP_MS)) await served.sweep();
  };
  return [
    {
      name: `${FLOOD_PER_SECOND} requests/s with a revoked key`,
      make: (signal, answered) =>
        flood(FLOOD_PER_SECOND, signal, answered, () =>
          sendAny(port, { method: "GET", path: "/api/v1/agents", headers: revoked.authorization }),
        ),
    },
    { name: `${LEADS_PER_SECOND} leads/s of other addresses, stored`, make: leads(loud) },
    { name: `${LEADS_PER_SECOND} leads/s of other addresses, past the day's limit`, make: leads(small) },
    { name: `${STUCK_ERASURES} erasures that fail, swept each second`, make: sweepEachSecond },
    {
      name: `${STUCK_SOURCES} sources of a site that hangs, swept each second`,
      lasts: true,
      make: async (signal) => {
        const { data } = await loud.call<{ data: unknown[] }>("GET", `/agents/${loud.agentId}/sources`, undefined, 200);
        for (let n = data.length; n < STUCK_SOURCES && !signal.aborted; n++) {
          await loud.call("POST", `/agents/${loud.agentId}/sources`, { type: "url", name: `${n}`, url: `${hangingUrl}/${n}` }, 202);
        }
        await sweepEachSecond(signal);
      },
    },
  ];
}

/** Sends a request so many times a second, whether the ones before have been answered or not. */
async function flood(
  perSecond: number,
  signal: AbortSignal,
  answered: Record<string, number>,
  send: (n: number) => Promise<Response>,
): Promise<void> {
  const open = new Set<Promise<unknown>>();
  const startMs = performance.now();
  for (let n = 0; !signal.aborted; n++) {
    const one = note(send(n), answered);
    open.add(one);
    void one.finally(() => open.delete(one));
    await sleep(Math.max(0, startMs + ((n + 1) * 1000) / perSecond - performance.now()));
  }
  await Promise.all(open);
}

async function note(sent: Promise<Response>, answered: Record<string, number>): Promise<void> {
  const response = await sent;
  await response.text();
  answered[response.status] = (answered[response.status] ?? 0) + 1;
}

async function measureBeside({ name, lasts, make }: Noise, quiet: Tenant): Promise<Neighbour> {
  const [alone, beside]: [Seen, Seen] = [
    { timesMs: [], readyMs: [] },
    { timesMs: [], readyMs: [] },
  ];
  const answered: Record<string, number> = {};
  if (lasts) for (let round = 0; round < ROUNDS; round++) await look(quiet, alone);
  for (let round = 0; round < ROUNDS; round++) {
    if (!lasts) await look(quiet, alone);
    const stop = new AbortController();
    const made = make(stop.signal, answered);
    await look(quiet, beside);
    stop.abort();
    await made;
  }
  return { noise: name, alone, beside, answered };
}

/** A round of reads and questions of one client, and a text. */
async function look({ agentId, call }: Tenant, { timesMs, readyMs }: Seen): Promise<void> {
  const timed = async (work: () => Promise<unknown>) => {
    const startMs = performance.now();
    await work();
    return performance.now() - startMs;
  };
  for (let at = 0; at < PAIRS; at++) {
    timesMs.push(await timed(() => call("GET", `/agents/${agentId}`, undefined, 200)));
    timesMs.push(await timed(() => call("POST", `/agents/${agentId}/messages`, { message: "Where is the setting?" }, 200)));
  }
  const text = `The setting ${randomInt(1_000_000)} is in the menu.`;
  const ready = async () => {
    const { id } = await call<{ id: string }>("POST", `/agents/${agentId}/sources`, { type: "text", name: "Text", text }, 202);
    await untilReady(call, agentId, id);
  };
  readyMs.push(await timed(ready));
}

function tableOf(neighbours: Neighbour[]): Table {
  const columns = [
    "noise of another tenant",
    "answered",
    "p50 ms alone",
    "beside",
    "p99 ms alone",
    "beside",
    "ratio",
    "text ready, ms alone",
    "beside",
  ];
  const rows = neighbours.map(({ noise, alone, beside, answered }) => {
    const statuses = Object.entries(answered).map(([status, count]) => `${count} × ${status}`);
    const [p50, p99] = [0.5, 0.99].map((share) => [alone, beside].map(({ timesMs }) => percentile(timesMs, share))) as [number[], number[]];
    const ready = [alone, beside].map(({ readyMs }) => median(readyMs).toFixed(0));
    const times = [...p50, ...p99].map((ms) => ms.toFixed(1));
    return [noise, statuses.join(", ") || "–", ...times, (p99[1]! / p99[0]!).toFixed(2), ...ready];
  });
  return { columns, rows };
}
