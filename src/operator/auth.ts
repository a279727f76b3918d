import type { MiddlewareHandler } from "hono";
import { optionalSecretValues } from "../platform/config.ts";
import { dbFor } from "../platform/db/client.ts";
import { isKnownShard } from "../platform/db/shards.ts";
import { type AppContext, type AppEnv, bearerToken } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { unauthorized } from "../workspaces/middleware.ts";
import { findWorkspace } from "../workspaces/store.ts";

/** Admits the operator by token. When none is configured, every path of the operator's surface answers 404. */
export const requireOperator: MiddlewareHandler<AppEnv> = async (c, next) => {
  const tokens = optionalSecretValues(c.env.OPERATOR_TOKEN ?? "");
  if (tokens.length === 0) throw new ApiError("not_found", "There is nothing at this path.");
  const token = bearerToken(c);
  if (token === undefined) throw unauthorized(c, "missing_api_key", "Send the operator's token: Authorization: Bearer <OPERATOR_TOKEN>");
  const matches = await Promise.all(tokens.map((expected) => isSame(token, expected)));
  if (!matches.includes(true)) throw unauthorized(c, "invalid_api_key", "This is not the operator's token.");
  await next();
};

/** Compares digests, which are of one length, in constant time. */
async function isSame(given: string, expected: string): Promise<boolean> {
  const [a, b] = await Promise.all([given, expected].map((text) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
  return crypto.subtle.timingSafeEqual(a!, b!);
}

/**
 * A workspace that the operator names, and its database.
 * @throws ApiError not_found when there is none, or it is deleted.
 */
export async function openWorkspace(c: AppContext, workspaceId: string) {
  if (!(await isKnownShard(c.env, c.get("meter"), workspaceId))) throw noWorkspace();
  c.set("logFields", { workspaceId });
  const db = dbFor(c.env, workspaceId, c.get("meter"));
  const [[workspace]] = await db.batch([findWorkspace(db, workspaceId)]);
  if (!workspace) throw noWorkspace();
  return { workspace, db };
}

/** 404: also for a workspace that is deleted. */
export function noWorkspace(): ApiError<"not_found"> {
  return new ApiError("not_found", "No workspace with this id, or it was deleted. Check the id in the list of workspaces.");
}
