import { api, movedError, type Schemas } from "../api.ts";
import { Select, TextField } from "../ui/field.tsx";
import type { ErrorAt } from "../ui/form.ts";
import { type Case, MAX_RUNS, nameOf, runPath } from "./cases.ts";

/*
 * Where a single case is saved: in an evaluation that the agent has, or in a new one. Only this case runs then.
 */

type Evaluation = Schemas["Evaluation"];

const MAX_ANSWERS = 100;

/** The evaluation in which a case was saved. */
export interface SavedCase {
  name: string;
  href: string;
}

/** What a case may refer to, and the evaluations that may get it. */
export interface CaseChoices {
  /** The latest run of each name, newest first. */
  runs: readonly Evaluation[];
  sources: readonly Schemas["Source"][];
  answers: readonly Schemas["Answer"][];
}

export async function readChoices(agentId: string, signal: AbortSignal): Promise<CaseChoices> {
  const agent = { agent_id: agentId };
  const [runs, sources, answers] = await Promise.all([
    readLatestRuns(agentId, signal),
    api.listSources(agent, { signal }),
    api.listAnswers({ ...agent, limit: MAX_ANSWERS }, { signal }),
  ]);
  return { runs, sources: sources.data, answers: answers.data };
}

/** The latest run of each name, which has the newest cases. */
export async function readLatestRuns(agentId: string, signal?: AbortSignal): Promise<Evaluation[]> {
  const { data: newestFirst } = await api.listEvaluations({ agent_id: agentId, limit: MAX_RUNS }, { signal });
  return newestFirst.filter((one, at) => newestFirst.findIndex((other) => nameOf(other) === nameOf(one)) === at);
}

interface TargetProps {
  runs: readonly Evaluation[];
  runId: string;
  onChoose: (runId: string) => void;
  /** The name of a new evaluation to which the user gives none. */
  newName: string;
  errorAt: ErrorAt;
}

/** Selects the evaluation that gets a case. */
export function TargetFields({ runs, runId, onChoose, newName, errorAt }: TargetProps) {
  return (
    <>
      <Select
        label="Evaluation"
        options={[...runs.map((one) => [one.id, nameOf(one)] as const), ["", "A new one"]]}
        value={runId}
        onChoose={onChoose}
        hint={runId !== "" && "This case runs now; the others keep their results."}
      />
      {runId === "" && <TextField label="Name" name="name" maxLength={120} placeholder={newName} error={errorAt("name")} />}
    </>
  );
}

/**
 * Adds a case to an evaluation, or makes one of it.
 * @param replaces the position of a case of the evaluation that it replaces.
 * @throws ApiError or InputError, whose paths are those of the case.
 */
export async function saveCase(
  agentId: string,
  run: Evaluation | undefined,
  newName: string,
  added: Case,
  replaces?: number,
): Promise<SavedCase> {
  const agent = { agent_id: agentId };
  if (run) await api.addEvaluationCase({ ...agent, evaluation_id: run.id, replaces, body: added });
  const create = () =>
    api.createEvaluation({ ...agent, body: { name: newName, cases: [added] } }).catch((error: unknown) => {
      throw movedError(error, ({ path, text }) => ({ path: path.replace(/^cases\.0\./, ""), text }));
    });
  const saved = run ?? (await create());
  return { name: nameOf(saved), href: `~/knowledge${runPath(saved)}` };
}

/** The sources and curated answers that an answer may cite, as options. */
export function citable({ sources, answers }: Omit<CaseChoices, "runs">) {
  return [
    ["", "Any source"] as const,
    ...sources.map(({ id, name }) => [id, name] as const),
    ...answers.map(({ id, question }) => [id, `Curated answer: ${question}`] as const),
  ];
}
