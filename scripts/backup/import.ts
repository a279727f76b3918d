import { checkFile, type Frame, readRecords, totalOf } from "./lines.ts";
import type { Operator } from "./operator.ts";

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
 * @throws PlainError with what the service says against it.
 */
export async function importFile(operator: Operator, file: string, say: (text: string) => void): Promise<void> {
  say(`Reading ${file} …`);
  const frame = await checkFile(file);
  const { header, end } = frame;
  say(`${totalOf(end)} records of workspace ${header.workspace_id}, exported at ${header.exported_at}.`);
  const path = `/workspaces/${header.workspace_id}/import`;
  const warned = new Set<string>();
  let sent = 0;
  for await (const batch of batchesOf(file)) {
    const body = `{"header":${JSON.stringify(header)},"records":[${batch.join()}]}`;
    const { state, warnings } = JSON.parse(await operator.send("POST", path, body)) as State;
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

async function complete(operator: Operator, { header, end }: Frame, say: (text: string) => void): Promise<void> {
  say("Comparing what came in with the file …");
  const body = JSON.stringify({ header, end });
  for (;;) {
    const { state } = JSON.parse(await operator.send("POST", `/workspaces/${header.workspace_id}/import/complete`, body)) as State;
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
export async function abandon(operator: Operator, workspaceId: string, say: (text: string) => void): Promise<void> {
  await operator.send("DELETE", `/workspaces/${encodeURIComponent(workspaceId)}/import`);
  say("Given up. What came in is being erased; the workspace can be imported again when that is over.");
}
