import { type SQL, sql } from "drizzle-orm";

/** Hexadecimal digits of the time that a UUIDv7 begins with, 48 bits, and where the dash stands in them. */
const TIME_DIGITS = 12;
const DASH_AFTER = 8;

/**
 * A new UUIDv7 for each row of the statement that it stands in, for rows that the database itself makes many of. Its last
 * byte is the shard, as with every identifier.
 * @param nowMs Unix time in milliseconds.
 */
export function newIdSql(shard: number, nowMs: number): SQL {
  const digits = nowMs.toString(16).padStart(TIME_DIGITS, "0");
  const time = `${digits.slice(0, DASH_AFTER)}-${digits.slice(DASH_AFTER)}`;
  const variant = sql`substr('89AB', 1 + (random() & 3), 1)`;
  return sql`lower(${time} || '-7' || substr(hex(randomblob(2)), 2) || '-' || ${variant} || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(5)) || printf('%02x', ${shard}))`;
}
