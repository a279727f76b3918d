import type { Verdict } from "../platform/db/columns.ts";

/** A case, as far as it has run. */
export interface Measured {
  question: string;
  previous: readonly string[];
  verdict: Verdict | null;
  confidence: number | null;
  sourceFound: boolean | null;
}

const BUCKETS = 5;

/** How good the answers of an evaluation are, of the cases that have run. A figure of no case is null. */
export function metricsOf(cases: readonly Measured[]) {
  const judged = cases.filter(({ verdict }) => verdict !== null && verdict !== "failed");
  const looked = cases.filter(({ sourceFound }) => sourceFound !== null);
  // Whether what was said is right: a hand-off says nothing.
  const said = judged.filter(({ verdict, confidence }) => confidence !== null && verdict !== "refused");
  return {
    accuracy: shareOf(judged, ({ verdict }) => verdict === "right"),
    recall: shareOf(looked, ({ sourceFound }) => sourceFound === true),
    recall_cases: looked.length,
    brier: said.length === 0 ? null : average(said.map((one) => (one.confidence! - rightness(one)) ** 2)),
    calibration: Array.from({ length: BUCKETS }, (_, at) => bucketOf(said, at)),
  };
}

function bucketOf(said: readonly Measured[], at: number) {
  const own = said.filter(({ confidence }) => Math.min(BUCKETS - 1, Math.floor(confidence! * BUCKETS)) === at);
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

/** A refusal leaves the question to a human; a wrong answer misleads. */
const RANKS: Record<Verdict, number | null> = { wrong: 0, refused: 1, right: 2, failed: null };

/** What became of a case since an earlier run: `new` where that did not have it; null where one of both has no verdict. */
export type Difference = "better" | "worse" | "same" | "new";

/** Compares a case with those of an earlier run, by its question and those before it. */
export function comparer(earlier: readonly Measured[]): (one: Measured) => { before: Verdict | null; change: Difference | null } {
  const byKey = new Map(earlier.map((one) => [keyOf(one), one]));
  return (one) => {
    const match = byKey.get(keyOf(one));
    if (!match) return { before: null, change: "new" };
    const before = match.verdict;
    const [was, is] = [before && RANKS[before], one.verdict && RANKS[one.verdict]];
    if (was === null || is === null) return { before, change: null };
    return { before, change: is === was ? "same" : is > was ? "better" : "worse" };
  };
}

function keyOf({ question, previous }: Measured): string {
  return JSON.stringify([...previous, question]);
}
