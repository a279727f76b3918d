import { type SQL, sql } from "drizzle-orm";

/** Milliseconds as RFC 3339, UTC, for a record that the database writes; null stays null. */
export function timestampJson(ms: SQL): SQL {
  return sql`(strftime('%Y-%m-%dT%H:%M:%S', ${ms} / 1000, 'unixepoch') || printf('.%03dZ', ${ms} % 1000))`;
}

/** Identifiers as a list to be `IN`: one bound value, however many there are, where D1 takes a hundred. */
export function jsonIds(ids: readonly string[]): SQL {
  return sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`;
}

/** A flag as JSON's true or false. */
export function booleanJson(flag: SQL): SQL {
  return sql`json(CASE WHEN ${flag} THEN 'true' ELSE 'false' END)`;
}
