import { api } from "../api.ts";
import { readLatestRuns, type SavedCase, saveCase } from "./case-target.tsx";

/** Makes a case of a conversation, in the latest evaluation of its agent or, if there is none, in a new one. */
export async function makeCase(conversationId: string): Promise<SavedCase> {
  const { agent_id: agentId, case: made } = await api.getConversationCase({ conversation_id: conversationId });
  const [latest] = await readLatestRuns(agentId);
  return saveCase(agentId, latest, "From the inbox", made);
}
