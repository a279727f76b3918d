import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import { conversations, leads, messages, visitors } from "../platform/db/schema.ts";
import { insertWhere } from "../platform/db/sql.ts";
import { normalizeEmail } from "../platform/text.ts";
import type { Turn, TurnVisitor } from "./turn.ts";

/**
 * Adds the turn's visitor or updates what is known of them. Where the visitor identifies an earlier anonymous one, the
 * anonymous visitor's records become theirs.
 */
export function keepVisitor(db: Database, turn: Turn, visitor: TurnVisitor, isAdmitted: SQL) {
  const { workspaceId, nowMs } = turn;
  const { joins, isProfileVerified, ...who } = visitor;
  const emailKey = who.email && normalizeEmail(who.email);
  const row = { id: turn.visitorId, workspaceId, ...who, emailKey, createdAt: nowMs, updatedAt: nowMs };
  const known = (column: SQLiteColumn) => {
    const given = sql`excluded.${sql.identifier(column.name)}`;
    return isProfileVerified ? sql`coalesce(${given}, ${column})` : sql`coalesce(${column}, ${given})`;
  };
  const keep = insertWhere(db, visitors, row, isAdmitted).onConflictDoUpdate({
    target: [visitors.workspaceId, visitors.anonId],
    set: { name: known(visitors.name), email: known(visitors.email), emailKey: known(visitors.emailKey), updatedAt: nowMs },
  });
  return [keep, ...(joins === null ? [] : joinVisitor(db, turn, { joins, anonId: who.anonId }, isAdmitted))];
}

/** The anonymous visitor stays as another name of the person, so that its identifier and its token still mean somebody. */
function joinVisitor(db: Database, turn: Turn, { joins, anonId }: { joins: string; anonId: string }, isAdmitted: SQL) {
  const { workspaceId, nowMs } = turn;
  const person = personOf(workspaceId, anonId);
  const isJoined = sql`EXISTS (SELECT 1 FROM ${visitors} WHERE id = ${joins} AND workspace_id = ${workspaceId} AND merged_into = ${person})`;
  const begun = sql`(SELECT id FROM ${conversations} WHERE workspace_id = ${workspaceId} AND visitor_id = ${joins})`;
  const isAnonymous = and(isNull(visitors.externalId), isNull(visitors.mergedInto));
  return [
    db
      .update(visitors)
      .set({ mergedInto: person, updatedAt: nowMs })
      .where(and(eq(visitors.id, joins), eq(visitors.workspaceId, workspaceId), isAnonymous, isAdmitted)),
    db
      .update(messages)
      .set({ authorId: person })
      .where(and(eq(messages.workspaceId, workspaceId), sql`conversation_id IN ${begun}`, eq(messages.authorId, joins), isJoined)),
    db
      .update(conversations)
      .set({ visitorId: person, begunBy: joins })
      .where(and(eq(conversations.workspaceId, workspaceId), eq(conversations.visitorId, joins), isJoined)),
    db
      .update(leads)
      .set({ visitorId: person })
      .where(and(eq(leads.workspaceId, workspaceId), eq(leads.visitorId, joins), isJoined)),
  ];
}

/** The visitor with this anonymous id, or the visitor that this one was merged into. */
export function personOf(workspaceId: string, anonId: string): SQL {
  return sql`(SELECT coalesce(merged_into, id) FROM ${visitors} WHERE workspace_id = ${workspaceId} AND anon_id = ${anonId})`;
}

/** The visitor with this anonymous id if merged into another one: conversations that it begins stay open to it. */
export function mergedIdOf({ workspaceId }: Turn, { anonId }: TurnVisitor): SQL {
  return sql`(SELECT id FROM ${visitors} WHERE workspace_id = ${workspaceId} AND anon_id = ${anonId} AND merged_into IS NOT NULL)`;
}

/**
 * SQL condition: the turn may continue a conversation of this visitor. It has no visitor yet, is the turn's visitor's
 * own, or becomes theirs by this turn.
 */
export function isTheirs({ workspaceId, visitor }: Turn, visitorId: SQL): SQL {
  if (!visitor) return sql`TRUE`;
  const person = personOf(workspaceId, visitor.anonId);
  return sql`coalesce(${visitorId} IS NULL OR ${visitorId} = ${person} OR ${visitorId} = ${visitor.joins}, FALSE)`;
}
