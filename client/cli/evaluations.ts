import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Schemas } from "../index.ts";
import { defineCommand, onlyParameter } from "./command.ts";
import { AGENT_OPTION, agentOf, connect } from "./environment.ts";
import { FailedError, UsageError } from "./errors.ts";
import { readInput, readNamedFile } from "./input.ts";
import { endProgress, print, printRecord, showProgress } from "./terminal.ts";

type Evaluation = Schemas["Evaluation"];
type Result = Schemas["EvaluationResult"];

export const runEvaluation = defineCommand({
  name: "evals run",
  about: "Asks an agent questions and holds conversations with it, and reports what is not as expected.",
  parameters: "FILE|-",
  options: {
    agent: AGENT_OPTION,
    name: { type: "string", value: "TEXT", about: "The name of the run." },
    "compare-to": { type: "string", value: "ID", about: "Reports what has changed since this run." },
    "min-accuracy": { type: "string", value: "SHARE", about: "The least share of right answers to succeed, such as 0.9. Default: 1." },
  },
  examples: [
    "support-agent evals run cases.json --min-accuracy 0.9",
    `echo '[{"question": "How long do refunds take?", "expect": {"answer_contains": "five days"}}]' | support-agent evals run -`,
  ],
  run: async ({ parameters, options }) => {
    const file = onlyParameter(parameters, "FILE");
    const least = shareOf(options["min-accuracy"]);
    const body = await readCases(file);
    const client = connect();
    const agent_id = await agentOf(client, options.agent);
    const compare_to = options["compare-to"];
    // An unknown run is reported before the questions are asked.
    if (compare_to !== undefined) await client.getEvaluation({ agent_id, evaluation_id: compare_to });
    const started = await client.createEvaluation({
      agent_id,
      body: { ...body, ...(options.name !== undefined && { name: options.name }) },
    });
    await waitFor(client, started);
    const result = await client.getEvaluation({ agent_id, evaluation_id: started.id, compare_to });
    if (options.json) printRecord(result);
    else describe(result);
    if (result.status === "failed") throw new FailedError(`The run failed: ${result.error ?? "no reason is known"}`);
    if (result.right_count / result.cases_count < least) throw new FailedError(`Fewer than ${percent(least)} of the answers are right.`);
  },
});

function shareOf(given: string | undefined): number {
  if (given === undefined) return 1;
  if (!/^(?:0(?:\.[0-9]+)?|1(?:\.0+)?)$/.test(given)) throw new UsageError("--min-accuracy is a number from 0 to 1, such as 0.9.");
  return Number(given);
}

/** Reads cases from a file, which holds a list of them or the body of the operation. The service validates them. */
async function readCases(file: string): Promise<Schemas["EvaluationIn"]> {
  const text = file === "-" ? await readInput() : (await readNamedFile(file)).toString();
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file === "-" ? "What is piped in" : file} is not JSON: ${(error as Error).message}`);
  }
  if (typeof read !== "object" || read === null) throw new UsageError("The cases are a list, or an object with the list as its `cases`.");
  return (Array.isArray(read) ? { cases: read } : read) as Schemas["EvaluationIn"];
}

const POLL_MS = 1_000;
/** The service keeps this many runs of an agent. */
const MAX_RUNS = 10;

/** Waits until a run has ended, and shows its progress. */
async function waitFor(client: Client, { id, agent_id }: Evaluation): Promise<void> {
  for (;;) {
    // The list leaves the cases out, whose traces are long.
    const { data } = await client.listEvaluations({ agent_id, limit: MAX_RUNS });
    const now = data.find((evaluation) => evaluation.id === id);
    if (now?.status !== "pending" && now?.status !== "running") break;
    showProgress(`${now.done_count} of ${now.cases_count} questions, ${now.right_count} right`);
    await sleep(POLL_MS);
  }
  endProgress();
}

function describe({ id, cases, cases_count, right_count, wrong_count, refused_count, failed_count, metrics, comparison }: Result): void {
  for (const one of cases.filter(({ verdict }) => verdict !== "right")) {
    print(`${one.verdict ?? "not run"}: ${one.turns?.[0]?.visitor ?? one.question}`);
    print(
      one.turns || one.persona ? conversationOf(one) : `  expected: ${JSON.stringify(one.expect)}\n  answered: ${one.answer ?? "nothing"}`,
    );
  }
  const others = { wrong: wrong_count, refused: refused_count, failed: failed_count };
  const counts = Object.entries(others).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  print([`${right_count} of ${cases_count} right`, ...counts].join(", "));
  if (metrics.recall !== null) print(`The expected source is found in ${percent(metrics.recall)} of the cases that name one.`);
  if (comparison)
    print(`Since ${comparison.evaluation_id}: ${comparison.better} better, ${comparison.worse} worse, ${comparison.same} the same.`);
  print(`Evaluation ${id}`);
}

/** Describes a conversation: its messages, and the expectations that are not met. */
function conversationOf({ transcript, checks, end }: Result["cases"][number]): string {
  const said = transcript.flatMap(({ visitor, answer, tool_calls }) => [
    `  visitor: ${visitor}`,
    ...tool_calls.map((call) => `  called: ${call}`),
    `  agent: ${answer || "(silent)"}`,
  ]);
  const unmet = checks
    .filter(({ holds }) => holds !== true)
    .map(({ turn, kind, expected, reason }) => {
      const place = turn === null ? "at the end" : `in turn ${turn + 1}`;
      return `  expected ${place}: ${kind}: ${expected}${reason === null ? "" : ` (${reason})`}`;
    });
  return [...said, ...unmet, ...(end === null ? [] : [`  ended: ${end}`])].join("\n");
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
