import { readFile } from "node:fs/promises";

/** A passage of a support documentation. */
interface SupportPassage {
  id: string;
  text: string;
}

/** A conversation whose last turn is the question. */
export interface SupportTask {
  id: string;
  turns: { role: "user" | "assistant"; text: string }[];
  answerability: "answerable" | "partial" | "underspecified" | "unanswerable";
  /** Ids of the passages that answer it. */
  relevant: string[];
}

export interface SupportData {
  kind: "support";
  name: string;
  passages: SupportPassage[];
  tasks: SupportTask[];
}

export interface CuratedData {
  kind: "curated";
  name: string;
  answers: { intent: string; questions: string[] }[];
  /** `intent` is null where no answer fits. */
  queries: { text: string; intent: string | null }[];
}

/** Reads a file of measuring data, and tells by its content of which kind it is. */
export async function readData(file: string): Promise<SupportData | CuratedData> {
  const data = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  if (Array.isArray(data["passages"]) && Array.isArray(data["tasks"])) return { ...(data as unknown as SupportData), kind: "support" };
  if (Array.isArray(data["answers"]) && Array.isArray(data["queries"])) return { ...(data as unknown as CuratedData), kind: "curated" };
  throw new Error(`${file} holds neither passages and tasks nor answers and queries.`);
}

/** The user's turns, oldest first; the last one is the question. */
export function userTurns(task: SupportTask): string[] {
  return task.turns.filter(({ role }) => role === "user").map(({ text }) => text.trim());
}

/** Whether the passages answer the task, wholly or in part. One that first needs a question back is neither. */
export function isAnswerable({ answerability }: SupportTask): boolean | undefined {
  if (answerability === "underspecified") return undefined;
  return answerability !== "unanswerable";
}

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
