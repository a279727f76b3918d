import { useState } from "preact/hooks";
import { api, movedError, type Schemas } from "../api.ts";
import type { Case } from "../knowledge/cases.ts";
import { nameOf } from "../knowledge/evaluations.tsx";
import { useQuery } from "../query.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FieldError, Select, TextArea, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { Loaded } from "../ui/states.tsx";

type Evaluation = Schemas["Evaluation"];

/** More than the service keeps for an agent. */
const MAX_RUNS = 20;
const MAX_ANSWERS = 100;
const EXPECTATIONS = [
  ["answer", "It answers"],
  ["refuse", "It hands over"],
] as const;

/** The evaluation in which a case was saved. */
export interface SavedCase {
  name: string;
  href: string;
}

interface Props {
  agentId: string;
  question: string;
  /** The questions before it in its conversation, oldest first. */
  previous: readonly string[];
  onSaved: (saved: SavedCase) => void;
  onClose: () => void;
}

/** Saves a question, with what is expected of its answer, as a case of an evaluation. */
export function SaveCase({ agentId, onClose, ...props }: Props) {
  const query = useQuery(agentId, async (signal) => {
    const agent = { agent_id: agentId };
    const [runs, sources, answers] = await Promise.all([
      api.listEvaluations({ ...agent, limit: MAX_RUNS }, { signal }),
      api.listSources(agent, { signal }),
      api.listAnswers({ ...agent, limit: MAX_ANSWERS }, { signal }),
    ]);
    return { runs: latestByName(runs.data), sources: sources.data, answers: answers.data };
  });
  return (
    <Dialog title="Save as a case" onClose={onClose}>
      <Loaded query={query}>{(known) => <CaseForm agentId={agentId} known={known} {...props} />}</Loaded>
    </Dialog>
  );
}

interface Known {
  runs: readonly Evaluation[];
  sources: readonly Schemas["Source"][];
  answers: readonly Schemas["Answer"][];
}

function CaseForm({ agentId, question, previous, known: { runs, sources, answers }, onSaved }: Omit<Props, "onClose"> & { known: Known }) {
  const [isRefusal, setRefusal] = useState(false);
  const [runId, setRunId] = useState(runs[0]?.id ?? "");
  const run = runs.find(({ id }) => id === runId);
  const form = useForm(async ({ text }) => {
    onSaved(await saveCase(agentId, run, text("name"), { question: text("question"), previous: [...previous], expect: expectOf(text) }));
  });
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      <TextArea
        label="Question"
        name="question"
        required
        maxLength={2000}
        rows={2}
        defaultValue={question}
        hint={previousText(previous)}
        error={form.errorAt("question")}
      />
      <Select
        label="It is right if"
        name="right"
        options={EXPECTATIONS}
        value={isRefusal ? "refuse" : "answer"}
        onChoose={(value) => setRefusal(value === "refuse")}
      />
      {!isRefusal && (
        <>
          <TextField
            label="And contains"
            name="contains"
            maxLength={500}
            placeholder="five working days"
            hint="Case and white space do not matter. Leave it empty to accept any text."
            error={form.errorAt("expect.answer_contains")}
          />
          <Select label="And cites" name="source" options={citable(sources, answers)} value="" error={form.errorAt("expect.source_id")} />
        </>
      )}
      <Select
        label="Evaluation"
        options={[...runs.map((one) => [one.id, nameOf(one)] as const), ["", "A new one"]]}
        value={runId}
        onChoose={setRunId}
        hint={run && "This question is asked now; the others keep their results."}
      />
      {!run && <TextField label="Name" name="name" maxLength={120} placeholder="From the playground" error={form.errorAt("name")} />}
      <FieldError text={form.error} />
      <Button variant="primary" type="submit" isBusy={form.isBusy}>
        Save and run
      </Button>
    </form>
  );
}

/** Adds a case to an evaluation, or makes one of it. @throws ApiError or InputError, whose paths are those of the case. */
async function saveCase(agentId: string, run: Evaluation | undefined, newName: string, added: Case): Promise<SavedCase> {
  const agent = { agent_id: agentId };
  if (run) await api.addEvaluationCase({ ...agent, evaluation_id: run.id, body: added });
  const body = { name: newName || "From the playground", cases: [added] };
  const create = () =>
    api.createEvaluation({ ...agent, body }).catch((error: unknown) => {
      throw movedError(error, ({ path, text }) => ({ path: path.replace(/^cases\.0\./, ""), text }));
    });
  const saved = run ?? (await create());
  return { name: nameOf(saved), href: `~/knowledge/evaluations/${saved.id}` };
}

function expectOf(text: (name: string) => string): Case["expect"] {
  if (text("right") === "refuse") return { refusal: true };
  const [contained, sourceId] = [text("contains"), text("source")];
  if (!contained && !sourceId) return { refusal: false };
  return { ...(contained && { answer_contains: contained }), ...(sourceId && { source_id: sourceId }) };
}

function citable(sources: Known["sources"], answers: Known["answers"]) {
  return [
    ["", "Any source"] as const,
    ...sources.map(({ id, name }) => [id, name] as const),
    ...answers.map(({ id, question }) => [id, `Curated answer: ${question}`] as const),
  ];
}

/** Returns the latest run of each name, which has the newest cases. */
function latestByName(newestFirst: readonly Evaluation[]): Evaluation[] {
  return newestFirst.filter((one, at) => newestFirst.findIndex((other) => nameOf(other) === nameOf(one)) === at);
}

function previousText(previous: readonly string[]) {
  return previous.length === 0 ? undefined : `Asked after “${previous.join("”, “")}”.`;
}
