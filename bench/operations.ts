import { UserError } from "../scripts/shared/cli.ts";
import type { Flags } from "./bench.ts";
import { load, type PreparedRequest, send } from "./load.ts";
import { forEach, median, percentile } from "./measure.ts";
import type { Report, Table } from "./report.ts";
import { type Operation, operations, seed } from "./seed.ts";
import { buildBare, buildService, linesDuring, type RunningWorker, withService, withWorker } from "./service.ts";

/*
 * Each operation of the built worker against its floor, a bare worker that makes the same hops. They run in two
 * processes, so that what one leaves behind (evictions, queued work) does not hold up the other's thread, and in
 * alternating rounds, so that whatever else slows the machine slows both.
 */

const CONNECTIONS = 16;
/** Many short rounds, so that a burst of other work on the machine spoils few of them. */
const ROUNDS = 9;
const WARM_UP_SECONDS = 1;

/** Measures all operations, or those named in `only`, in rounds of so many seconds. */
export async function benchOperations({ seconds, only }: Flags): Promise<Report> {
  const [service, floor] = await Promise.all([buildService(), buildBare("floor")]);
  const table: Table = [];
  await withService(service, {}, (ours) =>
    withWorker(floor, {}, async (bare) => {
      console.error("Seeding …");
      const [filled] = await Promise.all([seed(ours), send(bare.port, { method: "POST", path: "/seed" })]);
      for (const operation of choose(operations(filled), only)) table.push(await measure(operation, ours, bare, seconds));
    }),
  );
  const notes = [
    `${CONNECTIONS} connections, ${ROUNDS} rounds of ${seconds} s a side; the load generator shares the machine.`,
    "A floor makes the same hops without framework, checks and query builder. Both sides log one line a request.",
  ];
  return { tables: [table], notes };
}

function choose(all: Operation[], only: string[] | undefined): Operation[] {
  const unknown = only?.filter((name) => !all.some((operation) => operation.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new UserError(`No operation ${unknown.join(", ")}. There are: ${all.map((operation) => operation.name).join(", ")}.`);
  }
  return all.filter((operation) => only?.includes(operation.name) ?? true);
}

async function measure({ label, floor: path, request }: Operation, ours: RunningWorker, floor: RunningWorker, seconds: number) {
  const floorRequest: PreparedRequest = { method: request.method, path, body: request.body };
  await load(floor.port, floorRequest, CONNECTIONS, WARM_UP_SECONDS);
  await load(ours.port, request, CONNECTIONS, WARM_UP_SECONDS);
  const cost = (await linesDuring(ours, () => send(ours.port, request))).findLast(({ event }) => event === "request");
  const round = async () => ({
    floor: await load(floor.port, floorRequest, CONNECTIONS, seconds),
    ours: await load(ours.port, request, CONNECTIONS, seconds),
  });
  const rounds = await forEach(Array(ROUNDS), round, 1);
  const perSecond = (side: "ours" | "floor") => median(rounds.map((one) => one[side].requestsPerSecond)).toFixed(0);
  const latencyMs = (share: number) => median(rounds.map((one) => percentile(one.ours.latenciesMs, share))).toFixed(1);
  const ratio = median(rounds.map((one) => one.ours.requestsPerSecond / one.floor.requestsPerSecond)).toFixed(2);
  console.error(`${label}: ${perSecond("ours")}/s, ${ratio} of its floor`);
  return {
    operation: label,
    "requests/s": perSecond("ours"),
    "p50 ms": latencyMs(0.5),
    "p99 ms": latencyMs(0.99),
    "D1 trips": cost?.d1_trips ?? "?",
    "object hops": cost?.object_hops ?? "?",
    "floor, requests/s": `${path} ${perSecond("floor")}`,
    ratio,
  };
}
