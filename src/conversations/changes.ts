import { appendEvent, type NewEvent, wakeDeliveries, wakeEmails } from "../events/outbox.ts";
import { type Database, workspaceDb } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { writeThenRead } from "../platform/db/sql.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { type ConversationKey, followHandoff, moveConversation } from "./moves-store.ts";
import { conversationRecord, messageRecord } from "./payloads.ts";
import { type Move, moveBy, moveTo, type SettableStatus } from "./status.ts";
import {
  addReply,
  findConversation,
  findConversationVisitor,
  findLatestHandoff,
  findMessage,
  isIdle,
  noteHumanReply,
  setTags,
} from "./store.ts";

/** Which conversation is changed, and when. */
export interface ConversationOperation extends ConversationKey {
  env: Env;
  meter: Meter;
  nowMs: number;
  /** Makes the identifier of what is added. */
  newId: (shard: number) => string;
}

interface Changes {
  status?: SettableStatus | null | undefined;
  tags?: string[] | null | undefined;
}

/**
 * Changes a conversation's status and tags. The status that it has already changes nothing and sends no event.
 * @returns its records as they now are, or undefined when the workspace has no such conversation.
 */
export async function changeConversation(op: ConversationOperation, { status, tags }: Changes) {
  const { workspaceId, conversationId } = op;
  const db = workspaceDb(op);
  const writes = [
    // Before the move, whose event shows the conversation as it then is.
    ...(tags ? [setTags(db, op, [...new Set(tags)], op.nowMs)] : []),
    ...(status ? moves(db, op, moveTo(status), { by: "api", answered: false }) : []),
  ];
  const { written, read } = await writeThenRead(db, writes, [
    findConversation(db, workspaceId, conversationId),
    findConversationVisitor(db, workspaceId, conversationId),
    findLatestHandoff(db, workspaceId, conversationId),
  ]);
  await wakeDeliveries(op.env, written);
  const [[conversation], [visitor], [handoff]] = read;
  return conversation && { conversation, visitor, handoff };
}

/**
 * Adds a human's reply: the conversation is theirs from then on, or resolved.
 * @returns the message and the conversation's status, or undefined when the workspace has no such conversation.
 */
export async function replyAsHuman(op: ConversationOperation, { content, resolve }: { content: string; resolve: boolean }) {
  const { workspaceId, conversationId, nowMs } = op;
  const db = workspaceDb(op);
  const messageId = op.newId(shardOf(workspaceId));
  const writes = [
    addReply(db, op, { id: messageId, content, nowMs }),
    ...appendEvent(db, eventOf(op), "message.human_replied", messageRecord(messageId)),
    noteHumanReply(db, op, nowMs),
    ...moves(db, op, moveBy(resolve ? "team_resolved" : "team_replied"), { by: "human", answered: true }),
  ];
  const { written, read } = await writeThenRead(db, writes, [
    findMessage(db, workspaceId, messageId),
    findConversation(db, workspaceId, conversationId),
  ]);
  await wakeDeliveries(op.env, written);
  const [[message], [conversation]] = read;
  if (conversation?.channel === "email") await wakeEmails(op.env, [{ messageId }]);
  return message && conversation && { message, status: conversation.status };
}

/** The writes that resolve an idle conversation, if it still is one when they run. */
export function idleWrites(db: Database, key: ConversationKey, nowMs: number) {
  return [
    moveConversation(db, key, moveBy("idled"), { nowMs, by: "auto", where: isIdle(nowMs) }),
    ...appendEvent(db, eventOf({ ...key, nowMs }), "conversation.resolved", conversationRecord(key.conversationId)),
  ];
}

/** The writes of a move: the status, the event of a resolution, the hand-off. The event must follow the status at once. */
function moves(db: Database, op: ConversationOperation, move: Move, { by, answered }: { by: "human" | "api"; answered: boolean }) {
  const { nowMs } = op;
  return [
    followHandoff(db, op, move, { nowMs, answered }),
    moveConversation(db, op, move, { nowMs, by }),
    ...(move("open") === "resolved" ? appendEvent(db, eventOf(op), "conversation.resolved", conversationRecord(op.conversationId)) : []),
  ];
}

function eventOf({ workspaceId, conversationId, nowMs }: ConversationKey & { nowMs: number }): NewEvent {
  return { id: newId(shardOf(workspaceId), nowMs), workspaceId, conversationId, nowMs };
}
