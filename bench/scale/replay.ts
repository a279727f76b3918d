import type { DatabaseSync } from "node:sqlite";
import { leadAt, leadCount, type Scene, type Talk, talkAt, visitorCount, visitorIdOf } from "./history.ts";
import { handoffWriter, inserter, leadWriter, messageWriter, visitorWriter } from "./rows.ts";

/**
 * Writes a history statement by statement, in the order of the service's own, with its triggers: as it would have come
 * to be. It takes some 100 µs a message, so it writes the neighbours, and the sample that the fast way is held against.
 */
export function replay(db: DatabaseSync, scenes: readonly Scene[]): void {
  const [writeVisitor, writeTalk, writeLead] = [visitorWriter(db), talkReplayer(db), leadWriter(db)];
  db.exec("BEGIN");
  for (const scene of scenes) {
    for (let n = 0; n < visitorCount(scene); n++) writeVisitor(scene, n);
    for (let n = 0; n < scene.talks; n++) writeTalk(scene, talkAt(scene, n));
    for (let n = 0; n < leadCount(scene); n++) writeLead(scene, leadAt(scene, n));
  }
  db.exec("COMMIT");
}

function talkReplayer(db: DatabaseSync): (scene: Scene, talk: Talk) => void {
  const begin = inserter(db, "conversations");
  const [writeMessage, writeHandoff] = [messageWriter(db), handoffWriter(db)];
  const move = db.prepare("UPDATE conversations SET status = ?, updated_at = ? WHERE id = ? AND status <> ?");
  const noteHuman = db.prepare("UPDATE conversations SET first_human_reply_at = ? WHERE id = ?");
  const resolve = db.prepare(
    "UPDATE conversations SET status = 'resolved', resolved_at = ?1, resolved_by = ?2, updated_at = ?1 WHERE id = ?3",
  );
  const rate = db.prepare("UPDATE conversations SET csat_score = ? WHERE id = ?");
  return (scene, talk) => {
    const beganMs = talk.messages[0]!.atMs;
    begin({
      id: talk.id,
      workspace_id: scene.workspaceId,
      agent_id: talk.agentId,
      channel: talk.channel,
      status: "open",
      visitor_id: visitorIdOf(scene, talk.visitor),
      last_message_at: beganMs,
      created_at: beganMs,
      updated_at: beganMs,
    });
    for (const message of talk.messages) {
      writeMessage(scene, talk, message);
      if (message.role === "assistant") move.run("ai_handled", message.atMs, talk.id, "ai_handled");
      if (message.atMs === talk.handoff?.atMs) {
        writeHandoff(scene, talk);
        move.run("needs_human", message.atMs, talk.id, "needs_human");
      }
      if (message.role === "human") {
        noteHuman.run(message.atMs, talk.id);
        move.run("human_active", message.atMs, talk.id, "human_active");
      }
    }
    if (talk.resolvedAtMs !== null) resolve.run(talk.resolvedAtMs, talk.handoff ? "human" : "auto", talk.id);
    if (talk.csat !== null) rate.run(talk.csat, talk.id);
  };
}
