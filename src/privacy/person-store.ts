import { and, eq, getTableColumns, gt, inArray, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { conversations, handoffs, leads, messages, visitors } from "../platform/db/schema.ts";
import { jsonIds } from "../platform/db/sql.ts";

/** By what a person is looked for. An email is in lower case. */
export interface Identifier {
  type: "email" | "anon_id" | "external_id";
  value: string;
}

interface Slice {
  afterId: string;
  limit: number;
}

/** A person's visitors: those that carry the identifier and, for an email, those who left it in a contact form. */
export function listVisitors(db: Database, workspaceId: string, person: Identifier) {
  return db.select().from(visitors).where(isTheirVisitor(workspaceId, person)).orderBy(visitors.id);
}

/** How many conversations and messages, leads and hand-offs there are of a person. */
export function countRecords(db: Database, workspaceId: string, person: Identifier) {
  return [
    db
      .select({
        conversations: sql<number>`count(*)`.as("conversations"),
        messages: sql<number>`coalesce(sum(${conversations.messageCount}), 0)`.as("messages"),
      })
      .from(conversations)
      .where(isTheirs(workspaceId, person)),
    db
      .select({ leads: sql<number>`count(*)`.as("leads") })
      .from(leads)
      .where(isTheirLead(workspaceId, person)),
    db
      .select({ handoffs: sql<number>`count(*)`.as("handoffs") })
      .from(handoffs)
      .where(and(eq(handoffs.workspaceId, workspaceId), inArray(handoffs.conversationId, conversationIds(db, workspaceId, person)))),
  ] as const;
}

/** Some of a person's conversations, by identifier. */
export function listConversations(db: Database, workspaceId: string, person: Identifier, { afterId, limit }: Slice) {
  return db
    .select()
    .from(conversations)
    .where(and(isTheirs(workspaceId, person), gt(conversations.id, afterId)))
    .orderBy(conversations.id)
    .limit(limit);
}

/** Some of a conversation's messages, oldest first. */
export function listMessagesAfter(db: Database, workspaceId: string, conversationId: string, { afterId, limit }: Slice) {
  return db
    .select()
    .from(messages)
    .where(and(eq(messages.workspaceId, workspaceId), eq(messages.conversationId, conversationId), gt(messages.id, afterId)))
    .orderBy(messages.id)
    .limit(limit);
}

/** The first so many messages of each conversation, by conversation, oldest first. */
export function listFirstMessages(db: Database, workspaceId: string, conversationIds: readonly string[], limit: number) {
  const last = sql`(SELECT id FROM ${messages} WHERE workspace_id = ${workspaceId} AND conversation_id = json_each.value ORDER BY id LIMIT 1 OFFSET ${limit - 1})`;
  return db
    .select(getTableColumns(messages))
    .from(sql`json_each(${JSON.stringify(conversationIds)})`)
    .crossJoin(messages)
    .where(
      and(
        eq(messages.workspaceId, workspaceId),
        sql`${messages.conversationId} = json_each.value`,
        // After every identifier, where there are fewer.
        sql`${messages.id} <= coalesce(${last}, '~')`,
      ),
    )
    .orderBy(messages.conversationId, messages.id);
}

/** The hand-offs of these conversations, oldest first. */
export function listHandoffs(db: Database, workspaceId: string, conversationIds: readonly string[]) {
  const wanted = sql`${handoffs.conversationId} IN ${jsonIds(conversationIds)}`;
  return db
    .select()
    .from(handoffs)
    .where(and(eq(handoffs.workspaceId, workspaceId), wanted))
    .orderBy(handoffs.id);
}

/** Some of a person's leads, by identifier. */
export function listLeads(db: Database, workspaceId: string, person: Identifier, { afterId, limit }: Slice) {
  return db
    .select()
    .from(leads)
    .where(and(isTheirLead(workspaceId, person), gt(leads.id, afterId)))
    .orderBy(leads.id)
    .limit(limit);
}

/** Some of the leads that nothing but their visitors says are a person's. */
export function listLeadsByVisitor(db: Database, workspaceId: string, person: Identifier, limit: number) {
  const hasOtherEmail = person.type === "email" ? sql`${leads.emailKey} IS NOT ${person.value}` : undefined;
  return db
    .select({ id: leads.id })
    .from(leads)
    .where(and(eq(leads.workspaceId, workspaceId), inArray(leads.visitorId, visitorIds(workspaceId, person)), hasOtherEmail))
    .limit(limit);
}

/** Removes a person's visitors; each that was there is returned. */
export function eraseVisitors(db: Database, workspaceId: string, person: Identifier) {
  return db.delete(visitors).where(isTheirVisitor(workspaceId, person)).returning({ id: visitors.id });
}

/** The plus keeps the planner from reading the whole workspace: it cannot know that there are fewer identifiers. */
function isTheirVisitor(workspaceId: string, person: Identifier): SQL {
  return sql`+${visitors.workspaceId} = ${workspaceId} AND ${visitors.id} IN ${visitorIds(workspaceId, person)}`;
}

function isTheirs(workspaceId: string, person: Identifier): SQL {
  return and(eq(conversations.workspaceId, workspaceId), inArray(conversations.visitorId, visitorIds(workspaceId, person)))!;
}

function conversationIds(db: Database, workspaceId: string, person: Identifier) {
  return db.select({ id: conversations.id }).from(conversations).where(isTheirs(workspaceId, person));
}

/** A lead is theirs when their visitor left it, or when it carries their address. */
function isTheirLead(workspaceId: string, person: Identifier): SQL {
  const byVisitor = sql`SELECT id FROM ${leads} WHERE workspace_id = ${workspaceId} AND visitor_id IN ${visitorIds(workspaceId, person)}`;
  const byEmail = sql`SELECT id FROM ${leads} WHERE workspace_id = ${workspaceId} AND email_key = ${person.value}`;
  return sql`${leads.id} IN (${person.type === "email" ? sql`${byVisitor} UNION ${byEmail}` : byVisitor})`;
}

/**
 * Those that carry the identifier, those that they were joined to when they identified, and all that were joined to these.
 * Each plus keeps the planner to the index of the address, and CROSS JOIN has it go from persons to visitors.
 */
function visitorIds(workspaceId: string, { type, value }: Identifier): SQL {
  const column = { email: sql`email_key`, anon_id: sql`anon_id`, external_id: sql`external_id` }[type];
  const carrying = sql`SELECT coalesce(merged_into, id) AS id FROM ${visitors} WHERE workspace_id = ${workspaceId} AND ${column} = ${value}`;
  const left = sql`SELECT +visitor_id AS id FROM ${leads} WHERE workspace_id = ${workspaceId} AND email_key = ${value} AND +visitor_id IS NOT NULL`;
  const persons = type === "email" ? sql`${carrying} UNION ${left}` : carrying;
  return sql`(WITH persons AS (${persons}) SELECT id FROM persons
    UNION SELECT v.id FROM persons p CROSS JOIN ${visitors} v ON v.merged_into = p.id AND v.workspace_id = ${workspaceId})`;
}
