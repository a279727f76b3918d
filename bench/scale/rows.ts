import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { type Conversation, emailOf, type Lead, type Message, visitorIdOf, type WorkspaceHistory } from "./history.ts";

/* The rows that both writers make alike. */

/** The longest that an agent may wait: else the sweep would resolve what is idle while the bench measures. */
export const INACTIVITY_MINUTES = 60 * 24 * 365;

/** A function that inserts rows, by the names of their columns: each with the same ones. */
export function inserter(db: DatabaseSync, table: string): (row: Record<string, SQLInputValue>) => void {
  let statement: StatementSync | undefined;
  return (row) => {
    const names = Object.keys(row);
    statement ??= db.prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`);
    statement.run(...Object.values(row));
  };
}

/** Writes visitors: known by `api:<id>`, by external id and by email. */
export function visitorWriter(db: DatabaseSync): (history: WorkspaceHistory, visitor: number) => void {
  const insert = inserter(db, "visitors");
  return (history, visitor) => {
    insert({
      id: visitorIdOf(history, visitor),
      workspace_id: history.workspaceId,
      anon_id: `api:u-${visitor}`,
      external_id: `u-${visitor}`,
      name: `Visitor ${visitor}`,
      email: emailOf(visitor),
      email_key: emailOf(visitor),
      verified: 1,
      created_at: history.nowMs,
      updated_at: history.nowMs,
    });
  };
}

const AUTHORS = { user: "visitor", assistant: "agent", human: "member" } as const;

/** Writes messages. Every question uses the quota of its month. */
export function messageWriter(db: DatabaseSync): (history: WorkspaceHistory, conversation: Conversation, message: Message) => void {
  const insert = inserter(db, "messages");
  return (history, conversation, { id, role, content, atMs }) => {
    insert({
      id,
      workspace_id: history.workspaceId,
      conversation_id: conversation.id,
      role,
      author_type: AUTHORS[role],
      content,
      quota_period: role === "user" ? new Date(atMs).toISOString().slice(0, 7) : null,
      created_at: atMs,
    });
  };
}

/** Writes hand-offs as they ended up. */
export function handoffWriter(db: DatabaseSync): (history: WorkspaceHistory, conversation: Conversation) => void {
  const insert = inserter(db, "handoffs");
  return (history, conversation) => {
    if (!conversation.handoff) return;
    const { id, reason, question, atMs } = conversation.handoff;
    const status = conversation.status === "resolved" ? "resolved" : conversation.status === "human_active" ? "accepted" : "pending";
    insert({
      id,
      workspace_id: history.workspaceId,
      agent_id: conversation.agentId,
      conversation_id: conversation.id,
      reason,
      summary: question,
      question_key: question,
      status,
      requested_at: atMs,
      accepted_at: status === "pending" ? null : conversation.messages.at(-1)!.atMs,
      resolved_at: conversation.resolvedAtMs,
    });
  };
}

/** Writes leads, not yet in the index: the sweep hands them over. */
export function leadWriter(db: DatabaseSync): (history: WorkspaceHistory, lead: Lead) => void {
  const insert = inserter(db, "leads");
  return (history, lead) => {
    insert({
      id: lead.id,
      workspace_id: history.workspaceId,
      agent_id: lead.agentId,
      conversation_id: lead.conversationId,
      visitor_id: visitorIdOf(history, lead.visitor),
      name: lead.name,
      email: lead.email,
      email_key: lead.email,
      phone: lead.phone,
      custom_fields: JSON.stringify({ company: lead.company }),
      created_at: lead.atMs,
    });
  };
}
