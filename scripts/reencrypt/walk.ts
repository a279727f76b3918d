import { ask, type Client } from "../dev/service.ts";

/** Secrets that are written by a process of an older configuration meanwhile are found by another round; more rounds find a fault. */
const MAX_ROUNDS = 3;
const PROGRESS_EVERY_MS = 1_000;

interface Counts {
  current: number;
  outdated: number;
  reencrypted: number;
  unreadable: number;
}

/** An API key that an old value of KEY_SECRET made. */
export interface OutdatedKey {
  id: string;
  workspace_id: string;
  name: string;
  prefix: string;
  last_used_at: string | null;
}

/** What was found: by one step, or by all of them together. */
export interface Total {
  secrets: Record<string, Counts>;
  api_keys: { current: number; outdated: OutdatedKey[] };
  keep_until: string | null;
}

/** What the service answers to one step. */
type Step = Total & { next_cursor: string | null };

/** Kept responses go by themselves within a day; they are not encrypted anew. */
export const PASSING_KIND = "kept_responses";

const REQUESTS = {
  check: { method: "GET", path: "/operator/v1/secrets" },
  reencrypt: { method: "POST", path: "/operator/v1/secrets/reencrypt" },
} as const;

/** Takes every step from the beginning to the end, and says each second how far it is. */
export async function walkAll(client: Client, mode: keyof typeof REQUESTS, say: (line: string) => void): Promise<Total> {
  const { method, path } = REQUESTS[mode];
  const total: Total = { secrets: {}, api_keys: { current: 0, outdated: [] }, keep_until: null };
  let saidAtMs = Date.now();
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = cursor === "" ? "" : `?cursor=${encodeURIComponent(cursor)}`;
    const step: Step = await ask<Step>(client, method, path + query);
    add(total, step);
    cursor = step.next_cursor;
    if (Date.now() >= saidAtMs + PROGRESS_EVERY_MS) {
      say(progressOf(total, mode));
      saidAtMs = Date.now();
    }
  }
  say(progressOf(total, mode));
  return total;
}

/**
 * Encrypts anew and looks again, until nothing is left to be done or it leads nowhere.
 * @returns what the last look found, and how many secrets were encrypted anew in all.
 */
export async function reencryptAll(client: Client, say: (line: string) => void): Promise<Total> {
  const renewed: Record<string, number> = {};
  for (let round = 1; ; round++) {
    const made = await walkAll(client, "reencrypt", say);
    for (const [kind, { reencrypted }] of Object.entries(made.secrets)) renewed[kind] = (renewed[kind] ?? 0) + reencrypted;
    const found = await walkAll(client, "check", say);
    if (sumOf(found, "outdated") > 0 && round < MAX_ROUNDS) continue;
    for (const [kind, counts] of Object.entries(found.secrets)) counts.reencrypted = renewed[kind] ?? 0;
    return found;
  }
}

/** Whether everything is encrypted anew that can be, and everything can be read. */
export function isDone(total: Total): boolean {
  return sumOf(total, "outdated") === 0 && unreadableOf(total) === 0;
}

/** Whether no old value of a secret is needed by anything. */
export function needsNothingOld(total: Total): boolean {
  return isDone(total) && total.keep_until === null && total.api_keys.outdated.length === 0;
}

/** How many secrets cannot be read, of all kinds. */
export function unreadableOf({ secrets }: Total): number {
  return Object.values(secrets).reduce((sum, { unreadable }) => sum + unreadable, 0);
}

/** A sum over all kinds that are encrypted anew. */
export function sumOf({ secrets }: Total, count: keyof Counts): number {
  return Object.entries(secrets).reduce((sum, [kind, counts]) => sum + (kind === PASSING_KIND ? 0 : counts[count]), 0);
}

function add(total: Total, step: Step): void {
  for (const [kind, counts] of Object.entries(step.secrets)) {
    const sum = (total.secrets[kind] ??= { current: 0, outdated: 0, reencrypted: 0, unreadable: 0 });
    for (const name of ["current", "outdated", "reencrypted", "unreadable"] as const) sum[name] += counts[name];
  }
  total.api_keys.current += step.api_keys.current;
  total.api_keys.outdated.push(...step.api_keys.outdated);
  // Times of one form: the later one is the greater text.
  if (step.keep_until !== null && step.keep_until > (total.keep_until ?? "")) total.keep_until = step.keep_until;
}

function progressOf(total: Total, mode: keyof typeof REQUESTS): string {
  const [current, outdated, renewed] = [sumOf(total, "current"), sumOf(total, "outdated"), sumOf(total, "reencrypted")];
  const read = current + outdated + renewed + unreadableOf(total);
  const done = mode === "check" ? "" : `, ${renewed} encrypted anew`;
  return `${mode}: ${read} secrets read${done}, ${outdated} under an old key, ${unreadableOf(total)} unreadable`;
}
