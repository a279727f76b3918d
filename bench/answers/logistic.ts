/** One observation: what was seen, and whether it turned out well. */
export interface Observation {
  signals: readonly number[];
  isRight: boolean;
}

/** The intercept, then a coefficient for each signal. */
export type Coefficients = readonly number[];

/** Newton's method has long converged by then. */
const STEPS = 30;
export function probability([intercept = 0, ...slopes]: Coefficients, signals: readonly number[]): number {
  return 1 / (1 + Math.exp(-slopes.reduce((sum, slope, at) => sum + slope * signals[at]!, intercept)));
}

/**
 * Logistic regression by Newton's method.
 * @param ridge on standardised signals: with a few hundred observations none is worth a steep slope.
 */
export function fitLogistic(observations: readonly Observation[], ridge: number): Coefficients {
  const width = observations[0]!.signals.length;
  const columns = Array.from({ length: width }, (_, at) => observations.map(({ signals }) => signals[at]!));
  const means = columns.map((column) => column.reduce((sum, value) => sum + value, 0) / column.length);
  const deviations = columns.map(
    (column, at) => Math.sqrt(column.reduce((sum, value) => sum + (value - means[at]!) ** 2, 0) / column.length) || 1,
  );
  const rows = observations.map(({ signals }) => [1, ...signals.map((value, at) => (value - means[at]!) / deviations[at]!)]);
  const weights = Array.from({ length: width + 1 }, () => 0);
  for (let step = 0; step < STEPS; step++) newtonStep(rows, observations, weights, ridge);
  const slopes = weights.slice(1).map((weight, at) => weight / deviations[at]!);
  return [slopes.reduce((intercept, slope, at) => intercept - slope * means[at]!, weights[0]!), ...slopes];
}

function newtonStep(rows: readonly number[][], observations: readonly Observation[], weights: number[], ridge: number): void {
  const gradient = weights.map((weight, at) => (at === 0 ? 0 : -ridge * weight));
  const curvature = weights.map((_, i) => weights.map((_, j) => (i === j && i > 0 ? ridge : 0)));
  for (const [at, row] of rows.entries()) {
    const expected = 1 / (1 + Math.exp(-row.reduce((sum, value, column) => sum + value * weights[column]!, 0)));
    const error = Number(observations[at]!.isRight) - expected;
    for (const [i, value] of row.entries()) {
      gradient[i]! += value * error;
      for (const [j, other] of row.entries()) curvature[i]![j]! += value * other * expected * (1 - expected);
    }
  }
  for (const [at, change] of solve(curvature, gradient).entries()) weights[at]! += change;
}

/** Gaussian elimination; the matrix is positive definite, so that no pivot is nought. */
function solve(matrix: number[][], vector: number[]): number[] {
  for (let pivot = 0; pivot < vector.length; pivot++) {
    for (let row = pivot + 1; row < vector.length; row++) {
      const factor = matrix[row]![pivot]! / matrix[pivot]![pivot]!;
      for (let column = pivot; column < vector.length; column++) matrix[row]![column]! -= factor * matrix[pivot]![column]!;
      vector[row]! -= factor * vector[pivot]!;
    }
  }
  for (let row = vector.length - 1; row >= 0; row--) {
    for (let column = row + 1; column < vector.length; column++) vector[row]! -= matrix[row]![column]! * vector[column]!;
    vector[row]! /= matrix[row]![row]!;
  }
  return vector;
}
