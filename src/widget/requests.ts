import { type ConversationKey, moveConversation } from "../conversations/moves-store.ts";
import { moveBy } from "../conversations/status.ts";
import { addHandoff, findConversation, findLatestHandoff } from "../conversations/store.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import { addLead } from "../leads/leads.ts";
import type { Database } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { writeThenRead } from "../platform/db/sql.ts";
import type { AppContext } from "../platform/http/context.ts";
import { notFound } from "../platform/http/errors.ts";
import { agentDb, noConversation, openedAgent, readVisitor, refuseToken } from "./opening.ts";
import { addNotice, findOpenAgent, findOwnConversation, findTokenVisitor, lastQuestion } from "./store.ts";
import type { LeadIn } from "./wire.ts";

/**
 * Keeps what a visitor left in a contact form.
 * @throws ApiError for a token, a conversation or an agent that is not the visitor's.
 */
export async function leaveContact(c: AppContext, agentId: string, body: LeadIn) {
  const claim = body.visitor_token ? await readVisitor(c, body.visitor_token, agentId) : undefined;
  const conversationId = body.conversation_id ?? null;
  const db = await agentDb(c, agentId);
  const named = claim ?? { agentId, visitorId: "" };
  const [[found], [visitor], [conversation]] = await db.batch([
    findOpenAgent(db, agentId),
    findTokenVisitor(db, named),
    findOwnConversation(db, named, conversationId ?? ""),
  ]);
  const { workspaceId } = openedAgent(c, found);
  if (claim && !visitor) throw refuseToken("The visitor_token's visitor is not known any more. Begin anew without one.");
  if (conversationId !== null && !conversation) throw noConversation();
  const lead = await addLead(
    { env: c.env, meter: c.get("meter"), workspaceId, nowMs: Date.now() },
    {
      agentId,
      conversationId,
      visitorId: visitor?.mergedInto ?? visitor?.id ?? null,
      name: body.name ?? null,
      email: body.email ?? null,
      phone: body.phone ?? null,
      message: body.message ?? null,
      customFields: body.custom_fields ?? {},
      sourceUrl: body.source_url ?? null,
    },
  );
  if (!lead) throw notFound("agent");
  return lead;
}

/** Which conversation is handed over, and when. */
export interface HandoffOperation extends ConversationKey {
  env: Env;
  db: Database;
  agentId: string;
  nowMs: number;
}

/**
 * Hands a conversation to a human because its visitor asks for one, as the agent does when it reads that wish; one that a
 * human has already stays as it is. A resolved one opens again, as it does when its visitor writes.
 * @param message what the visitor reads then.
 */
export async function requestHandoff(op: HandoffOperation, message: string) {
  const { db, workspaceId, conversationId, nowMs } = op;
  const notice = { id: newId(shardOf(workspaceId), nowMs), content: message, nowMs };
  const question = lastQuestion(op);
  const writes = [
    moveConversation(db, op, moveBy("visitor_wrote"), { nowMs }),
    moveConversation(db, op, moveBy("agent_handed_off"), { nowMs }),
    addNotice(db, op, notice),
    ...addHandoff(db, op, { reason: "customer_request", questionKey: null, ...question }),
  ];
  const { written, read } = await writeThenRead(db, writes, [
    findConversation(db, workspaceId, conversationId),
    findLatestHandoff(db, workspaceId, conversationId),
  ]);
  await wakeDeliveries(op.env, written);
  const [[conversation], [handoff]] = read;
  return { status: conversation?.status ?? "resolved", handoff };
}
