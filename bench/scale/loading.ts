import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import { type Conversation, conversationAt, leadAt, leadCount, visitorCount, visitorIdOf, type WorkspaceHistory } from "./history.ts";
import { rollUp } from "./rollups.ts";
import { handoffWriter, INACTIVITY_MINUTES, inserter, leadWriter, messageWriter, visitorWriter } from "./rows.ts";

/** About half a second's. */
const ROWS_A_TRANSACTION = 5_000;
const PREVIEW_CHARACTERS = 200;

/**
 * Writes a history of any size at once, each row as it ended up. The triggers are away meanwhile: they would change each
 * conversation, its entries in six indexes and three JSON counters with every message, ten times the work of the row
 * itself. What they keep is counted afterwards, from the rows.
 */
export async function loadBulk(db: DatabaseSync, history: WorkspaceHistory): Promise<void> {
  const triggers = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all() as { name: string; sql: string }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  const [writeVisitor, writeConversation, writeLead] = [visitorWriter(db), talkWriter(db), leadWriter(db)];
  await inTransactions(db, visitorCount(history), (n) => writeVisitor(history, n));
  await inTransactions(db, history.conversations, (n) => writeConversation(history, conversationAt(history, n)));
  await inTransactions(db, leadCount(history), (n) => writeLead(history, leadAt(history, n)));
  for (const { sql } of triggers) db.exec(sql);
  rollUp(db, history.workspaceId);
}

async function inTransactions(db: DatabaseSync, count: number, write: (n: number) => void): Promise<void> {
  for (let from = 0; from < count; from += ROWS_A_TRANSACTION) {
    db.exec("BEGIN");
    for (let n = from; n < Math.min(from + ROWS_A_TRANSACTION, count); n++) write(n);
    db.exec("COMMIT");
    // So that Ctrl-C is heard.
    await turn();
  }
}

function talkWriter(db: DatabaseSync): (history: WorkspaceHistory, conversation: Conversation) => void {
  const insert = inserter(db, "conversations");
  const [writeMessage, writeHandoff] = [messageWriter(db), handoffWriter(db)];
  return (history, conversation) => {
    const { messages, resolvedAtMs } = conversation;
    const last = messages.at(-1)!;
    const repliedAtMs = messages.find(({ role }) => role === "assistant")?.atMs ?? null;
    const resolvedBy = resolvedAtMs === null ? null : conversation.handoff ? "human" : "auto";
    insert({
      id: conversation.id,
      workspace_id: history.workspaceId,
      agent_id: conversation.agentId,
      channel: conversation.channel,
      status: conversation.status,
      visitor_id: visitorIdOf(history, conversation.visitor),
      message_count: messages.length,
      latest_message_id: last.id,
      last_message_preview: last.content.slice(0, PREVIEW_CHARACTERS),
      last_message_at: last.atMs,
      idle_at: last.atMs + INACTIVITY_MINUTES * 60_000,
      csat_score: conversation.csat,
      resolved_at: resolvedAtMs,
      resolved_by: resolvedBy,
      first_human_reply_at: last.role === "human" ? last.atMs : null,
      first_ai_reply_at: repliedAtMs,
      ai_resolved_at: conversation.handoff ? null : resolvedAtMs,
      created_at: messages[0]!.atMs,
      updated_at: resolvedAtMs ?? last.atMs,
    });
    for (const message of messages) writeMessage(history, conversation, message);
    writeHandoff(history, conversation);
  };
}

/**
 * Writes a history statement by statement, in the order of the service's own, with its triggers: as it would have come
 * to be. It takes some 100 µs a message, so it writes the neighbours, and the sample that the fast way is held against.
 */
export function replay(db: DatabaseSync, histories: readonly WorkspaceHistory[]): void {
  const [writeVisitor, writeConversation, writeLead] = [visitorWriter(db), talkReplayer(db), leadWriter(db)];
  db.exec("BEGIN");
  for (const history of histories) {
    for (let n = 0; n < visitorCount(history); n++) writeVisitor(history, n);
    for (let n = 0; n < history.conversations; n++) writeConversation(history, conversationAt(history, n));
    for (let n = 0; n < leadCount(history); n++) writeLead(history, leadAt(history, n));
  }
  db.exec("COMMIT");
}

function talkReplayer(db: DatabaseSync): (history: WorkspaceHistory, conversation: Conversation) => void {
  const begin = inserter(db, "conversations");
  const [writeMessage, writeHandoff] = [messageWriter(db), handoffWriter(db)];
  const move = db.prepare("UPDATE conversations SET status = ?, updated_at = ? WHERE id = ? AND status <> ?");
  const noteHuman = db.prepare("UPDATE conversations SET first_human_reply_at = ? WHERE id = ?");
  const resolve = db.prepare(
    "UPDATE conversations SET status = 'resolved', resolved_at = ?1, resolved_by = ?2, updated_at = ?1 WHERE id = ?3",
  );
  const rate = db.prepare("UPDATE conversations SET csat_score = ? WHERE id = ?");
  return (history, conversation) => {
    const beganMs = conversation.messages[0]!.atMs;
    begin({
      id: conversation.id,
      workspace_id: history.workspaceId,
      agent_id: conversation.agentId,
      channel: conversation.channel,
      status: "open",
      visitor_id: visitorIdOf(history, conversation.visitor),
      last_message_at: beganMs,
      created_at: beganMs,
      updated_at: beganMs,
    });
    for (const message of conversation.messages) {
      writeMessage(history, conversation, message);
      if (message.role === "assistant") move.run("ai_handled", message.atMs, conversation.id, "ai_handled");
      if (message.atMs === conversation.handoff?.atMs) {
        writeHandoff(history, conversation);
        move.run("needs_human", message.atMs, conversation.id, "needs_human");
      }
      if (message.role === "human") {
        noteHuman.run(message.atMs, conversation.id);
        move.run("human_active", message.atMs, conversation.id, "human_active");
      }
    }
    if (conversation.resolvedAtMs !== null)
      resolve.run(conversation.resolvedAtMs, conversation.handoff ? "human" : "auto", conversation.id);
    if (conversation.csat !== null) rate.run(conversation.csat, conversation.id);
  };
}

/** Where Miniflare keeps the files of its D1 databases, one for each, beside one of its own. */
const DATABASES = "d1/miniflare-D1DatabaseObject";
const OWN_FILE = "metadata.sqlite";

/**
 * Opens the service's one D1 database in a state folder whose Miniflare is closed, and runs `write` on it.
 * Nothing is kept safe from a crash meanwhile: the bench would start anew.
 */
export async function writeState(state: string, write: (db: DatabaseSync) => Promise<void>): Promise<void> {
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
