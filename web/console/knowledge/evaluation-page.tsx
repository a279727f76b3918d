import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { concerns } from "../live.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { TraceView } from "../trace.tsx";
import { Button } from "../ui/button.tsx";
import { DeleteDialog, Dialog } from "../ui/dialog.tsx";
import { Select } from "../ui/field.tsx";
import { countOf, Figure, formatConfidence, formatPercent } from "../ui/format.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { attempt } from "../ui/toast.tsx";
import { CaseResult, VERDICT_WORDS, VerdictTag } from "./case-result.tsx";
import { casesOf, expectText, isConversation, MAX_RUNS, nameOf, type RunCase, runPath, type SourceName, titleOf } from "./cases.ts";
import { CaseDialog, EvaluationProgress, EvaluationStatus } from "./evaluations.tsx";
import { type RunVersion, VersionField, versionWords } from "./version-field.tsx";

type Result = Schemas["EvaluationResult"];
type Verdict = NonNullable<RunCase["verdict"]>;

interface Props {
  agentId: string;
  id: string;
}

/** A run of an evaluation: the result of each case. */
export function EvaluationPage({ agentId, id }: Props) {
  const [isDeleting, setDeleting] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const [, navigate] = useLocation();
  const ids = { agent_id: agentId, evaluation_id: id };
  const query = useQuery(id, (signal) => api.getEvaluation(ids, { signal }), concerns("evaluation", id));
  const remove = async () => {
    if (await attempt(() => api.deleteEvaluation(ids), "Deleted")) navigate("/evaluations");
  };
  const closeForm = () => setAdding(false);
  return (
    <section class="stack" aria-label="Evaluation">
      <p>
        <Link href="/evaluations">All evaluations</Link>
      </p>
      <Loaded query={query}>
        {(result) => (
          <>
            <div class="card">
              <div class="card-top">
                <h2>{nameOf(result)}</h2>
                <EvaluationStatus evaluation={result} />
              </div>
              <p class="quiet">{versionWords(result)}</p>
              <EvaluationProgress evaluation={result} />
              <div class="actions">
                <OtherRun agentId={agentId} id={id} otherId="" />
                {hasScope("knowledge:write") && (
                  <>
                    <Button onClick={() => setAdding(true)}>Add a conversation</Button>
                    <Button variant="danger" onClick={() => setDeleting(true)}>
                      {result.completed_at === null ? "Cancel" : "Delete"}
                    </Button>
                    <RunAgain key={result.id} result={result} />
                  </>
                )}
              </div>
            </div>
            <Figures result={result} />
            <Cases result={result} />
            {isAdding && <CaseDialog agentId={agentId} evaluation={result} onSaved={closeForm} onClose={closeForm} />}
            {isDeleting && (
              <DeleteDialog title={`Delete “${nameOf(result)}”`} onClose={() => setDeleting(false)} onDelete={remove}>
                <p>Its results are deleted, and its remaining cases do not run.</p>
              </DeleteDialog>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Runs the cases of a run again, on a version of the agent, and opens the comparison of the two. */
export function RunAgain({ result }: { result: Result }) {
  const [version, setVersion] = useState<RunVersion>(result.version === 0 ? "draft" : result.version);
  const [isBusy, setBusy] = useState(false);
  const [, navigate] = useLocation();
  const run = async () => {
    setBusy(true);
    await attempt(async () => {
      const body = { name: result.name, cases: casesOf(result), version };
      const next = await api.createEvaluation({ agent_id: result.agent_id, body });
      navigate(runPath(next, result.id));
    });
    setBusy(false);
  };
  return (
    <>
      <VersionField agentId={result.agent_id} value={version} onChoose={setVersion} hideLabel />
      <Button variant="primary" isBusy={isBusy} onClick={() => void run()}>
        Run again
      </Button>
    </>
  );
}

/** Selects the run to compare with. @param otherId the one that is compared; empty if there is none. */
export function OtherRun({ agentId, id, otherId }: Props & { otherId: string }) {
  const [, navigate] = useLocation();
  const { data } = useQuery(agentId, (signal) => api.listEvaluations({ agent_id: agentId, limit: MAX_RUNS }, { signal }));
  const others = data?.data.filter((one) => one.id !== id) ?? [];
  if (others.length === 0) return null;
  return (
    <Select
      label="Compare with"
      hideLabel
      options={[["", "Compare with …"], ...others.map((one) => [one.id, `${nameOf(one)}, ${runWords(one)}`] as const)]}
      value={otherId}
      onChoose={(value) => navigate(runPath({ id, agent_id: agentId }, value))}
    />
  );
}

/** Tells a run from others of the same name: its version and its time. */
export function runWords(run: Schemas["Evaluation"]): string {
  const at = new Intl.DateTimeFormat(navigator.language, { dateStyle: "short", timeStyle: "short" }).format(new Date(run.created_at));
  return `${versionWords(run).toLowerCase()}, ${at}`;
}

function Figures({ result: { metrics } }: { result: Result }) {
  return (
    <div class="cards">
      <Figure name="Right" value={formatPercent(metrics.accuracy)} note="of the cases that have run" />
      {metrics.recall_cases > 0 && (
        <Figure name="Source found" value={formatPercent(metrics.recall)} note={`of ${metrics.recall_cases} with an expected source`} />
      )}
      <Figure name="Confidence error (Brier score)" value={brierText(metrics)} note="0 is best; 0.25 is no better than a guess" />
    </div>
  );
}

export function brierText({ brier }: Result["metrics"]): string {
  return brier === null ? "–" : brier.toFixed(2);
}

/** Names the sources that cases expect. */
export function useSourceName(agentId: string): SourceName {
  const { data } = useQuery(agentId, (signal) => api.listSources({ agent_id: agentId }, { signal }));
  return (id) => data?.data.find((one) => one.id === id)?.name ?? "a curated answer or a deleted source";
}

type Filter = "all" | Verdict;

const FILTER_WORDS: Record<Filter, string> = { all: "All", ...VERDICT_WORDS };

const matches = (filter: Filter, { verdict }: RunCase) => filter === "all" || verdict === filter;

function Cases({ result }: { result: Result }) {
  const { cases, agent_id: agentId } = result;
  const [filter, setFilter] = useState<Filter>("all");
  const [opened, setOpened] = useState<RunCase>();
  const [edited, setEdited] = useState<RunCase>();
  const sourceName = useSourceName(agentId);
  const filters = (Object.keys(FILTER_WORDS) as Filter[]).filter((one) => one === "all" || cases.some((each) => matches(one, each)));
  const shown = cases.filter((one) => matches(filter, one));
  const questions = shown.filter((one) => !isConversation(one));
  const conversations = shown.filter(isConversation);
  const closeForm = () => setEdited(undefined);
  const whyCell = (one: RunCase) =>
    one.trace && (
      <Button variant="quiet" aria-label={`Why: ${one.question}`} onClick={() => setOpened(one)}>
        Why
      </Button>
    );
  return (
    <section class="stack" aria-label="Cases">
      <div class="chips">
        {filters.map((one) => (
          <button key={one} type="button" class="chip" aria-pressed={one === filter} onClick={() => setFilter(one)}>
            {FILTER_WORDS[one]} {cases.filter((each) => matches(one, each)).length}
          </button>
        ))}
      </div>
      {shown.length === 0 && <Empty title="None of these">Choose another filter.</Empty>}
      {conversations.length > 0 && (
        <ul class="stack" aria-label="Conversations">
          {conversations.map((one, at) => (
            <li key={one.position} class="card">
              <Conversation
                one={one}
                sourceName={sourceName}
                isFirst={at === 0}
                onEdit={() => setEdited(one)}
                onWhy={() => setOpened(one)}
              />
            </li>
          ))}
        </ul>
      )}
      {questions.length > 0 && (
        <Table
          label="Questions and results"
          rows={questions}
          keyOf={({ position }) => position}
          columns={[
            ["Question", ({ question }) => question],
            ["Expected", ({ expect }) => expectText(expect, sourceName)],
            ["Result", ({ verdict }) => <VerdictTag verdict={verdict} />],
            ["Confidence", ({ confidence }) => (confidence === null ? "–" : formatConfidence(confidence)), "number"],
            ["Details", whyCell, "action"],
          ]}
        />
      )}
      {opened && (
        <Dialog title={isConversation(opened) ? "Why the last answer" : titleOf(opened)} isWide onClose={() => setOpened(undefined)}>
          {!isConversation(opened) && <CaseResult one={opened} sourceName={sourceName} />}
          <TraceView trace={opened.trace!} />
        </Dialog>
      )}
      {edited && <CaseDialog agentId={agentId} evaluation={result} given={edited} onSaved={closeForm} onClose={closeForm} />}
    </section>
  );
}

interface ConversationProps {
  one: RunCase;
  sourceName: SourceName;
  /** Whether it is the first of the list, which is open. */
  isFirst: boolean;
  onEdit: () => void;
  onWhy: () => void;
}

/** A case of several turns. Its conversation is shown when it is opened. */
function Conversation({ one, sourceName, isFirst, onEdit, onWhy }: ConversationProps) {
  const [isOpen, setOpen] = useState(isFirst);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <CaseHeading one={one}>
          <VerdictTag verdict={one.verdict} />
        </CaseHeading>
      </summary>
      {isOpen && (
        <>
          <CaseResult one={one} sourceName={sourceName} />
          <div class="actions">
            {one.trace && (
              <Button variant="quiet" onClick={onWhy}>
                Why the last answer
              </Button>
            )}
            {hasScope("knowledge:write") && <Button onClick={onEdit}>Change</Button>}
          </div>
        </>
      )}
    </details>
  );
}

/** The first line of a case: its title, and how long a conversation it is. */
export function CaseHeading({ one, children }: { one: RunCase; children: ComponentChildren }) {
  const { persona, turns } = one;
  const size = persona ? "Persona" : turns && countOf(turns.length, "message");
  return (
    <span class="case-heading">
      <strong>{titleOf(one)}</strong>
      {size && <span class="quiet">{size}</span>}
      {children}
    </span>
  );
}
