import { and, asc, eq, getTableColumns, gt, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import {
  agents,
  agentVersions,
  apiKeys,
  idempotencyRecords,
  privacyErasures,
  signInSettings,
  webhookEndpoints,
} from "../platform/db/schema.ts";

/** The columns that `listSecrets` reads from a table: the encrypted secrets, and what is needed to decrypt them. */
const COLUMNS = {
  agents: {
    identitySecret: agents.identitySecret,
    previousIdentitySecret: agents.previousIdentitySecret,
    previousIdentitySecretUntil: agents.previousIdentitySecretUntil,
    turnstileSecret: agents.turnstileSecret,
    tools: agents.tools,
  },
  agent_versions: { agentId: agentVersions.agentId, settings: agentVersions.settings },
  webhook_endpoints: {
    secret: webhookEndpoints.secret,
    previousSecret: webhookEndpoints.previousSecret,
    previousSecretUntil: webhookEndpoints.previousSecretUntil,
    olderSecrets: webhookEndpoints.olderSecrets,
  },
  sign_in_settings: { oidcClientSecret: signInSettings.oidcClientSecret },
  privacy_erasures: { identifier: privacyErasures.identifier },
} as const;

const TABLES: Record<EncryptedTable, SQLiteTable & { id: SQLiteColumn }> = {
  agents,
  agent_versions: agentVersions,
  webhook_endpoints: webhookEndpoints,
  sign_in_settings: signInSettings,
  privacy_erasures: privacyErasures,
};

/** A table with columns that hold encrypted secrets. */
export type EncryptedTable = keyof typeof COLUMNS;

/** Columns by their names in the schema, with their values as they are stored: JSON as its text. */
export type StoredColumns = Record<string, string | number | null>;

/** Lists a page of a table's rows after an identifier, with their secrets. */
export function listSecrets(db: Database, encryptedTable: EncryptedTable, afterId: string, limit: number) {
  const table = TABLES[encryptedTable];
  const columns = Object.entries(COLUMNS[encryptedTable]).map(([name, column]) => [name, sql<string | number | null>`${column}`]);
  return db
    .select({
      ...(Object.fromEntries(columns) as Record<string, ReturnType<typeof sql<string | number | null>>>),
      id: sql<string>`${table.id}`,
    })
    .from(table)
    .where(gt(table.id, afterId))
    .orderBy(asc(table.id))
    .limit(limit);
}

/** Replaces columns of a row. Returns no row if one of them no longer has the value that was read. */
export function replaceSecrets(db: Database, encryptedTable: EncryptedTable, id: string, before: StoredColumns, after: StoredColumns) {
  const table = TABLES[encryptedTable];
  const columns = getTableColumns(table) as Record<string, SQLiteColumn>;
  const isUnchanged = Object.entries(before).map(([name, value]) => sql`${columns[name]!} IS ${value}`);
  return db
    .update(table)
    .set(Object.fromEntries(Object.entries(after).map(([name, value]) => [name, sql`${value}`])))
    .where(and(eq(table.id, id), ...isUnchanged))
    .returning({ id: table.id });
}

/** Lists a page of the responses stored for repeated requests, after a row number, with their first characters, which name the key. */
export function listStoredResponses(db: Database, afterRow: number, headLength: number, limit: number) {
  const row = sql<number>`${idempotencyRecords}.rowid`;
  return db
    .select({
      row: row.as("row"),
      createdAt: idempotencyRecords.createdAt,
      head: sql<string | null>`substr(${idempotencyRecords.responseBody}, 1, ${headLength})`.as("head"),
    })
    .from(idempotencyRecords)
    .where(sql`${row} > ${afterRow}`)
    .orderBy(row)
    .limit(limit);
}

/** Lists a page of API keys after an identifier, including revoked ones. */
export function listApiKeys(db: Database, afterId: string, limit: number) {
  const { id, workspaceId, name, prefix, secretId, outdatedUseAt, revokedAt } = apiKeys;
  return db
    .select({ id, workspaceId, name, prefix, secretId, outdatedUseAt, revokedAt })
    .from(apiKeys)
    .where(gt(id, afterId))
    .orderBy(asc(id))
    .limit(limit);
}
