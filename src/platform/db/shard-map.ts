/*
 * Each workspace belongs to one of 256 logical shards, which the last byte of its identifiers names. The variable SHARD_MAP assigns
 * the logical shards to databases, so that a full database is split by moving some of its shards to another one.
 */

/** A logical shard is one byte of an identifier. */
const SHARDS = 256;
export const ALL_SHARDS: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard);
/** The highest number of D1 databases, so that each can hold a shard. */
export const MAX_DATABASES = 256;

/** Returns the name of a database's D1 binding, by its number: DB, DB_1, DB_2, … */
export function bindingName(database: number): string {
  return database === 0 ? "DB" : `DB_${database}`;
}

/** Returns the database that the map gives to a logical shard; undefined if the map leaves it out. */
export function databaseOf(env: { readonly SHARD_MAP?: string }, shard: number): number | undefined {
  return shardMap(env.SHARD_MAP ?? "")?.[shard];
}

/** Lists the databases that the map names, in order. */
export function mappedDatabases(env: { readonly SHARD_MAP?: string }): number[] {
  const databases = (shardMap(env.SHARD_MAP ?? "") ?? []).filter((database) => database !== undefined);
  return [...new Set(databases)].toSorted((a, b) => a - b);
}

const NUMBERS = new Map(Array.from({ length: MAX_DATABASES }, (_, database) => [bindingName(database), database]));

/** Returns the number of the database that a binding names; undefined if it names none. */
export function databaseNumber(binding: string): number | undefined {
  return NUMBERS.get(binding);
}

let last: { text: string; map: ShardMap | undefined } | undefined;

/** The database of each logical shard; undefined for one that the map leaves out. */
type ShardMap = (number | undefined)[];

/** Reads a map such as `0-63=DB, 64-255=DB_1`. Returns undefined if the text is not a map, or names a shard twice. */
export function shardMap(text: string): ShardMap | undefined {
  // The last one is kept, since every access to a database needs it.
  if (last?.text !== text) last = { text, map: readMap(text) };
  return last.map;
}

function readMap(text: string): ShardMap | undefined {
  const items = text.trim() === "" ? [`0-${SHARDS - 1}=DB`] : text.split(",");
  const map = Array<number | undefined>(SHARDS).fill(undefined);
  for (const item of items) {
    const [range = "", binding = ""] = item.split("=").map((part) => part.trim());
    const [shards, database] = [readShards(range), databaseNumber(binding)];
    if (!shards || database === undefined || shards.some((shard) => map[shard] !== undefined)) return undefined;
    for (const shard of shards) map[shard] = database;
  }
  return map;
}

/** Reads a logical shard, or a range of them such as `64-127`; undefined if the text is neither. */
export function readShards(text: string): number[] | undefined {
  const [first = "", last = first, ...rest] = text.split("-").map((part) => part.trim());
  const [from, to] = [first, last].map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : Number.NaN)) as [number, number];
  if (rest.length > 0 || !(from <= to && to < SHARDS)) return undefined;
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
