import { and, desc, eq, gte, lt, type SQL, sql } from "drizzle-orm";
import { agentExists } from "../agents/store.ts";
import type { Database } from "../platform/db/client.ts";
import { conversations, leadCounts, leadDays, leads, visitors } from "../platform/db/schema.ts";
import { exists, findOwn, importCompleted, insertWhere, isAmong, isOwn, type Page, recordJson } from "../platform/db/sql.ts";
import { isNextInTurn, isNotPutOff, WAITING } from "../platform/db/waiting.ts";
import { DAY_MS } from "../platform/time.ts";
import type { LimitWindow } from "../workspaces/usage-limits.ts";
import { windowsHaveRoom } from "../workspaces/usage-limit-store.ts";

/** The filters of a list of leads, besides the search. */
export interface LeadFilter {
  agentId?: string | undefined;
  sinceMs?: number | undefined;
  visitorId?: string | undefined;
}

/** Reads one page of leads, newest first, plus one row if there is another page; then the total. */
export function pageLeads(db: Database, workspaceId: string, filter: LeadFilter, { limit, offset, cursor }: Page) {
  // The few leads of a visitor are sorted: without the plus, the planner would read all leads of the workspace in their order.
  const createdAt = filter.visitorId === undefined ? sql`${leads.createdAt}` : sql`+${leads.createdAt}`;
  const after = cursor && sql`(${createdAt}, ${leads.id}) < (${cursor.atMs}, ${cursor.id})`;
  return [
    db
      .select()
      .from(leads)
      .where(and(...conditions(workspaceId, filter), after))
      .orderBy(desc(createdAt), desc(leads.id))
      .limit(limit + 1)
      .offset(offset),
    countAll(db, workspaceId, filter),
  ] as const;
}

/** Lists the leads with these identifiers, in no particular order. */
export function listLeads(db: Database, workspaceId: string, leadIds: readonly string[]) {
  return db
    .select()
    .from(leads)
    .where(isAmong(leads, workspaceId, leadIds));
}

export function findLead(db: Database, workspaceId: string, leadId: string) {
  return findOwn(db, leads, workspaceId, leadId);
}

/** Adds a lead if its agent exists, its visitor and conversation were not erased meanwhile, and each rate-limit window has room. */
export function createLead(db: Database, lead: typeof leads.$inferInsert, windows: readonly LimitWindow[]) {
  const { workspaceId, agentId, conversationId, visitorId } = lead;
  const condition = and(
    agentExists(workspaceId, agentId),
    conversationId ? exists(conversations, isOwn(conversations, workspaceId, conversationId)) : undefined,
    visitorId ? exists(visitors, isOwn(visitors, workspaceId, visitorId)) : undefined,
    windowsHaveRoom(workspaceId, windows),
  )!;
  return insertWhere(db, leads, lead, condition).onConflictDoNothing();
}

/** Marks leads as indexed. Returns those that still exist. */
export function markIndexed(db: Database, workspaceId: string, leadIds: readonly string[], nowMs: number) {
  return db
    .update(leads)
    .set({ indexedAt: nowMs })
    .where(isAmong(leads, workspaceId, leadIds))
    .returning({ id: leads.id });
}

/** Lists leads created before `beforeMs` that are not indexed yet. The workspaces take turns. */
export function listUnindexedLeads(db: Database, beforeMs: number, nowMs: number, limit: number) {
  const { workspaceId, createdAt } = leads;
  const where = and(lt(createdAt, beforeMs), importCompleted(workspaceId), isNotPutOff("leads", workspaceId, nowMs));
  return db
    .select()
    .from(leads)
    .where(isNextInTurn(WAITING.leads, where, limit));
}

/** Deletes leads. Returns those that existed. */
export function eraseLeadRows(db: Database, workspaceId: string, leadIds: readonly string[]) {
  return db
    .delete(leads)
    .where(isAmong(leads, workspaceId, leadIds))
    .returning({ id: leads.id });
}

function countAll(db: Database, workspaceId: string, filter: LeadFilter) {
  if (filter.visitorId !== undefined) {
    return db
      .select({ total: sql<number>`count(*)`.as("total") })
      .from(leads)
      .where(and(...conditions(workspaceId, filter)));
  }
  return filter.sinceMs === undefined ? sumCounts(db, workspaceId, filter) : countSince(db, workspaceId, filter, filter.sinceMs);
}

/** Sums the counters that triggers maintain, one row for each agent. */
function sumCounts(db: Database, workspaceId: string, { agentId }: LeadFilter) {
  const isAgent = agentId === undefined ? undefined : eq(leadCounts.agentId, agentId);
  return db
    .select({ total: sql<number>`coalesce(sum(${leadCounts.count}), 0)`.as("total") })
    .from(leadCounts)
    .where(and(eq(leadCounts.workspaceId, workspaceId), isAgent));
}

/** Counts the rows of the first day, and sums the daily counters of the days after it. */
function countSince(db: Database, workspaceId: string, filter: LeadFilter, sinceMs: number) {
  const nextDay = Math.ceil(sinceMs / DAY_MS);
  const isOfDay = and(...conditions(workspaceId, filter), lt(leads.createdAt, nextDay * DAY_MS));
  const isAgent = filter.agentId === undefined ? undefined : eq(leadDays.agentId, filter.agentId);
  const ofDay = sql`(SELECT count(*) FROM ${leads} WHERE ${isOfDay})`;
  return db
    .select({ total: sql<number>`coalesce(sum(${leadDays.count}), 0) + ${ofDay}`.as("total") })
    .from(leadDays)
    .where(and(eq(leadDays.workspaceId, workspaceId), gte(leadDays.day, nextDay), isAgent));
}

function conditions(workspaceId: string, { agentId, sinceMs, visitorId }: LeadFilter): (SQL | undefined)[] {
  return [
    eq(leads.workspaceId, workspaceId),
    agentId === undefined ? undefined : eq(leads.agentId, agentId),
    sinceMs === undefined ? undefined : gte(leads.createdAt, sinceMs),
    visitorId === undefined ? undefined : eq(leads.visitorId, visitorId),
  ];
}

const LEAD_JSON = recordJson(
  leads,
  "l",
  "id, agent_id, conversation_id, visitor_id, name, email, phone, message, custom_fields, source_url, created_at",
);

/** Returns a subquery for a lead's wire record, which `appendEvent` stores. */
export function leadRecord(id: string): SQL {
  return sql`(SELECT ${LEAD_JSON} FROM ${leads} l WHERE l.id = ${id})`;
}
