import { mean } from "../measure.ts";
import { randomNumbers } from "../random.ts";

/** How many of the first results count. */
const DEPTH = 5;
const BINS = 10;

/** Returns the normalised discounted cumulative gain of the first five results. */
export function ndcg(found: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = (rank: number): number => 1 / Math.log2(rank + 2);
  const got = found.slice(0, DEPTH).reduce((sum, id, rank) => sum + (relevant.has(id) ? gain(rank) : 0), 0);
  let most = 0;
  for (let rank = 0; rank < Math.min(DEPTH, relevant.size); rank++) most += gain(rank);
  return got / most;
}

/** Returns the chance that one of the positives scores higher than one of the negatives. */
export function auroc(positives: readonly number[], negatives: readonly number[]): number {
  let above = 0;
  for (const positive of positives) for (const negative of negatives) above += positive > negative ? 1 : positive === negative ? 0.5 : 0;
  return above / (positives.length * negatives.length);
}

/** Returns the share of negatives below the threshold that lets this share of the positives through. */
export function refusedAt(share: number, positives: readonly number[], negatives: readonly number[]): number {
  const threshold = positives.toSorted((a, b) => b - a)[Math.ceil(positives.length * share) - 1]!;
  return mean(negatives.map((negative) => Number(negative < threshold)));
}

/** Returns the expected calibration error over ten bins of equal width. */
export function calibrationError(answers: readonly { confidence: number; isRight: boolean }[]): number {
  const bins = Map.groupBy(answers, ({ confidence }) => Math.min(BINS - 1, Math.floor(confidence * BINS)));
  const errors = [...bins.values()].map((bin) => {
    const off = mean(bin.map(({ confidence }) => confidence)) - mean(bin.map(({ isRight }) => Number(isRight)));
    return (Math.abs(off) * bin.length) / answers.length;
  });
  return errors.reduce((sum, error) => sum + error, 0);
}

const RESAMPLES = 1_000;
const INTERVAL = 0.95;

/**
 * Whether a figure differs between two runs of the same items by more than the choice of items does: the paired bootstrap
 * (Efron and Tibshirani 1993, An Introduction to the Bootstrap; Koehn 2004 for systems that answer the same questions).
 * The items are drawn anew, each with its results in both runs, and 0 lies outside the interval of the differences.
 */
export function isBeyondNoise<Item>(pairs: readonly (readonly [Item, Item])[], figure: (items: Item[]) => number | undefined): boolean {
  const random = randomNumbers(1);
  const differences: number[] = [];
  for (let sample = 0; sample < RESAMPLES; sample++) {
    const drawn = pairs.map(() => pairs[Math.floor(random() * pairs.length)]!);
    const [before, now] = [figure(drawn.map(([item]) => item)), figure(drawn.map(([, item]) => item))];
    if (before !== undefined && now !== undefined) differences.push(now - before);
  }
  differences.sort((a, b) => a - b);
  const tail = Math.floor(((1 - INTERVAL) / 2) * differences.length);
  return differences.length > 0 && (differences[tail]! > 0 || differences[differences.length - 1 - tail]! < 0);
}
