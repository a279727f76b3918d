import { and, eq, getTableColumns, gt, inArray, isNotNull, isNull, not, type SQL, sql } from "drizzle-orm";
import { visitorOwner } from "../attachments/store.ts";
import { c, CONVERSATION_RECORD } from "../conversations/payloads.ts";
import type { PersonIdentifier } from "../conversations/persons.ts";
import type { Database } from "../platform/db/client.ts";
import { attachments, conversations, handoffs, leads, members, messageFeedback, messages, visitors } from "../platform/db/schema.ts";
import { exists, isAmong, isOfConversation, jsonIds } from "../platform/db/sql.ts";

/** A page of a list that is read in the order of ids. */
export interface Slice {
  afterId: string;
  limit: number;
}

/** Lists a person's visitors, with those that were merged into them. */
export function listVisitors(db: Database, workspaceId: string, person: PersonIdentifier) {
  return db.select().from(visitors).where(isPersonsVisitor(workspaceId, person)).orderBy(visitors.id);
}

/** Lists the visitors who left a person's email but do not belong to the person, because somebody else used them too. */
export function listSharedVisitors(db: Database, workspaceId: string, person: PersonIdentifier) {
  const used = emailUses(workspaceId, person.type === "email" ? person.value : null);
  const isTheirs = inArray(visitors.id, visitorIds(workspaceId, person));
  return db
    .select()
    .from(visitors)
    .where(and(isAmong(visitors, workspaceId, sql`(${used})`), not(isTheirs)))
    .orderBy(visitors.id);
}

/** Counts the conversations, messages, leads and hand-offs of a person. */
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

/** Lists a page of a person's conversations, by id, as wire records. */
export function listConversations(db: Database, workspaceId: string, person: PersonIdentifier, { afterId, limit }: Slice) {
  const ids = conversationIds(db, workspaceId, person);
  return db
    .select({ id: c.id, record: CONVERSATION_RECORD })
    .from(c)
    .where(and(inArray(c.id, ids), gt(c.id, afterId)))
    .orderBy(c.id)
    .limit(limit);
}

/** Lists a page of a conversation's messages after another one, oldest first. */
export function listMessagesAfter(db: Database, after: typeof messages.$inferSelect, limit: number) {
  const { workspaceId, conversationId, createdAt, id } = after;
  const isAfter = sql`(${messages.createdAt}, ${messages.id}) > (${createdAt}, ${id})`;
  return db
    .select()
    .from(messages)
    .where(and(isOfConversation(messages, { workspaceId, conversationId }), isAfter))
    .orderBy(messages.createdAt, messages.id)
    .limit(limit);
}

/** Lists the first `limit` messages of each conversation, by conversation, oldest first. */
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

/** Lists the hand-offs of these conversations, oldest first. */
export function listHandoffs(db: Database, workspaceId: string, conversationIds: readonly string[]) {
  return db
    .select()
    .from(handoffs)
    .where(isOfSome(handoffs, workspaceId, conversationIds))
    .orderBy(handoffs.id);
}

/** Lists the ratings of the answers of these conversations. */
export function listFeedback(db: Database, workspaceId: string, conversationIds: readonly string[]) {
  return db
    .select()
    .from(messageFeedback)
    .where(isOfSome(messageFeedback, workspaceId, conversationIds));
}

function isOfSome(table: typeof handoffs | typeof messageFeedback, workspaceId: string, conversationIds: readonly string[]) {
  return and(eq(table.workspaceId, workspaceId), inArray(table.conversationId, jsonIds(conversationIds)));
}

/** Lists a page of a person's leads, by id. */
export function listLeads(db: Database, workspaceId: string, person: PersonIdentifier, { afterId, limit }: Slice) {
  return db
    .select()
    .from(leads)
    .where(and(isPersonsLead(workspaceId, person), gt(leads.id, afterId)))
    .orderBy(leads.id)
    .limit(limit);
}

/** Lists leads of a person that are found only by their visitor and not by their email. */
export function listLeadsByVisitor(db: Database, workspaceId: string, person: PersonIdentifier, limit: number) {
  return db.select({ id: leads.id }).from(leads).where(isLeadOfVisitor(workspaceId, person)).limit(limit);
}

/** Lists files that a person's visitors uploaded and have not sent. */
export function listUploads(db: Database, workspaceId: string, person: PersonIdentifier, limit: number) {
  const isTheirs = sql`${attachments.owner} IN (SELECT ${visitorOwner("")} || id FROM ${visitorIds(workspaceId, person)})`;
  const isUnsent = and(eq(attachments.workspaceId, workspaceId), isNotNull(attachments.expiresAt), isTheirs);
  return db.select({ id: attachments.id }).from(attachments).where(isUnsent).limit(limit);
}

/**
 * Deletes a person's visitors, unless one of them has a conversation or lead: without the others, a visitor who was merged might not be
 * found any more. Returns those that existed.
 */
export function eraseVisitors(db: Database, workspaceId: string, person: PersonIdentifier) {
  const isOfVisitor = sql`${conversations.visitorId} IN ${visitorIds(workspaceId, person)}`;
  const hasConversation = exists(conversations, eq(conversations.workspaceId, workspaceId), isOfVisitor);
  const hasLead = exists(leads, isLeadOfVisitor(workspaceId, person));
  return db
    .delete(visitors)
    .where(and(isPersonsVisitor(workspaceId, person), not(hasConversation), not(hasLead)))
    .returning({ id: visitors.id });
}

function isPersonsVisitor(workspaceId: string, person: PersonIdentifier): SQL {
  return isAmong(visitors, workspaceId, visitorIds(workspaceId, person));
}

/**
 * SQL condition: the conversation belongs to a visitor of the person. An email also finds the conversation of a shared visitor, if a
 * contact form with this email, and none with another one, was sent in it.
 */
function isPersonsConversation(workspaceId: string, person: PersonIdentifier): SQL {
  const ofVisitor = sql`SELECT id FROM ${conversations} WHERE workspace_id = ${workspaceId} AND visitor_id IN ${visitorIds(workspaceId, person)}`;
  const isOthers = sql`EXISTS (SELECT 1 FROM ${visitors} v WHERE v.id = l.visitor_id AND v.email_key IS NOT NULL)
    OR EXISTS (SELECT 1 FROM ${leads} o WHERE o.workspace_id = l.workspace_id AND o.visitor_id = l.visitor_id
      AND o.conversation_id = l.conversation_id AND o.email_key <> l.email_key)`;
  const ofLead = sql`SELECT conversation_id FROM ${leads} l WHERE workspace_id = ${workspaceId} AND email_key = ${person.value} AND NOT (${isOthers})`;
  return isAmong(conversations, workspaceId, person.type === "email" ? sql`(${ofVisitor} UNION ${ofLead})` : sql`(${ofVisitor})`);
}

function conversationIds(db: Database, workspaceId: string, person: PersonIdentifier) {
  return db.select({ id: conversations.id }).from(conversations).where(isPersonsConversation(workspaceId, person));
}

/** SQL condition: the lead has the person's email, or one of their visitors left it without another email. */
function isPersonsLead(workspaceId: string, person: PersonIdentifier): SQL {
  const byVisitor = sql`SELECT id FROM ${leads} WHERE ${isLeadOfVisitor(workspaceId, person)}`;
  const byEmail = sql`SELECT id FROM ${leads} WHERE workspace_id = ${workspaceId} AND email_key = ${person.value}`;
  return sql`${leads.id} IN (${person.type === "email" ? sql`${byVisitor} UNION ${byEmail}` : byVisitor})`;
}

function isLeadOfVisitor(workspaceId: string, person: PersonIdentifier): SQL {
  const hasNoOther = person.type === "email" ? isNull(leads.emailKey) : undefined;
  return and(eq(leads.workspaceId, workspaceId), inArray(leads.visitorId, visitorIds(workspaceId, person)), hasNoOther)!;
}

/** SQL: the ids of a person's visitors, and of all visitors that were merged into these. CROSS JOIN fixes the join order. */
function visitorIds(workspaceId: string, { type, value }: PersonIdentifier): SQL {
  const column = { email: sql`email_key`, anon_id: sql`anon_id`, external_id: sql`external_id` }[type];
  const matching = sql`SELECT coalesce(merged_into, id) AS id FROM ${visitors} WHERE workspace_id = ${workspaceId} AND ${column} = ${value}`;
  return sql`(WITH persons AS (${type === "email" ? visitorsWithEmail(workspaceId, value) : matching}) SELECT id FROM persons
    UNION SELECT v.id FROM persons p CROSS JOIN ${visitors} v ON v.merged_into = p.id AND v.workspace_id = ${workspaceId})`;
}

/**
 * SQL: the ids of the visitors whose own email this is, and of visitors without an email who left only this one. If two people share a
 * computer and both leave their email, the visitor belongs to neither of them.
 */
function visitorsWithEmail(workspaceId: string, email: string): SQL {
  const isOther = sql`workspace_id = ${workspaceId} AND email_key <> ${email}`;
  return sql`SELECT id FROM ${visitors} WHERE workspace_id = ${workspaceId} AND email_key = ${email}
    UNION SELECT v.id FROM (${emailUses(workspaceId, email)}) used CROSS JOIN ${visitors} v ON v.id = used.id
    WHERE +v.workspace_id = ${workspaceId} AND v.email_key IS NULL
      AND NOT EXISTS (SELECT 1 FROM ${leads} WHERE visitor_id = v.id AND ${isOther})
      AND NOT EXISTS (SELECT 1 FROM ${visitors} WHERE merged_into = v.id AND ${isOther})`;
}

/** SQL: the ids of the visitors who left an email in a contact form, or into whom a visitor with this email was merged. */
function emailUses(workspaceId: string, email: string | null): SQL {
  const isUse = sql`workspace_id = ${workspaceId} AND email_key = ${email}`;
  return sql`SELECT +visitor_id AS id FROM ${leads} WHERE ${isUse} AND +visitor_id IS NOT NULL
    UNION SELECT +merged_into AS id FROM ${visitors} WHERE ${isUse} AND +merged_into IS NOT NULL`;
}

/** The member of the team with an email address, also one who was removed. */
export function listMembersWith(db: Database, workspaceId: string, { type, value }: PersonIdentifier) {
  return db
    .select()
    .from(members)
    .where(and(eq(members.workspaceId, workspaceId), eq(members.email, type === "email" ? value : "")));
}

/** Erases the member with an email address who was removed from the team. */
export function eraseRemovedMember(db: Database, workspaceId: string, email: string) {
  return db
    .delete(members)
    .where(and(eq(members.workspaceId, workspaceId), eq(members.email, email), eq(members.status, "removed")))
    .returning({ id: members.id });
}
