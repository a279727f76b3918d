import { DAY_MS } from "../platform/time.ts";

/*
 * What the numbers of the analytics overview mean. The triggers of the migration analytics_rollups keep them by day, of one
 * agent and of all agents together; a test recounts them from the records.
 *
 * A range is `days` whole UTC days, today included; `previous` is as many days before it. Each thing counts on one day for
 * good, so that the sum of days is exact:
 *
 * | on its own day         | what it is                                                                                  |
 * | ---------------------- | ------------------------------------------------------------------------------------------- |
 * | messages               | messages of every role, on the day they were written                                        |
 * | ai_replies             | messages of the agent, one for each question it took, the hand-off message included         |
 * | human_replies          | messages of the team                                                                        |
 * | leads, handoffs        | records, on the day of `created_at` and `requested_at`                                      |
 * | unanswered             | hand-offs for `missing_knowledge`                                                           |
 * | AI resolutions         | on the day of the resolution: from it the seven days of durable_resolution_7d run           |
 *
 * | on its beginning's day | of a conversation, whenever it happens                                                      |
 * | ---------------------- | ------------------------------------------------------------------------------------------- |
 * | with the agent         | the agent wrote in it at least once                                                         |
 * | handed off             | it had a hand-off at least once                                                             |
 * | AI-resolved            | it was resolved once when the agent had replied, and no hand-off and no human reply had been |
 * | resolved, reopened     | at least once, by whomever                                                                  |
 * | csat                   | its score as it now is                                                                      |
 * | first response         | from its beginning to the first message of the agent or the team                            |
 * | resolution             | from its beginning to its first resolution                                                  |
 *
 * | rate                   | is                                                                                          |
 * | ---------------------- | ------------------------------------------------------------------------------------------- |
 * | ai_resolution          | AI-resolved / with the agent                                                                |
 * | durable_resolution_7d  | not reopened within 7 days / AI resolutions; those of the last 7 days and today are left out |
 * | handoff                | handed off / conversations                                                                  |
 * | reopen                 | reopened / resolved                                                                         |
 * | unanswered             | unanswered / ai_replies                                                                     |
 *
 * A rate over nothing is null. What is erased keeps its place in the numbers of the past, which hold nothing of a person;
 * questions go with the last hand-off that asked them. `by_status` is the state of all conversations now, whatever the range.
 */

/** Days since 1970-01-01, the first and the last of a range. */
export interface DayRange {
  fromDay: number;
  toDay: number;
}

/** The range of `days` days that ends with the day of `nowMs`, and the one before it. */
export function rangesOf(days: number, nowMs: number): { current: DayRange; previous: DayRange } {
  const toDay = Math.floor(nowMs / DAY_MS);
  const fromDay = toDay - days + 1;
  return { current: { fromDay, toDay }, previous: { fromDay: fromDay - days, toDay: fromDay - 1 } };
}

/** How long an AI resolution must hold to be durable. */
const DURABLE_DAYS = 7;

/** The last day all of whose resolutions are old enough to be called durable. */
export function lastDurableDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) - DURABLE_DAYS - 1;
}

/** What the days of a range add up to. */
export interface Sums {
  conversations: number;
  messages: number;
  aiReplies: number;
  humanReplies: number;
  leads: number;
  handoffs: number;
  unanswered: number;
  withAgent: number;
  handedOff: number;
  aiResolved: number;
  resolved: number;
  reopened: number;
  csatSum: number;
  csatCount: number;
  /** AI resolutions old enough to be durable, and those of them that were reopened in time. */
  ripeResolutions: number;
  ripeUndone: number;
}

/** The rates of a range. */
export function ratesOf(sums: Sums) {
  return {
    ai_resolution: ratio(sums.aiResolved, sums.withAgent),
    durable_resolution_7d: ratio(sums.ripeResolutions - sums.ripeUndone, sums.ripeResolutions),
    handoff: ratio(sums.handedOff, sums.conversations),
    reopen: ratio(sums.reopened, sums.resolved),
    unanswered: ratio(sums.unanswered, sums.aiReplies),
  };
}

/** A quotient to four decimals; null over nothing. */
export function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
}

/** Buckets of a histogram for each factor of e; the migration has the same number. A bucket's middle is off by e^(1/22) at most. */
const BUCKETS_PER_E = 11;

/**
 * The median of durations, from histograms of milliseconds: the lower one of two in the middle, within 4.7 % and half a millisecond.
 * @returns seconds, or null of none.
 */
export function medianSeconds(histograms: readonly Record<string, number>[]): number | null {
  const counts = new Map<number, number>();
  for (const histogram of histograms)
    for (const [bucket, count] of Object.entries(histogram)) counts.set(Number(bucket), (counts.get(Number(bucket)) ?? 0) + count);
  let left = Math.ceil([...counts.values()].reduce((sum, count) => sum + count, 0) / 2);
  for (const [bucket, count] of [...counts].sort(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return Math.round(Math.exp((bucket + 0.5) / BUCKETS_PER_E)) / 1000;
  }
  return null;
}

/** Adds up counters by name; each of `names` is there, if only with zero. */
export function addUp<Name extends string>(names: readonly Name[], all: readonly Record<string, number>[]): Record<Name, number> {
  const sumOf = (name: Name) => all.reduce((sum, counters) => sum + (counters[name] ?? 0), 0);
  return Object.fromEntries(names.map((name) => [name, sumOf(name)])) as Record<Name, number>;
}
