import { useState } from "preact/hooks";
import { type CaseChoices, citable, readChoices, type SavedCase, saveCase, TargetFields } from "../knowledge/case-target.tsx";
import type { Case } from "../knowledge/cases.ts";
import { useQuery } from "../query.ts";
import { Dialog } from "../ui/dialog.tsx";
import { FormEnd, Select, TextArea, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { Loaded } from "../ui/states.tsx";

const EXPECTATIONS = [
  ["answer", "It answers"],
  ["refuse", "It hands over"],
] as const;

const NEW_NAME = "From the playground";

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
  const query = useQuery(agentId, (signal) => readChoices(agentId, signal));
  return (
    <Dialog title="Save as a case" onClose={onClose}>
      <Loaded query={query}>{(known) => <CaseForm agentId={agentId} known={known} {...props} />}</Loaded>
    </Dialog>
  );
}

function CaseForm({ agentId, question, previous, known, onSaved }: Omit<Props, "onClose"> & { known: CaseChoices }) {
  const [isRefusal, setRefusal] = useState(false);
  const [runId, setRunId] = useState(known.runs[0]?.id ?? "");
  const run = known.runs.find(({ id }) => id === runId);
  const form = useForm(async ({ text }) => {
    const added = { question: text("question"), previous: [...previous], expect: expectOf(text) };
    onSaved(await saveCase(agentId, run, text("name") || NEW_NAME, added));
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
          <Select label="And cites" name="source" options={citable(known)} value="" error={form.errorAt("expect.source_id")} />
        </>
      )}
      <TargetFields runs={known.runs} runId={runId} onChoose={setRunId} newName={NEW_NAME} errorAt={form.errorAt} />
      <FormEnd form={form}>Save and run</FormEnd>
    </form>
  );
}

function expectOf(text: (name: string) => string): Case["expect"] {
  if (text("right") === "refuse") return { refusal: true };
  const [contained, sourceId] = [text("contains"), text("source")];
  if (!contained && !sourceId) return { refusal: false };
  return { ...(contained && { answer_contains: contained }), ...(sourceId && { source_id: sourceId }) };
}

function previousText(previous: readonly string[]) {
  return previous.length === 0 ? undefined : `Asked after “${previous.join("”, “")}”.`;
}
