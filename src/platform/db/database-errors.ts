import { Fault } from "../telemetry/errors.ts";
import { bindingName } from "./shard-map.ts";

/** Begins the error for workspaces whose objects are not in the jurisdiction of their database, where the same names have empty objects. */
const MOVED = "The workspaces' objects are in another jurisdiction";

/** Returns the error for a workspace that the configuration moves to another jurisdiction. */
export function movedError(database: number, jurisdiction: string | null): Fault {
  const place = jurisdiction === null ? "in none" : `in ${jurisdiction}`;
  return new Fault(`${MOVED}: those of ${bindingName(database)} were created ${place}`);
}

const UNBOUND = "No D1 database is bound";
/** D1's errors when a migration was not applied. */
const NOT_MIGRATED = /D1_ERROR: (no such (table|column): \S+|table \S+ has no column named \S+)/;

/** D1's errors when a database has reached its largest size. */
const FULL = /SQLITE_FULL|[Ee]xceeded maximum DB size/;

/** The message of the triggers that refuse writes to a shard at the end of its move. */
export const HELD = "shard_held";
/** This message, and those of the guard in placement.ts: the same call may succeed later. */
export const SHARD_IS_MOVING = /\bshard_(?:held|left|arriving)\b/;

/** Returns the error for a database that is not bound. */
export function unboundDatabaseError(database: number): Fault {
  return new Fault(`${UNBOUND} as ${bindingName(database)}`);
}

/** Returns the error for an identifier whose logical shard has no database. */
export function unmappedShardError(shard: number): Fault {
  return new Fault(`${UNBOUND} for shard ${shard}: add it to SHARD_MAP`);
}

/**
 * Returns what the operator must repair if an error comes from a database that is not bound, lacks migrations or is full, as a sentence for
 * the log; undefined for other errors. It reads the error's text, since an error keeps nothing else when it leaves a Durable Object.
 */
export function explainDatabaseError(error: unknown): string | undefined {
  const text = String(error);
  if (text.includes(UNBOUND)) return `${text.slice(text.indexOf(UNBOUND))}. Its workspaces are unreachable until then.`;
  if (text.includes(MOVED))
    return `${text.slice(text.indexOf(MOVED))}. Set DATABASE_REGIONS back: a database with workspaces keeps its jurisdiction.`;
  if (FULL.test(text))
    return "A database is full: move some of its shards to another one, lower the `retention` of its workspaces, or delete one.";
  const missing = NOT_MIGRATED.exec(text)?.[1];
  return missing && `A database lacks the newest migrations (${missing}): run \`wrangler d1 migrations apply\` for each of them.`;
}
