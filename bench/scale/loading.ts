import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import {
  type Conversation,
  conversationAt,
  emailOf,
  leadAt,
  leadCount,
  visitorCount,
  visitorIdOf,
  type WorkspaceHistory,
} from "./history.ts";

/** How many records are written before Ctrl-C is heard. */
const RECORDS_A_TURN = 1_000;
const AUTHORS = { user: "visitor", assistant: "agent", human: "member" } as const;

/** Writes a history in the order of the service's own statements, so that the triggers keep what they count. Takes 0.3 ms a conversation. */
export async function loadHistory(db: DatabaseSync, history: WorkspaceHistory): Promise<void> {
  const write = writers(db, history);
  db.exec("BEGIN");
  for (let n = 0; n < visitorCount(history); n++) write.visitor(n);
  for (let n = 0; n < history.conversations; n++) {
    write.conversation(conversationAt(history, n));
    if (n % RECORDS_A_TURN === 0) await turn();
  }
  for (let n = 0; n < leadCount(history); n++) write.lead(n);
  db.exec("COMMIT");
}

function writers(db: DatabaseSync, history: WorkspaceHistory) {
  const { workspaceId: workspace_id } = history;
  const table = (name: string) => inserter(db, name);
  const inserts = { visitor: table("visitors"), conversation: table("conversations"), message: table("messages") };
  const [insertHandoff, insertLead] = [table("handoffs"), table("leads")];
  const move = db.prepare("UPDATE conversations SET status = ?, updated_at = ? WHERE id = ? AND status <> ?");
  const noteHuman = db.prepare("UPDATE conversations SET first_human_reply_at = ? WHERE id = ?");
  const resolve = db.prepare(
    "UPDATE conversations SET status = 'resolved', resolved_at = ?1, resolved_by = ?2, updated_at = ?1 WHERE id = ?3",
  );
  const rate = db.prepare("UPDATE conversations SET csat_score = ? WHERE id = ?");

  const handOff = ({ id: conversation_id, agentId: agent_id, status: ended, messages, handoff, resolvedAtMs }: Conversation) => {
    const { id, reason, question, atMs } = handoff!;
    const status = ended === "resolved" ? "resolved" : ended === "human_active" ? "accepted" : "pending";
    const accepted_at = status === "pending" ? null : messages.at(-1)!.atMs;
    const of = { id, workspace_id, agent_id, conversation_id, reason, summary: question, question_key: question };
    insertHandoff({ ...of, status, requested_at: atMs, accepted_at, resolved_at: resolvedAtMs });
  };

  return {
    /** Visitors are known by `api:<id>`, by external id and by email. */
    visitor: (n: number) => {
      const [created_at, updated_at, email, email_key] = [history.nowMs, history.nowMs, emailOf(n), emailOf(n)];
      const known = { anon_id: `api:u-${n}`, external_id: `u-${n}`, name: `Visitor ${n}`, email, email_key, verified: 1 };
      inserts.visitor({ id: visitorIdOf(history, n), workspace_id, ...known, created_at, updated_at });
    },
    conversation: (conversation: Conversation) => {
      const { id, agentId: agent_id, channel, messages, handoff, resolvedAtMs, csat } = conversation;
      const [created_at, visitor_id] = [messages[0]!.atMs, visitorIdOf(history, conversation.visitor)];
      const begun = { status: "open", last_message_at: created_at, created_at, updated_at: created_at };
      inserts.conversation({ id, workspace_id, agent_id, channel, visitor_id, ...begun });
      for (const { id: messageId, role, content, atMs } of messages) {
        // Every question uses the quota of its month.
        const quota_period = role === "user" ? new Date(atMs).toISOString().slice(0, 7) : null;
        const written = { role, author_type: AUTHORS[role], content, quota_period, created_at: atMs };
        inserts.message({ id: messageId, workspace_id, conversation_id: id, ...written });
        if (role === "assistant") move.run("ai_handled", atMs, id, "ai_handled");
        if (atMs === handoff?.atMs) {
          handOff(conversation);
          move.run("needs_human", atMs, id, "needs_human");
        }
        if (role === "human") {
          noteHuman.run(atMs, id);
          move.run("human_active", atMs, id, "human_active");
        }
      }
      if (resolvedAtMs !== null) resolve.run(resolvedAtMs, handoff ? "human" : "auto", id);
      if (csat !== null) rate.run(csat, id);
    },
    /** Leads are not yet in the index: the sweep hands them over. */
    lead: (n: number) => {
      const { id, agentId: agent_id, conversationId: conversation_id, visitor, name, email, phone, company, atMs } = leadAt(history, n);
      const of = { id, workspace_id, agent_id, conversation_id, visitor_id: visitorIdOf(history, visitor) };
      insertLead({ ...of, name, email, email_key: email, phone, custom_fields: JSON.stringify({ company }), created_at: atMs });
    },
  };
}

/** Returns a function that inserts rows, each with the same columns. */
function inserter(db: DatabaseSync, table: string): (row: Record<string, SQLInputValue>) => void {
  let statement: StatementSync | undefined;
  return (row) => {
    const names = Object.keys(row);
    statement ??= db.prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`);
    statement.run(...Object.values(row));
  };
}

/** Where Miniflare keeps the files of its D1 databases, one for each, beside one of its own. */
const DATABASES = "d1/miniflare-D1DatabaseObject";
const OWN_FILE = "metadata.sqlite";

/**
 * Opens the service's one D1 database in a state folder whose Miniflare is closed, and runs `write` on it.
 * What it writes does not survive a crash, after which the bench starts anew.
 */
export async function writeState(state: string, write: (db: DatabaseSync) => Promise<void> | void): Promise<void> {
  const folder = join(state, DATABASES);
  const files = readdirSync(folder).filter((file) => file.endsWith(".sqlite") && file !== OWN_FILE);
  if (files.length !== 1) throw new Error(`One database was expected in ${folder}: ${files.join(", ")}`);
  const db = new DatabaseSync(join(folder, files[0]!));
  db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY");
  try {
    await write(db);
    // As workerd has it.
    db.exec("PRAGMA journal_mode = WAL");
  } finally {
    db.close();
  }
}
