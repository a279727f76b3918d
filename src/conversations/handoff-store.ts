import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { newId, shardOf } from "../db/ids.ts";
import { insertWhere } from "../db/insert-where.ts";
import { conversations, handoffs } from "../db/schema.ts";
import { addHandoffEvent, IF_CHANGED } from "../webhooks/events-store.ts";
import type { ConversationKey } from "./moves-store.ts";
import type { HandoffReason } from "./status.ts";

interface Requested extends ConversationKey {
  agentId: string;
  nowMs: number;
}

interface Cause {
  reason: HandoffReason;
  summary: string | SQL | null;
  triggerMessageId: string | SQL | null;
  /** What knowledge was missing for, as analytics groups it. */
  questionKey: string | null;
}

/** A hand-off and its event, unless the conversation has one already or a human took it over meanwhile. */
export function addHandoff(db: Database, { workspaceId, conversationId, agentId, nowMs }: Requested, cause: Cause) {
  const id = newId(shardOf(workspaceId), nowMs);
  const row = { id, workspaceId, agentId, conversationId, ...cause, status: "pending" as const, requestedAt: nowMs };
  const isWaiting = sql`EXISTS (SELECT 1 FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId} AND status = 'needs_human')`;
  const event = { id: newId(shardOf(workspaceId), nowMs), workspaceId, conversationId, nowMs };
  return [insertWhere(db, handoffs, row, isWaiting).onConflictDoNothing(), ...addHandoffEvent(db, event, id, IF_CHANGED)] as const;
}
