import { and, eq, type SQL, sql } from "drizzle-orm";
import { CONVERSATION_STATUSES, type ConversationStatus } from "../platform/db/columns.ts";
import type { Database } from "../platform/db/client.ts";
import { conversations, handoffs, messages } from "../platform/db/schema.ts";
import { handoffAt, type Move } from "./status.ts";

/** A conversation and the workspace that it must belong to. */
export interface ConversationKey {
  workspaceId: string;
  conversationId: string;
}

interface MoveOptions {
  nowMs: number;
  /** Who resolves it, where the move does. */
  by?: "ai" | "human" | "api" | "auto";
  /** What else must hold. */
  where?: SQL;
}

/**
 * Moves a conversation, in the statement that reads its status: nobody can come between. It changes a row exactly when
 * the status changes, which the next statement of the batch can ask for as `changes() = 1`.
 */
export function moveConversation(db: Database, key: ConversationKey, move: Move, { nowMs, by, where }: MoveOptions) {
  const to = caseOf(conversations.status, move);
  const isResolving = sql`${to} = 'resolved'`;
  const isReopening = sql`${conversations.status} = 'resolved'`;
  const lastMessage = sql`(SELECT max(id) FROM ${messages} WHERE workspace_id = ${key.workspaceId} AND conversation_id = ${key.conversationId})`;
  return db
    .update(conversations)
    .set({
      status: sql`${to}`,
      resolvedAt: sql`CASE WHEN ${isResolving} THEN ${nowMs} END`,
      resolvedBy: sql`CASE WHEN ${isResolving} THEN ${by ?? null} END`,
      reopenedCount: sql`${conversations.reopenedCount} + (${isReopening})`,
      // After a resolution the model's context starts anew.
      contextAfter: sql`CASE WHEN ${isReopening} THEN ${lastMessage} ELSE ${conversations.contextAfter} END`,
      updatedAt: nowMs,
    })
    .where(and(isConversation(key), sql`${to} <> ${conversations.status}`, where));
}

/**
 * Brings the conversation's open hand-off to where the move takes it; it stands before the move, which changes the status.
 * @param answered whether a human has just replied.
 */
export function followHandoff(db: Database, key: ConversationKey, move: Move, { nowMs, answered }: { nowMs: number; answered: boolean }) {
  const status = sql`(SELECT status FROM ${conversations} WHERE id = ${key.conversationId} AND workspace_id = ${key.workspaceId})`;
  const reached = caseOf(status, (from) => handoffAt(move(from)));
  const accepts = answered ? sql`TRUE` : sql`${reached} = 'accepted'`;
  return db
    .update(handoffs)
    .set({
      status: sql`${reached}`,
      acceptedAt: sql`coalesce(${handoffs.acceptedAt}, CASE WHEN ${accepts} THEN ${nowMs} END)`,
      resolvedAt: sql`CASE WHEN ${reached} = 'resolved' THEN ${nowMs} END`,
    })
    .where(
      and(
        eq(handoffs.workspaceId, key.workspaceId),
        eq(handoffs.conversationId, key.conversationId),
        sql`${handoffs.status} <> 'resolved'`,
        sql`${reached} IS NOT NULL`,
      ),
    );
}

/** For the condition of another write: the conversation is the workspace's. */
export function conversationExists({ workspaceId, conversationId }: ConversationKey): SQL {
  return sql`EXISTS (SELECT 1 FROM ${conversations} WHERE id = ${conversationId} AND workspace_id = ${workspaceId})`;
}

/** That it is this conversation, of this workspace. */
export function isConversation({ workspaceId, conversationId }: ConversationKey): SQL {
  return and(eq(conversations.id, conversationId), eq(conversations.workspaceId, workspaceId))!;
}

/** A rule over statuses as SQL, so that the rule is written once. */
function caseOf(status: SQL | typeof conversations.status, rule: (status: ConversationStatus) => string | null): SQL {
  const cases = CONVERSATION_STATUSES.map((from) => sql`WHEN ${from} THEN ${rule(from)}`);
  return sql`(CASE ${status} ${sql.join(cases, sql` `)} END)`;
}
