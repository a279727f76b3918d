import type { DatabaseSync } from "node:sqlite";
import { leadAt, leadCount, type Scene, type Talk, talkAt, visitorCount, visitorIdOf } from "./history.ts";
import { rollUp } from "./rollups.ts";
import { handoffWriter, INACTIVITY_MINUTES, inserter, leadWriter, messageWriter, visitorWriter } from "./rows.ts";

/** Enough that few rows are written alone, and few are kept in memory. */
const TALKS_A_TRANSACTION = 50_000;
const PREVIEW_CHARACTERS = 200;

/**
 * Writes a history of any size at once, each row as it ended up. The triggers are away meanwhile: they would change each
 * conversation and its nine index entries and three JSON counters with every message, ten times the work of the row
 * itself. What they keep is counted afterwards, from the rows.
 */
export function loadBulk(db: DatabaseSync, scene: Scene): void {
  const triggers = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all() as { name: string; sql: string }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  const [writeVisitor, writeTalk, writeLead] = [visitorWriter(db), talkWriter(db), leadWriter(db)];
  inTransactions(db, visitorCount(scene), (n) => writeVisitor(scene, n));
  inTransactions(db, scene.talks, (n) => writeTalk(scene, talkAt(scene, n)));
  inTransactions(db, leadCount(scene), (n) => writeLead(scene, leadAt(scene, n)));
  for (const { sql } of triggers) db.exec(sql);
  rollUp(db, scene.workspaceId);
}

function inTransactions(db: DatabaseSync, count: number, write: (n: number) => void): void {
  for (let n = 0; n < count; n++) {
    if (n % TALKS_A_TRANSACTION === 0) db.exec(n === 0 ? "BEGIN" : "COMMIT; BEGIN");
    write(n);
  }
  if (count > 0) db.exec("COMMIT");
}

function talkWriter(db: DatabaseSync): (scene: Scene, talk: Talk) => void {
  const insert = inserter(db, "conversations", [
    ...["id", "workspace_id", "agent_id", "channel", "status", "visitor_id", "message_count", "last_message_preview", "last_message_at"],
    ...["idle_at", "csat_score", "resolved_at", "resolved_by", "first_human_reply_at", "first_ai_reply_at", "ai_resolved_at"],
    ...["created_at", "updated_at"],
  ]);
  const [writeMessage, writeHandoff] = [messageWriter(db), handoffWriter(db)];
  return (scene, talk) => {
    const { messages, resolvedAtMs } = talk;
    const last = messages.at(-1)!;
    const repliedAtMs = messages.find(({ role }) => role === "assistant")?.atMs ?? null;
    const resolvedBy = resolvedAtMs === null ? null : talk.handoff ? "human" : "auto";
    insert(
      ...[talk.id, scene.workspaceId, talk.agentId, talk.channel, talk.status, visitorIdOf(scene, talk.visitor), messages.length],
      ...[last.content.slice(0, PREVIEW_CHARACTERS), last.atMs, last.atMs + INACTIVITY_MINUTES * 60_000, talk.csat],
      ...[resolvedAtMs, resolvedBy, last.role === "human" ? last.atMs : null, repliedAtMs, talk.handoff ? null : resolvedAtMs],
      ...[messages[0]!.atMs, resolvedAtMs ?? last.atMs],
    );
    for (const message of messages) writeMessage(scene, talk, message);
    writeHandoff(scene, talk);
  };
}
