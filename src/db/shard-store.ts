import { and, eq, gt, sql } from "drizzle-orm";
import type { Database } from "./client.ts";
import { shards, workspaces } from "./schema.ts";

/** How many workspaces each shard holds, as shard 0 knows; a shard without any may have no row. */
export function listShards(directory: Database) {
  return directory.select().from(shards);
}

/** The shard's row in shard 0, if it holds a workspace. */
export function findUsedShard(directory: Database, shard: number) {
  return directory
    .select()
    .from(shards)
    .where(and(eq(shards.shard, shard), gt(shards.workspacesCount, 0)));
}

/** Reads next to nothing: the result's `meta.size_after` says how large the database is. */
export function readSize(db: Database) {
  return db.run(sql`SELECT 1`);
}

/** Fails where the newest migrations are missing, since it names every column that a workspace's row has today. */
export function readColumns(db: Database) {
  return db.select().from(workspaces).where(eq(workspaces.id, ""));
}
