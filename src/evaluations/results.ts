import { truncate, utf8Length } from "../platform/text.ts";
import type { EvaluationCheck, MultiTurnResult } from "./case-wire.ts";
import type { Check } from "./expectations.ts";
import { callText, type CaseTurn } from "./transcript.ts";

/** The characters of an answer that a result keeps. */
export const KEPT_ANSWER_LENGTH = 1_000;
/** The largest result of a case of several turns, unless it has too many turns and checks. Up to 500 results are read at once. */
const MAX_RESULT_BYTES = 8 * 1_024;
/** The lengths to which the texts of a result are cut, until it is small enough. */
const LENGTHS = [KEPT_ANSWER_LENGTH, 500, 250, 120, 60];
const MAX_CHECK_TEXT_LENGTH = 200;

/** A check of a turn, counted from 0; null for one of the whole case. */
export type PlacedCheck = Check & { turn: number | null };

/** Returns the result of a case of several turns as it is stored, with its texts cut. */
export function boundedResult(
  end: MultiTurnResult["end"],
  turns: readonly CaseTurn[],
  checks: readonly PlacedCheck[],
): MultiTurnResult & { checks: EvaluationCheck[] } {
  const results = LENGTHS.map((length) => ({
    end,
    transcript: turns.map(({ visitor, answer, confidence, handoffReason, calls }) => ({
      visitor: truncate(visitor, length),
      answer: truncate(answer, length),
      confidence,
      handoff_reason: handoffReason,
      tool_calls: calls.map((call) => truncate(callText(call), length)),
    })),
    checks: checks.map((check) => cutCheck(check, Math.min(length, MAX_CHECK_TEXT_LENGTH))),
  }));
  return results.find((result) => utf8Length(JSON.stringify(result)) <= MAX_RESULT_BYTES) ?? results.at(-1)!;
}

/** Returns the checks of a case with one question as they are stored, with their texts cut. */
export function boundedChecks(checks: readonly Check[]): EvaluationCheck[] {
  return checks.map((check) => cutCheck({ ...check, turn: null }, MAX_CHECK_TEXT_LENGTH));
}

function cutCheck({ turn, kind, expected, holds, reason }: PlacedCheck, length: number): EvaluationCheck {
  return { turn, kind, expected: truncate(expected, length), holds, reason: reason === null ? null : truncate(reason, length) };
}
