import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportTo, fileSink } from "./export.ts";
import { checkFile, combine, emptySum, hashOf, readRecords, type RecordLine } from "./lines.ts";
import type { Operator } from "./operator.ts";

/** Records are compared in so many groups of each type, by their hashes: only groups that differ are looked at one by one. */
const GROUPS = 256;
const MAX_GROUPS_READ = 64;
const MAX_SHOWN = 20;

/** Compares a deployment's workspace with a file, record by record; false where they differ. */
export async function verifyFile(operator: Operator, file: string, say: (text: string) => void): Promise<boolean> {
  const { header } = await checkFile(file);
  const folder = await mkdtemp(join(tmpdir(), "backup-"));
  try {
    const theirs = join(folder, "export.ndjson");
    await exportTo(operator, header.workspace_id, fileSink(theirs), say);
    return await compareFiles(file, theirs, say);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Compares the records of two exports, in whatever order they stand; false where they differ. */
async function compareFiles(file: string, theirs: string, say: (text: string) => void): Promise<boolean> {
  const [ours, others] = [await sumsOf(file), await sumsOf(theirs)];
  const groups = [...new Set([...ours.keys(), ...others.keys()])].filter((group) => ours.get(group) !== others.get(group));
  if (groups.length === 0) {
    say("All records are the same.");
    return true;
  }
  const read = new Set(groups.slice(0, MAX_GROUPS_READ));
  const [inFile, inDeployment] = [await linesOf(file, read), await linesOf(theirs, read)];
  const differences = [
    ...missingOf(inFile, inDeployment).map((line) => `only in the file:       ${line}`),
    ...missingOf(inDeployment, inFile).map((line) => `only in the deployment: ${line}`),
  ];
  for (const difference of differences.slice(0, MAX_SHOWN)) say(difference);
  const isMore = differences.length > MAX_SHOWN || groups.length > MAX_GROUPS_READ;
  say(`The workspace is not as in the file: ${differences.length}${isMore ? " differences or more" : " differences"}.`);
  return false;
}

async function sumsOf(file: string): Promise<Map<string, string>> {
  const sums = new Map<string, Uint8Array>();
  for await (const line of readRecords(file)) {
    const { group, hash } = groupOf(line);
    const sum = sums.get(group) ?? emptySum();
    sums.set(group, sum);
    combine(sum, hash);
  }
  return new Map([...sums].map(([group, sum]) => [group, Buffer.from(sum).toString("hex")]));
}

/** The lines of some groups, by what names them. */
async function linesOf(file: string, groups: ReadonlySet<string>): Promise<Set<string>> {
  const lines = new Set<string>();
  for await (const line of readRecords(file)) if (groups.has(groupOf(line).group)) lines.add(line.text);
  return lines;
}

function missingOf(these: ReadonlySet<string>, those: ReadonlySet<string>): string[] {
  return [...these].filter((line) => !those.has(line)).map(nameOf);
}

function groupOf({ type, text }: RecordLine): { group: string; hash: Uint8Array } {
  const hash = hashOf(text);
  return { group: `${type} ${hash[0]! % GROUPS}`, hash };
}

/** Columns that say which record it is, and nothing of a person. */
const NAMING = /^(?:id|(?!external_|anon_)\w+_id|period|days?|status|channel|number|table)$/;

/** Which record a line holds. */
function nameOf(line: string): string {
  const { type, record } = JSON.parse(line) as { type: string; record: Record<string, unknown> };
  const row = (record["row"] as Record<string, unknown> | undefined) ?? {};
  const names = Object.entries({ ...record, ...row }).filter(([column, value]) => NAMING.test(column) && value !== null);
  return `${type} ${names.map(([column, value]) => `${column}=${String(value)}`).join(" ")}`;
}
