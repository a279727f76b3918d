import { randomInt } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fetchFrom, type PreparedRequest } from "../load.ts";
import { median, percentile, timed } from "../measure.ts";
import type { Report, Table } from "../report.ts";
import { writeState } from "../scale/loading.ts";
import { type Build, createSecrets, type RunningWorker, startWorker } from "../service.ts";
import { serve } from "../stand-ins/serve.ts";
import { createTenant, type Tenant, untilReady } from "../tenant.ts";

/** What a quiet tenant sees, in ms. */
interface Seen {
  /** The time of each read and question. */
  timesMs: number[];
  /** The time of each of its texts, until it can be searched. */
  readyMs: number[];
}

interface Noise {
  name: string;
  /** It does not end with the round, so that the quiet tenant is measured alone before. */
  lasts?: boolean;
  /** Goes on until it is aborted, and counts the responses by status. */
  make: (signal: AbortSignal, answered: Record<string, number>) => Promise<void>;
}

const ROUNDS = 2;
/** The pairs of a read and a question in a round. */
const PAIRS = 100;
const FLOOD_PER_SECOND = 50;
const LEADS_PER_SECOND = 10;
const STUCK_SOURCES = 1_000;
const STUCK_ERASURES = 5;
const SWEEP_MS = 1_000;

/** Measures what a quiet tenant sees beside each noise of another one. */
export async function benchNeighbours(build: Build): Promise<Report> {
  const state = await mkdtemp(join(tmpdir(), "neighbours-"));
  const secrets = createSecrets();
  const start = () => startWorker(build, { ...secrets, ALLOW_PRIVATE_TARGETS: "true" }, state);
  const first = await start();
  const noisy = await createTenant(first.port, secrets.OPERATOR_TOKEN, "noisy");
  await first.close();
  await writeState(state, (db) => {
    const insert = db.prepare("INSERT INTO privacy_erasures (id, workspace_id, identifier, created_at) VALUES (?, ?, ?, ?)");
    // No key decrypts them, so that each attempt fails.
    for (let n = 0; n < STUCK_ERASURES; n++) insert.run(`${noisy.workspaceId.slice(0, -3)}${n}00`, noisy.workspaceId, "unreadable", n);
  });
  const served = await start();
  const hanging = await serve(() => undefined);
  try {
    const quiet = await createTenant(served.port, secrets.OPERATOR_TOKEN, "quiet");
    const table: Table = [];
    await look(quiet, { timesMs: [], readyMs: [] });
    for (const noise of await listNoises(served, secrets.OPERATOR_TOKEN, hanging.origin)) {
      console.error(`${noise.name} …`);
      table.push(await measureBeside(noise, quiet));
    }
    return { tables: [table], notes: ["All tenants, the noise and the quiet client share two cores and one thread of workerd here."] };
  } finally {
    await hanging.close();
    await served.close();
  }
}

async function listNoises({ port, sweep }: RunningWorker, operatorToken: string, hangingUrl: string): Promise<Noise[]> {
  const loud = await createTenant(port, operatorToken, "loud");
  const small = await createTenant(port, operatorToken, "small", { plan: "free", limits: { leads_per_day: 0 } });
  const revoked = await createTenant(port, operatorToken, "revoked");
  await revoked.operate("DELETE", `/workspaces/${revoked.workspaceId}/keys/${revoked.keyId}`);
  const leads = ({ agentId }: Tenant) =>
    flood(port, LEADS_PER_SECOND, (n) => ({
      method: "POST",
      path: `/widget/v1/agents/${agentId}/leads`,
      headers: { "CF-Connecting-IP": `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}` },
      body: { name: "x".repeat(120), email: `a${n}@example.com`, message: "x".repeat(4_000) },
    }));
  const sweepEachSecond = async (signal: AbortSignal) => {
    for (; !signal.aborted; await sleep(SWEEP_MS)) await sweep();
  };
  return [
    {
      name: `${FLOOD_PER_SECOND} requests/s with a revoked key`,
      make: flood(port, FLOOD_PER_SECOND, () => revoked.request("GET", "/agents")),
    },
    { name: `${LEADS_PER_SECOND} leads/s of other addresses, stored`, make: leads(loud) },
    { name: `${LEADS_PER_SECOND} leads/s of other addresses, past the day's limit`, make: leads(small) },
    { name: `${STUCK_ERASURES} erasures that fail, swept each second`, make: sweepEachSecond },
    {
      name: `${STUCK_SOURCES} sources of a site that hangs, swept each second`,
      lasts: true,
      make: async (signal) => {
        const sources = `/agents/${loud.agentId}/sources`;
        const { data } = await loud.call<{ data: unknown[] }>("GET", sources);
        for (let n = data.length; n < STUCK_SOURCES && !signal.aborted; n++) {
          await loud.call("POST", sources, { type: "url", name: `${n}`, url: `${hangingUrl}/${n}` });
        }
        await sweepEachSecond(signal);
      },
    },
  ];
}

/** Sends a request so many times a second, whether the ones before have been answered or not. */
function flood(port: number, perSecond: number, requestOf: (n: number) => PreparedRequest): Noise["make"] {
  return async (signal, answered) => {
    const sendOne = async (n: number) => {
      const response = await fetchFrom(port, requestOf(n));
      await response.text();
      answered[response.status] = (answered[response.status] ?? 0) + 1;
    };
    const sent: Promise<void>[] = [];
    const startMs = performance.now();
    while (!signal.aborted) {
      sent.push(sendOne(sent.length));
      await sleep(Math.max(0, startMs + (sent.length * 1000) / perSecond - performance.now()));
    }
    await Promise.all(sent);
  };
}

async function measureBeside({ name, lasts, make }: Noise, quiet: Tenant): Promise<Table[number]> {
  const alone: Seen = { timesMs: [], readyMs: [] };
  const beside: Seen = { timesMs: [], readyMs: [] };
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
  const statuses = Object.entries(answered).map(([status, count]) => `${count} × ${status}`);
  const times = ({ timesMs }: Seen, share: number) => percentile(timesMs, share);
  return {
    "noise of another tenant": name,
    answered: statuses.join(", ") || "–",
    "p50 ms alone": times(alone, 0.5).toFixed(1),
    "p50 ms beside": times(beside, 0.5).toFixed(1),
    "p99 ms alone": times(alone, 0.99).toFixed(1),
    "p99 ms beside": times(beside, 0.99).toFixed(1),
    ratio: (times(beside, 0.99) / times(alone, 0.99)).toFixed(2),
    "text ready, ms alone": median(alone.readyMs).toFixed(0),
    "text ready, ms beside": median(beside.readyMs).toFixed(0),
  };
}

/** Sends a round of reads and questions, one after the other, and then a text. */
async function look(tenant: Tenant, { timesMs, readyMs }: Seen): Promise<void> {
  const { agentId, call } = tenant;
  for (let at = 0; at < PAIRS; at++) {
    timesMs.push((await timed(() => call("GET", `/agents/${agentId}`))).ms);
    timesMs.push((await timed(() => call("POST", `/agents/${agentId}/messages`, { message: "Where is the setting?" }))).ms);
  }
  const ready = async () => {
    const text = `The setting ${randomInt(1_000_000)} is in the menu.`;
    await call("POST", `/agents/${agentId}/sources`, { type: "text", name: "Text", text });
    await untilReady(tenant, agentId);
  };
  readyMs.push((await timed(ready)).ms);
}
