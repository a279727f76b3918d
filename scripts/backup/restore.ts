import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, type Client } from "../shared/service.ts";
import { exportTo, fileSink } from "./export.ts";
import { checkFile, combine, emptySum, type Frame, hashOf, readRecords, type RecordLine, totalOf } from "./lines.ts";

/** As the service takes them at once: so many, and no more bytes, save for a single record. */
const MAX_RECORDS = 250;
const MAX_BATCH_BYTES = 1_000_000;
const SAID_EVERY = 10_000;

interface State {
  state: "importing" | "checking" | "complete";
  warnings: string[];
}

/**
 * Puts a file's workspace into a deployment. Run again it goes on; once the workspace is there, it changes nothing.
 * @throws UserError with what the service says against it.
 */
export async function importFile(operator: Client, file: string, say: (text: string) => void): Promise<void> {
  say(`Reading ${file} …`);
  const frame = await checkFile(file);
  const { header, end } = frame;
  say(`${totalOf(end)} records of workspace ${header.workspace_id}, exported at ${header.exported_at}.`);
  const path = `/operator/v1/workspaces/${header.workspace_id}/import`;
  const warned = new Set<string>();
  let sent = 0;
  for await (const batch of batchesOf(file)) {
    const body = `{"header":${JSON.stringify(header)},"records":[${batch.join()}]}`;
    const { state, warnings } = await call<State>(operator, "POST", path, body);
    for (const warning of warnings) {
      if (!warned.has(warning)) say(`WARNING: ${warning}`);
      warned.add(warning);
    }
    if (state === "complete") return say("This export was imported before, and is complete. Nothing was changed.");
    if (Math.floor(sent / SAID_EVERY) < Math.floor((sent + batch.length) / SAID_EVERY)) say(`${sent + batch.length} records are in …`);
    sent += batch.length;
  }
  await complete(operator, frame, say);
}

async function complete(operator: Client, { header, end }: Frame, say: (text: string) => void): Promise<void> {
  say("Comparing what came in with the file …");
  const path = `/operator/v1/workspaces/${header.workspace_id}/import/complete`;
  for (;;) {
    const { state } = await call<State>(operator, "POST", path, { header, end });
    if (state === "complete") return say(`Imported: all ${totalOf(end)} records are there as they were, and the workspace is in use.`);
  }
}

async function* batchesOf(file: string): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for await (const { text } of readRecords(file)) {
    const size = Buffer.byteLength(text);
    if (batch.length === MAX_RECORDS || (batch.length > 0 && bytes + size > MAX_BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(text);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Gives an import up: what came in is erased. */
export async function abandonImport(operator: Client, workspaceId: string, say: (text: string) => void): Promise<void> {
  await call(operator, "DELETE", `/operator/v1/workspaces/${encodeURIComponent(workspaceId)}/import`);
  say("Given up. What came in is being erased; the workspace can be imported again when that is over.");
}

/** Records are compared in so many groups of each type, by their hashes; of those that differ so many are looked at one by one. */
const GROUPS = 256;
const MAX_GROUPS_READ_A_TYPE = 8;
const MAX_SHOWN_A_TYPE = 3;

/** Compares a deployment's workspace with a file, record by record; false where they differ. */
export async function verifyFile(operator: Client, file: string, say: (text: string) => void): Promise<boolean> {
  const { header } = await checkFile(file);
  const folder = await mkdtemp(join(tmpdir(), "backup-"));
  try {
    const theirs = join(folder, "export.ndjson");
    await exportTo(operator, header.workspace_id, fileSink(theirs), say);
    if (await compareFiles(file, theirs, say)) return true;
    say(`The workspace is not as in the file. What is written after an export begins differs: this one began at ${header.exported_at}.`);
    return false;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Compares the records of two exports, in whatever order they stand; false where they differ, type by type. */
async function compareFiles(file: string, theirs: string, say: (text: string) => void): Promise<boolean> {
  const [ours, others] = [await sumsOf(file), await sumsOf(theirs)];
  const types = new Set([...ours.keys(), ...others.keys()]);
  const groups = new Map([...types].map((type) => [type, differingGroups(ours.get(type), others.get(type))]));
  const read = new Set([...groups.values()].flatMap((all) => all.slice(0, MAX_GROUPS_READ_A_TYPE)));
  if (read.size === 0) {
    say("All records are the same.");
    return true;
  }
  const [inFile, inDeployment] = [await linesOf(file, read), await linesOf(theirs, read)];
  for (const [type, differing] of groups) {
    if (differing.length === 0) continue;
    say(`${type}: ${ours.get(type)?.count ?? 0} in the file, ${others.get(type)?.count ?? 0} in the deployment`);
    const examples = differencesOf(inFile.get(type), inDeployment.get(type));
    for (const example of examples.slice(0, MAX_SHOWN_A_TYPE)) say(`  ${example}`);
    if (examples.length > MAX_SHOWN_A_TYPE || differing.length > MAX_GROUPS_READ_A_TYPE) say("  and more");
  }
  return false;
}

/** The records of one type: how many, and the sum of the hashes of each group. */
interface TypeSums {
  count: number;
  groups: Map<string, Uint8Array>;
}

async function sumsOf(file: string): Promise<Map<string, TypeSums>> {
  const types = new Map<string, TypeSums>();
  for await (const line of readRecords(file)) {
    const sums = types.get(line.type) ?? { count: 0, groups: new Map() };
    types.set(line.type, sums);
    const group = groupOf(line);
    const sum = sums.groups.get(group) ?? emptySum();
    sums.groups.set(group, sum);
    combine(sum, hashOf(line.text));
    sums.count++;
  }
  return types;
}

function differingGroups(ours: TypeSums | undefined, others: TypeSums | undefined): string[] {
  const groups = new Set([...(ours?.groups.keys() ?? []), ...(others?.groups.keys() ?? [])]);
  const hex = (sums: TypeSums | undefined, group: string) => Buffer.from(sums?.groups.get(group) ?? []).toString("hex");
  return [...groups].filter((group) => hex(ours, group) !== hex(others, group));
}

/** The lines of some groups, by their type. */
async function linesOf(file: string, groups: ReadonlySet<string>): Promise<Map<string, Set<string>>> {
  const types = new Map<string, Set<string>>();
  for await (const line of readRecords(file)) {
    if (!groups.has(groupOf(line))) continue;
    const lines = types.get(line.type) ?? new Set();
    types.set(line.type, lines.add(line.text));
  }
  return types;
}

/** What differs between the lines of a type: a record that both hold, each in its own way, is told once. */
function differencesOf(ours: ReadonlySet<string> = new Set(), others: ReadonlySet<string> = new Set()): string[] {
  const missingIn = (those: ReadonlySet<string>, these: ReadonlySet<string>) =>
    new Set([...these].filter((line) => !those.has(line)).map(nameOf));
  const [inFile, inDeployment] = [missingIn(others, ours), missingIn(ours, others)];
  return [
    ...[...inFile].filter((name) => inDeployment.has(name)).map((name) => `differs:                ${name}`),
    ...[...inFile].filter((name) => !inDeployment.has(name)).map((name) => `only in the file:       ${name}`),
    ...[...inDeployment].filter((name) => !inFile.has(name)).map((name) => `only in the deployment: ${name}`),
  ];
}

/** By what names a record, so that both forms of one that was changed are in the same group. */
function groupOf({ type, text }: RecordLine): string {
  return `${type} ${hashOf(nameOf(text))[0]! % GROUPS}`;
}

/** Columns that say which record it is where it has no id, and nothing of a person. */
const NAMING = /^(?:(?!external_|anon_)\w+_id|period|days?|status|channel|number|table)$/;

/** Which record a line holds. */
function nameOf(line: string): string {
  const { record } = JSON.parse(line) as { record: Record<string, unknown> };
  if (typeof record["id"] === "string") return `id=${record["id"]}`;
  const row = (record["row"] as Record<string, unknown> | undefined) ?? {};
  const names = Object.entries({ ...record, ...row }).filter(
    ([column, value]) => column === "id" || (NAMING.test(column) && value !== null),
  );
  return names.map(([column, value]) => `${column}=${String(value)}`).join(" ");
}
