import { dbFor, type Database } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";

/** The database of the caller's workspace. */
export function callerDb(c: AppContext): Database {
  return dbFor(c.env, c.get("caller").workspace.id, c.get("meter"));
}
