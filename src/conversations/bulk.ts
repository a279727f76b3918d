import { announce } from "../events/live-channel.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import type { Operation } from "../platform/db/client.ts";
import { type Statement, transact } from "../platform/db/sql.ts";
import { assignWaiting, findQueue } from "../routing/assignment.ts";
import { changeWrites, type ConversationOperation } from "./conversations.ts";
import type { SettableStatus } from "./status.ts";
import { type ConversationState, listStates, updateTags } from "./store.ts";
import { type Changer, MAX_TAGS } from "../platform/db/columns.ts";

interface BulkChanges {
  by: Changer;
  status?: SettableStatus | undefined;
  addedTags: readonly string[];
  removedTags: readonly string[];
  snoozedUntil?: number | null | undefined;
}

interface BulkResult {
  id: string;
  outcome: "changed" | "unchanged" | "too_many_tags" | "not_found";
  before: ConversationState | undefined;
  after: ConversationState | undefined;
}

/** The conversations that one batch changes. Each takes up to seven statements, and a batch keeps the database from other requests. */
const BULK_BATCH_SIZE = 25;

/**
 * Changes several conversations like `changeConversation`, each of them wholly or not at all. If a batch fails, those before it stay
 * changed, and the same changes can be made again.
 * @returns what happened to each, in the order of the ids.
 */
export async function changeConversations(op: Operation, ids: readonly string[], changes: BulkChanges): Promise<BulkResult[]> {
  const { db, workspaceId } = op;
  const beforeOf = statesById(await listStates(db, workspaceId, ids));
  const refused = new Set(ids.filter((id) => hasTooManyTags(beforeOf.get(id), changes)));
  const changeable = ids.filter((id) => beforeOf.has(id) && !refused.has(id));
  const afterOf = new Map(beforeOf);
  let queue;
  for (let at = 0; at < changeable.length; at += BULK_BATCH_SIZE) {
    const part = changeable.slice(at, at + BULK_BATCH_SIZE);
    const writes = part.flatMap((conversationId) => bulkWrites({ ...op, conversationId }, changes));
    const { written, after } = await transact(db, { writes, after: [listStates(db, workspaceId, part), findQueue(db, workspaceId)] });
    for (const [id, state] of statesById(after[0])) afterOf.set(id, state);
    [queue] = after[1];
    await wakeDeliveries(op.env, written);
    announce(op.env, workspaceId, ...part.map((id) => ({ kind: "conversation", id }) as const));
  }
  // Members may have room for other conversations now.
  if (changes.status) await assignWaiting(op, queue);
  const outcomeOf = (id: string): BulkResult["outcome"] => {
    if (!beforeOf.has(id)) return "not_found";
    if (refused.has(id)) return "too_many_tags";
    return JSON.stringify(beforeOf.get(id)) === JSON.stringify(afterOf.get(id)) ? "unchanged" : "changed";
  };
  return ids.map((id) => ({ id, outcome: outcomeOf(id), before: beforeOf.get(id), after: afterOf.get(id) }));
}

function bulkWrites(op: ConversationOperation, { by, status, addedTags, removedTags, snoozedUntil }: BulkChanges): Statement[] {
  const isTagging = addedTags.length > 0 || removedTags.length > 0;
  return [
    ...(isTagging ? [updateTags(op.db, op.workspaceId, op.conversationId, { added: addedTags, removed: removedTags }, op.nowMs)] : []),
    ...changeWrites(op, { by, status, snoozedUntil }),
  ];
}

function hasTooManyTags(state: ConversationState | undefined, { addedTags, removedTags }: BulkChanges): boolean {
  if (!state) return false;
  const kept = state.tags.filter((tag) => !removedTags.includes(tag));
  const count = new Set([...kept, ...addedTags]).size;
  return count > MAX_TAGS && count > state.tags.length;
}

function statesById(states: readonly ConversationState[]): Map<string, ConversationState> {
  return new Map(states.map((state) => [state.id, state]));
}
