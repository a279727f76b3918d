import { join } from "node:path";
import { send } from "../load.ts";
import { median, percentile, type Report } from "../report.ts";
import { buildVariant, createSecrets, type RunningWorker, startWorker, workerdCpuMs } from "../service.ts";
import { CHUNKS_PER_DOCUMENT, documentAt, KINDS, type Question, questionAt } from "./passages.ts";
import { createWorkspace, type Workspace } from "./workspaces.ts";

/*
 * The same questions to an agent with few chunks and to one with many, in turns. The few are an even sample of the many, and
 * a question is in the words of a passage that both have.
 */

const DOCUMENTS_PER_SOURCE = 100;
const QUESTIONS_PER_KIND = 50;
/** What a search gives at first. */
const LIMIT = 5;
const WARM_UP = 3;

/** An agent, and what it knows: each `step`th document. */
interface Agent {
  id: string;
  step: number;
}

interface Asked {
  ms: number;
  cpuMs: number;
  rowsRead: number;
  isFound: boolean;
}

interface Sizes {
  /** How many chunks each of the two agents has. */
  small: number;
  large: number;
}

/** Searches of a small agent's knowledge and of a large one's. */
export async function benchChunks(directory: string, { small, large }: Sizes): Promise<Report> {
  const secrets = createSecrets();
  const build = await buildVariant("chunks", directory);
  const state = join(directory, "state");
  const empty = await startWorker(build, secrets, state);
  const operator = { Authorization: `Bearer ${secrets.OPERATOR_TOKEN}` };
  const workspace = await createWorkspace(empty.port, operator, { number: 0, conversations: 0, nowMs: Date.now() });
  const [few, many] = workspace.history.agentIds.map((id, at) => ({ id, step: at === 0 ? large / small : 1 })) as [Agent, Agent];
  try {
    for (const agent of [few, many]) await fill(empty.port, workspace, agent, large / CHUNKS_PER_DOCUMENT);
  } finally {
    await empty.close();
  }
  const worker = await startWorker(build, secrets, state);
  try {
    const rows: (string | number)[][] = [];
    for (const kind of Object.keys(KINDS)) rows.push([kind, ...(await compare(worker, workspace, [few, many], kind))]);
    return { tables: [{ columns: columnsOf(small, large), rows }], notes: NOTES, data: { small, large, rows } };
  } finally {
    await worker.close();
  }
}

async function fill(port: number, { history }: Workspace, { id, step }: Agent, documents: number): Promise<void> {
  const startedMs = performance.now();
  let next = Promise.resolve<unknown>(undefined);
  for (let from = 0; from < documents; from += DOCUMENTS_PER_SOURCE * step) {
    const to = Math.min(documents, from + DOCUMENTS_PER_SOURCE * step);
    const numbers = Array.from({ length: Math.ceil((to - from) / step) }, (_, at) => from + at * step);
    const body = { id: `source-${from}`, documents: numbers.map(documentAt) };
    await next;
    next = send(port, { method: "POST", path: `/fill/${history.workspaceId}/${id}`, body, status: 200 });
  }
  await next;
  const chunks = (documents / step) * CHUNKS_PER_DOCUMENT;
  console.error(`Filled ${chunks.toLocaleString("en")} chunks in ${((performance.now() - startedMs) / 1000).toFixed(0)} s.`);
}

function questionsOf(kind: string, { step }: Agent): Question[] {
  const found: Question[] = [];
  for (let number = 0; found.length < QUESTIONS_PER_KIND + WARM_UP; number += step) found.push(...questionAt(kind, number));
  return found;
}

async function compare(worker: RunningWorker, workspace: Workspace, agents: readonly [Agent, Agent], kind: string): Promise<string[]> {
  const asked: [Asked, Asked][] = [];
  for (const question of questionsOf(kind, agents[0])) {
    asked.push([await ask(worker, workspace, agents[0], question), await ask(worker, workspace, agents[1], question)]);
  }
  const measured = asked.slice(WARM_UP);
  const times = [0, 1].map((at) => measured.map((both) => both[at]!.ms));
  const ratios = measured.map(([ofFew, ofMany]) => ofMany.ms / ofFew.ms);
  const both = (value: (ms: number[]) => number) => times.map(value);
  const [p50, p95] = [both(median), both((ms) => percentile(ms, 0.95))];
  const mean = (of: (one: Asked) => number) => [0, 1].map((at) => measured.reduce((sum, pair) => sum + of(pair[at]!), 0) / measured.length);
  const texts = [
    ...p50.map((ms) => ms.toFixed(1)),
    median(ratios).toFixed(2),
    ...p95.map((ms) => ms.toFixed(1)),
    (p95[1]! / p95[0]!).toFixed(2),
    ...mean(({ cpuMs }) => cpuMs).map((ms) => ms.toFixed(1)),
    ...mean(({ rowsRead }) => rowsRead).map((rows) => rows.toFixed(0)),
    ...mean(({ isFound }) => Number(isFound)).map((share) => share.toFixed(2)),
  ];
  console.error(`${kind}: ${texts.join(", ")}`);
  return texts;
}

async function ask({ port }: RunningWorker, { authorization }: Workspace, agent: Agent, { query, url }: Question): Promise<Asked> {
  const takeRows = async () => ((await send(port, { method: "GET", path: "/object-rows", status: 200 })) as { read: number }).read;
  const path = `/api/v1/agents/${agent.id}/search`;
  await takeRows();
  const cpuMs = workerdCpuMs() ?? Number.NaN;
  const startedMs = performance.now();
  const answer = await send(port, { method: "POST", path, headers: authorization, body: { query, limit: LIMIT }, status: 200 });
  const ms = performance.now() - startedMs;
  const isFound = (answer as { data: { url: string }[] }).data.some((found) => found.url === url);
  return { ms, cpuMs: (workerdCpuMs() ?? Number.NaN) - cpuMs, rowsRead: await takeRows(), isFound };
}

function columnsOf(small: number, large: number): string[] {
  const both = (name: string) => [small, large].map((size) => `${name}, ${size.toLocaleString("en")}`);
  return [
    "words of the question",
    ...both("p50 ms"),
    "ratio",
    ...both("p95 ms"),
    "ratio",
    ...both("CPU ms"),
    ...both("rows"),
    ...both("found"),
  ];
}

const NOTES = [
  `${QUESTIONS_PER_KIND} questions of a kind, each asked once of both, in turns, over the API. Rows are those that the objects read;`,
  `found is the share of the questions whose document is among the first ${LIMIT}.`,
];
