import { type PreparedRequest, send } from "./load.ts";
import { median, type Report } from "./report.ts";
import { operations, type Seed, seed } from "./seed.ts";
import { buildVariant, type Build, createSecrets, type RunningWorker, startWorker } from "./service.ts";

/*
 * How long each operation takes for a caller far from the data. Distances are put in by a wrapper of the bindings
 * (workers/world.ts), in round trips between the edge and a region, or between two regions. How many of them follow one
 * another is how much longer the operation takes when they grow.
 */

const DISTANCES_MS = [20, 80, 200];
/** Each distance has its turn in each, so that other work on the machine disturbs all of them. */
const ROUNDS = 7;

/** What the operator may configure. */
const DEPLOYMENTS = [
  { name: "no region", bindings: { SHARD_REGIONS: "" } },
  { name: "one region", bindings: { SHARD_REGIONS: "0=weur" } },
];

/** What one operation takes, by the deployment. */
interface Result {
  deployment: string;
  label: string;
  /** By DISTANCES_MS. */
  times: Times[];
  trips: number;
}

interface Times {
  p50Ms: number;
  /** What other work on the machine disturbed least. */
  leastMs: number;
}

interface Probe {
  label: string;
  request: PreparedRequest;
}

/** Measures each operation at each distance, with and without a region. */
export async function benchWorld(directory: string): Promise<Report> {
  const build = await buildVariant("world", directory);
  const results: Result[] = [];
  for (const deployment of DEPLOYMENTS) results.push(...(await measureDeployment(build, deployment)));
  return reportOf(results);
}

async function measureDeployment(build: Build, { name, bindings }: (typeof DEPLOYMENTS)[number]): Promise<Result[]> {
  const secrets = createSecrets();
  const worker = await startWorker(build, { ...secrets, ...bindings });
  try {
    console.error(`${name}: seeding …`);
    const probes = await prepare(worker, await seed(worker.port, secrets.OPERATOR_TOKEN));
    console.error(`${name}: measuring …`);
    const measured = probes.map(() => DISTANCES_MS.map((): number[] => []));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, ms] of DISTANCES_MS.entries()) {
        await send(worker.port, { method: "GET", path: `/distance?ms=${ms}`, status: 200 });
        for (const [probe, { request }] of probes.entries()) measured[probe]![at]!.push(await firstEventMs(worker.port, request));
      }
    }
    return probes.map(({ label }, probe) => {
      const times = measured[probe]!.map((all) => ({ p50Ms: median(all), leastMs: Math.min(...all) }));
      return { deployment: name, label, times, trips: tripsIn(times) };
    });
  } finally {
    await worker.close();
  }
}

/** How much longer it takes when the distance grows, in distances. */
function tripsIn(times: Times[]): number {
  return Math.round((times.at(-1)!.leastMs - times[0]!.leastMs) / (DISTANCES_MS.at(-1)! - DISTANCES_MS[0]!));
}

/** Every kind of request: reads, writes, questions, and the first event of a stream; over the API, and a visitor's. */
async function prepare({ port }: RunningWorker, filled: Seed): Promise<Probe[]> {
  const { authorization, agentId, scratchAgentId, conversationId } = filled;
  const measured = operations(filled);
  const { request: ask } = measured.find(({ name }) => name === "ask")!;
  const question = ask.body as { message: string };
  const asked = (body: object): PreparedRequest => ({ ...ask, body: { ...question, ...body } });
  const api = (method: string, path: string, body?: unknown, status = 200): PreparedRequest => ({
    method,
    path: `/api/v1${path}`,
    headers: authorization,
    body,
    status,
  });
  const visitorAsk: PreparedRequest = { method: "POST", path: `/widget/v1/agents/${agentId}/messages`, body: question, status: 200 };
  const visit = (await send(port, visitorAsk)) as { conversation_id: string; visitor_token: string };
  const poll: PreparedRequest = {
    method: "GET",
    path: `/widget/v1/conversations/${visit.conversation_id}/messages`,
    headers: { Authorization: `Bearer ${visit.visitor_token}` },
    status: 200,
  };
  const begun = (await send(port, ask)) as { conversation_id: string };
  const own = { Authorization: authorization["Authorization"]! };
  const once = { ...ask, headers: { ...own, "Idempotency-Key": "world" } };
  const text = { type: "text", name: "World", text: "The world is wide." };
  return [
    ...measured.slice(0, -1).map(({ label, request }) => ({ label, request })),
    { label: "GET /conversations", request: api("GET", "/conversations") },
    { label: "GET /leads?q=", request: api("GET", "/leads?q=ann") },
    { label: "GET /analytics/overview", request: api("GET", "/analytics/overview") },
    { label: "PATCH /conversations/{id}", request: api("PATCH", `/conversations/${conversationId}`, { tags: ["world"] }) },
    { label: "a human's reply", request: api("POST", `/conversations/${conversationId}/messages`, { content: "Hello." }, 201) },
    { label: "POST a text source", request: api("POST", `/agents/${scratchAgentId}/sources`, text, 202) },
    { label: "a question", request: ask },
    { label: "a question, its first event", request: asked({ stream: true }) },
    { label: "a follow-up", request: asked({ conversation_id: begun.conversation_id }) },
    { label: "a question with an Idempotency-Key", request: once },
    { label: "a visitor's question", request: visitorAsk },
    { label: "a visitor's poll", request: poll },
  ];
}

/** Until the first of the body: all of it, but for a stream. */
async function firstEventMs(port: number, { method, path, headers = {}, body, status }: PreparedRequest): Promise<number> {
  const all: Record<string, string> = { "Content-Type": "application/json", ...headers };
  if (all["Idempotency-Key"]) all["Idempotency-Key"] = crypto.randomUUID();
  const init = { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const startMs = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const reader = response.body!.getReader();
  await reader.read();
  const ms = performance.now() - startMs;
  if (response.status !== status) throw new Error(`${method} ${path} answered ${response.status}.`);
  while (!(await reader.read()).done);
  return ms;
}

function reportOf(results: Result[]): Report {
  const columns = ["", ...DEPLOYMENTS.flatMap(({ name }) => [`${name}: trips`, ...DISTANCES_MS.map((ms) => `${ms} ms`)])];
  const byLabel = Map.groupBy(results, ({ label }) => label);
  const rows = [...byLabel].map(([label, found]) => [
    label,
    ...found.flatMap(({ trips, times }) => [trips, ...times.map(({ p50Ms }) => p50Ms.toFixed(0))]),
  ]);
  const notes = [
    "Distant trips that follow one another, and medians in ms, by the round trip between the edge and a region, and between two regions. Within a region: 1 ms.",
  ];
  return { tables: [{ columns, rows }], notes, data: results };
}
