import { type PreparedRequest, send } from "./load.ts";
import { median, type Report } from "./report.ts";
import { operations, seed } from "./seed.ts";
import { buildVariant, createSecrets, type RunningWorker, startWorker, workerdCpuMs } from "./service.ts";

/** What a question goes through of which a workspace has but one, and what it does there. */
const PARTS = [
  ["gate", "admits the request"],
  ["index", "searches the agent's knowledge"],
  ["database", "two batches: the question, the answer"],
] as const;
const ROUNDS = 5;
const CALLERS = 8;
/** Of each caller in a round. */
const TIMES = 40;

/** Where the asks of one workspace end: how many a second each part takes by itself. */
export async function benchLimits(directory: string): Promise<Report> {
  const secrets = createSecrets();
  const build = await buildVariant("limits", directory);
  const worker = await startWorker(build, secrets);
  try {
    const body = await callerOf(worker, secrets.OPERATOR_TOKEN);
    const rows: (string | number)[][] = [];
    for (const [part, does] of PARTS) {
      const { perSecond, cpuMs } = await measure(worker, { method: "POST", path: `/limits/${part}`, body, status: 200 });
      rows.push([part, does, perSecond.toFixed(0), cpuMs.toFixed(2), (1000 / cpuMs).toFixed(0)]);
    }
    const columns = ["part", "what a question does there", "asks/s", "CPU ms an ask", "asks/s of a core"];
    const notes = [
      `${CALLERS} callers at a time, each part by itself; here all of it shares the cores, on the network each part has a thread.`,
    ];
    return { tables: [{ columns, rows }], notes, data: { rows } };
  } finally {
    await worker.close();
  }
}

async function callerOf({ port }: RunningWorker, operatorToken: string): Promise<object> {
  const { authorization, agentId, ...filled } = await seed(port, operatorToken);
  const me = { method: "GET", path: "/api/v1/me", headers: authorization, status: 200 };
  const { workspace } = (await send(port, me)) as { workspace: { id: string } };
  const ask = operations({ authorization, agentId, ...filled }).find(({ name }) => name === "ask")!;
  const { message: question } = ask.request.body as { message: string };
  return { workspaceId: workspace.id, agentId, key: authorization["Authorization"]!.split(" ")[1], question, times: TIMES };
}

async function measure({ port }: RunningWorker, request: PreparedRequest): Promise<{ perSecond: number; cpuMs: number }> {
  const rounds: { perSecond: number; cpuMs: number }[] = [];
  // The first one warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    const [startMs, startCpuMs] = [performance.now(), workerdCpuMs() ?? Number.NaN];
    await Promise.all(Array.from({ length: CALLERS }, () => send(port, request)));
    const asks = CALLERS * TIMES;
    const cpuMs = ((workerdCpuMs() ?? Number.NaN) - startCpuMs) / asks;
    if (round > 0) rounds.push({ perSecond: (asks * 1000) / (performance.now() - startMs), cpuMs });
  }
  return { perSecond: median(rounds.map((round) => round.perSecond)), cpuMs: median(rounds.map((round) => round.cpuMs)) };
}
