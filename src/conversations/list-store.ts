import { and, desc, eq, gte, inArray, type SQL, sql } from "drizzle-orm";
import type { CHANNELS } from "../agents/wire.ts";
import type { Database } from "../db/client.ts";
import { conversationCounts, conversations, handoffs, visitors } from "../db/schema.ts";
import type { ConversationStatus } from "./status.ts";

/** What a list of conversations may be narrowed to. */
export interface ConversationFilter {
  agentId?: string | undefined;
  status?: ConversationStatus | undefined;
  channel?: (typeof CHANNELS)[number] | undefined;
  /** Only those with activity at or after it. */
  sinceMs?: number | undefined;
}

interface Page {
  limit: number;
  offset: number;
  cursor?: { atMs: number; id: string } | undefined;
}

/** One page of conversations by last activity, newest first, with their visitors and latest hand-offs. */
export function pageConversations(db: Database, workspaceId: string, filter: ConversationFilter, { limit, offset, cursor }: Page) {
  const after = cursor && sql`(${conversations.updatedAt}, ${conversations.id}) < (${cursor.atMs}, ${cursor.id})`;
  const where = and(...conditions(workspaceId, filter), after);
  const order = [desc(conversations.updatedAt), desc(conversations.id)] as const;
  const ids = db
    .select({ id: conversations.id })
    .from(conversations)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .offset(offset);
  const visitorIds = db.select({ id: conversations.visitorId }).from(conversations).where(inArray(conversations.id, ids));
  const latest = sql`(SELECT max(other.id) FROM ${handoffs} other WHERE other.workspace_id = ${workspaceId} AND other.conversation_id = ${handoffs.conversationId})`;
  return [
    db
      .select()
      .from(conversations)
      .where(where)
      .orderBy(...order)
      .limit(limit + 1)
      .offset(offset),
    db
      .select()
      .from(visitors)
      // The plus keeps the planner from reading all visitors: it cannot know that there are fewer identifiers.
      .where(and(sql`+${visitors.workspaceId} = ${workspaceId}`, inArray(visitors.id, visitorIds))),
    db
      .select()
      .from(handoffs)
      .where(and(eq(handoffs.workspaceId, workspaceId), inArray(handoffs.conversationId, ids), eq(handoffs.id, latest))),
    filter.sinceMs === undefined ? sumCounts(db, workspaceId, filter) : countSince(db, workspaceId, filter),
  ] as const;
}

/** From the kept counts: their number is that of the kinds, not of the conversations. */
function sumCounts(db: Database, workspaceId: string, { agentId, status, channel }: ConversationFilter) {
  const { agentId: agent, status: state, channel: way } = conversationCounts;
  const where = and(
    eq(conversationCounts.workspaceId, workspaceId),
    agentId === undefined ? undefined : eq(agent, agentId),
    status === undefined ? undefined : eq(state, status),
    channel === undefined ? undefined : eq(way, channel),
  );
  return db
    .select({ total: sql<number>`coalesce(sum(${conversationCounts.count}), 0)`.as("total") })
    .from(conversationCounts)
    .where(where);
}

/** With a time, what is counted is a range of the index. */
function countSince(db: Database, workspaceId: string, filter: ConversationFilter) {
  return db
    .select({ total: sql<number>`count(*)`.as("total") })
    .from(conversations)
    .where(and(...conditions(workspaceId, filter)));
}

function conditions(workspaceId: string, { agentId, status, channel, sinceMs }: ConversationFilter): (SQL | undefined)[] {
  return [
    eq(conversations.workspaceId, workspaceId),
    agentId === undefined ? undefined : eq(conversations.agentId, agentId),
    status === undefined ? undefined : eq(conversations.status, status),
    channel === undefined ? undefined : eq(conversations.channel, channel),
    sinceMs === undefined ? undefined : gte(conversations.updatedAt, sinceMs),
  ];
}
