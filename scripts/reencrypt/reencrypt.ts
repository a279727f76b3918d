import { parseArgs } from "node:util";
import { withUsage } from "../shared/cli.ts";
import { call, type Client, type OperatorTarget, resolveOperatorTarget } from "../shared/service.ts";

/** A second round finds the secrets that a process with the old configuration wrote meanwhile; more rounds mean a fault. */
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

/** What one step found, or all of them together. */
export interface Total {
  secrets: Record<string, Counts>;
  api_keys: { current: number; outdated: OutdatedKey[] };
  keep_until: string | null;
}

/** The service's answer to one step. */
type Step = Total & { next_cursor: string | null };

/** Kept responses expire within a day, so they are not reencrypted. */
const PASSING_KIND = "kept_responses";

const REQUESTS = {
  check: { method: "GET", path: "/operator/v1/secrets" },
  reencrypt: { method: "POST", path: "/operator/v1/secrets/reencrypt" },
} as const;

/** Takes all steps, and prints the progress each second. */
export async function walkAll(client: Client, mode: keyof typeof REQUESTS, say: (line: string) => void): Promise<Total> {
  const { method, path } = REQUESTS[mode];
  const total: Total = { secrets: {}, api_keys: { current: 0, outdated: [] }, keep_until: null };
  let saidAtMs = Date.now();
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = cursor === "" ? "" : `?cursor=${encodeURIComponent(cursor)}`;
    const step: Step = await call<Step>(client, method, path + query);
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
 * Reencrypts and checks, until nothing is left to do or further rounds do not help.
 * @returns what the last check found, with the number of secrets that were reencrypted in all rounds.
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

/** Whether every secret can be read and is encrypted with the current value. */
export function isDone(total: Total): boolean {
  return sumOf(total, "outdated") === 0 && unreadableOf(total) === 0;
}

/** Whether nothing needs an old value of a secret. */
export function needsNothingOld(total: Total): boolean {
  return isDone(total) && total.keep_until === null && total.api_keys.outdated.length === 0;
}

/** The number of secrets that cannot be read. */
function unreadableOf({ secrets }: Total): number {
  return Object.values(secrets).reduce((sum, { unreadable }) => sum + unreadable, 0);
}

/** The sum of a count over all kinds that are reencrypted. */
function sumOf({ secrets }: Total, count: keyof Counts): number {
  return Object.entries(secrets).reduce((sum, [kind, counts]) => sum + (kind === PASSING_KIND ? 0 : counts[count]), 0);
}

function add(total: Total, step: Step): void {
  for (const [kind, counts] of Object.entries(step.secrets)) {
    const sum = (total.secrets[kind] ??= { current: 0, outdated: 0, reencrypted: 0, unreadable: 0 });
    for (const name of ["current", "outdated", "reencrypted", "unreadable"] as const) sum[name] += counts[name];
  }
  total.api_keys.current += step.api_keys.current;
  total.api_keys.outdated.push(...step.api_keys.outdated);
  // The times have one format, so the later one is the greater string.
  if (step.keep_until !== null && step.keep_until > (total.keep_until ?? "")) total.keep_until = step.keep_until;
}

function progressOf(total: Total, mode: keyof typeof REQUESTS): string {
  const [current, outdated, renewed] = [sumOf(total, "current"), sumOf(total, "outdated"), sumOf(total, "reencrypted")];
  const read = current + outdated + renewed + unreadableOf(total);
  const done = mode === "check" ? "" : `, ${renewed} reencrypted`;
  return `${mode}: ${read} secrets read${done}, ${outdated} under an old key, ${unreadableOf(total)} unreadable`;
}

/** GET /operator/v1/secrets names them all. */
const MAX_KEYS_SHOWN = 50;
const COLUMN_WIDTH = 12;
const COLUMNS = ["current", "outdated", "reencrypted", "unreadable"] as const;

/** The lines of the report, which say whether the old values may be taken out of the configuration. */
export function reportOf(total: Total): string[] {
  return ["", ...tableOf(total), "", encryptionVerdict(total), ...keyVerdict(total)];
}

function tableOf({ secrets }: Total): string[] {
  const width = Math.max(...Object.keys(secrets).map((kind) => kind.length));
  const row = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(width) + cells.map((cell) => String(cell).padStart(COLUMN_WIDTH)).join("");
  const rows = Object.entries(secrets).map(([kind, counts]) =>
    row(
      kind,
      COLUMNS.map((column) => counts[column]),
    ),
  );
  return [row("", COLUMNS), ...rows];
}

function encryptionVerdict(total: Total): string {
  const unreadable = unreadableOf(total);
  if (unreadable > 0) {
    return `ENCRYPTION_KEY: secrets that cannot be read: ${unreadable}. Put the value that made them back, behind the others, and run this again.`;
  }
  const outdated = sumOf(total, "outdated");
  if (outdated > 0) return `ENCRYPTION_KEY: keep the old values. Secrets that need them: ${outdated}.`;
  if (total.keep_until === null) return "ENCRYPTION_KEY: no old value is needed.";
  const kept = total.secrets[PASSING_KIND]?.outdated ?? 0;
  return `ENCRYPTION_KEY: keep the old values until ${total.keep_until}. Responses that are kept under them until then: ${kept}.`;
}

function keyVerdict({ api_keys: { current, outdated } }: Total): string[] {
  if (outdated.length === 0) return [`KEY_SECRET: no old value is needed. Active API keys, all of the first value: ${current}.`];
  const more = outdated.length - MAX_KEYS_SHOWN;
  return [
    `KEY_SECRET: active API keys of an old value: ${outdated.length}; of the first: ${current}. Once neither KEY_SECRET nor RETIRED_KEY_SECRET holds the old value, these are refused:`,
    ...mostUsedFirst(outdated).slice(0, MAX_KEYS_SHOWN).map(lineOf),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}

function mostUsedFirst(keys: readonly OutdatedKey[]): OutdatedKey[] {
  const lastUse = ({ last_used_at: at }: OutdatedKey) => (at === null ? 0 : Date.parse(at));
  return keys.toSorted((a, b) => lastUse(b) - lastUse(a));
}

function lineOf({ prefix, name, id, workspace_id: workspaceId, last_used_at: at }: OutdatedKey): string {
  return `  ${prefix}…  ${at === null ? "not used since" : `used ${at}`}  key ${id}  workspace ${workspaceId}  ${JSON.stringify(name)}`;
}

export const USAGE = `npm run reencrypt -- --url https://support.example.com [--check]

Encrypts stored secrets with the first value of ENCRYPTION_KEY, then says what still needs an old value.
The operator's token is taken from OPERATOR_TOKEN in the environment, or for a service on this machine from .dev.vars. Ends with 0 when nothing is left to reencrypt.

  --url    where the service is
  --check  change nothing; end with 0 when no old value of ENCRYPTION_KEY or KEY_SECRET is needed any more`;

/** The command line. */
interface Options extends OperatorTarget {
  isCheck: boolean;
}

/**
 * Reads arguments and environment; undefined if help was asked for.
 * @throws UserError that says what is missing.
 */
export function readOptions(args: readonly string[], environment: Record<string, string | undefined>): Options | undefined {
  const options = {
    url: { type: "string" },
    check: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  } as const;
  const { values } = withUsage(USAGE, () => parseArgs({ args: [...args], options }));
  if (values.help) return undefined;
  return { ...resolveOperatorTarget(values.url, environment), isCheck: values.check };
}
