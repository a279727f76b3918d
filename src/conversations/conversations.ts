import { listTakable, missingFiles, takeFiles, type TakenFiles } from "../attachments/store.ts";
import { announce } from "../events/live-channel.ts";
import { appendEvent, newEvent, wakeDeliveries, wakeEmails } from "../events/outbox.ts";
import { createDraft, listQuestionsBefore } from "../knowledge/draft-store.ts";
import { matchDraftQuestion } from "../knowledge/drafts.ts";
import type { Database, Operation } from "../platform/db/client.ts";
import type { Changer, Priority } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { IF_CHANGED, type Statement, transact } from "../platform/db/sql.ts";
import { dayWindow, type LimitWindow, findFullWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts } from "../workspaces/usage-limit-store.ts";
import type { Limits } from "../workspaces/plans.ts";
import { createNote, findNote, recordNote } from "./note-store.ts";
import { assignWaiting, findQueue } from "../routing/assignment.ts";
import { messageRecord, resolvedRecord } from "./payloads.ts";
import { type Transition, transitionOn, transitionTo, type SettableStatus } from "./status.ts";
import {
  createReply,
  type ConversationKey,
  findConversation,
  findConversationRecord,
  findMessage,
  findMessageCount,
  transitionHandoff,
  isIdle,
  transitionConversation,
  recordHumanReply,
  updateByTeam,
  type Member,
} from "./store.ts";

/** An operation on a conversation. */
export type ConversationOperation = Operation & ConversationKey;

interface Changes {
  by: Changer;
  status?: SettableStatus | null | undefined;
  tags?: string[] | null | undefined;
  assignee?: Member | null | undefined;
  read?: boolean | null | undefined;
  snoozedUntil?: number | null | undefined;
  teamId?: string | null | undefined;
  priority?: Priority | null | undefined;
  assign?: "round_robin" | null | undefined;
}

/**
 * Changes a conversation's status, tags, assignee, team, priority and snooze, and whether the team has read it. Setting the present status
 * sends no event, and nor does resolving it again before anybody has written.
 * @returns its wire record, or undefined if the workspace has no such conversation.
 */
export async function changeConversation(op: ConversationOperation, changes: Changes) {
  const { db, workspaceId, conversationId } = op;
  const { status, assignee, assign } = changes;
  const record = findConversationRecord(db, workspaceId, conversationId);
  // The conversation itself may then wait, or its assignee may have room for another one.
  const freesRoom = Boolean(assign || status) || assignee !== undefined;
  const { written, after } = await transact(db, {
    writes: changeWrites(op, changes),
    after: { records: record, ...(freesRoom && { queue: findQueue(db, workspaceId) }) },
  });
  const [changed] = after.records;
  const [queue] = after.queue ?? [];
  if (!changed) return undefined;
  await wakeDeliveries(op.env, written);
  announce(op.env, workspaceId, { kind: "conversation", id: conversationId });
  await assignWaiting(op, queue);
  if (!assign || !queue) return changed.record;
  const [[assigned]] = await db.batch([record]);
  return assigned?.record;
}

/** Returns the writes of `changeConversation`. */
export function changeWrites(
  op: ConversationOperation,
  { by, status, tags, assignee, read, snoozedUntil, ...routing }: Changes,
): Statement[] {
  const { db, workspaceId, conversationId } = op;
  const { teamId, priority, assign } = routing;
  // A new status marks the conversation as read, unless the conversation then waits for the team.
  const isRead = typeof read !== "boolean" && status !== "needs_human";
  const routed = { teamId, priority: priority ?? undefined, isQueued: assign ? true : undefined };
  const changes = { tags: tags ? [...new Set(tags)] : undefined, assignee, read: read ?? undefined, snoozedUntil, ...routed };
  const isChanged = Object.values(changes).some((value) => value !== undefined);
  return [
    // This comes before the transition, so that the event of the transition shows the changes.
    ...(isChanged ? [updateByTeam(db, workspaceId, conversationId, changes, op.nowMs)] : []),
    ...(status ? transitionWrites(db, op, transitionTo(status), { by, isRead }) : []),
  ];
}

interface TeamText {
  content: string;
  author: Member | null;
  /** The limit of messages in a conversation, and also of notes. */
  maxMessages: number;
  /** The limit of messages and notes of the team in a day. */
  perDay: number;
}

/** Adds the limits of the workspace's plan to a reply or note. */
export function toTeamText({ content, author }: { content: string; author: Member | null }, limits: Limits): TeamText {
  return { content, author, maxMessages: limits.messages_per_conversation, perDay: limits.team_messages_per_day };
}

/**
 * Adds a human's reply. The conversation is then handled by humans, or resolved.
 * @returns undefined if the workspace has no such conversation. The message is undefined if it cannot take some of its files, whose
 * positions are `unknownFiles`, if the day's limit is reached, which `full` shows, or if the conversation has no room.
 */
export async function replyAsHuman(
  op: ConversationOperation,
  { resolve, perDay, ...reply }: TeamText & { resolve: boolean; files?: TakenFiles | undefined },
) {
  const { db, workspaceId, conversationId, nowMs } = op;
  const messageId = op.newId();
  const windows = [dayWindow("team_messages", perDay, nowMs)];
  const taking = reply.files && { ...reply.files, workspaceId, messageId, nowMs };
  const writes = [
    createReply(db, op, { id: messageId, nowMs, ...reply }, windows),
    ...countInWindows(db, workspaceId, windows, IF_CHANGED),
    ...appendEvent(db, newEvent(op, op.nowMs), "message.human_replied", messageRecord(messageId)),
    recordHumanReply(db, op, messageId, nowMs),
    createDraft(db, workspaceId, conversationId, messageId),
    ...transitionWrites(db, op, transitionOn(resolve ? "team_resolved" : "team_replied"), { by: "human", messageId }),
    ...(taking ? [takeFiles(db, { ...taking, conversationId })] : []),
  ];
  const { before, written, after } = await transact(db, {
    before: { sent: listCounts(db, workspaceId, windows), ...(taking && { takable: listTakable(db, taking) }) },
    writes,
    after: [
      findMessage(db, workspaceId, messageId),
      findConversation(db, workspaceId, conversationId),
      listQuestionsBefore(db, { workspaceId, conversationId, messageId }),
      findQueue(db, workspaceId),
    ],
  });
  const [[message], [conversation], questions, [queue]] = after;
  if (!conversation) return undefined;
  if (message) {
    await wakeDeliveries(op.env, written);
    announce(op.env, workspaceId, { kind: "conversation", id: conversationId });
    if (conversation.channel === "email") await wakeEmails(op.env, [{ messageId }]);
    if (resolve) await assignWaiting(op, queue);
    await matchDraftQuestion(db, { workspaceId, conversationId, messageId, content: message.content }, questions);
  }
  const unknownFiles = missingFiles(reply.files, before.takable);
  return { message, conversation, unknownFiles, full: findFullWindow(windows, before.sent) };
}

/**
 * Adds a note, which sends no event.
 * @returns undefined if the workspace has no such conversation. The note is undefined if the day's limit is reached, which `full`
 * shows, or if the conversation has no room.
 */
export async function addNote(op: ConversationOperation, { perDay, ...text }: TeamText) {
  const { db, workspaceId, nowMs } = op;
  const id = op.newId();
  const windows = [dayWindow("team_messages", perDay, nowMs)];
  const key = { workspaceId, conversationId: op.conversationId };
  const [[added]] = await db.batch(compiledNote(db, key, { id, nowMs, ...text }, windows));
  const found = added ? { note: added, full: undefined } : await findAddedNote(db, key, id, windows);
  if (found?.note) announce(op.env, workspaceId, { kind: "conversation", id: op.conversationId });
  return found;
}

/** Finds why a note was not added: this request has already added it, a limit is reached, or there is no such conversation. */
async function findAddedNote(db: Database, { workspaceId, conversationId }: ConversationKey, noteId: string, windows: LimitWindow[]) {
  const [sent, [note], [conversation]] = await db.batch([
    listCounts(db, workspaceId, windows),
    findNote(db, workspaceId, noteId),
    findMessageCount(db, workspaceId, conversationId),
  ]);
  return conversation && { note, full: findFullWindow(windows, sent) };
}

const compiledNote = compiled(
  (db, key: ConversationKey, note: Parameters<typeof createNote>[2], windows: LimitWindow[]) =>
    [
      createNote(db, key, note, windows),
      ...countInWindows(db, key.workspaceId, windows, IF_CHANGED),
      recordNote(db, key, note.id, note.nowMs),
    ] as const,
);

/** Returns the writes that resolve a conversation if it is still idle when they run. */
export function resolveIdleWrites(db: Database, key: ConversationKey, nowMs: number) {
  return [
    transitionConversation(db, key, transitionOn("idled"), { nowMs, by: "auto", where: isIdle(nowMs) }),
    ...appendEvent(db, newEvent(key, nowMs), "conversation.resolved", resolvedRecord(key.conversationId)),
  ];
}

/**
 * Returns the writes of a transition: the hand-off, the status and, directly after it, the event of a resolution.
 * @param messageId the human's reply that causes the transition: nothing is written unless the reply is stored.
 */
function transitionWrites(
  db: Database,
  op: ConversationOperation,
  transition: Transition,
  { by, messageId, isRead = false }: { by: Changer; messageId?: string; isRead?: boolean },
) {
  const { nowMs } = op;
  return [
    transitionHandoff(db, op, transition, { nowMs, messageId }),
    transitionConversation(db, op, transition, { nowMs, by, messageId, isRead }),
    ...(transition("open") === "resolved"
      ? appendEvent(db, newEvent(op, nowMs), "conversation.resolved", resolvedRecord(op.conversationId))
      : []),
  ];
}
