import { and } from "drizzle-orm";
import { findAgent } from "../agents/store.ts";
import { areTakable, listTakable, missingFiles, type Taking, takeFiles, type TakenFiles } from "../attachments/store.ts";
import { conversationRecord, messageRecord } from "../conversations/payloads.ts";
import { type ConversationKey, createReply, findConversationRecord, findMessage, type Member } from "../conversations/store.ts";
import type { ConversationRecord } from "../conversations/wire.ts";
import { announce } from "../events/live-channel.ts";
import { appendEvent, newEvent, wakeDeliveries, wakeEmails } from "../events/outbox.ts";
import type { Database, Operation } from "../platform/db/client.ts";
import type { BusinessHours } from "../platform/db/columns.ts";
import type { messages } from "../platform/db/schema.ts";
import { IF_CHANGED, transact } from "../platform/db/sql.ts";
import { normalizeEmail } from "../platform/text.ts";
import { businessHoursOf } from "../workspaces/business-hours.ts";
import { findBusinessHours } from "../workspaces/business-hours-store.ts";
import { dayWindow, type LimitWindow, findFullWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts } from "../workspaces/usage-limit-store.ts";
import type { Limits } from "../workspaces/plans.ts";
import { mailVisitor, type QuestionVisitor } from "./question.ts";
import { createStartedConversation, createThread, mayBeStarted } from "./start-store.ts";
import { upsertVisitor } from "./visitor-store.ts";

/** The first message of a conversation, from the team. */
export interface FirstMessage {
  agentId: string;
  subject: string | null;
  content: string;
  author: Member | null;
  files?: TakenFiles | undefined;
  /** The recipient: an email address, or over the API a user, who may be unknown. */
  to: { channel: "email"; email: string; name: string | null } | { channel: "api"; user: QuestionVisitor | null };
}

type StartResult =
  | { outcome: "started"; conversation: ConversationRecord; message: typeof messages.$inferSelect; hours: BusinessHours }
  | { outcome: "agent_not_found" }
  | { outcome: "no_mailbox" }
  | { outcome: "unknown_files"; positions: number[] }
  | { outcome: "rate_limited"; full: LimitWindow };

/** Starts a conversation with a message of the team. */
export async function startConversation(op: Operation, first: FirstMessage, limits: Limits): Promise<StartResult> {
  const { db, workspaceId, nowMs } = op;
  const [conversationId, messageId, visitorId] = [op.newId(), op.newId(), op.newId()];
  const windows = [dayWindow("team_messages", limits.team_messages_per_day, nowMs)];
  const maxMessages = limits.messages_per_conversation;
  const taking = first.files && { ...first.files, workspaceId, messageId, nowMs };
  const { before, written, after } = await transact(db, {
    before: {
      agents: findAgent(db, workspaceId, first.agentId),
      sent: listCounts(db, workspaceId, windows),
      ...(taking && { takable: listTakable(db, taking) }),
    },
    writes: startWrites(db, { workspaceId, conversationId, messageId, visitorId, nowMs, windows, maxMessages, taking }, first),
    after: [
      findConversationRecord(db, workspaceId, conversationId),
      findMessage(db, workspaceId, messageId),
      findBusinessHours(db, workspaceId),
    ],
  });
  await wakeDeliveries(op.env, written);
  const [[found], [message], [hours]] = after;
  if (found && message) {
    announce(op.env, workspaceId, { kind: "conversation", id: conversationId });
    if (found.record.channel === "email") await wakeEmails(op.env, [{ messageId }]);
    return { outcome: "started", conversation: found.record, message, hours: businessHoursOf(hours?.stored ?? {}) };
  }
  const full = findFullWindow(windows, before.sent);
  if (before.agents.length === 0) return { outcome: "agent_not_found" };
  if (full) return { outcome: "rate_limited", full };
  const positions = missingFiles(first.files, before.takable);
  return positions.length > 0 ? { outcome: "unknown_files", positions } : { outcome: "no_mailbox" };
}

interface Start extends ConversationKey {
  messageId: string;
  /** The id for a visitor who is new. */
  visitorId: string;
  nowMs: number;
  windows: readonly LimitWindow[];
  maxMessages: number;
  taking: Taking | undefined;
}

function startWrites(db: Database, start: Start, { to, ...first }: FirstMessage) {
  const { workspaceId, conversationId, messageId, nowMs, windows, taking } = start;
  const visitor = to.channel === "email" ? mailVisitor(to) : to.user;
  const emailKey = visitor?.email ? normalizeEmail(visitor.email) : null;
  const started = { ...first, workspaceId, conversationId, nowMs, channel: to.channel, anonId: visitor?.anonId ?? null };
  const isAdmitted = and(mayBeStarted(started, windows), taking && areTakable(taking))!;
  const thread = to.channel === "email" && { address: normalizeEmail(to.email), subject: first.subject ?? "", nowMs };
  return [
    ...(visitor ? upsertVisitor(db, start, { ...visitor, emailKey }, isAdmitted) : []),
    createStartedConversation(db, started, isAdmitted),
    ...countInWindows(db, workspaceId, windows, IF_CHANGED),
    ...appendEvent(db, newEvent(start, nowMs), "conversation.created", conversationRecord(conversationId)),
    ...(thread ? [createThread(db, start, thread)] : []),
    // No windows are passed, because the message was counted together with its conversation.
    createReply(db, start, { ...first, id: messageId, nowMs, maxMessages: start.maxMessages }, []),
    ...appendEvent(db, newEvent(start, nowMs), "message.human_replied", messageRecord(messageId)),
    ...(taking ? [takeFiles(db, { ...taking, conversationId })] : []),
  ];
}
