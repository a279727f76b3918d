import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { api, movedError, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FieldError, TextArea, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { lazy } from "../ui/lazy.tsx";
import { PagesCards } from "../ui/pages.tsx";
import { Empty } from "../ui/states.tsx";
import { Time } from "../ui/format.tsx";
import { showError } from "../ui/toast.tsx";
import type { CaseFormProps } from "./case-form.tsx";
import { atLine, linesOfCsv, nameOf, parseCases, runPath } from "./cases.ts";
import { type RunVersion, VersionField, versionWords } from "./version-field.tsx";

type Evaluation = Schemas["Evaluation"];

/** The evaluations of an agent: runs of questions that show whether its answers became better or worse. */
export function Evaluations({ agentId }: { agentId: string }) {
  const [isAdding, setAdding] = useState<"questions" | "conversation">();
  const [, navigate] = useLocation();
  const close = () => setAdding(undefined);
  const pages = usePages(
    agentId,
    (page, options) => api.listEvaluations({ agent_id: agentId, ...page }, options),
    ({ kind }) => kind === "evaluation",
  );
  return (
    <section class="stack" aria-label="Evaluations">
      {hasScope("knowledge:write") && (
        <div class="actions">
          <p class="quiet grow">Ask the same questions before and after a change, and see what became better or worse.</p>
          <Button onClick={() => setAdding("conversation")}>Add a conversation</Button>
          <Button variant="primary" onClick={() => setAdding("questions")}>
            New evaluation
          </Button>
        </div>
      )}
      <PagesCards
        pages={pages}
        card={(evaluation) => (
          <>
            <div class="card-top">
              <Link href={runPath(evaluation)}>
                <strong>{nameOf(evaluation)}</strong>
              </Link>
              <EvaluationStatus evaluation={evaluation} />
            </div>
            <EvaluationProgress evaluation={evaluation} />
            <p class="quiet">
              {versionWords(evaluation)} · <Time at={evaluation.created_at} />
            </p>
          </>
        )}
        empty={
          <Empty title="No evaluations yet">
            Paste the questions that matter, with what you expect of the answers, or add a conversation of several messages. The agent
            answers as it would answer visitors.
          </Empty>
        }
      />
      {isAdding === "questions" && <NewEvaluation agentId={agentId} onClose={close} />}
      {isAdding === "conversation" && <CaseDialog agentId={agentId} onSaved={({ href }) => navigate(href)} onClose={close} />}
    </section>
  );
}

const STATUS_WORDS = {
  pending: ["Waiting to run", "pending"],
  running: ["Running", "processing"],
  completed: ["Complete", "ready"],
  failed: ["Failed", "failed"],
} as const;

export function EvaluationStatus({ evaluation: { status } }: { evaluation: Evaluation }) {
  const [words, style] = STATUS_WORDS[status];
  return <span class={`status ${style}`}>{words}</span>;
}

/** The progress of an evaluation, and its results so far. */
export function EvaluationProgress({ evaluation }: { evaluation: Evaluation }) {
  const {
    cases_count: all,
    done_count: done,
    right_count: right,
    wrong_count: wrong,
    refused_count: refused,
    failed_count: failed,
  } = evaluation;
  return (
    <>
      {evaluation.completed_at === null && <progress max={all} value={done} aria-label="Cases that have run" />}
      <p>
        {done} of {all} asked: {right} right, {wrong} wrong, {refused} refused{failed > 0 && `, ${failed} failed`}
      </p>
      {evaluation.error && <p class="field-error">{evaluation.error}</p>}
    </>
  );
}

const CaseForm = lazy(async () => (await import("./case-form.tsx")).CaseForm);

/** The dialog for a case of several turns. */
export function CaseDialog({ onClose, ...props }: CaseFormProps & { onClose: () => void }) {
  return (
    <Dialog title={props.given ? "Change the conversation" : "Add a conversation"} isWide onClose={onClose}>
      <CaseForm {...props} />
    </Dialog>
  );
}

const EXAMPLE = "How long do refunds take? => five working days\nDo you ship to Iceland?\nWho won the world cup? => refuse";

function NewEvaluation({ agentId, onClose }: { agentId: string; onClose: () => void }) {
  const [text, setText] = useState("");
  const [version, setVersion] = useState<RunVersion>(null);
  const [, navigate] = useLocation();
  const form = useForm(async (values) => {
    const { data: sources } = await api.listSources({ agent_id: agentId });
    const body = { name: values.text("name") || null, cases: parseCases(text, sources), version };
    const run = await api.createEvaluation({ agent_id: agentId, body }).catch((error: unknown) => {
      throw movedError(error, (problem) => atLine(problem, text));
    });
    navigate(runPath(run));
  });
  return (
    <Dialog title="New evaluation" isWide onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField label="Name" name="name" maxLength={120} placeholder="Before the new refund policy" error={form.errorAt("name")} />
        <TextArea
          label="Questions"
          required
          rows={10}
          placeholder={EXAMPLE}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          error={form.errorAt("cases")}
          hint={
            <>
              One question per line. After <code>{"=>"}</code> write a text that the answer must contain, <code>refuse</code> if the agent
              should hand over, or <code>source:</code> and the name of the source. Without <code>{"=>"}</code> any answer is right.
            </>
          }
        />
        <VersionField agentId={agentId} value={version} onChoose={setVersion} />
        <FieldError text={form.error} />
        <div class="actions">
          <label class="button">
            Read a CSV file
            <input
              type="file"
              class="sr-only"
              accept=".csv,text/csv"
              onChange={({ currentTarget }) => {
                const file = currentTarget.files?.[0];
                // A file that was corrected can be chosen again.
                currentTarget.value = "";
                if (file) linesOfCsv(file).then(setText, showError);
              }}
            />
          </label>
          <Button variant="primary" type="submit" isBusy={form.isBusy} disabled={text.trim() === ""}>
            Run
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
