import { eraseContents } from "../attachments/contents.ts";
import { releaseAddresses } from "../agents/store.ts";
import { sessionOf } from "../chat/session.ts";
import { conversationIndexOf } from "../conversations/conversation-index.ts";
import { knowledgeIndexOf } from "../knowledge/knowledge-index.ts";
import { leadIndexOf } from "../leads/lead-index.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { type Database, directoryDb, newOperation, type Operation } from "../platform/db/client.ts";
import { sendWakeUps } from "../platform/queue.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { gateOf } from "../workspaces/gate.ts";
import {
  eraseOwners,
  eraseSomeRows,
  eraseWorkspace,
  findDeletedWorkspace,
  isDeleted,
  listSomeOwners,
  WORKSPACE_TABLES,
} from "./erasure-store.ts";
import { releaseSlug } from "./store.ts";

/** A wake-up for the erasure of one deleted workspace. */
export interface ErasureMessage {
  workspaceId: string;
}

/** How many objects one step erases: well below the number of calls that an invocation may make. */
const OBJECTS_PER_STEP = 100;
/** How many rows one step deletes from each table: well below the limits of a D1 query. */
const ROWS_PER_STEP = 2_000;
/** How many steps a wake-up runs. It sends another wake-up if more is left. */
const STEPS_PER_RUN = 5;

/** Releases the slug of a workspace that is marked as deleted, and wakes its erasure. */
export async function startErasure({ env, meter, workspaceId }: Operation): Promise<void> {
  const directory = directoryDb(env, meter);
  await directory.batch([releaseSlug(directory, workspaceId)]);
  await sendWakeUps(env.ERASURE_QUEUE, [{ workspaceId }] satisfies ErasureMessage[]);
}

/** The outcome of a wake-up; after "goes_on" it has sent another one. */
type ErasureOutcome = "nothing_to_do" | "goes_on" | "erased";

/**
 * Erases a deleted workspace in bounded steps. Durable Objects are erased first, while the rows that name them exist, and then the
 * rows. The workspace's own row is erased last, so that the sweep finds and resumes an erasure that was interrupted.
 */
export async function eraseDeleted(env: Env, { workspaceId }: ErasureMessage, meter = new Meter()): Promise<ErasureOutcome> {
  if (!hasDatabase(env, workspaceId)) return "nothing_to_do";
  const op = newOperation(env, meter, workspaceId);
  const { db } = op;
  for (let step = 0; step < STEPS_PER_RUN; step++) {
    // Another run may have erased the workspace meanwhile, which may then have been imported again.
    const [[deleted]] = await db.batch([findDeletedWorkspace(db, workspaceId)]);
    if (!deleted) return "nothing_to_do";
    if (await eraseStep(op)) continue;
    const directory = directoryDb(env, meter);
    await directory.batch([releaseSlug(directory, workspaceId)]);
    // The indexes and the files are erased after the rows, so that nothing writes to them again.
    await eraseContents(op);
    await leadIndexOf(op).erase();
    await conversationIndexOf(op).erase();
    await gateOf(op).erase();
    await db.batch([eraseWorkspace(db, workspaceId, isDeleted(workspaceId))]);
    return "erased";
  }
  await sendWakeUps(env.ERASURE_QUEUE, [{ workspaceId }] satisfies ErasureMessage[]);
  return "goes_on";
}

/** Erases a bounded part. @returns false if nothing was left to erase. */
async function eraseStep(op: Operation): Promise<boolean> {
  const { env, meter, db, workspaceId } = op;
  const [conversations, agents] = await db.batch(listSomeOwners(db, workspaceId, OBJECTS_PER_STEP));
  if (conversations.length > 0 || agents.length > 0) {
    const conversationIds = conversations.map(({ id }) => id);
    const agentIds = agents.map(({ id }) => id);
    await Promise.all([
      ...conversationIds.map((id) => sessionOf(op, id).erase()),
      ...agentIds.map((id) => knowledgeIndexOf(op, id).erase()),
    ]);
    await releaseAgentAddresses(directoryDb(env, meter), workspaceId, agentIds);
    await db.batch(eraseOwners(db, conversationIds, agentIds, isDeleted(workspaceId)));
    return true;
  }
  const [first, ...rest] = eraseSomeRows(db, workspaceId, ROWS_PER_STEP, WORKSPACE_TABLES, isDeleted(workspaceId));
  const removed = await db.batch([first!, ...rest]);
  return removed.some((rows) => rows.length > 0);
}

/** Releases the mail addresses of these agents, in one trip. */
async function releaseAgentAddresses(directory: Database, workspaceId: string, agentIds: readonly string[]): Promise<void> {
  const [first, ...rest] = agentIds.map((id) => releaseAddresses(directory, workspaceId, id, null));
  if (first) await directory.batch([first, ...rest]);
}
