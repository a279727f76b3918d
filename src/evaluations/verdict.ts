import type { Expectation, HandoffReason, Verdict } from "../platform/db/columns.ts";

/** What an agent said to a case. */
export interface Outcome {
  answer: string;
  handoffReason: HandoffReason | null;
  /** The sources and curated answers that it cites. */
  cited: readonly string[];
}

/** What became of a case. */
export function verdictOf({ source_id: sourceId, answer_contains: contained, refusal }: Expectation, outcome: Outcome): Verdict {
  const { answer, handoffReason, cited } = outcome;
  if (handoffReason === "model_failure") return "failed";
  if (refusal === true) return handoffReason === null ? "wrong" : "right";
  if (handoffReason !== null) return "refused";
  const isCited = sourceId === undefined || cited.includes(sourceId);
  const isSaid = contained === undefined || plain(answer).includes(plain(contained));
  return isCited && isSaid ? "right" : "wrong";
}

/** Texts that differ in case and white space alone say the same. */
function plain(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim();
}
