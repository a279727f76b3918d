import { type Database, dbFor, directoryDb, isBoundShard } from "../../db/client.ts";
import { shardOf } from "../../db/ids.ts";
import { bindingName } from "../../db/shard-fault.ts";
import type { workspaceImports } from "../../db/schema.ts";
import type { Meter } from "../../meter.ts";
import { claimSlug, findSlug } from "../store.ts";
import { beginImport, findAnyWorkspace, findImport, type ImportKey } from "./import-store.ts";
import { schemaVersion } from "./record-schema.ts";
import { ImportRefusal } from "./refusal.ts";
import type { Header } from "./wire.ts";

/** An import of one export, and when it is worked on. */
export interface ImportOperation {
  env: Env;
  meter: Meter;
  header: Header;
  nowMs: number;
}

export interface OpenImport {
  key: ImportKey;
  db: Database;
  row: typeof workspaceImports.$inferSelect;
}

/**
 * Finds the import that a header begins or goes on with. The first time it takes the slug and notes the import.
 * @throws ImportRefusal where there can be none.
 */
export async function openImport(op: ImportOperation): Promise<OpenImport> {
  const { env, meter, header, nowMs } = op;
  const key = { workspaceId: header.workspace_id, exportId: header.export_id };
  await checkHeader(env, header);
  const db = dbFor(env, key.workspaceId, meter);
  const [[row], [workspace]] = await db.batch([findImport(db, key.workspaceId), findAnyWorkspace(db, key.workspaceId)]);
  if (workspace?.deletedAt != null) {
    throw new ImportRefusal("conflict", "The workspace was deleted and is being erased. Import it again when its erasure is over.");
  }
  if (row?.exportId === key.exportId) return { key, db, row };
  if (row && row.completedAt === null) {
    throw new ImportRefusal("conflict", "Another export of this workspace is being imported. Finish that import, or give it up first.");
  }
  if (workspace)
    throw new ImportRefusal("conflict", "There is such a workspace, with content of its own. Delete it first, or import elsewhere.");
  await takeSlug(op);
  const [, [begun]] = await db.batch([beginImport(db, key, nowMs), findImport(db, key.workspaceId)]);
  if (begun?.exportId !== key.exportId) throw new ImportRefusal("conflict", "Another import of this workspace has just begun.");
  return { key, db, row: begun };
}

async function checkHeader(env: Env, { schema, workspace_id: workspaceId }: Header): Promise<void> {
  const ours = await schemaVersion();
  if (schema !== ours) {
    const advice = "Import it with the version of the service that exported it, then upgrade: migrations bring the records along.";
    throw new ImportRefusal("invalid", `The export has the schema ${schema}, and this service has ${ours}. ${advice}`);
  }
  if (isBoundShard(env, workspaceId)) return;
  const shard = shardOf(workspaceId);
  const advice = `Bind a database as ${bindingName(shard)}: the last byte of every identifier of the workspace names it.`;
  throw new ImportRefusal("invalid", `The workspace belongs to shard ${shard}, which is not bound. ${advice}`);
}

async function takeSlug({ env, meter, header }: ImportOperation): Promise<void> {
  const { workspace_id: workspaceId, slug } = header;
  const directory = directoryDb(env, meter);
  const entry = { workspaceId, slug, shard: shardOf(workspaceId) };
  const [, [holder]] = await directory.batch([claimSlug(directory, entry), findSlug(directory, slug)]);
  if (holder?.workspaceId === workspaceId) return;
  throw new ImportRefusal("conflict", `Another workspace has the slug ${slug}. Delete that one first, or import elsewhere.`);
}
