import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { emailOf, type Lead, type Message, type Scene, type Talk, visitorIdOf } from "./history.ts";

/*
 * The rows that both writers make alike. A conversation that no agent's inactivity ends needs INACTIVITY_MINUTES: else the
 * sweep would resolve it while the bench measures.
 */

/** The longest that an agent may wait. */
export const INACTIVITY_MINUTES = 60 * 24 * 365;

/** A function that inserts one row with these columns. */
export function inserter(db: DatabaseSync, table: string, columns: readonly string[]): (...values: SQLInputValue[]) => void {
  const statement = db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`);
  return (...values) => void statement.run(...values);
}

/** Writes visitors: known by `api:<id>`, by external id and by email. */
export function visitorWriter(db: DatabaseSync): (scene: Scene, visitor: number) => void {
  const insert = inserter(db, "visitors", [
    ...["id", "workspace_id", "anon_id", "external_id", "name", "email", "email_key", "verified", "created_at", "updated_at"],
  ]);
  return (scene, visitor) => {
    const [email, id] = [emailOf(visitor), `u-${visitor}`];
    const atMs = scene.nowMs;
    insert(visitorIdOf(scene, visitor), scene.workspaceId, `api:${id}`, id, `Visitor ${visitor}`, email, email, 1, atMs, atMs);
  };
}

const AUTHORS = { user: "visitor", assistant: "agent", human: "member" } as const;

/** Writes messages. Every question uses the quota of its month. */
export function messageWriter(db: DatabaseSync): (scene: Scene, talk: Talk, message: Message) => void {
  const insert = inserter(db, "messages", [
    ...["id", "workspace_id", "conversation_id", "role", "author_type", "content", "quota_period", "created_at"],
  ]);
  return (scene, talk, { id, role, content, atMs }) => {
    const period = role === "user" ? new Date(atMs).toISOString().slice(0, 7) : null;
    insert(id, scene.workspaceId, talk.id, role, AUTHORS[role], content, period, atMs);
  };
}

/** Writes hand-offs as they ended up. */
export function handoffWriter(db: DatabaseSync): (scene: Scene, talk: Talk) => void {
  const insert = inserter(db, "handoffs", [
    ...["id", "workspace_id", "agent_id", "conversation_id", "reason", "summary", "question_key", "status"],
    ...["requested_at", "accepted_at", "resolved_at"],
  ]);
  return (scene, talk) => {
    if (!talk.handoff) return;
    const { id, reason, question, atMs } = talk.handoff;
    const status = talk.status === "resolved" ? "resolved" : talk.status === "human_active" ? "accepted" : "pending";
    const acceptedAtMs = status === "pending" ? null : talk.messages.at(-1)!.atMs;
    const { workspaceId } = scene;
    insert(id, workspaceId, talk.agentId, talk.id, reason, question, question, status, atMs, acceptedAtMs, talk.resolvedAtMs);
  };
}

/** Writes leads, not yet in the index: the sweep hands them over. */
export function leadWriter(db: DatabaseSync): (scene: Scene, lead: Lead) => void {
  const insert = inserter(db, "leads", [
    ...["id", "workspace_id", "agent_id", "conversation_id", "visitor_id", "name", "email", "email_key", "phone", "custom_fields"],
    "created_at",
  ]);
  return (scene, lead) => {
    const { id, agentId, talkId, name, email, phone, company, atMs } = lead;
    const visitorId = visitorIdOf(scene, lead.visitor);
    insert(id, scene.workspaceId, agentId, talkId, visitorId, name, email, email, phone, JSON.stringify({ company }), atMs);
  };
}
