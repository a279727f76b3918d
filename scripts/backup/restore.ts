import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { call, type Client } from "../shared/service.ts";
import { readExport } from "./export.ts";
import { checkFile, type Frame, hashOf, readRecords, totalOf } from "./lines.ts";

/** The service's limits for one request; a single record may be larger. */
const MAX_RECORDS = 250;
const MAX_BATCH_BYTES = 1_000_000;
const SAID_EVERY = 10_000;

interface State {
  state: "importing" | "checking" | "complete";
  warnings: string[];
}

/**
 * Imports a file's workspace into a deployment. A second run continues; once the import is complete, it changes nothing.
 * @throws UserError with the reason of a refusal.
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

/** Writes a workspace's export to a file, which the owner alone can read, since it holds all that people wrote. */
export async function writeExport(operator: Client, workspaceId: string, file: string, say: (text: string) => void): Promise<void> {
  await writeFile(file, readExport(operator, workspaceId, say), { mode: 0o600 });
}

/** Gives an import up: what was imported is erased. */
export async function abandonImport(operator: Client, workspaceId: string, say: (text: string) => void): Promise<void> {
  await call(operator, "DELETE", `/operator/v1/workspaces/${encodeURIComponent(workspaceId)}/import`);
  say("Given up. What came in is being erased; the workspace can be imported again when that is over.");
}

const MAX_SHOWN_A_TYPE = 3;

/** Compares a deployment's workspace with a file, record by record; false where they differ. */
export async function verifyFile(operator: Client, file: string, say: (text: string) => void): Promise<boolean> {
  const { header } = await checkFile(file);
  const folder = await mkdtemp(join(tmpdir(), "backup-"));
  // It holds all that people wrote, and stays no longer than this process.
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    const theirs = join(folder, "export.ndjson");
    await writeExport(operator, header.workspace_id, theirs, say);
    if (await compareFiles(file, theirs, join(folder, "records.sqlite"), say)) return true;
    say(`The workspace is not as in the file. What is written after an export begins differs: this one began at ${header.exported_at}.`);
    return false;
  } finally {
    process.off("exit", remove);
    remove();
  }
}

const TABLE = `
  PRAGMA journal_mode = OFF;
  CREATE TABLE records (in_file INTEGER, type TEXT, name TEXT, hash BLOB);
  BEGIN`;
const INDEX = "CREATE INDEX records_hash ON records (type, hash, in_file)";
/** The records of one side whose line the other side does not have. A record that both have, with different lines, is one row. */
const DIFFERENCES = `
  SELECT name, max(in_file) AS in_file, max(NOT in_file) AS in_deployment FROM records AS one
  WHERE type = ? AND NOT EXISTS (SELECT 1 FROM records AS other WHERE other.type = one.type AND other.hash = one.hash AND other.in_file <> one.in_file)
  GROUP BY name ORDER BY in_file + in_deployment DESC, in_file DESC, name LIMIT ${MAX_SHOWN_A_TYPE + 1}`;
const COUNTS = "SELECT type, sum(in_file) AS in_file, sum(NOT in_file) AS in_deployment FROM records GROUP BY type";

/**
 * Compares the records of two exports, in whatever order they are; false where they differ.
 * @param path of a temporary database: the records of a large workspace do not fit into memory.
 */
async function compareFiles(file: string, theirs: string, path: string, say: (text: string) => void): Promise<boolean> {
  const database = new DatabaseSync(path);
  database.exec(TABLE);
  const insert = database.prepare("INSERT INTO records VALUES (?, ?, ?, ?)");
  for (const [inFile, records] of [[1, file] as const, [0, theirs] as const]) {
    for await (const { type, text } of readRecords(records)) insert.run(inFile, type, nameOf(text), hashOf(text));
  }
  database.exec(INDEX);
  let isSame = true;
  for (const { type, in_file: inFile, in_deployment: inDeployment } of database.prepare(COUNTS).all() as unknown as Compared[]) {
    const differences = database.prepare(DIFFERENCES).all(type) as unknown as Difference[];
    if (differences.length === 0) continue;
    isSame = false;
    say(`${type}: ${inFile} in the file, ${inDeployment} in the deployment`);
    for (const difference of differences.slice(0, MAX_SHOWN_A_TYPE)) say(`  ${describeDifference(difference)}`);
    if (differences.length > MAX_SHOWN_A_TYPE) say("  and more");
  }
  database.close();
  if (isSame) say("All records are the same.");
  return isSame;
}

/** The number of records of a type in each export. */
interface Compared {
  type: string;
  in_file: number;
  in_deployment: number;
}

/** How often a record that differs is in each export. */
interface Difference extends Omit<Compared, "type"> {
  name: string;
}

function describeDifference({ name, in_file: inFile, in_deployment: inDeployment }: Difference): string {
  if (inFile && inDeployment) return `differs:                ${name}`;
  return inFile ? `only in the file:       ${name}` : `only in the deployment: ${name}`;
}

/** Columns that identify a record without an id, and say nothing about a person. */
const NAMING = /^(?:(?!external_|anon_)\w+_id|period|days?|status|channel|number|table)$/;

/** The name of a line's record: its id, or the columns that identify it. */
function nameOf(line: string): string {
  const { record } = JSON.parse(line) as { record: Record<string, unknown> };
  if (typeof record["id"] === "string") return `id=${record["id"]}`;
  const row = (record["row"] as Record<string, unknown> | undefined) ?? {};
  const names = Object.entries({ ...record, ...row }).filter(
    ([column, value]) => column === "id" || (NAMING.test(column) && value !== null),
  );
  return names.map(([column, value]) => `${column}=${String(value)}`).join(" ");
}
