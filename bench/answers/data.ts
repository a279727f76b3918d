import { readFile } from "node:fs/promises";

/** A passage of a support documentation. */
export interface SupportPassage {
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
