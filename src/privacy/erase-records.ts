import type { BatchItem } from "drizzle-orm/batch";
import { sessionOf } from "../chat/session.ts";
import { eraseLeads } from "../leads/leads.ts";
import type { Database } from "../platform/db/client.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { type Deleted, eraseConversationRows, eraseLeadEvents } from "./erasure-store.ts";

/** Conversations, each with an object, or leads that one step erases. */
export const RECORDS_A_STEP = 50;
/** Rows of each kind that one step removes: well under what one D1 query may take. */
const ROWS_A_STEP = 2_000;

/** In whose workspace records are erased. */
export interface Erasing {
  env: Env;
  meter: Meter;
  workspaceId: string;
  nowMs: number;
}

/** What goes in the same transaction, under the kind that it is counted as: a statement that returns what it removed. */
type Along = Record<string, BatchItem<"sqlite"> & { _: { result: readonly unknown[] } }>;

/**
 * Erases conversations with all that tells of them: the object first, while the row that names it is there. What is too
 * much for one step leaves the row, so that the conversation is found again.
 * @param inactiveSinceMs leaves those alone that were written to since, were it a moment ago.
 * @returns how many of each kind were removed.
 */
export async function eraseConversations(
  { env, meter, workspaceId }: Erasing,
  db: Database,
  ids: readonly string[],
  { inactiveSinceMs, along = {} }: { inactiveSinceMs?: number; along?: Along } = {},
): Promise<Deleted> {
  await Promise.all(ids.map((id) => sessionOf(env, meter, workspaceId, id).erase()));
  const { delivery_attempts, ...others } = { ...eraseConversationRows(db, workspaceId, ids, ROWS_A_STEP, inactiveSinceMs), ...along };
  const results: unknown[] = await db.batch([delivery_attempts, ...Object.values(others)]);
  return countsOf(["delivery_attempts", ...Object.keys(others)], results);
}

/**
 * Erases leads with all that tells of them, the index's entries included.
 * @returns how many of each kind were removed.
 */
export async function eraseLeadRecords(op: Erasing, db: Database, ids: readonly string[], along: Along = {}): Promise<Deleted> {
  const kinds = eraseLeadEvents(db, op.workspaceId, ids, ROWS_A_STEP);
  const results = await db.batch([kinds.delivery_attempts, kinds.deliveries, kinds.events]);
  const { leads, others } = await eraseLeads(op, ids, Object.values(along));
  return { ...countsOf(Object.keys(kinds), results), leads, ...countsOf(Object.keys(along), others) };
}

/** Adds what a step removed. */
export function addUp(deleted: Deleted, removed: Deleted): void {
  for (const [kind, count] of Object.entries(removed)) deleted[kind] = (deleted[kind] ?? 0) + count;
}

/** How many rows each statement returned, by its kind. */
export function countsOf(kinds: readonly string[], results: readonly unknown[]): Deleted {
  return Object.fromEntries(kinds.map((kind, at) => [kind, (results[at] as readonly unknown[] | undefined)?.length ?? 0]));
}
