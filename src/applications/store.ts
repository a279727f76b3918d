import { and, desc, eq, gt, lt, ne, type SQL, sql } from "drizzle-orm";
import type { ApplicationToken } from "../platform/db/columns.ts";
import type { Database } from "../platform/db/client.ts";
import { applications, members, oauthRecords } from "../platform/db/schema.ts";
import { deleteSome, exists, insertWhere, isOwn } from "../platform/db/sql.ts";

type ApplicationRow = typeof applications.$inferSelect;

/** A grant, as the OAuth library names it. */
export interface GrantKey {
  workspaceId: string;
  memberId: string;
  grantId: string;
}

/** A member's applications beyond this number are disconnected, the oldest first. */
const MAX_APPLICATIONS = 20;

/** The record of a grant that has not expired. */
export function findGrant(db: Database, key: GrantKey, nowMs: number) {
  return db
    .select({ record: applications.grant })
    .from(applications)
    .where(and(isGrant(key), gt(applications.expiresAt, nowMs)));
}

/** Lists the grants of a member that have not expired, with their metadata. */
export function listGrants(db: Database, { workspaceId, memberId }: Omit<GrantKey, "grantId">, nowMs: number) {
  return db
    .select({ grantId: applications.grantId, metadata: applications.metadata })
    .from(applications)
    .where(and(isOfMember(workspaceId, memberId), gt(applications.expiresAt, nowMs)));
}

/**
 * Connects an application for an active member, and disconnects the oldest ones if there are too many. The first statement returns the
 * application.
 */
export function createApplication(db: Database, application: ApplicationRow) {
  const { workspaceId, memberId } = application;
  const spare = sql`(SELECT id FROM ${applications} WHERE ${isOfMember(workspaceId, memberId)} ORDER BY id DESC LIMIT 100 OFFSET ${MAX_APPLICATIONS})`;
  return [
    insertWhere(db, applications, application, isActive(workspaceId, memberId)).returning({ id: applications.id }),
    db.delete(applications).where(sql`${applications.id} IN ${spare}`),
  ] as const;
}

function isActive(workspaceId: string, memberId: string): SQL {
  return exists(members, isOwn(members, workspaceId, memberId), eq(members.status, "active"));
}

/** Changes the record of a grant, if it still is what was read. Returns a row if it was. */
export function updateGrant(db: Database, key: GrantKey, read: string, changes: Pick<ApplicationRow, "grant" | "metadata" | "expiresAt">) {
  return db
    .update(applications)
    .set(changes)
    .where(and(isGrant(key), eq(applications.grant, read)))
    .returning({ id: applications.id });
}

/** Adds an access token for an active member. The one before works until it expires, and older ones end. */
export function addToken(db: Database, key: GrantKey, token: ApplicationToken) {
  const { workspaceId, memberId } = key;
  const added = sql`json(${JSON.stringify(token)})`;
  const first = sql`json_extract(${applications.tokens}, '$[0]')`;
  return db
    .update(applications)
    .set({ tokens: sql`CASE WHEN ${first} IS NULL THEN json_array(${added}) ELSE json_array(${added}, ${first}) END` })
    .where(and(isGrant(key), isActive(workspaceId, memberId)))
    .returning({ id: applications.id });
}

/** The columns that say which application it is. */
const SHOWN = { id: applications.id, memberId: applications.memberId, name: applications.name, host: applications.host };

/** The application of a grant. */
export function findByGrant(db: Database, key: GrantKey) {
  return db.select(SHOWN).from(applications).where(isGrant(key));
}

/** The application with this access token, if it belongs to this client. */
export function findByToken(db: Database, { workspaceId, hash, clientId }: { workspaceId: string; hash: string; clientId: string }) {
  const hasToken = sql`instr(${applications.tokens}, ${hash}) > 0`;
  const isOfClient = sql`json_extract(${applications.grant}, '$.clientId') = ${clientId}`;
  return db
    .select(SHOWN)
    .from(applications)
    .where(and(eq(applications.workspaceId, workspaceId), hasToken, isOfClient));
}

/** An application of a member. */
export function findApplication(db: Database, { workspaceId, memberId, id }: Pick<ApplicationRow, "workspaceId" | "memberId" | "id">) {
  return db
    .select(SHOWN)
    .from(applications)
    .where(and(isOfMember(workspaceId, memberId), eq(applications.id, id)));
}

/** Disconnects an application. */
export function eraseApplication(db: Database, workspaceId: string, id: string) {
  return db
    .delete(applications)
    .where(isOwn(applications, workspaceId, id))
    .returning({ id: applications.id });
}

/** Disconnects all applications of a member. */
export function eraseApplications(db: Database, workspaceId: string, memberId: string, condition: SQL) {
  return db.delete(applications).where(and(isOfMember(workspaceId, memberId), condition));
}

function isGrant({ workspaceId, memberId, grantId }: GrantKey) {
  return and(isOfMember(workspaceId, memberId), eq(applications.grantId, grantId));
}

function isOfMember(workspaceId: string, memberId: string) {
  return and(eq(applications.workspaceId, workspaceId), eq(applications.memberId, memberId));
}

/** Lists the applications that a member has connected, newest first. One that has fetched no token yet is not among them. */
export function listApplications(db: Database, workspaceId: string, memberId: string, nowMs: number) {
  const { id, name, host, scopes, createdAt, expiresAt } = applications;
  return db
    .select({ id, name, host, scopes, createdAt, expiresAt })
    .from(applications)
    .where(and(isOfMember(workspaceId, memberId), gt(expiresAt, nowMs), ne(applications.tokens, [])))
    .orderBy(desc(id));
}

/** Deletes up to `limit` applications whose grants have expired. */
export function eraseExpiredApplications(db: Database, nowMs: number, limit: number) {
  return deleteSome(db, applications, lt(applications.expiresAt, nowMs), limit);
}

// --- Records of no workspace, in the directory -----------------------------------------------------------------------

/** The most records: beyond it, those that would expire first give way. An application that nobody has allowed expires within a day. */
const MAX_RECORDS = 5_000;

export function findRecord(directory: Database, key: string, nowMs: number) {
  return directory
    .select({ value: oauthRecords.value })
    .from(oauthRecords)
    .where(and(eq(oauthRecords.key, key), gt(oauthRecords.expiresAt, nowMs)));
}

/** Adds a record, unless there is one with its key, and makes room for it. The second statement returns the record. */
export function createRecord(directory: Database, record: typeof oauthRecords.$inferSelect) {
  const spare = sql`(SELECT key FROM ${oauthRecords} ORDER BY expires_at DESC LIMIT 100 OFFSET ${MAX_RECORDS - 1})`;
  return [
    directory.delete(oauthRecords).where(sql`${oauthRecords.key} IN ${spare}`),
    directory.insert(oauthRecords).values(record).onConflictDoNothing().returning({ key: oauthRecords.key }),
  ] as const;
}

/** Changes a record, if it still is what was read. Returns a row if it was. */
export function updateRecord(directory: Database, read: string, { key, ...changes }: typeof oauthRecords.$inferSelect) {
  return directory
    .update(oauthRecords)
    .set(changes)
    .where(and(eq(oauthRecords.key, key), eq(oauthRecords.value, read)))
    .returning({ key: oauthRecords.key });
}

/** Lets a record live until a time at least. */
export function keepRecord(directory: Database, key: string, untilMs: number) {
  return directory
    .update(oauthRecords)
    .set({ expiresAt: sql`max(${oauthRecords.expiresAt}, ${untilMs})` })
    .where(eq(oauthRecords.key, key));
}

export function eraseRecord(directory: Database, key: string) {
  return directory.delete(oauthRecords).where(eq(oauthRecords.key, key));
}

/** Deletes up to `limit` records that have expired. */
export function eraseExpiredRecords(db: Database, nowMs: number, limit: number) {
  const expired = sql`(SELECT key FROM ${oauthRecords} WHERE expires_at < ${nowMs} LIMIT ${limit})`;
  return db.delete(oauthRecords).where(sql`${oauthRecords.key} IN ${expired}`);
}
