import type { DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import { leadAt, leadCount, type Scene, type Talk, talkAt, visitorCount, visitorIdOf } from "./history.ts";
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
export async function loadBulk(db: DatabaseSync, scene: Scene): Promise<void> {
  const triggers = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all() as { name: string; sql: string }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  const [writeVisitor, writeTalk, writeLead] = [visitorWriter(db), talkWriter(db), leadWriter(db)];
  await inTransactions(db, visitorCount(scene), (n) => writeVisitor(scene, n));
  await inTransactions(db, scene.talks, (n) => writeTalk(scene, talkAt(scene, n)));
  await inTransactions(db, leadCount(scene), (n) => writeLead(scene, leadAt(scene, n)));
  for (const { sql } of triggers) db.exec(sql);
  rollUp(db, scene.workspaceId);
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

function talkWriter(db: DatabaseSync): (scene: Scene, talk: Talk) => void {
  const insert = inserter(db, "conversations");
  const [writeMessage, writeHandoff] = [messageWriter(db), handoffWriter(db)];
  return (scene, talk) => {
    const { messages, resolvedAtMs } = talk;
    const last = messages.at(-1)!;
    const repliedAtMs = messages.find(({ role }) => role === "assistant")?.atMs ?? null;
    const resolvedBy = resolvedAtMs === null ? null : talk.handoff ? "human" : "auto";
    insert({
      id: talk.id,
      workspace_id: scene.workspaceId,
      agent_id: talk.agentId,
      channel: talk.channel,
      status: talk.status,
      visitor_id: visitorIdOf(scene, talk.visitor),
      message_count: messages.length,
      last_message_preview: last.content.slice(0, PREVIEW_CHARACTERS),
      last_message_at: last.atMs,
      idle_at: last.atMs + INACTIVITY_MINUTES * 60_000,
      csat_score: talk.csat,
      resolved_at: resolvedAtMs,
      resolved_by: resolvedBy,
      first_human_reply_at: last.role === "human" ? last.atMs : null,
      first_ai_reply_at: repliedAtMs,
      ai_resolved_at: talk.handoff ? null : resolvedAtMs,
      created_at: messages[0]!.atMs,
      updated_at: resolvedAtMs ?? last.atMs,
    });
    for (const message of messages) writeMessage(scene, talk, message);
    writeHandoff(scene, talk);
  };
}
