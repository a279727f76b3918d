import { fetchFrom, type PreparedRequest, send } from "./load.ts";
import { median } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { operations, type Seed, seed } from "./seed.ts";
import { buildVariant, type RunningService, withService } from "./service.ts";

/*
 * How long each operation takes for a caller far from the data. A wrapper of the bindings (workers/world.ts) adds the
 * distances, as round trips between the edge and a region, or between two regions. How much longer an operation takes when
 * the distance grows tells how many trips follow one another.
 */

const DISTANCES_MS = [20, 80, 200];
/** Each round measures each distance, so that other work on the machine disturbs all of them. */
const ROUNDS = 7;

/** What an operator may configure. */
const DEPLOYMENTS = [
  { name: "no region", bindings: { DATABASE_REGIONS: "" } },
  { name: "one region", bindings: { DATABASE_REGIONS: "0=weur" } },
];

/** Measures each operation at each distance, with and without a region. */
export async function benchWorld(): Promise<Report> {
  const build = await buildVariant("world");
  let table: Table = [];
  for (const { name, bindings } of DEPLOYMENTS) {
    const rows = await withService(build, bindings, (service) => measure(service, name));
    table = rows.map((row, at) => ({ ...table[at], ...row }));
  }
  const note =
    "Distant trips that follow one another, and medians in ms, by the round trip between the edge and a region, and between two regions. Within a region: 1 ms.";
  return { tables: [table], notes: [note] };
}

async function measure(service: RunningService, deployment: string): Promise<Table> {
  console.error(`${deployment}: seeding …`);
  const requests = Object.entries(await requestsOf(service, await seed(service)));
  console.error(`${deployment}: measuring …`);
  const measured = requests.map(() => DISTANCES_MS.map((): number[] => []));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, ms] of DISTANCES_MS.entries()) {
      await send(service.port, { method: "GET", path: `/distance?ms=${ms}` });
      for (const [which, [, request]] of requests.entries()) measured[which]![at]!.push(await firstEventMs(service.port, request));
    }
  }
  return requests.map(([label], which) => {
    const timesMs = measured[which]!;
    // The fastest requests are those that other work on the machine disturbed least.
    const [nearest, farthest] = [Math.min(...timesMs[0]!), Math.min(...timesMs.at(-1)!)];
    const trips = Math.round((farthest - nearest) / (DISTANCES_MS.at(-1)! - DISTANCES_MS[0]!));
    const medians = DISTANCES_MS.map((ms, at) => [`${deployment}: ${ms} ms`, median(timesMs[at]!).toFixed(0)]);
    return { "": label, [`${deployment}: trips`]: trips, ...Object.fromEntries(medians) };
  });
}

/** Returns every kind of request by its label: reads, writes, questions and a stream, of the API and of a visitor. */
async function requestsOf({ port }: RunningService, filled: Seed): Promise<Record<string, PreparedRequest>> {
  const { agentId, scratchAgentId, conversationId, request, ask } = filled;
  const askWith = (body: object): PreparedRequest => ({ ...ask, body: { ...(ask.body as object), ...body } });
  const visitorAsk: PreparedRequest = { method: "POST", path: `/widget/v1/agents/${agentId}/messages`, body: ask.body };
  const visit = await send<{ conversation_id: string; visitor_token: string }>(port, visitorAsk);
  const poll: PreparedRequest = {
    method: "GET",
    path: `/widget/v1/conversations/${visit.conversation_id}/messages`,
    headers: { Authorization: `Bearer ${visit.visitor_token}` },
  };
  const begun = await send<{ conversation_id: string }>(port, ask);
  const text = { type: "text", name: "World", text: "The world is wide." };
  return {
    ...Object.fromEntries(operations(filled).map(({ label, request: measured }) => [label, measured])),
    "GET /conversations": request("GET", "/conversations"),
    "GET /leads?q=": request("GET", "/leads?q=ann"),
    "GET /analytics/overview": request("GET", "/analytics/overview"),
    "PATCH /conversations/{id}": request("PATCH", `/conversations/${conversationId}`, { tags: ["world"] }),
    "a human's reply": request("POST", `/conversations/${conversationId}/messages`, { content: "Hello." }),
    "POST a text source": request("POST", `/agents/${scratchAgentId}/sources`, text),
    "a question": ask,
    "a question, its first event": askWith({ stream: true }),
    "a follow-up": askWith({ conversation_id: begun.conversation_id }),
    "a question with an Idempotency-Key": { ...ask, headers: { ...ask.headers, "Idempotency-Key": "world" } },
    "a visitor's question": visitorAsk,
    "a visitor's poll": poll,
  };
}

/** Returns the time until the first part of the body: the whole body, except of a stream. */
async function firstEventMs(port: number, request: PreparedRequest): Promise<number> {
  const headers = { ...request.headers };
  if (headers["Idempotency-Key"]) headers["Idempotency-Key"] = crypto.randomUUID();
  const startMs = performance.now();
  const response = await fetchFrom(port, { ...request, headers });
  const reader = response.body!.getReader();
  await reader.read();
  const ms = performance.now() - startMs;
  if (!response.ok) throw new Error(`${request.method} ${request.path} answered ${response.status}.`);
  while (!(await reader.read()).done);
  return ms;
}
