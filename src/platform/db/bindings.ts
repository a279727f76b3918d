import { bindingName, databaseOf, MAX_DATABASES } from "./shard-map.ts";
import { unboundDatabaseError } from "./database-errors.ts";
import { shardOf } from "./ids.ts";

/** Lists the databases that are bound, by number. Their numbers may have gaps. */
export function boundDatabases(env: Env): number[] {
  return Array.from({ length: MAX_DATABASES }, (_, database) => database).filter((database) => bindingOf(env, database) !== undefined);
}

/** Returns the binding of a database; undefined if it is not bound. */
export function bindingOf(env: Env, database: number): D1Database | undefined {
  return (env as unknown as Record<string, D1Database | undefined>)[bindingName(database)];
}

/**
 * Returns the binding of a database.
 * @throws Fault if it is not bound.
 */
export function requireBinding(env: Env, database: number): D1Database {
  const binding = bindingOf(env, database);
  if (!binding) throw unboundDatabaseError(database);
  return binding;
}

/** Returns whether the database of a record is bound. */
export function hasDatabase(env: Env, id: string): boolean {
  const database = databaseOf(env, shardOf(id));
  return database !== undefined && bindingOf(env, database) !== undefined;
}

/** Returns whether the map has a database for a record, bound or not. */
export function isMapped(env: Env, id: string): boolean {
  return databaseOf(env, shardOf(id)) !== undefined;
}
