import { Fault } from "../telemetry/errors.ts";

/** A shard number is one byte of an identifier. */
export const MAX_SHARDS = 256;

/** The name of a shard's D1 binding: DB, DB_1, DB_2, … */
export function bindingName(shard: number): string {
  return shard === 0 ? "DB" : `DB_${shard}`;
}

/** Begins the error for workspaces whose objects are not in the jurisdiction of their shard, where the same names have empty objects. */
const MOVED = "The workspaces' objects are in another jurisdiction";

/** The error for a workspace that the configuration moves to another jurisdiction. */
export function movedError(shard: number, jurisdiction: string | null): Fault {
  const place = jurisdiction === null ? "in none" : `in ${jurisdiction}`;
  return new Fault(`${MOVED}: those of ${bindingName(shard)} were created ${place}`);
}

const UNBOUND = "No D1 database is bound for shard";
/** D1's errors when a migration was not applied. */
const NOT_MIGRATED = /D1_ERROR: (no such (table|column): \S+|table \S+ has no column named \S+)/;

/** D1's errors when a database has reached its largest size. */
const FULL = /SQLITE_FULL|[Ee]xceeded maximum DB size/;

/** The error for an identifier whose shard has no database. */
export function unboundShardError(shard: number): Fault {
  return new Fault(`${UNBOUND} ${shard}: bind it as ${bindingName(shard)}`);
}

/**
 * What the operator must repair if an error comes from a shard that is not bound, lacks migrations or is full, as a sentence for
 * the log; undefined for other errors. It reads the error's text, since an error keeps nothing else when it leaves a Durable Object.
 */
export function explainShardError(error: unknown): string | undefined {
  const text = String(error);
  if (text.includes(UNBOUND)) return `${text.slice(text.indexOf(UNBOUND))}. Its workspaces are unreachable until then.`;
  if (text.includes(MOVED))
    return `${text.slice(text.indexOf(MOVED))}. Set SHARD_REGIONS back: a database with workspaces keeps its jurisdiction.`;
  if (FULL.test(text)) return "A database is full: lower the `retention` of its workspaces, or delete one.";
  const missing = NOT_MIGRATED.exec(text)?.[1];
  return missing && `A database lacks the newest migrations (${missing}): run \`wrangler d1 migrations apply\` for each of them.`;
}
