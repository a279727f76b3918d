import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { concerns } from "../live.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { formatPercent } from "../ui/format.tsx";
import { Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { CaseResult, VerdictTag } from "./case-result.tsx";
import { identityOf, nameOf, type RunCase, runPath, type SourceName } from "./cases.ts";
import { brierText, CaseHeading, OtherRun, RunAgain, runWords, useSourceName } from "./evaluation-page.tsx";
import { EvaluationProgress, EvaluationStatus } from "./evaluations.tsx";

type Result = Schemas["EvaluationResult"];

/** A case in two runs; undefined in a run that does not have it. */
interface Pair {
  before: RunCase | undefined;
  now: RunCase | undefined;
}

/** How a case differs between two runs. */
type Difference = "fails" | "passes" | "other" | "waiting" | "same" | "added" | "missing";

interface Props {
  agentId: string;
  id: string;
  /** The run that it is compared with. */
  earlierId: string;
}

/** Two runs side by side: what passes in one of them only, the figures, and each case's conversations. */
export function Comparison({ agentId, id, earlierId }: Props) {
  const sourceName = useSourceName(agentId);
  const query = useQuery(
    `${id} ${earlierId}`,
    async (signal) => {
      const read = (evaluationId: string) => api.getEvaluation({ agent_id: agentId, evaluation_id: evaluationId }, { signal });
      const [before, now] = await Promise.all([read(earlierId), read(id)]);
      return { before, now };
    },
    concerns("evaluation", id, earlierId),
  );
  return (
    <section class="stack" aria-label="Comparison">
      <p>
        <Link href="/evaluations">All evaluations</Link>
      </p>
      <Loaded query={query}>
        {({ before, now }) => {
          const groups = Map.groupBy(pairsOf(before, now), differenceOf);
          const group = (of: Difference, title: string, isOpen = false) => (
            <Group key={of} title={title} pairs={groups.get(of) ?? []} isOpen={isOpen} sourceName={sourceName} />
          );
          const isUnchanged = (["fails", "passes", "other"] as const).every((of) => !groups.has(of));
          return (
            <>
              <h2>What changed in “{nameOf(now)}”</h2>
              <div class="columns">
                <Run name="Before" run={before} />
                <Run name="Now" run={now} />
              </div>
              <div class="actions">
                <OtherRun agentId={agentId} id={id} otherId={earlierId} />
                {hasScope("knowledge:write") && <RunAgain key={now.id} result={now} />}
              </div>
              {isUnchanged && <p class="banner">{groups.has("waiting") ? "Nothing has changed so far." : "Nothing has changed."}</p>}
              {group("fails", "Passed before, does not pass now", true)}
              {group("passes", "Passes now, did not pass before", true)}
              {group("other", "Another result, and still not right")}
              <Figures before={before} now={now} />
              {group("waiting", "Not run in both yet")}
              {group("same", "The same result")}
              {group("added", "Only in the run of now")}
              {group("missing", "Only in the run of before")}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function pairsOf(before: Result, now: Result): Pair[] {
  const earlier = Map.groupBy(before.cases, identityOf);
  const pairs = now.cases.map((one): Pair => ({ before: earlier.get(identityOf(one))?.shift(), now: one }));
  return [...pairs, ...[...earlier.values()].flat().map((one): Pair => ({ before: one, now: undefined }))];
}

function differenceOf({ before, now }: Pair): Difference {
  if (!now) return "missing";
  if (!before) return "added";
  if (before.verdict === null || now.verdict === null) return "waiting";
  if (before.verdict === now.verdict) return "same";
  return now.verdict === "right" ? "passes" : before.verdict === "right" ? "fails" : "other";
}

/** One of the two runs. */
function Run({ name, run }: { name: string; run: Result }) {
  return (
    <section class="card" aria-label={name}>
      <div class="card-top">
        <h3>{name}</h3>
        <EvaluationStatus evaluation={run} />
      </div>
      <p>
        <Link href={runPath(run)}>{nameOf(run)}</Link>
        <span class="quiet">, {runWords(run)}</span>
      </p>
      <EvaluationProgress evaluation={run} />
    </section>
  );
}

interface GroupProps {
  title: string;
  pairs: readonly Pair[];
  /** Whether its first case is open. */
  isOpen: boolean;
  sourceName: SourceName;
}

function Group({ title, pairs, isOpen, sourceName }: GroupProps) {
  if (pairs.length === 0) return null;
  return (
    <section class="stack" aria-label={title}>
      <h3>
        {title} ({pairs.length})
      </h3>
      <ul class="stack">
        {pairs.map((pair, at) => (
          <li key={identityOf((pair.now ?? pair.before)!)} class="card">
            <PairView pair={pair} isFirst={isOpen && at === 0} sourceName={sourceName} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A case in both runs. Its conversations are shown when it is opened. */
function PairView({ pair: { before, now }, isFirst, sourceName }: { pair: Pair; isFirst: boolean; sourceName: SourceName }) {
  const [isOpen, setOpen] = useState(isFirst);
  const side = (name: string, one: RunCase | undefined) => (
    <section class="side" aria-label={name}>
      <h4 class="figure-name">{name}</h4>
      {one ? <CaseResult one={one} sourceName={sourceName} /> : <p class="quiet">This run does not have the case.</p>}
    </section>
  );
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <CaseHeading one={(now ?? before)!}>
          {before && <VerdictTag verdict={before.verdict} />}
          {before && now && (
            <>
              <span aria-hidden="true">→</span>
              <span class="sr-only">then</span>
            </>
          )}
          {now && <VerdictTag verdict={now.verdict} />}
        </CaseHeading>
      </summary>
      {isOpen && (
        <div class="columns">
          {side("Before", before)}
          {side("Now", now)}
        </div>
      )}
    </details>
  );
}

/** The compared figures of a run: their names, and how they are shown. */
const FIGURES: readonly [name: string, valueOf: (of: Result) => string][] = [
  ["Share that is right", ({ metrics }) => formatPercent(metrics.accuracy)],
  ["Right", (run) => String(run.right_count)],
  ["Wrong", (run) => String(run.wrong_count)],
  ["Refused", (run) => String(run.refused_count)],
  ["Failed", (run) => String(run.failed_count)],
  ["Source found", ({ metrics }) => formatPercent(metrics.recall)],
  ["Confidence error (Brier score)", ({ metrics }) => brierText(metrics)],
];

function Figures({ before, now }: { before: Result; now: Result }) {
  const cellOf =
    (run: Result) =>
    ([, valueOf]: (typeof FIGURES)[number]) =>
      valueOf(run);
  return (
    <Table
      label="Figures"
      rows={FIGURES}
      keyOf={([name]) => name}
      columns={[
        ["Figure", ([name]) => name, "heading"],
        ["Before", cellOf(before), "number"],
        ["Now", cellOf(now), "number"],
      ]}
    />
  );
}
