import { and, count, desc, eq, inArray, lt, type SQL, sql } from "drizzle-orm";
import { appendEvent, newEvent } from "../events/outbox.ts";
import type { Database } from "../platform/db/client.ts";
import type { ApprovalOutcome, ApprovalStatus } from "../platform/db/columns.ts";
import { approvals, conversations, handoffs } from "../platform/db/schema.ts";
import {
  exists,
  findOwn,
  IF_CHANGED,
  increasedTo,
  insertWhere,
  isOfConversation,
  isOwn,
  jsonIds,
  type Page,
  recordJson,
} from "../platform/db/sql.ts";
import { type ConversationKey, conversationExists, isConversation } from "./store.ts";

const APPROVAL_JSON = recordJson(
  approvals,
  "a",
  "id, agent_id, conversation_id, message_id, tool, arguments, status, reason, decided_by, outcome, requested_at, decided_at, expires_at",
  {
    decided_by: sql`json(CASE WHEN a.decided_by_name IS NOT NULL THEN json_object('id', a.decided_by_id, 'name', a.decided_by_name) END)`,
  },
);

/** Returns a subquery for the wire record of an approval, which `appendEvent` stores. */
function approvalRecord(id: string): SQL {
  return sql`(SELECT ${APPROVAL_JSON} FROM ${approvals} a WHERE a.id = ${id})`;
}

/** A call that the team is asked to approve. */
export interface NewApproval {
  id: string;
  agentId: string;
  messageId: string;
  tool: string;
  arguments: Record<string, unknown>;
  expiresAt: number;
}

/** Adds a call that the team is asked to approve, with its event, unless it is stored already or the conversation is erased. */
export function createApproval(db: Database, key: ConversationKey, approval: NewApproval, nowMs: number) {
  const row = { ...approval, ...keyOf(key), status: "pending" as const, requestedAt: nowMs };
  return [
    insertWhere(db, approvals, row, conversationExists(key)).onConflictDoNothing(),
    ...appendEvent(db, newEvent(key, nowMs), "tool_call.approval_requested", approvalRecord(approval.id)),
  ];
}

/** How a call was decided. */
export interface Decision {
  status: Exclude<ApprovalStatus, "pending">;
  /** The arguments with which it is made, if they were changed. */
  arguments: Record<string, unknown> | null;
  reason: string | null;
  /** The member of the team, or the API key without an id; null if it expired. */
  by: { id: string | null; name: string } | null;
  atMs: number;
}

/** Records a decision with its event, unless there is one already. */
export function decideApproval(db: Database, key: ConversationKey, id: string, { by, atMs, ...decision }: Decision) {
  const { status, reason } = decision;
  return [
    db
      .update(approvals)
      .set({
        status,
        reason,
        decidedById: by?.id ?? null,
        decidedByName: by?.name ?? null,
        decidedAt: atMs,
        ...(decision.arguments && { arguments: decision.arguments }),
      })
      .where(and(isOwn(approvals, key.workspaceId, id), eq(approvals.status, "pending"))),
    ...appendEvent(db, newEvent(key, atMs), "tool_call.decided", approvalRecord(id)),
  ];
}

/** Records what an approved call did. */
export function setOutcome(db: Database, workspaceId: string, id: string, outcome: ApprovalOutcome) {
  return db
    .update(approvals)
    .set({ outcome })
    .where(isOwn(approvals, workspaceId, id));
}

/**
 * Gives the conversation back to the agent, which has answered after the team's decision: resolves the hand-off that asked for it, unless
 * another call waits or a member of the team has taken over.
 */
export function endApprovalHandoff(db: Database, key: ConversationKey, nowMs: number) {
  const isWaiting = exists(approvals, isOfConversation(approvals, key), eq(approvals.status, "pending"));
  return [
    db
      .update(handoffs)
      .set({ status: "resolved", resolvedAt: nowMs })
      .where(
        and(
          isOfConversation(handoffs, key),
          eq(handoffs.status, "pending"),
          eq(handoffs.reason, "approval_required"),
          sql`NOT ${isWaiting}`,
        ),
      ),
    db
      .update(conversations)
      .set({ status: "ai_handled", unreadCount: 0, updatedAt: increasedTo(conversations.updatedAt, nowMs) })
      .where(and(isConversation(key), eq(conversations.status, "needs_human"), IF_CHANGED)),
  ];
}

/** Changes the reason of the hand-off that asked for an approval, because the agent or the visitor asks for a human for another one. */
export function changeApprovalHandoff(db: Database, key: ConversationKey, reason: typeof handoffs.$inferSelect.reason) {
  return db
    .update(handoffs)
    .set({ reason })
    .where(and(isOfConversation(handoffs, key), eq(handoffs.status, "pending"), eq(handoffs.reason, "approval_required")));
}

export function findApproval(db: Database, workspaceId: string, id: string) {
  return findOwn(db, approvals, workspaceId, id);
}

/** No more approvals are counted, so that a list costs the same however many there are. */
const MAX_TOTAL = 1_000;

/** The filters of a list of approvals. */
interface ApprovalFilter {
  status?: ApprovalStatus | undefined;
  conversationId?: string | undefined;
}

/** Reads one page of approvals, newest first, plus one row if there is another page; then the total up to MAX_TOTAL. */
export function pageApprovals(db: Database, workspaceId: string, filter: ApprovalFilter, { limit, offset, cursor }: Page) {
  const where = and(
    eq(approvals.workspaceId, workspaceId),
    filter.status && eq(approvals.status, filter.status),
    filter.conversationId === undefined ? undefined : eq(approvals.conversationId, filter.conversationId),
  );
  return [
    db
      .select()
      .from(approvals)
      .where(and(where, cursor && lt(approvals.id, cursor.id)))
      .orderBy(desc(approvals.id))
      .limit(limit + 1)
      .offset(offset),
    db.select({ total: count() }).from(db.select({ id: approvals.id }).from(approvals).where(where).limit(MAX_TOTAL).as("counted")),
  ] as const;
}

/** Lists the approvals of these conversations. */
export function listApprovalsOf(db: Database, workspaceId: string, conversationIds: readonly string[]) {
  return db
    .select()
    .from(approvals)
    .where(and(eq(approvals.workspaceId, workspaceId), inArray(approvals.conversationId, jsonIds(conversationIds))));
}

function keyOf({ workspaceId, conversationId }: ConversationKey): ConversationKey {
  return { workspaceId, conversationId };
}
