import type { ErasureMessage } from "../operator/erasure.ts";
import { releaseSlug } from "../operator/store.ts";
import { reloadGate } from "../operator/workspaces.ts";
import { dbFor, directoryDb, isBoundShard } from "../platform/db/client.ts";
import { workspaces } from "../platform/db/schema.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { log } from "../platform/telemetry/log.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { type ImportOperation, openImport, type OpenImport } from "./import.ts";
import { columnsOf } from "./parts.ts";
import { ImportRefusal } from "./records.ts";
import { abandonImport, completeImport, type StoredRow, updateImport } from "./store.ts";
import { readPage } from "./walk.ts";
import { beginProgress, type End, type ImportState, MAX_PAGES, type Progress, progressSchema } from "./wire.ts";

/**
 * Compares the imported records with the end of the export, in bounded steps, and makes the workspace visible when they
 * match. To be called until the state is complete.
 * @throws ImportRefusal when they differ.
 */
export async function checkImport(op: ImportOperation, end: End, pages = MAX_PAGES): Promise<ImportState> {
  const opened = await openImport(op);
  const { db, key, row } = opened;
  if (row.completedAt !== null) return { state: "complete", warnings: [] };
  if (row.workspace === null)
    throw new ImportRefusal("conflict", "The export's records have not all been sent: the workspace's own is missing.");
  const workspace = JSON.parse(row.workspace) as StoredRow;
  const walk = { env: op.env, meter: op.meter, db, workspaceId: key.workspaceId, workspace };
  let progress: Progress = row.checked === null ? beginProgress(key.exportId) : progressSchema.parse(JSON.parse(row.checked));
  for (let left = pages; left > 0; left--) {
    const page = await readPage(walk, progress);
    if (!page) {
      await conclude(op, opened, { workspace, progress, end });
      return { state: "complete", warnings: [] };
    }
    ({ progress } = page);
  }
  await db.batch([updateImport(db, key, { checked: JSON.stringify(progress) })]);
  return { state: "checking", warnings: [] };
}

async function conclude(
  { env, meter, nowMs }: ImportOperation,
  { db, key }: OpenImport,
  { workspace, progress, end }: { workspace: StoredRow; progress: Progress; end: End },
): Promise<void> {
  const types = [...new Set([...Object.keys(end.counts), ...Object.keys(progress.counts)])];
  const differing = types.filter((type) => end.counts[type] !== progress.counts[type]);
  if (differing.length > 0 || end.checksum !== progress.checksum) {
    await db.batch([updateImport(db, key, { checked: null })]);
    const shown = differing.map((type) => `${type}: ${progress.counts[type] ?? 0} of ${end.counts[type] ?? 0}`);
    const what = shown.length > 0 ? ` (${shown.join("; ")})` : ": all records are there, but not all are as they were";
    throw new ImportRefusal(
      "conflict",
      `What came in is not what was exported${what}. Send the file again; if that does not help, give the import up.`,
    );
  }
  const values = columnsOf(workspaces).map(({ name }) => workspace[name]!);
  await db.batch(completeImport(db, key, values, nowMs));
  // Whoever asked with one of its keys meanwhile was told that there is no such workspace.
  await reloadGate(env, meter, key.workspaceId);
  log("workspace_imported", { workspace_id: key.workspaceId, export_id: key.exportId });
}

/** Abandons an import that is under way; its records are erased in the background. @returns whether there was one. */
export async function giveUpImport(env: Env, meter: Meter, workspaceId: string, nowMs: number): Promise<boolean> {
  if (!isBoundShard(env, workspaceId)) return false;
  const db = dbFor(env, workspaceId, meter);
  const [, [abandoned]] = await db.batch(abandonImport(db, workspaceId, nowMs));
  if (!abandoned) return false;
  const directory = directoryDb(env, meter);
  await directory.batch([releaseSlug(directory, workspaceId)]);
  await sendWakeUps(env.ERASURE_QUEUE, [{ workspaceId }] satisfies ErasureMessage[]);
  return true;
}
