import { isBoundShard, dbFor, directoryDb } from "../../db/client.ts";
import { workspaces } from "../../db/schema.ts";
import type { Meter } from "../../meter.ts";
import { log } from "../../telemetry/log.ts";
import { wakeUp } from "../../wake-up.ts";
import type { ErasureMessage } from "../erasure.ts";
import { releaseSlug } from "../store.ts";
import { reloadGate } from "../workspaces.ts";
import type { StoredRow } from "./export-store.ts";
import { abandonImport, completeImport, updateImport } from "./import-store.ts";
import { type ImportOperation, openImport, type OpenImport } from "./opening.ts";
import { columnsOf } from "./parts.ts";
import { beginProgress, type Progress, progressSchema } from "./progress.ts";
import { ImportRefusal } from "./refusal.ts";
import { readPage } from "./walk.ts";
import { type End, type ImportState, MAX_PAGES } from "./wire.ts";

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
  await wakeUp(env.ERASURE_QUEUE, [{ workspaceId }] satisfies ErasureMessage[]);
  return true;
}
