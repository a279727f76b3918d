import { and, eq, getTableColumns, gt, inArray, type SQL, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { conversations, handoffs, leads, messages, visitors } from "../platform/db/schema.ts";
import { jsonIds } from "../platform/db/sql.ts";

/** Identifies a person. An email is in lower case. */
export interface PersonIdentifier {
  type: "email" | "anon_id" | "external_id";
  value: string;
}

/** A page of a list that is read in the order of ids. */
export interface Slice {
  afterId: string;
  limit: number;
}

/** A person's visitors: those with the identifier and, for an email, those who left it in a contact form. */
export function listVisitors(db: Database, workspaceId: string, person: PersonIdentifier) {
  return db.select().from(visitors).where(isPersonsVisitor(workspaceId, person)).orderBy(visitors.id);
}

/** How many conversations and messages, leads and hand-offs a person has. */
export function countRecords(db: Database, workspaceId: string, person: PersonIdentifier) {
  return [
    db
      .select({
        conversations: sql<number>`count(*)`.as("conversations"),
        messages: sql<number>`coalesce(sum(${conversations.messageCount}), 0)`.as("messages"),
      })
      .from(conversations)
      .where(isPersonsConversation(workspaceId, person)),
    db
      .select({ leads: sql<number>`count(*)`.as("leads") })
      .from(leads)
      .where(isPersonsLead(workspaceId, person)),
    db
      .select({ handoffs: sql<number>`count(*)`.as("handoffs") })
      .from(handoffs)
      .where(and(eq(handoffs.workspaceId, workspaceId), inArray(handoffs.conversationId, conversationIds(db, workspaceId, person)))),
  ] as const;
}

/** A page of a person's conversations, by id. */
export function listConversations(db: Database, workspaceId: string, person: PersonIdentifier, { afterId, limit }: Slice) {
  return db
    .select()
    .from(conversations)
    .where(and(isPersonsConversation(workspaceId, person), gt(conversations.id, afterId)))
    .orderBy(conversations.id)
    .limit(limit);
}

/** A page of a conversation's messages after another, oldest first. */
export function listMessagesAfter(db: Database, after: typeof messages.$inferSelect, limit: number) {
  const { workspaceId, conversationId, createdAt, id } = after;
  const isAfter = sql`(${messages.createdAt}, ${messages.id}) > (${createdAt}, ${id})`;
  return db
    .select()
    .from(messages)
    .where(and(eq(messages.workspaceId, workspaceId), eq(messages.conversationId, conversationId), isAfter))
    .orderBy(messages.createdAt, messages.id)
    .limit(limit);
}

/** The first `limit` messages of each conversation, by conversation, oldest first. */
export function listFirstMessages(db: Database, workspaceId: string, conversationIds: readonly string[], limit: number) {
  const first = sql`(SELECT m.id FROM ${messages} m WHERE m.workspace_id = ${workspaceId} AND m.conversation_id = json_each.value
    ORDER BY m.created_at, m.id LIMIT ${limit})`;
  return db
    .select(getTableColumns(messages))
    .from(sql`json_each(${JSON.stringify(conversationIds)})`)
    .crossJoin(messages)
    .where(sql`${messages.id} IN ${first}`)
    .orderBy(messages.conversationId, messages.createdAt, messages.id);
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

/** A page of a person's leads, by id. */
export function listLeads(db: Database, workspaceId: string, person: PersonIdentifier, { afterId, limit }: Slice) {
  return db
    .select()
    .from(leads)
    .where(and(isPersonsLead(workspaceId, person), gt(leads.id, afterId)))
    .orderBy(leads.id)
    .limit(limit);
}

/** Leads of a person that are found by their visitor only, not by their email. */
export function listLeadsByVisitor(db: Database, workspaceId: string, person: PersonIdentifier, limit: number) {
  const hasOtherEmail = person.type === "email" ? sql`${leads.emailKey} IS NOT ${person.value}` : undefined;
  return db
    .select({ id: leads.id })
    .from(leads)
    .where(and(eq(leads.workspaceId, workspaceId), inArray(leads.visitorId, visitorIds(workspaceId, person)), hasOtherEmail))
    .limit(limit);
}

/** Deletes a person's visitors; returns those that existed. */
export function eraseVisitors(db: Database, workspaceId: string, person: PersonIdentifier) {
  return db.delete(visitors).where(isPersonsVisitor(workspaceId, person)).returning({ id: visitors.id });
}

/** The unary plus keeps the planner off the workspace's index: there are fewer identifiers than visitors. */
function isPersonsVisitor(workspaceId: string, person: PersonIdentifier): SQL {
  return sql`+${visitors.workspaceId} = ${workspaceId} AND ${visitors.id} IN ${visitorIds(workspaceId, person)}`;
}

function isPersonsConversation(workspaceId: string, person: PersonIdentifier): SQL {
  return and(eq(conversations.workspaceId, workspaceId), inArray(conversations.visitorId, visitorIds(workspaceId, person)))!;
}

function conversationIds(db: Database, workspaceId: string, person: PersonIdentifier) {
  return db.select({ id: conversations.id }).from(conversations).where(isPersonsConversation(workspaceId, person));
}

/** A lead is a person's if one of the person's visitors left it, or if it has the person's email. */
function isPersonsLead(workspaceId: string, person: PersonIdentifier): SQL {
  const byVisitor = sql`SELECT id FROM ${leads} WHERE workspace_id = ${workspaceId} AND visitor_id IN ${visitorIds(workspaceId, person)}`;
  const byEmail = sql`SELECT id FROM ${leads} WHERE workspace_id = ${workspaceId} AND email_key = ${person.value}`;
  return sql`${leads.id} IN (${person.type === "email" ? sql`${byVisitor} UNION ${byEmail}` : byVisitor})`;
}

/**
 * The ids of the visitors with the identifier, of those they were merged into, and of all that were merged into these. Each
 * unary plus keeps the planner on the index of the email; CROSS JOIN fixes the join order.
 */
function visitorIds(workspaceId: string, { type, value }: PersonIdentifier): SQL {
  const column = { email: sql`email_key`, anon_id: sql`anon_id`, external_id: sql`external_id` }[type];
  const matching = sql`SELECT coalesce(merged_into, id) AS id FROM ${visitors} WHERE workspace_id = ${workspaceId} AND ${column} = ${value}`;
  const byLead = sql`SELECT +visitor_id AS id FROM ${leads} WHERE workspace_id = ${workspaceId} AND email_key = ${value} AND +visitor_id IS NOT NULL`;
  const persons = type === "email" ? sql`${matching} UNION ${byLead}` : matching;
  return sql`(WITH persons AS (${persons}) SELECT id FROM persons
    UNION SELECT v.id FROM persons p CROSS JOIN ${visitors} v ON v.merged_into = p.id AND v.workspace_id = ${workspaceId})`;
}
