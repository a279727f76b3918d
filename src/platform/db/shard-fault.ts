import { Fault } from "../telemetry/errors.ts";

/** How an error begins that says that a shard's database is missing. It is told by its text: of an object's error only that reaches the caller. */
const UNBOUND = "No D1 database is bound for shard";
/** What D1 says where a migration was not applied. */
const NOT_MIGRATED = /D1_ERROR: (no such (table|column): \S+|table \S+ has no column named \S+)/;

/** A shard is one byte of an identifier. */
export const MAX_SHARDS = 256;

/** The name of a shard's binding: DB, DB_1, DB_2, … */
export function bindingName(shard: number): string {
  return shard === 0 ? "DB" : `DB_${shard}`;
}

/** The error of an identifier whose shard has no database. */
export function unboundShardError(shard: number): Fault {
  return new Fault(`${UNBOUND} ${shard}: bind it as ${bindingName(shard)}`);
}

/**
 * What is wrong with the databases of this deployment, as a sentence for the log, where an error comes of that: a shard
 * that is not bound any more, or one without the newest migrations. Undefined for any other error.
 */
export function explainShardError(error: unknown): string | undefined {
  const text = String(error);
  if (text.includes(UNBOUND)) return `${text.slice(text.indexOf(UNBOUND))}. Its workspaces are out of reach until then.`;
  const missing = NOT_MIGRATED.exec(text)?.[1];
  return missing && `A database lacks the newest migrations (${missing}): run \`wrangler d1 migrations apply\` for each of them.`;
}
