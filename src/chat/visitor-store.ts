import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { conversations, leads, messages, visitors } from "../platform/db/schema.ts";
import { exists, insertWhere, isOwn } from "../platform/db/sql.ts";
import type { Question, QuestionVisitor } from "./question.ts";

/** Adds the author of a message or updates their profile, and merges the anonymous visitor that turned out to be them. */
export function upsertVisitor(
  db: Database,
  question: Pick<Question, "workspaceId" | "visitorId" | "nowMs">,
  visitor: QuestionVisitor & { emailKey: string | null },
  isAdmitted: SQL,
) {
  const { workspaceId, nowMs } = question;
  const { joins, isProfileVerified, ...who } = visitor;
  const emailVerified = isProfileVerified && who.email !== null;
  const row = { id: question.visitorId, workspaceId, ...who, emailVerified, createdAt: nowMs, updatedAt: nowMs };
  const merged = (column: SQLiteColumn) => {
    const given = sql`excluded.${sql.identifier(column.name)}`;
    return isProfileVerified ? sql`coalesce(${given}, ${column})` : sql`coalesce(${column}, ${given})`;
  };
  const upsert = insertWhere(db, visitors, row, isAdmitted).onConflictDoUpdate({
    target: [visitors.workspaceId, visitors.anonId],
    set: {
      name: merged(visitors.name),
      email: merged(visitors.email),
      emailKey: merged(visitors.emailKey),
      // A proven email replaces any other, and only another proven one replaces it.
      emailVerified: sql`max(${visitors.emailVerified}, excluded.email_verified)`,
      updatedAt: nowMs,
    },
  });
  return [upsert, ...(joins === null ? [] : mergeVisitor(db, question, { joins, anonId: who.anonId }, isAdmitted))];
}

/**
 * Gives the records of an anonymous visitor to the person. The visitor's row stays and points to the person, so that its
 * identifier and its token remain valid.
 */
function mergeVisitor(
  db: Database,
  question: Pick<Question, "workspaceId" | "nowMs">,
  { joins, anonId }: { joins: string; anonId: string },
  isAdmitted: SQL,
) {
  const { workspaceId, nowMs } = question;
  const person = resolveVisitorId(workspaceId, anonId);
  const isMerged = exists(visitors, isOwn(visitors, workspaceId, joins), eq(visitors.mergedInto, person));
  const own = sql`(SELECT id FROM ${conversations} WHERE workspace_id = ${workspaceId} AND visitor_id = ${joins})`;
  const isAnonymous = and(isNull(visitors.externalId), isNull(visitors.mergedInto));
  return [
    db
      .update(visitors)
      .set({ mergedInto: person, updatedAt: nowMs })
      .where(and(isOwn(visitors, workspaceId, joins), isAnonymous, isAdmitted)),
    db
      .update(messages)
      .set({ authorId: person })
      .where(and(eq(messages.workspaceId, workspaceId), sql`conversation_id IN ${own}`, eq(messages.authorId, joins), isMerged)),
    db
      .update(conversations)
      .set({ visitorId: person, begunBy: joins })
      .where(and(eq(conversations.workspaceId, workspaceId), eq(conversations.visitorId, joins), isMerged)),
    db
      .update(leads)
      .set({ visitorId: person })
      .where(and(eq(leads.workspaceId, workspaceId), eq(leads.visitorId, joins), isMerged)),
  ];
}

/** SQL: the id of the visitor with this anonymous id, or of the one that it was merged into. */
export function resolveVisitorId(workspaceId: string, anonId: string): SQL {
  return sql`(SELECT coalesce(merged_into, id) FROM ${visitors} WHERE workspace_id = ${workspaceId} AND anon_id = ${anonId})`;
}

/** SQL: the id of the question's visitor if it was merged into another one, whose conversations its token may still continue; or NULL. */
export function mergedVisitorId({ workspaceId }: Question, { anonId }: QuestionVisitor): SQL {
  return sql`(SELECT id FROM ${visitors} WHERE workspace_id = ${workspaceId} AND anon_id = ${anonId} AND merged_into IS NOT NULL)`;
}

/**
 * SQL condition: the question may continue a conversation of this visitor, who is nobody, the author of the question, or a visitor
 * that the question merges into its author.
 */
export function belongsToVisitor({ workspaceId, visitor }: Question, visitorId: SQL): SQL {
  if (!visitor) return sql`TRUE`;
  const person = resolveVisitorId(workspaceId, visitor.anonId);
  return sql`coalesce(${visitorId} IS NULL OR ${visitorId} = ${person} OR ${visitorId} = ${visitor.joins}, FALSE)`;
}
