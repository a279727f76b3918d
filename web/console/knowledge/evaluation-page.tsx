import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { TraceView } from "../trace.tsx";
import { Button } from "../ui/button.tsx";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Select } from "../ui/field.tsx";
import { Figure, formatConfidence, formatPercent } from "../ui/format.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { attempt } from "../ui/toast.tsx";
import { casesOf, expectText } from "./cases.ts";
import { EvaluationProgress, EvaluationStatus, nameOf } from "./evaluations.tsx";

type Result = Schemas["EvaluationResult"];
type Case = Result["cases"][number];
type Verdict = NonNullable<Case["verdict"]>;

const VERDICT_WORDS: Record<Verdict, string> = { right: "Right", wrong: "Wrong", refused: "Refused", failed: "Failed" };
const CHANGE_WORDS = { better: "Better", worse: "Worse", same: "", new: "New" } as const;
/** More than the service keeps for an agent. */
const MAX_RUNS = 20;

interface Props {
  agentId: string;
  id: string;
  /** The run to compare it with. */
  earlierId: string | undefined;
}

/** An evaluation: the result of each question, and the changes since another evaluation. */
export function EvaluationPage({ agentId, id, earlierId }: Props) {
  const [isDeleting, setDeleting] = useState(false);
  const [, navigate] = useLocation();
  const ids = { agent_id: agentId, evaluation_id: id };
  const query = useQuery(
    `${id} ${earlierId}`,
    (signal) => api.getEvaluation({ ...ids, ...(earlierId !== undefined && { compare_to: earlierId }) }, { signal }),
    (change) => change.kind === "evaluation" && (change.id === id || change.id === "*"),
  );
  const again = (result: Result) =>
    attempt(async () => {
      const next = await api.createEvaluation({ agent_id: agentId, body: { name: result.name, cases: casesOf(result) } });
      navigate(`/evaluations/${next.id}/${id}`);
    });
  const remove = async () => {
    if (await attempt(() => api.deleteEvaluation(ids), "Deleted")) navigate("/evaluations");
  };
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
              <EvaluationProgress evaluation={result} />
              <div class="actions">
                <EarlierRun agentId={agentId} id={id} earlierId={earlierId} />
                {hasScope("knowledge:write") && (
                  <>
                    <Button onClick={() => void again(result)}>Run again</Button>
                    <Button variant="danger" onClick={() => setDeleting(true)}>
                      {result.completed_at === null ? "Cancel" : "Delete"}
                    </Button>
                  </>
                )}
              </div>
            </div>
            <Figures result={result} />
            <Cases agentId={agentId} result={result} />
            {isDeleting && (
              <Confirm
                title={`Delete “${nameOf(result)}”`}
                confirm="Delete"
                isDanger
                onClose={() => setDeleting(false)}
                onConfirm={() => void remove()}
              >
                <p>Its results are deleted, and its remaining questions are not asked.</p>
              </Confirm>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Selects the evaluation to compare with. */
function EarlierRun({ agentId, id, earlierId }: Props) {
  const [, navigate] = useLocation();
  const { data } = useQuery(agentId, (signal) => api.listEvaluations({ agent_id: agentId, limit: MAX_RUNS }, { signal }));
  const others = data?.data.filter((one) => one.id !== id) ?? [];
  if (others.length === 0) return null;
  const dateOf = (at: string) =>
    new Intl.DateTimeFormat(navigator.language, { dateStyle: "short", timeStyle: "short" }).format(new Date(at));
  return (
    <Select
      label="Compare with"
      hideLabel
      options={[["", "Compare with …"], ...others.map((one) => [one.id, `${nameOf(one)}, ${dateOf(one.created_at)}`] as const)]}
      value={earlierId ?? ""}
      onChoose={(value) => navigate(value === "" ? `/evaluations/${id}` : `/evaluations/${id}/${value}`)}
    />
  );
}

function Figures({ result: { metrics, comparison } }: { result: Result }) {
  return (
    <div class="cards">
      <Figure name="Right" value={formatPercent(metrics.accuracy)} note="of the questions asked" />
      {metrics.recall_cases > 0 && (
        <Figure name="Source found" value={formatPercent(metrics.recall)} note={`of ${metrics.recall_cases} with an expected source`} />
      )}
      {comparison && (
        <>
          <Figure name="Better" value={String(comparison.better)} note="than in the other run" />
          <Figure name="Worse" value={String(comparison.worse)} note="than in the other run" />
        </>
      )}
      <Figure
        name="Confidence error (Brier score)"
        value={metrics.brier === null ? "–" : metrics.brier.toFixed(2)}
        note="0 is best; 0.25 is no better than a guess"
      />
    </div>
  );
}

type Filter = "all" | Verdict | "better" | "worse";

const FILTER_WORDS: Record<Filter, string> = { all: "All", ...VERDICT_WORDS, better: "Better", worse: "Worse" };

const matches = (filter: Filter, { verdict, change }: Case) => filter === "all" || verdict === filter || change === filter;

function Cases({ agentId, result: { cases, comparison } }: { agentId: string; result: Result }) {
  const [filter, setFilter] = useState<Filter>("all");
  const [opened, setOpened] = useState<Case>();
  const sources = useQuery(agentId, (signal) => api.listSources({ agent_id: agentId }, { signal }));
  const sourceName = (id: string) => sources.data?.data.find((one) => one.id === id)?.name ?? "a curated answer or a deleted source";
  const filters = (Object.keys(FILTER_WORDS) as Filter[]).filter((one) => one === "all" || cases.some((each) => matches(one, each)));
  const shown = cases.filter((one) => matches(filter, one));
  const whyCell = (one: Case) =>
    one.trace && (
      <Button variant="quiet" aria-label={`Why: ${one.question}`} onClick={() => setOpened(one)}>
        Why
      </Button>
    );
  return (
    <section class="stack" aria-label="Questions">
      <div class="chips">
        {filters.map((one) => (
          <button key={one} type="button" class="chip" aria-pressed={one === filter} onClick={() => setFilter(one)}>
            {FILTER_WORDS[one]} {cases.filter((each) => matches(one, each)).length}
          </button>
        ))}
      </div>
      {shown.length === 0 ? (
        <Empty title="None of these">Choose another filter.</Empty>
      ) : (
        <Table
          label="Questions and results"
          rows={shown}
          keyOf={({ position }) => position}
          columns={[
            ["Question", ({ question }) => question],
            ["Expected", ({ expect }) => expectText(expect, sourceName)],
            ["Result", ({ verdict }) => <VerdictTag verdict={verdict} />],
            ...(comparison ? [["Change", changeText] as const] : []),
            ["Confidence", ({ confidence }) => (confidence === null ? "–" : formatConfidence(confidence)), "number"],
            ["Details", whyCell, "action"],
          ]}
        />
      )}
      {opened && (
        <Dialog title={opened.question} isWide onClose={() => setOpened(undefined)}>
          <p class="plain">{opened.answer}</p>
          <TraceView trace={opened.trace!} />
        </Dialog>
      )}
    </section>
  );
}

function VerdictTag({ verdict }: { verdict: Case["verdict"] }) {
  if (verdict === null) return <span class="status">Waiting</span>;
  return <span class={`status ${verdict === "right" ? "ready" : verdict === "refused" ? "" : "failed"}`}>{VERDICT_WORDS[verdict]}</span>;
}

function changeText({ change, before }: Case) {
  if (change === null) return "–";
  if (change === "same" || change === "new") return CHANGE_WORDS[change] || "–";
  const was = before === null ? "" : `, was ${VERDICT_WORDS[before].toLowerCase()}`;
  return <span class={`status ${change === "better" ? "ready" : "failed"}`}>{CHANGE_WORDS[change] + was}</span>;
}
