/** One observation: what was seen, and whether it turned out well. */
export interface Observation {
  signals: readonly number[];
  isRight: boolean;
  /** How many observations it counts for. */
  count: number;
}

/** The intercept, then a coefficient for each signal. */
export type Coefficients = readonly number[];

/** The sign that a coefficient may have; "any" where nothing is known of it. */
export type Sign = "positive" | "negative" | "any";

/** The descent has long converged by then. */
const SWEEPS = 300;

export function probability([intercept = 0, ...slopes]: Coefficients, signals: readonly number[]): number {
  return 1 / (1 + Math.exp(-slopes.reduce((sum, slope, at) => sum + slope * signals[at]!, intercept)));
}

/**
 * Logistic regression by coordinate descent (Friedman, Hastie and Tibshirani 2010). A coefficient whose sign is known is
 * kept to it: of signals that say nearly the same, an unconstrained fit makes one the negative of another.
 * @param ridge on standardised signals: with a few hundred observations none is worth a steep slope.
 */
export function fitLogistic(observations: readonly Observation[], signs: readonly Sign[], ridge: number): Coefficients {
  const columns = signs.map((_, at) => standardised(observations.map(({ signals }) => signals[at]!)));
  const all = [{ values: observations.map(() => 1), mean: 0, deviation: 1 }, ...columns];
  const weights = all.map(() => 0);
  const scores = observations.map(() => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const [at, { values }] of all.entries()) {
      const penalty = at === 0 ? 0 : ridge;
      let gradient = -penalty * weights[at]!;
      let curvature = penalty;
      for (const [row, { isRight, count }] of observations.entries()) {
        const expected = 1 / (1 + Math.exp(-scores[row]!));
        gradient += count * values[row]! * (Number(isRight) - expected);
        curvature += count * values[row]! ** 2 * expected * (1 - expected);
      }
      const next = withSign(weights[at]! + gradient / curvature, at === 0 ? "any" : signs[at - 1]!);
      for (const row of scores.keys()) scores[row]! += (next - weights[at]!) * values[row]!;
      weights[at] = next;
    }
  }
  const slopes = weights.slice(1).map((weight, at) => weight / columns[at]!.deviation);
  return [slopes.reduce((intercept, slope, at) => intercept - slope * columns[at]!.mean, weights[0]!), ...slopes];
}

function withSign(value: number, sign: Sign): number {
  if (sign === "positive") return Math.max(0, value);
  return sign === "negative" ? Math.min(0, value) : value;
}

function standardised(values: readonly number[]): { values: number[]; mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length) || 1;
  return { values: values.map((value) => (value - mean) / deviation), mean, deviation };
}
