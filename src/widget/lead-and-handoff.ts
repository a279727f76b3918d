import { and } from "drizzle-orm";
import type { AgentRow } from "../agents/wire.ts";
import { handoffTextOf, type Team, visitorLanguage } from "../chat/answer.ts";
import { notifyVisitor } from "../chat/visitor-sockets.ts";
import { changeApprovalHandoff } from "../conversations/approval-store.ts";
import type { ConversationOperation } from "../conversations/conversations.ts";
import { isForHumans, transitionOn } from "../conversations/status.ts";
import { createHandoff, findConversation, findLatestHandoff, transitionConversation } from "../conversations/store.ts";
import type { ConversationRow } from "../conversations/wire.ts";
import { announce } from "../events/live-channel.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import { addLead, type NewLead } from "../leads/leads.ts";
import type { Operation } from "../platform/db/client.ts";
import { newId, seededIds, shardOf } from "../platform/db/ids.ts";
import { IF_CHANGED, transact } from "../platform/db/sql.ts";
import type { AppContext } from "../platform/http/context.ts";
import { notFound } from "../platform/http/errors.ts";
import type { RoutingText } from "../routing/assignment.ts";
import { languageCode } from "../text/languages.ts";
import { limitReached } from "../workspaces/checks.ts";
import {
  findFullWindow,
  type LimitWindow,
  startOfDay,
  type VisitorLimit,
  visitorLimitOf,
  type WindowCount,
  windowsOf,
} from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts, windowsHaveRoom } from "../workspaces/usage-limit-store.ts";
import { conversationNotFound, openAgent, requireChallenge } from "./access.ts";
import { senderOf } from "./rate-limit.ts";
import { addNotice, endSnooze, findOwnConversation, hasRoomForNotice, lastQuestion } from "./store.ts";
import { type LeadIn, leadInSchema } from "./wire.ts";

/**
 * Stores a lead that a visitor left in a contact form.
 * @throws ApiError not_found, origin_not_allowed, invalid_visitor_token, rate_limited.
 */
export async function createVisitorLead(c: AppContext, agentId: string, body: LeadIn) {
  const conversationId = body.conversation_id ?? null;
  const opened = await openAgent(
    c,
    agentId,
    { token: body.visitor_token, flow: "leads", input: { schema: leadInSchema, body } },
    (db, claim) => [findOwnConversation(db, claim, conversationId ?? "")],
  );
  const { agent, op, limits, visitor } = opened;
  const [[conversation]] = opened.read;
  if (conversationId !== null && !conversation) throw conversationNotFound();
  if (!visitor) await requireChallenge(c, agent, body.turnstile_token);
  const sender = await senderOf(c, op.workspaceId, visitor);
  const fields = {
    agentId,
    conversationId,
    visitorId: visitor?.mergedInto ?? visitor?.id ?? null,
    name: body.name || null,
    email: body.email ?? null,
    phone: body.phone ?? null,
    message: body.message ?? null,
    customFields: body.custom_fields ?? {},
    sourceUrl: body.source_url ?? null,
  };
  const added = await addLead(op, fields, visitorLimitOf(limits, "leads", sender), await leadIdOf(op, fields, sender));
  if (added.outcome === "rate_limited") throw limitReached(added.full, op.nowMs);
  if (added.outcome === "not_found") throw conversationId === null ? notFound("agent") : conversationNotFound();
  return added.lead;
}

/**
 * Returns the id of a lead. The same details from the same sender on the same UTC day are one lead, because a form whose response is
 * lost is sent again. If the id did not depend on the sender, a stranger could find out whether somebody left these details today.
 */
async function leadIdOf({ workspaceId, nowMs }: Operation, fields: NewLead, sender: string): Promise<string> {
  const dayMs = startOfDay(nowMs);
  const nextId = await seededIds(JSON.stringify([workspaceId, dayMs, sender, fields]), dayMs);
  return nextId(shardOf(workspaceId));
}

/** The message that a visitor reads, when the team opens next (null if it is there), and what the visitor wrote. */
type HandoffText = ReturnType<typeof handoffTextOf> & { routingText: RoutingText };

/** Returns the message to a visitor who asks for a human with the button. @param lastMessages the visitor's last messages, newest first. */
export function requestedHandoffMessage(agent: AgentRow, team: Team, lastMessages: readonly { content: string }[]): HandoffText {
  const texts = lastMessages.map(({ content }) => content);
  const language = visitorLanguage(texts, agent.language);
  return { ...handoffTextOf(agent, "customer_request", language, team), routingText: { texts, language: languageCode(language) } };
}

/**
 * Hands a conversation to a human because its visitor asks for one. A conversation that a human already has does not change, except
 * that its snooze ends and that a hand-off which asks for an approval becomes the visitor's. A resolved conversation is reopened. A new
 * hand-off counts as a message of the visitor.
 * @param message the message that the visitor then reads.
 * @param messageLimit the limit of messages by visitors.
 * @throws ApiError rate_limited.
 */
export async function requestHandoff(op: ConversationOperation, agentId: string, message: HandoffText, messageLimit: VisitorLimit) {
  const { db, workspaceId, conversationId, nowMs } = op;
  const windows = windowsOf(messageLimit, nowMs);
  const where = windowsHaveRoom(workspaceId, windows);
  const notice = { id: newId(shardOf(workspaceId), nowMs), content: message.text, nowMs };
  const question = lastQuestion(op);
  const writes = [
    endSnooze(db, op, where),
    transitionConversation(db, op, transitionOn("agent_handed_off"), { nowMs, where }),
    addNotice(db, op, { ...notice, needsHuman: true }, IF_CHANGED),
    ...createHandoff(
      db,
      { ...op, agentId },
      { reason: "customer_request", questionKey: null, opensAt: message.opensAtMs, ...question },
      message.routingText,
      windows,
    ),
    changeApprovalHandoff(db, op, "customer_request"),
  ];
  const { before, written, after } = await transact(db, {
    before: [listCounts(db, workspaceId, windows)],
    writes,
    after: [findConversation(db, workspaceId, conversationId), findLatestHandoff(db, workspaceId, conversationId)],
  });
  const [[conversation], [handoff]] = after;
  await wakeDeliveries(op.env, written);
  return { status: announceNotice(op, windows, before[0], conversation), handoff };
}

/**
 * Tells a visitor who asks for a human that the agent never hands off. Nothing happens while humans have the conversation. The message
 * counts as a message of the visitor.
 * @param messageLimit the limit of messages by visitors.
 * @param maxMessages the limit of messages of a conversation.
 * @throws ApiError rate_limited.
 */
export async function declineHandoff(op: ConversationOperation, message: HandoffText, messageLimit: VisitorLimit, maxMessages: number) {
  const { db, workspaceId, conversationId, nowMs } = op;
  const windows = windowsOf(messageLimit, nowMs);
  const notice = { id: newId(shardOf(workspaceId), nowMs), content: message.text, nowMs };
  const isWanted = and(windowsHaveRoom(workspaceId, windows), hasRoomForNotice(op, maxMessages))!;
  const { before, after } = await transact(db, {
    before: [listCounts(db, workspaceId, windows)],
    writes: [addNotice(db, op, { ...notice, needsHuman: false }, isWanted), ...countInWindows(db, workspaceId, windows, IF_CHANGED)],
    after: [findConversation(db, workspaceId, conversationId)],
  });
  const [[conversation]] = after;
  return { status: announceNotice(op, windows, before[0], conversation), handoff: undefined };
}

/**
 * Announces a notice to a visitor who asks for a human.
 * @returns the status of the conversation.
 * @throws ApiError rate_limited if the notice was not stored because a limit is reached.
 */
function announceNotice(
  op: ConversationOperation,
  windows: readonly LimitWindow[],
  counts: readonly WindowCount[],
  conversation: ConversationRow | undefined,
) {
  const full = findFullWindow(windows, counts);
  if (full && conversation && !isForHumans(conversation.status)) throw limitReached(full, op.nowMs);
  announce(op.env, op.workspaceId, { kind: "conversation", id: op.conversationId });
  if (conversation) notifyVisitor(op.env, conversation);
  return conversation?.status ?? "resolved";
}
