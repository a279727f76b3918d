import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { emailOf, type Lead, type Message, type Scene, type Talk, visitorIdOf } from "./history.ts";

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
export function visitorWriter(db: DatabaseSync): (scene: Scene, visitor: number) => void {
  const insert = inserter(db, "visitors");
  return (scene, visitor) => {
    insert({
      id: visitorIdOf(scene, visitor),
      workspace_id: scene.workspaceId,
      anon_id: `api:u-${visitor}`,
      external_id: `u-${visitor}`,
      name: `Visitor ${visitor}`,
      email: emailOf(visitor),
      email_key: emailOf(visitor),
      verified: 1,
      created_at: scene.nowMs,
      updated_at: scene.nowMs,
    });
  };
}

const AUTHORS = { user: "visitor", assistant: "agent", human: "member" } as const;

/** Writes messages. Every question uses the quota of its month. */
export function messageWriter(db: DatabaseSync): (scene: Scene, talk: Talk, message: Message) => void {
  const insert = inserter(db, "messages");
  return (scene, talk, { id, role, content, atMs }) => {
    insert({
      id,
      workspace_id: scene.workspaceId,
      conversation_id: talk.id,
      role,
      author_type: AUTHORS[role],
      content,
      quota_period: role === "user" ? new Date(atMs).toISOString().slice(0, 7) : null,
      created_at: atMs,
    });
  };
}

/** Writes hand-offs as they ended up. */
export function handoffWriter(db: DatabaseSync): (scene: Scene, talk: Talk) => void {
  const insert = inserter(db, "handoffs");
  return (scene, talk) => {
    if (!talk.handoff) return;
    const { id, reason, question, atMs } = talk.handoff;
    const status = talk.status === "resolved" ? "resolved" : talk.status === "human_active" ? "accepted" : "pending";
    insert({
      id,
      workspace_id: scene.workspaceId,
      agent_id: talk.agentId,
      conversation_id: talk.id,
      reason,
      summary: question,
      question_key: question,
      status,
      requested_at: atMs,
      accepted_at: status === "pending" ? null : talk.messages.at(-1)!.atMs,
      resolved_at: talk.resolvedAtMs,
    });
  };
}

/** Writes leads, not yet in the index: the sweep hands them over. */
export function leadWriter(db: DatabaseSync): (scene: Scene, lead: Lead) => void {
  const insert = inserter(db, "leads");
  return (scene, lead) => {
    insert({
      id: lead.id,
      workspace_id: scene.workspaceId,
      agent_id: lead.agentId,
      conversation_id: lead.talkId,
      visitor_id: visitorIdOf(scene, lead.visitor),
      name: lead.name,
      email: lead.email,
      email_key: lead.email,
      phone: lead.phone,
      custom_fields: JSON.stringify({ company: lead.company }),
      created_at: lead.atMs,
    });
  };
}
