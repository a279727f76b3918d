import { describeError } from "./errors.ts";

/** The fields of a log line: ids, numbers and words of this code, never personal data or secrets. */
export type Fields = Record<string, string | number | boolean | null | undefined | readonly string[]>;

/** How often `logRarely` logs an event at most. During an outage every request would log the same one. */
const RARELY_INTERVAL_MS = 60_000;

const loggedAtMs = new Map<string, number>();

/** Logs an event as one line of JSON. Nothing else writes to the log. */
export function log(event: string, fields: Fields): void {
  console.log(JSON.stringify({ event, ...fields }));
}

/** Logs a problem, with the class and location of its error. */
export function logProblem(event: string, fields: Fields, error?: unknown): void {
  console.error(JSON.stringify({ event, ...fields, ...(error !== undefined && describeError(error)) }));
}

/** Logs a problem unless this isolate has logged the same event within the last minute. */
export function logRarely(event: string, fields: Fields, error?: unknown): void {
  const nowMs = Date.now();
  // A clock that is set back must not silence an event until it has caught up.
  if (Math.abs(nowMs - (loggedAtMs.get(event) ?? Number.NEGATIVE_INFINITY)) < RARELY_INTERVAL_MS) return;
  loggedAtMs.set(event, nowMs);
  logProblem(event, fields, error);
}
