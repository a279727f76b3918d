import { type OutdatedKey, PASSING_KIND, sumOf, type Total, unreadableOf } from "./walk.ts";

/** More than anybody writes to in a day; GET /operator/v1/secrets names them all. */
const MAX_KEYS_SHOWN = 50;
const COLUMN_WIDTH = 12;
const COLUMNS = ["current", "outdated", "reencrypted", "unreadable"] as const;

/** What stands after a walk, and whether the old values may be taken out of the configuration, line by line. */
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
