import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Flags } from "../bench.ts";
import { send } from "../load.ts";
import { mean, median, percentile, timed, workerdCpuMs } from "../measure.ts";
import type { Report, Table } from "../report.ts";
import { buildVariant, createSecrets, type RunningWorker, startWorker } from "../service.ts";
import { createTenant, type Tenant } from "../tenant.ts";
import { CHUNKS_PER_DOCUMENT, documentAt, KINDS, type Question, questionAt } from "./passages.ts";

/*
 * The same questions to an agent with few chunks and to one with many, alternately. The few are an even sample of the many, and
 * a question is in the words of a passage that both have.
 */

const DOCUMENTS_PER_SOURCE = 100;
const QUESTIONS_PER_KIND = 50;
/** The number of results of a search. */
const LIMIT = 5;
const WARM_UP = 3;

/** An agent that knows each `step`th document. */
interface Agent {
  id: string;
  step: number;
}

/** Compares searches of a small agent's knowledge with those of a large one's. */
export async function benchChunks({ small, large }: Flags): Promise<Report> {
  const build = await buildVariant("chunks");
  const secrets = createSecrets();
  const state = await mkdtemp(join(tmpdir(), "chunks-"));
  const empty = await startWorker(build, secrets, state);
  const tenant = await createTenant(empty.port, secrets.OPERATOR_TOKEN, "chunks");
  const few = { id: tenant.agentId, step: large / small };
  const many = { id: await tenant.createAgent({ name: "Many" }), step: 1 };
  for (const agent of [few, many]) await fill(empty.port, tenant.workspaceId, agent, large / CHUNKS_PER_DOCUMENT);
  await empty.close();
  const worker = await startWorker(build, secrets, state);
  try {
    const table: Table = [];
    for (const kind of Object.keys(KINDS)) {
      const asked: [Asked, Asked][] = [];
      for (const question of questionsOf(kind, few)) {
        asked.push([await ask(worker, tenant, few, question), await ask(worker, tenant, many, question)]);
      }
      table.push(compare(kind, asked.slice(WARM_UP), [small, large]));
      console.error(Object.values(table.at(-1)!).join(", "));
    }
    const notes = [
      `${QUESTIONS_PER_KIND} questions of a kind, each asked once of both, alternately, over the API. Rows are those that the objects read;`,
      `found is the share of the questions whose document is among the first ${LIMIT}.`,
    ];
    return { tables: [table], notes };
  } finally {
    await worker.close();
  }
}

async function fill(port: number, workspaceId: string, { id, step }: Agent, documents: number): Promise<void> {
  const { ms } = await timed(async () => {
    let stored = Promise.resolve<unknown>(undefined);
    for (let from = 0; from < documents; from += DOCUMENTS_PER_SOURCE * step) {
      const to = Math.min(documents, from + DOCUMENTS_PER_SOURCE * step);
      const numbers = Array.from({ length: Math.ceil((to - from) / step) }, (_, at) => from + at * step);
      // The next documents are written while the service stores these.
      const body = { id: `source-${from}`, documents: numbers.map(documentAt).map(({ title, url, chunks }) => ({ title, url, chunks })) };
      await stored;
      stored = send(port, { method: "POST", path: `/fill/${workspaceId}/${id}`, body });
    }
    await stored;
  });
  console.error(`Filled ${((documents / step) * CHUNKS_PER_DOCUMENT).toLocaleString("en")} chunks in ${(ms / 1000).toFixed(0)} s.`);
}

function questionsOf(kind: string, { step }: Agent): Question[] {
  const found: Question[] = [];
  for (let number = 0; found.length < QUESTIONS_PER_KIND + WARM_UP; number += step) found.push(...questionAt(kind, number));
  return found;
}

interface Asked {
  ms: number;
  cpuMs: number;
  rowsRead: number;
  isFound: number;
}

async function ask({ port }: RunningWorker, { request }: Tenant, agent: Agent, { query, url }: Question): Promise<Asked> {
  const takeRows = async () => (await send<{ read: number }>(port, { method: "GET", path: "/object-rows" })).read;
  await takeRows();
  const search = request("POST", `/agents/${agent.id}/search`, { query, limit: LIMIT });
  let asked: { ms: number; result: { data: { url: string }[] } } = { ms: 0, result: { data: [] } };
  const cpuMs = await workerdCpuMs(async () => (asked = await timed(() => send<typeof asked.result>(port, search))));
  const isFound = asked.result.data.some((found) => found.url === url);
  return { ms: asked.ms, cpuMs, rowsRead: await takeRows(), isFound: Number(isFound) };
}

function compare(kind: string, asked: readonly [Asked, Asked][], sizes: readonly number[]): Table[number] {
  const of = (at: number, what: keyof Asked) => asked.map((pair) => pair[at]![what]);
  const both = (name: string, value: (at: number) => string) =>
    sizes.map((size, at) => [`${name}, ${size.toLocaleString("en")}`, value(at)]);
  const p95Ms = (at: number) => percentile(of(at, "ms"), 0.95);
  return Object.fromEntries([
    ["words of the question", kind],
    ...both("p50 ms", (at) => median(of(at, "ms")).toFixed(1)),
    ["ratio", median(asked.map(([ofFew, ofMany]) => ofMany.ms / ofFew.ms)).toFixed(2)],
    ...both("p95 ms", (at) => p95Ms(at).toFixed(1)),
    ["ratio of p95", (p95Ms(1) / p95Ms(0)).toFixed(2)],
    ...both("CPU ms", (at) => mean(of(at, "cpuMs")).toFixed(1)),
    ...both("rows", (at) => mean(of(at, "rowsRead")).toFixed(0)),
    ...both("found", (at) => mean(of(at, "isFound")).toFixed(2)),
  ]) as Table[number];
}
