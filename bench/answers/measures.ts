/** How deep a list of results is looked at. */
const DEPTH = 5;
const BINS = 10;

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Normalised discounted cumulative gain of the first five. */
export function ndcg(found: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = (rank: number): number => 1 / Math.log2(rank + 2);
  const got = found.slice(0, DEPTH).reduce((sum, id, rank) => sum + (relevant.has(id) ? gain(rank) : 0), 0);
  let most = 0;
  for (let rank = 0; rank < Math.min(DEPTH, relevant.size); rank++) most += gain(rank);
  return got / most;
}

export function reciprocalRank(found: readonly string[], relevant: ReadonlySet<string>): number {
  const rank = found.findIndex((id) => relevant.has(id));
  return rank < 0 ? 0 : 1 / (rank + 1);
}

/** The share of all that is relevant that stands among the first five. */
export function recall(found: readonly string[], relevant: ReadonlySet<string>): number {
  return found.slice(0, DEPTH).filter((id) => relevant.has(id)).length / relevant.size;
}

/** The chance that one of the positives scores higher than one of the negatives. */
export function auroc(positives: readonly number[], negatives: readonly number[]): number {
  let above = 0;
  for (const positive of positives) for (const negative of negatives) above += positive > negative ? 1 : positive === negative ? 0.5 : 0;
  return above / (positives.length * negatives.length);
}

/** The share of negatives below the threshold that lets this share of the positives through. */
export function refusedAt(share: number, positives: readonly number[], negatives: readonly number[]): number {
  const threshold = positives.toSorted((a, b) => b - a)[Math.ceil(positives.length * share) - 1]!;
  return mean(negatives.map((negative) => Number(negative < threshold)));
}

/** Expected calibration error over ten bins of equal width. */
export function calibrationError(answers: readonly { confidence: number; isRight: boolean }[]): number {
  const bins = Map.groupBy(answers, ({ confidence }) => Math.min(BINS - 1, Math.floor(confidence * BINS)));
  const errors = [...bins.values()].map((bin) => {
    const off = mean(bin.map(({ confidence }) => confidence)) - mean(bin.map(({ isRight }) => Number(isRight)));
    return (Math.abs(off) * bin.length) / answers.length;
  });
  return errors.reduce((sum, error) => sum + error, 0);
}
