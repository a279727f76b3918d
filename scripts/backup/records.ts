import { readFile, rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "../shared/service.ts";
import { readExport } from "./export.ts";
import { EndBuilder, type Frame } from "./lines.ts";
import { createOperator } from "./operator.ts";
import { abandonImport, importFile } from "./restore.ts";

/** A service, and the token of its operator. */
export interface Deployment {
  url: string;
  operatorToken: string;
}

/** A record of an export. */
export interface BackupRecord {
  type: string;
  record: Record<string, unknown>;
}

/** The export of a small workspace, in memory. */
export interface Backup {
  header: Frame["header"];
  records: BackupRecord[];
}

/** Reads the export of a small workspace. */
export async function readBackup(operator: Client, workspaceId: string): Promise<Backup> {
  let text = "";
  for await (const part of readExport(operator, workspaceId)) text += part;
  const [header, ...records] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  return { header: header as Frame["header"], records: records.slice(0, -1) as BackupRecord[] };
}

/** Writes a file that can be imported: all of it or nothing. */
export async function writeBackup(file: string, { header, records }: Backup): Promise<void> {
  const builder = new EndBuilder();
  const lines = records.map((record) => JSON.stringify(record));
  for (const [at, text] of lines.entries()) builder.add({ type: records[at]!.type, text });
  const part = `${file}.part`;
  await writeFile(part, [JSON.stringify(header), ...lines, JSON.stringify(builder.end()), ""].join("\n"), { mode: 0o600 });
  await rename(part, file);
}

/** The same records with other identifiers of the same shard, which their last byte names. */
export function withNewIds<Value>(value: Value, ids: Iterable<string>): Value {
  let text = JSON.stringify(value);
  for (const id of new Set(ids)) text = text.replaceAll(id, crypto.randomUUID().slice(0, -2) + id.slice(-2));
  return JSON.parse(text) as Value;
}

const ERASURE_LIMIT_MS = 30_000;
const RETRY_MS = 500;

/** Replaces a workspace by the one in a file. A second run continues one that was ended. */
export async function replaceWorkspace({ url, operatorToken }: Deployment, file: string): Promise<void> {
  const { workspace_id: id } = JSON.parse((await readFile(file, "utf8")).split("\n", 1)[0]!) as Frame["header"];
  await createClient(url, operatorToken).send("DELETE", `/operator/v1/workspaces/${id}`);
  const operator = createOperator(url, operatorToken);
  for (const deadline = Date.now() + ERASURE_LIMIT_MS; ; await sleep(RETRY_MS)) {
    try {
      return await importFile(operator, file, () => undefined);
    } catch (error) {
      // The workspace is still being erased.
      if ((error as Error).message.includes("answered 409") && Date.now() < deadline) continue;
      await abandonImport(operator, id, () => undefined).catch(() => undefined);
      throw error;
    }
  }
}
