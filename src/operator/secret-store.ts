import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { Database } from "../platform/db/client.ts";
import { agents, apiKeys, idempotencyRecords, privacyErasures, webhookEndpoints } from "../platform/db/schema.ts";

/*
 * What the walk over stored secrets reads and replaces: whole tables, each a page at a time in the order of its primary
 * key. A secret is replaced only while it is the one that was read, so that one that was changed meanwhile stays.
 */

/** The agents after an identifier, with the secrets of their rows. `tools` is the text as it is stored. */
export function listAgentSecrets(db: Database, afterId: string, limit: number) {
  const { id, identitySecret, previousIdentitySecret, previousIdentitySecretUntil } = agents;
  return db
    .select({ id, identitySecret, previousIdentitySecret, previousIdentitySecretUntil, tools: sql<string>`${agents.tools}` })
    .from(agents)
    .where(gt(id, afterId))
    .orderBy(asc(id))
    .limit(limit);
}

/** Replaces an agent's identity secrets; returns nothing when they have changed. */
export function replaceIdentitySecrets(db: Database, id: string, before: IdentitySecretPair, after: IdentitySecretPair) {
  const { identitySecret, previousIdentitySecret: previous } = before;
  const isUnchanged = sql`${agents.identitySecret} IS ${identitySecret} AND ${agents.previousIdentitySecret} IS ${previous}`;
  return db
    .update(agents)
    .set(after)
    .where(and(eq(agents.id, id), isUnchanged))
    .returning({ id: agents.id });
}

type IdentitySecretPair = Pick<typeof agents.$inferSelect, "identitySecret" | "previousIdentitySecret">;

/** Replaces an agent's tools, both as their stored text; returns nothing when they have changed. */
export function replaceTools(db: Database, id: string, before: string, after: string) {
  return db
    .update(agents)
    .set({ tools: sql`${after}` })
    .where(and(eq(agents.id, id), sql`${agents.tools} = ${before}`))
    .returning({ id: agents.id });
}

/** The webhook endpoints after an identifier, with their secrets. */
export function listEndpointSecrets(db: Database, afterId: string, limit: number) {
  const { id, secret, previousSecret, previousSecretUntil } = webhookEndpoints;
  return db
    .select({ id, secret, previousSecret, previousSecretUntil })
    .from(webhookEndpoints)
    .where(gt(id, afterId))
    .orderBy(asc(id))
    .limit(limit);
}

type EndpointSecretPair = Pick<typeof webhookEndpoints.$inferSelect, "secret" | "previousSecret">;

/** Replaces an endpoint's secrets; returns nothing when they have changed. */
export function replaceEndpointSecrets(db: Database, id: string, before: EndpointSecretPair, after: EndpointSecretPair) {
  const isUnchanged = sql`${webhookEndpoints.secret} = ${before.secret} AND ${webhookEndpoints.previousSecret} IS ${before.previousSecret}`;
  return db
    .update(webhookEndpoints)
    .set(after)
    .where(and(eq(webhookEndpoints.id, id), isUnchanged))
    .returning({ id: webhookEndpoints.id });
}

/** The unfinished erasures of persons after an identifier. */
export function listErasureSecrets(db: Database, afterId: string, limit: number) {
  const { id, identifier } = privacyErasures;
  return db.select({ id, identifier }).from(privacyErasures).where(gt(id, afterId)).orderBy(asc(id)).limit(limit);
}

/** Replaces whom an erasure is about; returns nothing when it has ended. */
export function replaceErasureSecret(db: Database, id: string, before: string, after: string) {
  return db
    .update(privacyErasures)
    .set({ identifier: after })
    .where(and(eq(privacyErasures.id, id), eq(privacyErasures.identifier, before)))
    .returning({ id: privacyErasures.id });
}

/** The responses that are kept for repeated requests, in the order of their row numbers: of each the beginning, which names its key. */
export function listKeptResponses(db: Database, afterRow: number, headLength: number, limit: number) {
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

/** The API keys after an identifier, revoked ones included. */
export function listKeySecrets(db: Database, afterId: string, limit: number) {
  const { id, workspaceId, name, prefix, secretId, outdatedUseAt, revokedAt } = apiKeys;
  return db
    .select({ id, workspaceId, name, prefix, secretId, outdatedUseAt, revokedAt })
    .from(apiKeys)
    .where(gt(id, afterId))
    .orderBy(asc(id))
    .limit(limit);
}
