import { and, eq } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { messages } from "../db/schema.ts";

/** An agent's answer, if it is this conversation's. */
export function findAnswer(db: Database, workspaceId: string, conversationId: string, messageId: string) {
  return db
    .select()
    .from(messages)
    .where(
      and(
        eq(messages.id, messageId),
        eq(messages.workspaceId, workspaceId),
        eq(messages.conversationId, conversationId),
        eq(messages.role, "assistant"),
      ),
    );
}
