import type { CaseExpectation, Verdict } from "../platform/db/columns.ts";

/** A case and its result. The verdict is null until the case has run. */
export interface Measured {
  question: string;
  previous: readonly string[];
  expect?: CaseExpectation;
  verdict: Verdict | null;
  confidence: number | null;
  sourceFound: boolean | null;
  /** How the answer came about, with the decision to answer or to hand off. */
  trace: object;
}

const BUCKETS = 5;

/** Measures the cases that have run. A figure is null if no case counts toward it. */
export function metricsOf(cases: readonly Measured[]) {
  const judged = cases.filter(({ verdict }) => verdict !== null && verdict !== "failed");
  const searched = cases.filter(({ sourceFound }) => sourceFound !== null);
  const answered = judged.filter((one) => one.confidence !== null && isAnswered(one));
  return {
    accuracy: shareOf(judged, ({ verdict }) => verdict === "right"),
    recall: shareOf(searched, ({ sourceFound }) => sourceFound === true),
    recall_cases: searched.length,
    brier: answered.length === 0 ? null : average(answered.map((one) => (one.confidence! - rightness(one)) ** 2)),
    calibration: Array.from({ length: BUCKETS }, (_, at) => bucketOf(answered, at)),
  };
}

/** Whether the agent answered. A hand-off gives no answer that the confidence could be compared with. */
function isAnswered({ trace }: Measured): boolean {
  const { decision } = trace as { decision?: { outcome: "answered" | "handed_off" } };
  return decision?.outcome === "answered";
}

function bucketOf(answered: readonly Measured[], at: number) {
  const own = answered.filter(({ confidence }) => Math.min(BUCKETS - 1, Math.floor(confidence! * BUCKETS)) === at);
  const confidence = own.length === 0 ? null : average(own.map((one) => one.confidence!));
  return {
    from: at / BUCKETS,
    to: (at + 1) / BUCKETS,
    cases: own.length,
    confidence,
    right: shareOf(own, ({ verdict }) => verdict === "right"),
  };
}

function rightness({ verdict }: Measured): number {
  return verdict === "right" ? 1 : 0;
}

function shareOf(cases: readonly Measured[], holds: (one: Measured) => boolean): number | null {
  return cases.length === 0 ? null : cases.filter(holds).length / cases.length;
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A refusal ranks above a wrong answer: it leaves the question to a human, where a wrong answer misleads. */
const RANKS: Record<Verdict, number | null> = { wrong: 0, refused: 1, right: 2, failed: null };

/** How a case differs from the earlier run: `new` if that run did not have it, null if it has no verdict in one of them. */
type Difference = "better" | "worse" | "same" | "new";

/** Returns a function that compares a case with the same case of an earlier run. Each case of that run is compared once, in their order. */
export function comparer(earlier: readonly Measured[]): (one: Measured) => { before: Verdict | null; change: Difference | null } {
  const byKey = Map.groupBy(earlier, keyOf);
  return (one) => {
    const match = byKey.get(keyOf(one))?.shift();
    if (!match) return { before: null, change: "new" };
    const before = match.verdict;
    const [was, is] = [before && RANKS[before], one.verdict && RANKS[one.verdict]];
    if (was === null || is === null) return { before, change: null };
    return { before, change: is === was ? "same" : is > was ? "better" : "worse" };
  };
}

/** Two cases are the same if they ask the same question after the same ones and, with several turns, in the same setting. */
function keyOf({ question, previous, expect }: Measured): string {
  return JSON.stringify([...previous, question, expect?.rehearsal?.setting ?? null]);
}
