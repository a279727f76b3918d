import { and, count, eq, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { conversations, notes } from "../platform/db/schema.ts";
import { exists, findOwn, increasedTo, insertWhere, isOfConversation, jsonIds } from "../platform/db/sql.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { windowsHaveRoom } from "../workspaces/usage-limit-store.ts";
import { type ConversationKey, conversationExists, isConversation, type Member } from "./store.ts";

/**
 * Adds a note at the end of the transcript, if the conversation exists and has room, and each rate-limit window has room. Returns the
 * note if it was added.
 */
export function createNote(
  db: Database,
  key: ConversationKey,
  note: { id: string; content: string; author: Member | null; nowMs: number; maxMessages: number },
  windows: readonly LimitWindow[],
) {
  const { workspaceId, conversationId } = key;
  const ofConversation = sql`FROM ${notes} WHERE workspace_id = ${workspaceId} AND conversation_id = ${conversationId}`;
  const lastNoteAt = sql`coalesce((SELECT max(created_at) ${ofConversation}), 0)`;
  const lastMessageAt = sql`(SELECT last_message_at FROM ${conversations} WHERE id = ${conversationId})`;
  const row = {
    id: note.id,
    workspaceId,
    conversationId,
    authorId: note.author?.id ?? null,
    authorName: note.author?.name ?? null,
    content: note.content,
    createdAt: sql`max(${note.nowMs}, ${lastMessageAt} + 1, ${lastNoteAt} + 1)`,
  };
  const hasRoom = sql`(SELECT count(*) ${ofConversation}) < ${note.maxMessages}`;
  return insertWhere(db, notes, row, sql`${conversationExists(key)} AND ${hasRoom} AND ${windowsHaveRoom(workspaceId, windows)}`)
    .onConflictDoNothing()
    .returning();
}

/** Moves the conversation to the top of the list, if the note is stored. The time increases, so that the search index sees the change. */
export function recordNote(db: Database, key: ConversationKey, noteId: string, nowMs: number) {
  return db
    .update(conversations)
    .set({ updatedAt: increasedTo(conversations.updatedAt, nowMs) })
    .where(and(isConversation(key), exists(notes, eq(notes.id, noteId))));
}

export function findNote(db: Database, workspaceId: string, noteId: string) {
  return findOwn(db, notes, workspaceId, noteId);
}

export function countNotes(db: Database, workspaceId: string, conversationId: string) {
  return db.select({ count: count() }).from(notes).where(isOfConversation(notes, { workspaceId, conversationId }));
}

/** Lists the notes of these conversations that follow another note, by conversation, oldest first. */
export function listNotesAfter(
  db: Database,
  workspaceId: string,
  conversationIds: readonly string[],
  after: Pick<typeof notes.$inferSelect, "conversationId" | "createdAt" | "id"> | undefined,
  limit: number,
) {
  const { conversationId = "", createdAt = 0, id = "" } = after ?? {};
  return db
    .select()
    .from(notes)
    .where(
      sql`${notes.workspaceId} = ${workspaceId} AND ${notes.conversationId} IN ${jsonIds(conversationIds)}
        AND (${notes.conversationId}, ${notes.createdAt}, ${notes.id}) > (${conversationId}, ${createdAt}, ${id})`,
    )
    .orderBy(notes.conversationId, notes.createdAt, notes.id)
    .limit(limit);
}
