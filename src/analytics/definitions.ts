import { DAY_MS } from "../platform/time.ts";
import type { Counters, Sums } from "./store.ts";

/*
 * The definitions of the figures in the analytics overview. Triggers count them by UTC day, for each agent and for the whole
 * workspace; a test recounts them from the records.
 *
 * A range is `days` whole UTC days that end with today; `previous` is the same number of days before it. Everything counts on
 * exactly one day, so the sum of the days is exact. The playground does not count, because the team tries its agents there.
 *
 * | counted on the day it happens | definition                                                                           |
 * | ----------------------------- | ------------------------------------------------------------------------------------ |
 * | messages                      | messages of every role                                                               |
 * | ai_replies                    | messages of the agent, one for each question: answers and hand-off messages          |
 * | human_replies                 | messages of the team                                                                 |
 * | leads, handoffs               | leads by `created_at`, hand-offs by `requested_at`                                   |
 * | unanswered                    | hand-offs with the reason `missing_knowledge`                                        |
 * | team reply                    | time from a hand-off to the team's first reply while it is open; counted on the day  |
 * |                               | of the hand-off                                                                      |
 * | feedback                      | ratings of answers, on the day of an author's first rating of the answer             |
 * | AI resolutions                | resolutions after a reply of the agent, with no earlier hand-off or human reply      |
 *
 * | counted on the day the conversation started | definition                                                             |
 * | ------------------------------------------- | ---------------------------------------------------------------------- |
 * | with the agent                              | the agent wrote at least once                                          |
 * | handed off                                  | it had at least one hand-off                                           |
 * | AI-resolved                                 | it had at least one AI resolution                                      |
 * | resolved, reopened                          | at least once, by anyone                                               |
 * | csat                                        | its present score                                                      |
 * | first response                              | time from its start to the first message of the agent or the team;     |
 * |                                             | conversations that the team started do not count                       |
 * | resolution                                  | time from its start to its first resolution                            |
 *
 * | rate                  | formula                                                                                      |
 * | --------------------- | -------------------------------------------------------------------------------------------- |
 * | ai_resolution         | AI-resolved ÷ with the agent                                                                 |
 * | durable_resolution_7d | AI resolutions not reopened within 7 days ÷ AI resolutions, of days more than 7 days ago     |
 * | handoff               | handed off ÷ conversations                                                                   |
 * | reopen                | reopened ÷ resolved                                                                          |
 * | unanswered            | unanswered ÷ ai_replies                                                                      |
 *
 * The figures of an agent's versions are totals without days. A conversation with the agent counts for the version with which it started,
 * an answer and its rating for the version that wrote the answer.
 *
 * A rate is null if its divisor is 0. Erasing records does not change past figures, which hold no personal data. The unanswered
 * questions are those of hand-offs with the reason `missing_knowledge` or `low_confidence`; a question is deleted with its
 * last hand-off. `by_status` counts all conversations by their present status, whatever the range.
 */

/** The first and the last day of a range, as days since 1970-01-01. */
export interface DayRange {
  fromDay: number;
  toDay: number;
}

/** Returns the range of `days` days that ends with the day of `nowMs`, and the range before it. */
export function rangesOf(days: number, nowMs: number): { current: DayRange; previous: DayRange } {
  const toDay = Math.floor(nowMs / DAY_MS);
  const fromDay = toDay - days + 1;
  return { current: { fromDay, toDay }, previous: { fromDay: fromDay - days, toDay: fromDay - 1 } };
}

/** The days of a span in `analytics_spans`, as in the triggers. */
export const SPAN_DAYS = 16;

/**
 * Returns the days of a range that whole spans cover. The last span never includes today, whose figures still change. If no span fits,
 * `toDay` is before `fromDay`.
 */
export function spannedDays({ fromDay, toDay }: DayRange): DayRange {
  const start = Math.ceil(fromDay / SPAN_DAYS) * SPAN_DAYS;
  return { fromDay: start, toDay: Math.max(Math.floor(toDay / SPAN_DAYS) * SPAN_DAYS, start) - 1 };
}

/** Returns the first day of each span in a range that whole spans cover. */
export function spansIn({ fromDay, toDay }: DayRange): number[] {
  return Array.from({ length: (toDay - fromDay + 1) / SPAN_DAYS }, (_, at) => fromDay + at * SPAN_DAYS);
}

/** How long a conversation must stay resolved for its resolution to be durable. */
const DURABLE_DAYS = 7;

/** Returns the last day whose resolutions are all old enough to be durable. */
export function lastDurableDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) - DURABLE_DAYS - 1;
}

/** Returns the rates of a range. */
export function ratesOf(sums: Sums) {
  return {
    ai_resolution: ratio(sums.aiResolved, sums.withAgent),
    durable_resolution_7d: ratio(sums.maturedResolutions - sums.maturedReopened, sums.maturedResolutions),
    handoff: ratio(sums.handedOff, sums.conversations),
    reopen: ratio(sums.reopened, sums.resolved),
    unanswered: ratio(sums.unanswered, sums.aiReplies),
  };
}

/** Returns a quotient rounded to four decimals; null if the divisor is 0. */
export function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
}

/** Histogram buckets per factor of e, as in the triggers. The middle of a bucket is off by at most a factor of e^(1/22). */
const BUCKETS_PER_E = 11;

/** Enough buckets for every number: a duration of 2^53 ms is in bucket 404. */
const MAX_BUCKETS = 512;

/**
 * Returns the median of durations, accurate to 4.7 % and half a millisecond. If two values are in the middle, it is the lower one.
 * @param histograms how many durations in milliseconds are in each bucket.
 * @returns the median in seconds; null if there are no durations.
 */
export function medianSeconds(histograms: readonly Record<string, number>[]): number | null {
  const counts = new Float64Array(MAX_BUCKETS);
  for (const histogram of histograms) for (const bucket in histogram) counts[Number(bucket)]! += histogram[bucket]!;
  let left = Math.ceil(counts.reduce((sum, each) => sum + each, 0) / 2);
  if (left === 0) return null;
  const median = counts.findIndex((each) => (left -= each) <= 0);
  return Math.round(Math.exp((median + 0.5) / BUCKETS_PER_E)) / 1000;
}

/** Adds up one kind of counters by name. A name without a counter is 0. */
export function sumByName<Name extends string>(
  names: readonly Name[],
  rows: readonly Counters[],
  kind: keyof Counters,
): Record<Name, number> {
  const sumOf = (name: Name) => rows.reduce((sum, row) => sum + (row[kind][name] ?? 0), 0);
  return Object.fromEntries(names.map((name) => [name, sumOf(name)])) as Record<Name, number>;
}
