import { getTableName } from "drizzle-orm";
import { indexOf } from "../knowledge/index.ts";
import { restoreLeads } from "../leads/leads.ts";
import { takeAddress } from "../operator/agents.ts";
import { claimSlug, findSlug } from "../operator/store.ts";
import { apiKeySecrets, secretValues } from "../platform/config.ts";
import { keyIdsIn, keyIdsOf } from "../platform/crypto/secrets.ts";
import { type Database, dbFor, directoryDb, isBoundShard } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import { agents, leads, type workspaceImports } from "../platform/db/schema.ts";
import { bindingName } from "../platform/db/shard-binding.ts";
import { transact } from "../platform/db/sql.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { KNOWLEDGE } from "./parts.ts";
import {
  type CheckedRecords,
  checkRecords,
  type GivenRecord,
  ImportRefusal,
  type KnowledgeRecord,
  schemaVersion,
  secretsText,
} from "./records.ts";
import {
  addRecords,
  beginImport,
  clearCounts,
  countRecords,
  findAnyWorkspace,
  findImport,
  type ImportKey,
  listOwnAgents,
  type StoredRow,
  updateImport,
} from "./store.ts";
import type { Header, ImportState } from "./wire.ts";

/** Rows of each table of counts removed in one step: well under what one D1 query may take. */
const ROWS_A_STEP = 2_000;
/** Each asks D1 once; more are left to the next request. */
const STEPS_A_REQUEST = 500;

/**
 * Takes records of an export in; the same ones again change nothing. Nobody sees them before the import is complete.
 * @throws ImportRefusal.
 */
export async function importRecords(op: ImportOperation, given: readonly GivenRecord[]): Promise<ImportState> {
  const records = checkRecords(op.header, given);
  if ("problems" in records) throw new ImportRefusal("invalid", "Some records are not valid.", records.problems);
  const opened = await openImport(op);
  const warnings = await warningsOf(op, records);
  if (opened.row.completedAt !== null) return { state: "complete", warnings };
  await clearOnce(op, opened, records);
  await addRows(opened, records);
  const rowsOf = (type: string) => records.tables.find((table) => table.type === type)?.rows ?? [];
  await takeAddresses(op, rowsOf(getTableName(agents)));
  const leadIds = rowsOf(getTableName(leads)).map(({ id }) => String(id));
  if (leadIds.length > 0) await restoreLeads({ ...op, workspaceId: opened.key.workspaceId }, leadIds);
  await putKnowledge(op, opened, records.knowledge);
  // Whatever was compared before may be something else now.
  const changes = { checked: null, ...(records.workspace && { workspace: JSON.stringify(records.workspace) }) };
  if (records.workspace || opened.row.checked !== null) await opened.db.batch([updateImport(opened.db, opened.key, changes)]);
  return { state: "importing", warnings };
}

/** What the triggers counted while rows came in gives way to the first counts of the export. */
async function clearOnce({ nowMs }: ImportOperation, { db, key, row }: OpenImport, { tables }: CheckedRecords): Promise<void> {
  if (row.recountedAt !== null || !tables.some(({ part }) => part.kind === "counts")) return;
  for (let step = 0; step < STEPS_A_REQUEST; step++) {
    const [first, ...rest] = clearCounts(db, key, ROWS_A_STEP);
    const removed = await db.batch([first!, ...rest]);
    if (removed.some((rows) => rows.length === ROWS_A_STEP)) continue;
    await db.batch([updateImport(db, key, { recountedAt: nowMs })]);
    return;
  }
  throw new ImportRefusal("unavailable", "There is more to make room for than one request may do. Send the same records again.");
}

async function addRows({ db, key }: OpenImport, { tables }: CheckedRecords): Promise<void> {
  if (tables.length === 0) return;
  const { after } = await transact(db, {
    before: [],
    writes: tables.map(({ part, values }) => addRecords(db, part, key, values)),
    after: tables.map(({ part, values }) => countRecords(db, part, key.workspaceId, values)) as [ReturnType<typeof countRecords>],
  });
  for (const [at, [found]] of (after as { count: number }[][]).entries()) {
    const { type, values } = tables[at]!;
    const missing = values.length - (found?.count ?? 0);
    if (missing === 0) continue;
    const why = "Their identifiers, or records that they name, are another workspace's here, or the import was given up meanwhile.";
    throw new ImportRefusal("conflict", `${missing} of ${values.length} records of the type ${type} cannot be put in. ${why}`);
  }
}

async function takeAddresses(op: ImportOperation, rows: readonly StoredRow[]): Promise<void> {
  for (const { id, email_address: address } of rows) {
    if (address === null || (await takeAddress({ ...op, workspaceId: op.header.workspace_id }, String(id), String(address)))) continue;
    throw new ImportRefusal("conflict", `Another agent has the mail address of the agent ${id}. Take it from that one, then go on.`);
  }
}

/** Objects are named by the workspace and the agent: an agent that the workspace does not have gets none. */
async function putKnowledge({ env, meter }: ImportOperation, { db, key }: OpenImport, records: readonly KnowledgeRecord[]): Promise<void> {
  const byAgent = Map.groupBy(records, ({ agent_id: agentId }) => agentId);
  if (byAgent.size === 0) return;
  const [own] = await db.batch([listOwnAgents(db, key.workspaceId, [...byAgent.keys()])]);
  for (const [agentId, rows] of byAgent) {
    if (!own.some(({ id }) => id === agentId))
      throw new ImportRefusal("invalid", `There is no agent ${agentId} that a record of knowledge names.`);
    const dumped = rows.map(({ table, row }) => ({ table, row }));
    const problem = await indexOf(env, meter, key.workspaceId, agentId).putDump(dumped);
    if (problem !== undefined) throw new ImportRefusal("invalid", `A record of the type ${KNOWLEDGE} is not valid: ${problem}.`);
  }
}

/** What the operator should know: secrets that came along and that this deployment cannot read. */
async function warningsOf({ env, header }: ImportOperation, records: CheckedRecords): Promise<string[]> {
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

/** Which values of the two secrets this deployment has, by their ids. */
export async function ownKeyIds(env: Env): Promise<Header["key_ids"]> {
  const [encryption, keys] = await Promise.all([keyIdsOf(secretValues(env.ENCRYPTION_KEY)), keyIdsOf(apiKeySecrets(env))]);
  return { ENCRYPTION_KEY: encryption, KEY_SECRET: keys };
}
