import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorText, UserError } from "../scripts/shared/cli.ts";
import { auroc, calibrationError, isAnswerable, readData, type SupportData, type SupportPassage, userTurns } from "./answers/metrics.ts";
import { forEach } from "./answers/service.ts";
import { buildWorker, startWorker } from "./service.ts";

/*
 * `npm run fit:confidence -- --data FILE`: fits what the signals of src/models/confidence.ts weigh, and writes it to
 * src/models/confidence-fit.ts with the figures reached. The questions of the file are put to all of its passages and to
 * parts of them, of several sizes, so that the fit holds for small knowledge too; in a part that lacks the relevant
 * passages a question cannot be answered. Right is an answer that cites a relevant passage. All figures are of tenfold
 * cross-validation by conversation: no question is judged by a fit that has seen it.
 */

const TARGET = "src/models/confidence-fit.ts";
const SIGNALS = ["passageScore", "margin", "matchedWeight", "coverageOfBest"] as const;
/** Passages of a part, as a share of all, and how many parts of that size are taken. */
const PARTS = [
  { share: 1, count: 1 },
  { share: 1 / 2, count: 2 },
  { share: 1 / 6, count: 4 },
  { share: 1 / 20, count: 10 },
];
const FOLDS = 10;
/** An agent's own threshold, unless another is set: what is judged lower is not answered. */
const ANSWERED_FROM = 0.5;

interface Observed extends Observation {
  taskId: string;
  share: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { data: { type: "string" } } });
  if (!values.data) throw new UserError("--data wants a file of passages and tasks.");
  const data = await readData(values.data);
  if (data.kind !== "support") throw new UserError("--data wants a file of passages and tasks.");
  const observed = await observe(data);
  const coefficients = fitLogistic(observed);
  const lines = figures(observed);
  await writeFile(TARGET, source(coefficients, data.name, lines));
  console.log(lines.join("\n"));
}

async function observe(data: SupportData): Promise<Observed[]> {
  const directory = await mkdtemp(join(tmpdir(), "fit-"));
  process.env["TMPDIR"] = directory;
  process.env["WRANGLER_LOG"] = "error";
  const served = await startWorker(await buildWorker("bench/workers/signals.toml", "signals.js", directory), {});
  try {
    const observed: Observed[] = [];
    for (const { share, count } of PARTS) {
      for (let part = 0; part < count; part++) observed.push(...(await observePart(served.port, data, share, `${share}-${part}`)));
    }
    return observed;
  } finally {
    await served.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function observePart(port: number, data: SupportData, share: number, name: string): Promise<Observed[]> {
  const url = `http://127.0.0.1:${port}/${name}`;
  const passages: SupportPassage[] = pick(data.passages, share, name);
  await fetch(url, { method: "PUT", body: JSON.stringify(passages) });
  const held = new Set(passages.map(({ id }) => id));
  const tasks = data.tasks.filter((task) => isAnswerable(task) !== undefined);
  const can = tasks.filter(({ relevant }) => relevant.some((id) => held.has(id)));
  const cannot = tasks.filter((task) => !can.includes(task));
  // As many that cannot be answered as among all: in a small part nearly all others are such, and would drown the rest.
  const ratio = tasks.filter((task) => !isAnswerable(task)).length / tasks.filter(isAnswerable).length;
  const asked = [...can, ...pick(cannot, (can.length * ratio) / cannot.length, name)];
  return forEach(asked, async (task) => {
    const response = await fetch(url, { method: "POST", body: JSON.stringify(userTurns(task)) });
    const { signals, cited } = (await response.json()) as { signals: Record<string, number>; cited: string[] };
    const isRight = cited.some((id) => task.relevant.includes(id));
    return { taskId: task.id, share, signals: SIGNALS.map((signal) => signals[signal]!), isRight };
  });
}

/** A part of some things that is the same in each run: those whose names hash lowest. */
function pick<Item extends { id: string }>(all: readonly Item[], share: number, salt: string): Item[] {
  const sorted = all.toSorted((a, b) => hash(salt + a.id) - hash(salt + b.id));
  return sorted.slice(0, Math.ceil(all.length * share));
}

function hash(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE();
}

function figures(observed: readonly Observed[]): string[] {
  const foldOf = ({ taskId }: Observed): number => hash(taskId) % FOLDS;
  const fits = Array.from({ length: FOLDS }, (_, fold) => fitLogistic(observed.filter((one) => foldOf(one) !== fold)));
  const judged = observed.map((one) => ({ ...one, confidence: probability(fits[foldOf(one)]!, one.signals) }));
  return PARTS.map(({ share }) => {
    const own = judged.filter((one) => one.share === share);
    const confidences = (isRight: boolean): number[] => own.filter((one) => one.isRight === isRight).map(({ confidence }) => confidence);
    const name = share === 1 ? "all passages" : `parts of 1/${Math.round(1 / share)}`;
    const separation = auroc(confidences(true), confidences(false)).toFixed(3);
    const answered = own.filter(({ confidence }) => confidence >= ANSWERED_FROM);
    const [ofAll, ofAnswered] = [own, answered].map((some) => calibrationError(some).toFixed(3));
    return `${name}: AUROC of right against wrong ${separation}, calibration error ${ofAll}, of what is answered ${ofAnswered}, ${own.length} questions`;
  });
}

function source([intercept, ...slopes]: Coefficients, name: string, lines: readonly string[]): string {
  const entries = SIGNALS.map((signal, at) => `${signal}: ${Number(slopes[at]!.toFixed(2))}`).join(", ");
  return `/*
 * Written by \`npm run fit:confidence\` on ${name}. Figures of tenfold cross-validation by conversation:
${lines.map((line) => ` * ${line}`).join("\n")}
 */

export const INTERCEPT = ${Number(intercept!.toFixed(2))};
export const COEFFICIENTS = { ${entries} };
`;
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});

/** One observation: what was seen, and whether it turned out well. */
export interface Observation {
  signals: readonly number[];
  isRight: boolean;
}

/** The intercept, then a coefficient for each signal. */
export type Coefficients = readonly number[];

/** Newton's method has long converged by then. */
const STEPS = 30;
/** A mild ridge on standardised signals: with a few hundred observations none is worth a steep slope. */
const RIDGE = 1;

export function probability([intercept = 0, ...slopes]: Coefficients, signals: readonly number[]): number {
  return 1 / (1 + Math.exp(-slopes.reduce((sum, slope, at) => sum + slope * signals[at]!, intercept)));
}

/** Logistic regression with a ridge, by Newton's method. */
export function fitLogistic(observations: readonly Observation[]): Coefficients {
  const width = observations[0]!.signals.length;
  const columns = Array.from({ length: width }, (_, at) => observations.map(({ signals }) => signals[at]!));
  const means = columns.map((column) => column.reduce((sum, value) => sum + value, 0) / column.length);
  const deviations = columns.map((column, at) =>
    Math.sqrt(column.reduce((sum, value) => sum + (value - means[at]!) ** 2, 0) / column.length),
  );
  const rows = observations.map(({ signals }) => [1, ...signals.map((value, at) => (value - means[at]!) / deviations[at]!)]);
  const weights = Array.from({ length: width + 1 }, () => 0);
  for (let step = 0; step < STEPS; step++) newtonStep(rows, observations, weights);
  const slopes = weights.slice(1).map((weight, at) => weight / deviations[at]!);
  return [slopes.reduce((intercept, slope, at) => intercept - slope * means[at]!, weights[0]!), ...slopes];
}

function newtonStep(rows: readonly number[][], observations: readonly Observation[], weights: number[]): void {
  const gradient = weights.map((weight, at) => (at === 0 ? 0 : -RIDGE * weight));
  const curvature = weights.map((_, i) => weights.map((_, j) => (i === j && i > 0 ? RIDGE : 0)));
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
