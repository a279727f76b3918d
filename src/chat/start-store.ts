import { and, type SQL, sql } from "drizzle-orm";
import { versionAtStart } from "../agents/version-store.ts";
import { bucketOf } from "../agents/versions.ts";
import { type ConversationKey, conversationExists } from "../conversations/store.ts";
import type { Database } from "../platform/db/client.ts";
import { agents, conversations, emailThreads, workspaces } from "../platform/db/schema.ts";
import { insertWhere } from "../platform/db/sql.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { windowsHaveRoom } from "../workspaces/usage-limit-store.ts";
import { resolveVisitorId } from "./visitor-store.ts";

/** A conversation that the team starts. */
export interface StartedConversation extends ConversationKey {
  agentId: string;
  channel: "api" | "email";
  subject: string | null;
  /** The recipient's anonymous id; null if the conversation is nobody's yet. */
  anonId: string | null;
  nowMs: number;
}

/** SQL condition: the workspace has the agent, with a mailbox if the channel needs one, and may start another conversation today. */
export function mayBeStarted({ workspaceId, agentId, channel }: StartedConversation, windows: readonly LimitWindow[]): SQL {
  const hasMailbox = channel === "email" ? sql`a.email_address IS NOT NULL` : sql`TRUE`;
  const hasAgent = sql`EXISTS (SELECT 1 FROM ${agents} a JOIN ${workspaces} w ON w.id = a.workspace_id
    WHERE a.id = ${agentId} AND a.workspace_id = ${workspaceId} AND w.deleted_at IS NULL AND ${hasMailbox})`;
  return and(hasAgent, windowsHaveRoom(workspaceId, windows))!;
}

/** Adds the conversation with the status that a human has it. */
export function createStartedConversation(db: Database, started: StartedConversation, mayBeStarted: SQL) {
  const { workspaceId, agentId, channel, subject, anonId, nowMs } = started;
  const row = {
    id: started.conversationId,
    workspaceId,
    agentId,
    channel,
    status: "human_active" as const,
    subject,
    agentVersion: versionAtStart(agentId, bucketOf(started.conversationId)),
    visitorId: anonId === null ? null : resolveVisitorId(workspaceId, anonId),
    // The field is set from the start, so that no time to a first reply is counted. No visitor waits for a reply here.
    firstHumanReplyAt: nowMs,
    lastMessageAt: nowMs,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  return insertWhere(db, conversations, row, mayBeStarted).onConflictDoNothing();
}

/** Adds the mail thread of a conversation. It must precede the first message, which is sent as mail only if there is a thread. */
export function createThread(
  db: Database,
  key: ConversationKey,
  { address, subject, nowMs }: { address: string; subject: string; nowMs: number },
) {
  const { workspaceId, conversationId } = key;
  const row = { conversationId, workspaceId, address, subject, createdAt: nowMs };
  return insertWhere(db, emailThreads, row, conversationExists(key)).onConflictDoNothing();
}
