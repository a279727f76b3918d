import { addHandoff } from "../conversations/handoff-store.ts";
import { type ConversationKey, moveConversation } from "../conversations/moves-store.ts";
import { moveBy } from "../conversations/status.ts";
import { findConversation, findLatestHandoff } from "../conversations/store.ts";
import type { Database } from "../db/client.ts";
import { newId, shardOf } from "../db/ids.ts";
import { writeThenRead } from "../db/transact.ts";
import { wakeDeliveries } from "../webhooks/wake.ts";
import { addNotice, lastQuestion } from "./handoff-store.ts";

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
