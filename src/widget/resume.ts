import { type AnswerKey, answerResumed } from "../chat/resumed.ts";
import type { AppContext } from "../http/context.ts";
import { agentDb, noConversation, openedAgent } from "./opening.ts";
import { findOpenAgent, findOwnConversation, findTokenVisitor, findVisitorAnswer } from "./store.ts";

/**
 * Goes on with the stream of an answer in a conversation that the visitor's token opens.
 * @throws ApiError not_found, origin_not_allowed.
 */
export async function resumeForVisitor(c: AppContext, key: AnswerKey): Promise<Response> {
  const claim = c.get("visitor");
  const db = await agentDb(c, claim.agentId);
  return answerResumed(c, key, async () => {
    const [[found], [conversation], [known], [stored]] = await db.batch([
      findOpenAgent(db, claim.agentId),
      findOwnConversation(db, claim, key.conversation_id),
      findTokenVisitor(db, claim),
      findVisitorAnswer(db, claim, key),
    ]);
    const { workspaceId } = openedAgent(c, found);
    if (!conversation || !known) throw noConversation();
    return { workspaceId, status: conversation.status, stored, visitor: { ...claim, anonId: known.anonId } };
  });
}
