import { mean, percentile } from "../measure.ts";
import type { Table } from "../report.ts";

/** A value at a time of the run, in hours. */
export interface Point {
  hour: number;
  value: number;
}

/** How a series must develop: `flat`, at `zero`, or by design it may grow. */
export type Expectation = "flat" | "zero" | "grows";

export interface Series {
  name: string;
  expectation: Expectation;
  points: readonly Point[];
  /** A growth up to this is never a finding: small series vary by more than a share of their mean. */
  slack: number;
  /** Why it grows by design. */
  reason?: string;
  /** From which share of the run it is judged, if not from the end of the warm-up. */
  judgedFrom?: number;
}

/** The line that fits points best. */
export interface Line {
  /** Its value at the first point. */
  start: number;
  /** Its value at the last point. */
  end: number;
}

/** A series over the judged part of the run. */
export interface Judgement {
  series: Series;
  mean: number;
  /** By how much the fitted line rises from the first to the last judged point. */
  growth: number;
  /** A sentence that says what is wrong. */
  fault?: string;
}

/** The first third of a run fills the tables up to their retention. The rest is judged. */
const WARM_UP_SHARE = 1 / 3;
/** A series is flat if its line rises by less than this share of its mean. */
export const MAX_GROWTH_SHARE = 0.2;
/** Fewer points tell no growth from chance. */
const MIN_POINTS = 4;
/** The p99 of the last third may be so many times that of the first. A difference below the slack is chance. */
const MAX_P99_RATIO = 1.5;
const P99_SLACK_MS = 100;

/**
 * Fits a line by least squares.
 * @throws RangeError unless there are two points of different times.
 */
export function fitLine(points: readonly Point[]): Line {
  const [hours, values] = [points.map(({ hour }) => hour), points.map(({ value }) => value)];
  const [meanHour, meanValue] = [mean(hours), mean(values)];
  const spread = hours.reduce((sum, hour) => sum + (hour - meanHour) ** 2, 0);
  if (spread === 0) throw new RangeError("A line needs two points of different times.");
  const slope = points.reduce((sum, { hour, value }) => sum + (hour - meanHour) * (value - meanValue), 0) / spread;
  const at = (hour: number) => meanValue + slope * (hour - meanHour);
  return { start: at(Math.min(...hours)), end: at(Math.max(...hours)) };
}

/** Judges a series by its points after the warm-up of a run of so many hours. */
export function judge(series: Series, runHours: number): Judgement {
  const { name, expectation, slack, judgedFrom = WARM_UP_SHARE } = series;
  const points = series.points.filter(({ hour }) => hour >= runHours * judgedFrom);
  const values = points.map(({ value }) => value);
  if (points.length < MIN_POINTS) {
    return { series, mean: mean(values), growth: Number.NaN, fault: `${name} has ${points.length} points, which are too few to judge.` };
  }
  const { start, end } = fitLine(points);
  const [average, growth] = [mean(values), end - start];
  const judgement = { series, mean: average, growth };
  const isGrowing = growth > Math.max(slack, average * MAX_GROWTH_SHARE);
  if (expectation === "flat" && isGrowing) {
    return { ...judgement, fault: `${name} grows from ${round(start)} to ${round(end)}, though it should be flat.` };
  }
  const left = values.at(-1)!;
  if (expectation === "zero" && left > 0) return { ...judgement, fault: `${name} is ${left} at the end, though nothing should be left.` };
  return judgement;
}

/** Returns the names of the series that never change. */
export function unchangedNames(judgements: readonly Judgement[]): string[] {
  return judgements.filter(isUnchanged).map(({ series }) => series.name);
}

function isUnchanged({ series: { points }, fault }: Judgement): boolean {
  return fault === undefined && points.every(({ value }) => value === points[0]!.value);
}

/** Formats the judgements of the series that change as a table. */
export function growthTable(judgements: readonly Judgement[]): Table {
  const changing = judgements.filter((judgement) => !isUnchanged(judgement));
  return changing.map(({ series: { name, expectation, points, reason = "by design" }, mean: average, growth, fault }) => ({
    series: name,
    first: round(points[0]?.value ?? Number.NaN),
    last: round(points.at(-1)?.value ?? Number.NaN),
    "mean of the judged part": round(average),
    "growth of the fitted line": round(growth),
    expected: { flat: "flat", zero: "nothing left", grows: `grows: ${reason}` }[expectation],
    result: fault === undefined ? "as expected" : "**fault**",
  }));
}

/** Compares the p99 of the first and of the last third of a run. */
export function judgeLatency(points: readonly Point[], runHours: number): { first: number; last: number; fault?: string } {
  const p99 = (from: number, to: number) => {
    const values = points.filter(({ hour }) => hour >= from * runHours && hour <= to * runHours).map(({ value }) => value);
    return values.length === 0 ? Number.NaN : percentile(values, 0.99);
  };
  const [first, last] = [p99(0, 1 / 3), p99(2 / 3, 1)];
  if (!Number.isFinite(first) || !Number.isFinite(last)) return { first, last, fault: "The first or the last third has no requests." };
  if (last <= Math.max(first * MAX_P99_RATIO, first + P99_SLACK_MS)) return { first, last };
  return { first, last, fault: `The p99 rises from ${first.toFixed(0)} ms in the first third to ${last.toFixed(0)} ms in the last.` };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
