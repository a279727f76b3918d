import type { MiddlewareHandler } from "hono";
import { verifyVisitorToken, type VisitorClaim } from "../chat/visitor-token.ts";
import { secretValues } from "../platform/config.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import { isKnownShard } from "../platform/db/shards.ts";
import { type AppContext, type AppEnv, bearerToken } from "../platform/http/context.ts";
import { ApiError, type ErrorCode } from "../platform/http/errors.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { checkOrigin } from "./cors.ts";
import { limitVisitor } from "./limits.ts";
import { findOpenAgent, findOwnConversation } from "./store.ts";

declare module "../platform/http/context.ts" {
  interface CallerVariables {
    /** Set where a visitor's token is required. */
    visitor: VisitorClaim;
  }
}

/** Admits requests with a visitor's token: 401 without one. */
export const requireVisitor: MiddlewareHandler<AppEnv> = async (c, next) => {
  const token = bearerToken(c);
  if (token === undefined) {
    throw refuse("missing_visitor_token", "Send the visitor_token of the last answer in the header: Authorization: Bearer vt_…");
  }
  c.set("visitor", await readVisitor(c, token));
  await next();
};

/**
 * The visitor that a token names; nothing is asked of storage.
 * @param agentId the agent that it must be of, where the request names one.
 * @throws ApiError invalid_visitor_token, rate_limited.
 */
export async function readVisitor(c: AppContext, token: string, agentId?: string): Promise<VisitorClaim> {
  const read = await verifyVisitorToken(token, secretValues(c.env.KEY_SECRET), Date.now());
  if (read.outcome === "expired") throw refuseToken("The visitor_token has expired. Begin anew without one.");
  if (read.outcome === "forged")
    throw refuseToken("This is not a visitor_token of this service. Send the one of the last answer, unchanged.");
  if (agentId !== undefined && read.agentId !== agentId) {
    throw refuseToken("The visitor_token is another agent's. Begin anew without one.");
  }
  limitVisitor(c, read.visitorId);
  return read;
}

/** 401 for a token that names nobody. */
export function refuseToken(message: string): ApiError {
  return refuse("invalid_visitor_token", message);
}

/** 401, for any reason. */
export function refuse(code: ErrorCode, message: string): ApiError {
  return new ApiError(code, message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/**
 * The database in which an agent must be.
 * @throws ApiError not_found when there is none.
 */
export async function agentDb(c: AppContext, agentId: string): Promise<Database> {
  if (!(await isKnownShard(c.env, c.get("meter"), agentId))) throw noAgent();
  return dbFor(c.env, agentId, c.get("meter"));
}

type FoundAgent = Awaited<ReturnType<typeof findOpenAgent>>[number];

/**
 * The agent and what its workspace may use, once its origins let the request in.
 * @throws ApiError not_found, origin_not_allowed.
 */
export function openedAgent(c: AppContext, found: FoundAgent | undefined) {
  if (!found) throw noAgent();
  const { plan, overrides, ...agent } = found;
  checkOrigin(c, agent.allowedOrigins);
  c.set("logFields", { workspaceId: agent.workspaceId });
  return { agent, workspaceId: agent.workspaceId, limits: limitsOf(plan, overrides) };
}

/**
 * The agent of the visitor's token and a conversation that the token opens.
 * @throws ApiError not_found, origin_not_allowed.
 */
export async function openConversation(c: AppContext, conversationId: string) {
  const claim = c.get("visitor");
  const db = await agentDb(c, claim.agentId);
  const [[found], [conversation]] = await db.batch([findOpenAgent(db, claim.agentId), findOwnConversation(db, claim, conversationId)]);
  const { agent, workspaceId } = openedAgent(c, found);
  if (!conversation) throw noConversation();
  return { agent, workspaceId, claim, db };
}

/** 404: also for another visitor's conversation, which reads the same as none. */
export function noConversation(): ApiError<"not_found"> {
  const message = "No such conversation of this visitor. Send the visitor_token that it was begun with, and its conversation_id.";
  return new ApiError("not_found", message);
}

function noAgent(): ApiError<"not_found"> {
  return new ApiError("not_found", "No agent with this id. Check the id.");
}
