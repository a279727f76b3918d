import { describeError } from "./errors.ts";

/** What a line may hold: identifiers, numbers, and words that stand in this code. Never what a person wrote, and no secret. */
export type Fields = Record<string, string | number | boolean | null | undefined | readonly string[]>;

/** While the outside is down, every request would say so. */
const RARELY_MS = 60_000;

const loggedAtMs = new Map<string, number>();

/** Writes one line: one JSON object. This is the only place that writes to the log. */
export function log(event: string, fields: Fields): void {
  console.log(JSON.stringify({ event, ...fields }));
}

/** The same for what should not be; of the error the line has the class and the place. */
export function logProblem(event: string, fields: Fields, error?: unknown): void {
  console.error(JSON.stringify({ event, ...fields, ...(error !== undefined && describeError(error)) }));
}

/** The same, unless this isolate has logged such an event within the last minute. */
export function logRarely(event: string, fields: Fields, error?: unknown): void {
  const nowMs = Date.now();
  if (nowMs - (loggedAtMs.get(event) ?? Number.NEGATIVE_INFINITY) < RARELY_MS) return;
  loggedAtMs.set(event, nowMs);
  logProblem(event, fields, error);
}
