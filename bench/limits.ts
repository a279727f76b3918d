import { send } from "./load.ts";
import { timed, forEach, median, workerdCpuMs } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { seed } from "./seed.ts";
import { buildVariant, withService } from "./service.ts";

/** What a question passes of which a workspace has one, and what it does there. */
const PARTS = [
  ["gate", "admits the request"],
  ["index", "searches the agent's knowledge"],
  ["database", "two batches: the question, the answer"],
] as const;
const ROUNDS = 5;
const CALLERS = 8;
/** The questions of each caller in a round. */
const TIMES = 40;

/** Measures how many questions a second each part of a workspace takes by itself. */
export async function benchLimits(): Promise<Report> {
  return withService(await buildVariant("limits"), {}, async (service) => {
    const { workspaceId, agentId, headers, ask } = await seed(service);
    const { message: question } = ask.body as { message: string };
    const body = { workspaceId, agentId, key: headers["Authorization"]!.split(" ")[1], question, times: TIMES };
    const table: Table = [];
    for (const [part, does] of PARTS) {
      const call = () => send(service.port, { method: "POST", path: `/limits/${part}`, body });
      const round = () => timed(() => workerdCpuMs(() => forEach(Array(CALLERS), call, CALLERS)));
      // The first round warms up.
      const rounds = (await forEach(Array(ROUNDS + 1), round, 1)).slice(1);
      const cpuMs = median(rounds.map(({ result }) => result)) / (CALLERS * TIMES);
      table.push({
        part,
        "what a question does there": does,
        "asks/s": ((CALLERS * TIMES * 1000) / median(rounds.map(({ ms }) => ms))).toFixed(0),
        "CPU ms an ask": cpuMs.toFixed(2),
        "asks/s of a core": (1000 / cpuMs).toFixed(0),
      });
    }
    const note = `${CALLERS} callers at a time, each part by itself. All parts share the cores here; on the network each has a thread.`;
    return { tables: [table], notes: [note] };
  });
}
