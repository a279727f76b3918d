import { getTableName } from "drizzle-orm";
import { claimMailAddress } from "../administration/agents.ts";
import { type OperatorOperation, recordOperation } from "../administration/operator-audit-store.ts";
import { putPart } from "../attachments/contents.ts";
import { listOwnAttachments } from "../attachments/store.ts";
import { knowledgeIndexOf } from "../knowledge/knowledge-index.ts";
import { restoreLeads } from "../leads/leads.ts";
import { startErasure } from "../operator/erasure.ts";
import { claimSlug, findSlug, releaseSlug } from "../operator/store.ts";
import { keyIdsIn } from "../platform/crypto/secrets.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { directoryDb, type Operation } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import { agents, leads, workspaces } from "../platform/db/schema.ts";
import { transact } from "../platform/db/sql.ts";
import { jurisdictionFor } from "../platform/objects.ts";
import { log } from "../platform/telemetry/log.ts";
import { reloadGate } from "../workspaces/gate.ts";
import { ownKeyIds, readPage } from "./export.ts";
import { columnsOf, FILE, KNOWLEDGE } from "./parts.ts";
import {
  type CheckedRecords,
  checkRecords,
  type FileRecord,
  ImportError,
  type ImportRecord,
  type KnowledgeRecord,
  schemaVersion,
  secretsText,
} from "./records.ts";
import {
  addRecords,
  cancelImport,
  clearCounts,
  completeImport,
  countRecords,
  createImport,
  findAnyWorkspace,
  findImport,
  type ImportKey,
  listKnowledge,
  listOwnAgents,
  type StoredRow,
  updateImport,
} from "./store.ts";
import { createProgress, type End, type Header, type ImportState, MAX_PAGES, type Progress, progressSchema } from "./wire.ts";

/** Rows deleted from each table of counts in one step: well below the limits of a D1 query. */
const ROWS_PER_STEP = 2_000;
/** Each step is one trip to D1. */
const STEPS_PER_REQUEST = 500;

/**
 * Imports records of an export. Importing the same ones again changes nothing. They are invisible until the import is complete.
 * @throws ImportError
 */
export async function importRecords(op: OperatorOperation, header: Header, sent: readonly ImportRecord[]): Promise<ImportState> {
  const { db } = op;
  const records = checkRecords(header, sent);
  if ("problems" in records) throw new ImportError("invalid", "Some records are not valid.", records.problems);
  const { key, row } = await openImport(op, header);
  const warnings = await warningsOf(op.env, header, records);
  if (row.completedAt !== null) return { state: "complete", warnings };
  if (row.recountedAt === null && records.tables.some(({ part }) => part.kind === "counts")) await clearTriggerCounts(op, key);
  await addRows(op, key, records);
  const rowsOf = (type: string) => records.tables.find((table) => table.type === type)?.rows ?? [];
  await claimMailAddresses(op, rowsOf(getTableName(agents)));
  const leadIds = rowsOf(getTableName(leads)).map(({ id }) => String(id));
  if (leadIds.length > 0) await restoreLeads(op, leadIds);
  await addKnowledge(op, records.knowledge);
  await addFiles(op, records.files);
  // A comparison that has started would miss the new records.
  const changes = { checked: null, ...(records.workspace && { workspace: JSON.stringify(records.workspace) }) };
  if (records.workspace || row.checked !== null) await db.batch([updateImport(db, key, changes)]);
  return { state: "importing", warnings };
}

/** Deletes what triggers counted while rows were added, before the first counts of the export are added or, if it has none, before the comparison. */
async function clearTriggerCounts({ db, nowMs }: Operation, key: ImportKey): Promise<void> {
  for (let step = 0; step < STEPS_PER_REQUEST; step++) {
    const [first, ...rest] = clearCounts(db, key, ROWS_PER_STEP);
    const removed = await db.batch([first!, ...rest]);
    if (removed.some((rows) => rows.length === ROWS_PER_STEP)) continue;
    await db.batch([updateImport(db, key, { recountedAt: nowMs })]);
    return;
  }
  throw new ImportError("unavailable", "Deleting the previous counts takes more than one request. Send the same one again.");
}

async function addRows({ db }: Operation, key: ImportKey, { tables }: CheckedRecords): Promise<void> {
  if (tables.length === 0) return;
  const { after } = await transact(db, {
    writes: tables.map(({ part, values }) => addRecords(db, part, key, values)),
    after: tables.map(({ part, values }) => countRecords(db, part, key.workspaceId, values)),
  });
  for (const [at, [found]] of after.entries()) {
    const { type, values } = tables[at]!;
    const missing = values.length - (found?.count ?? 0);
    if (missing === 0) continue;
    const why = "Their identifiers, or records that they refer to, are another workspace's, or the import was cancelled in the meantime.";
    throw new ImportError("conflict", `${missing} of ${values.length} records of the type ${type} cannot be imported. ${why}`);
  }
}

async function claimMailAddresses(op: Operation, rows: readonly StoredRow[]): Promise<void> {
  for (const { id, email_address: address } of rows) {
    if (address === null || (await claimMailAddress(op, String(id), String(address)))) continue;
    throw new ImportError("conflict", `Another agent has the mail address of the agent ${id}. Remove it there, then continue.`);
  }
}

/** Adds knowledge to the agents' objects. Only agents of the workspace get one, because its name contains both. */
async function addKnowledge(op: Operation, records: readonly KnowledgeRecord[]): Promise<void> {
  const byAgent = Map.groupBy(records, ({ agent_id: agentId }) => agentId);
  if (byAgent.size === 0) return;
  const [own] = await op.db.batch([listOwnAgents(op.db, op.workspaceId, [...byAgent.keys()])]);
  for (const [agentId, rows] of byAgent) {
    if (!own.some(({ id }) => id === agentId))
      throw new ImportError("invalid", `There is no agent ${agentId}, which a record of the type knowledge refers to.`);
    const dumped = rows.map(({ table, row }) => ({ table, row }));
    const problem = await knowledgeIndexOf(op, agentId).putDump(dumped);
    if (problem !== undefined) throw new ImportError("invalid", `A record of the type ${KNOWLEDGE} is not valid: ${problem}.`);
  }
}

/** Stores bytes of attachments in the workspace's object. */
async function addFiles(op: Operation, records: readonly FileRecord[]): Promise<void> {
  if (records.length === 0) return;
  const ids = new Set(records.map(({ attachment_id: id }) => id));
  const [own] = await op.db.batch([listOwnAttachments(op.db, op.workspaceId, [...ids])]);
  for (const { attachment_id: id, part, bytes } of records) {
    if (!own.some((one) => one.id === id))
      throw new ImportError("invalid", `There is no attachment ${id}, which a record of the type ${FILE} refers to.`);
    await putPart(op, id, part, Uint8Array.fromBase64(bytes));
  }
}

/** Warns of imported secrets that this deployment cannot read. */
async function warningsOf(env: Env, header: Header, records: CheckedRecords): Promise<string[]> {
  const own = await ownKeyIds(env);
  const unreadable = new Set(keyIdsIn(secretsText(records)).filter((id) => !own.ENCRYPTION_KEY.includes(id)));
  const warnings = [...unreadable].map(
    (id) => `Stored secrets cannot be read: add the value with the id ${id} to ENCRYPTION_KEY, after a comma.`,
  );
  if (header.key_ids.KEY_SECRET.some((id) => !own.KEY_SECRET.includes(id))) {
    warnings.push("API keys will be refused: add the exporting deployment's KEY_SECRET to KEY_SECRET, after a comma.");
  }
  return warnings;
}

/**
 * Finds the import of an export. If there is none, it claims the slug and records a new import.
 * @throws ImportError if the export cannot be imported.
 */
async function openImport(op: OperatorOperation, header: Header) {
  const { db, workspaceId, nowMs } = op;
  const key = { workspaceId, exportId: header.export_id };
  await checkSchema(header);
  const [[row], [workspace]] = await db.batch([findImport(db, workspaceId), findAnyWorkspace(db, workspaceId)]);
  if (workspace?.deletedAt != null) {
    throw new ImportError("conflict", "The workspace was deleted and is being erased. Import it again once the erasure has finished.");
  }
  if (row?.exportId === key.exportId) {
    // Claimed again, since a request that started another import of the workspace at the same time may have replaced the claim.
    if (row.completedAt === null) await claimHeaderSlug(op, header.slug);
    return { key, row };
  }
  if (row && row.completedAt === null) {
    throw new ImportError("conflict", "Another export of this workspace is being imported. Complete or cancel that import first.");
  }
  if (workspace)
    throw new ImportError(
      "conflict",
      "The workspace already exists, with its own content. Delete it first, or import into another deployment.",
    );
  await claimHeaderSlug(op, header.slug);
  const [, , [created]] = await db.batch([createImport(db, key, nowMs), recordOperation(db, op), findImport(db, workspaceId)]);
  if (created?.exportId !== key.exportId) throw new ImportError("conflict", "Another import of this workspace has just started.");
  return { key, row: created };
}

async function checkSchema({ schema }: Header): Promise<void> {
  const ours = await schemaVersion();
  if (schema === ours) return;
  const advice = "Import it with the version of the service that exported it, then upgrade: migrations convert the records.";
  throw new ImportError("invalid", `The export has the schema ${schema}, and this service has ${ours}. ${advice}`);
}

/** @throws ImportError if the database of the workspace is not bound. */
export function requireDatabase(env: Env, workspaceId: string): void {
  if (hasDatabase(env, workspaceId)) return;
  const shard = shardOf(workspaceId);
  const advice = "Add the shard to SHARD_MAP, and bind its database: the last byte of every identifier of the workspace names the shard.";
  throw new ImportError("invalid", `The workspace belongs to shard ${shard}, which has no database. ${advice}`);
}

/** Claims the slug for the workspace, in place of one that an earlier request claimed and did not use. */
async function claimHeaderSlug({ env, meter, workspaceId }: Operation, slug: string): Promise<void> {
  const directory = directoryDb(env, meter);
  const claim = claimSlug(directory, { workspaceId, slug, shard: shardOf(workspaceId) });
  const [, [holder]] = await directory.batch([claim, findSlug(directory, slug)]);
  if (holder?.workspaceId === workspaceId) return;
  if (!holder) {
    const [, , [next]] = await directory.batch([releaseSlug(directory, workspaceId), claim, findSlug(directory, slug)]);
    if (next?.workspaceId === workspaceId) return;
  }
  throw new ImportError("conflict", `Another workspace has the slug ${slug}. Delete that one first, or import into another deployment.`);
}

/**
 * Compares the imported records with the end of the export, up to `pages` at a time, and makes the workspace visible once
 * they match. Call it until the state is complete.
 * @throws ImportError if they differ.
 */
export async function checkImport(op: OperatorOperation, header: Header, end: End, pages = MAX_PAGES): Promise<ImportState> {
  const { db } = op;
  const { key, row } = await openImport(op, header);
  if (row.completedAt !== null) return { state: "complete", warnings: [] };
  if (row.workspace === null)
    throw new ImportError("conflict", "Records of the export are missing: the workspace's own record was not sent.");
  const workspace = JSON.parse(row.workspace) as StoredRow;
  if (workspace["slug"] !== header.slug)
    throw new ImportError("conflict", "The workspace's own record does not have the slug of the header.");
  // An export without counts has sent none. The workspace's own record, which is the last one, has arrived.
  if (row.recountedAt === null) await clearTriggerCounts(op, key);
  let progress: Progress = progressOf(row.checked) ?? createProgress(key.exportId);
  for (let left = pages; left > 0; left--) {
    const page = await readPage(op, progress, workspace);
    if (!page) {
      await finishImport(op, key, { workspace, progress, end });
      return { state: "complete", warnings: [] };
    }
    ({ progress } = page);
  }
  await db.batch([updateImport(db, key, { checked: JSON.stringify(progress) })]);
  return { state: "checking", warnings: [] };
}

/** Returns the progress of a comparison; undefined if it has not begun, or has begun with 1.0.0, which stored no last ids. */
function progressOf(checked: string | null): Progress | undefined {
  return checked === null ? undefined : progressSchema.safeParse(JSON.parse(checked)).data;
}

async function finishImport(
  op: OperatorOperation,
  key: ImportKey,
  { workspace, progress, end }: { workspace: StoredRow; progress: Progress; end: End },
): Promise<void> {
  const { env, db, workspaceId, nowMs } = op;
  const types = [...new Set([...Object.keys(end.counts), ...Object.keys(progress.counts)])];
  const differing = types.filter((type) => end.counts[type] !== progress.counts[type]);
  if (differing.length > 0 || end.checksum !== progress.checksum) {
    await db.batch([updateImport(db, key, { checked: null })]);
    const shown = differing.map((type) => `${type}: ${progress.counts[type] ?? 0} of ${end.counts[type] ?? 0}`);
    const what = shown.length > 0 ? ` (${shown.join("; ")})` : ": the numbers match, but the contents of some records differ";
    throw new ImportError(
      "conflict",
      `The imported records differ from the export${what}. Send the file again; if that does not help, cancel the import.`,
    );
  }
  await removeUnlisted(op);
  const values = columnsOf(workspaces).map(({ name }) => workspace[name]!);
  await db.batch([...completeImport(db, key, values, { jurisdiction: jurisdictionFor(env, workspaceId), nowMs }), recordOperation(db, op)]);
  // The gate caches that the workspace does not exist if one of its keys was used during the import.
  await reloadGate(op);
  log("workspace_imported", { workspace_id: workspaceId, export_id: key.exportId });
}

/**
 * Removes the knowledge of sources and curated answers that the export does not contain, because they were added while it read the
 * knowledge.
 */
async function removeUnlisted(op: OperatorOperation): Promise<void> {
  const [own, sources, answers] = await op.db.batch(listKnowledge(op.db, op.workspaceId));
  const listed = [...sources, ...answers].map(({ id }) => id);
  for (const { id } of own) {
    await knowledgeIndexOf(op, id)
      .removeOthers(listed)
      .catch((error: unknown) => {
        // Objects of 1.0.0 lack the method, and keep this knowledge.
        if (!/does not implement/.test(String(error))) throw error;
      });
  }
}

/** Cancels an unfinished import; its records are erased in the background. @returns whether there was one. */
export async function abandonImport(op: OperatorOperation): Promise<boolean> {
  const { env, db, workspaceId, nowMs } = op;
  const [, [cancelled]] = await db.batch([
    ...cancelImport(db, workspaceId, { jurisdiction: jurisdictionFor(env, workspaceId), nowMs }),
    recordOperation(db, op),
  ]);
  if (!cancelled) return false;
  await startErasure(op);
  return true;
}
