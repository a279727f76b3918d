import type { z } from "@hono/zod-openapi";
import { turnstileSecretOf } from "../agents/secrets.ts";
import { findAgentWithPlan } from "../agents/store.ts";
import type { AgentRow } from "../agents/wire.ts";
import { reconnectVisitor } from "../chat/visitor-sockets.ts";
import { isEnded, type VisitorClaim, type VisitorToken, verifyVisitorToken } from "../chat/visitor-token.ts";
import type { VisitorRow } from "../conversations/wire.ts";
import { secretValues } from "../platform/config.ts";
import { isMapped } from "../platform/db/bindings.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import { type Statement, transact } from "../platform/db/sql.ts";
import type { Check } from "../platform/http/checks.ts";
import { type AppContext, bearerToken } from "../platform/http/context.ts";
import { ApiError, type ErrorCode } from "../platform/http/errors.ts";
import { answerInRegion } from "../platform/http/region.ts";
import { log } from "../platform/telemetry/log.ts";
import { redactionOf } from "../redaction/redaction.ts";
import { limitReached, operationOf } from "../workspaces/checks.ts";
import { businessHoursOf } from "../workspaces/business-hours.ts";
import { findFullWindow, type SentByVisitors, visitorLimitOf, windowsOf } from "../workspaces/usage-limits.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { checkOrigin, isAllowedHost } from "./cors.ts";
import { limitVisitor } from "./rate-limit.ts";
import { endTokens, findOwnConversation, findTokenVisitor, listOwnConversations, listSentToAgent } from "./store.ts";
import { turnstileProblem } from "./turnstile.ts";

declare module "../platform/http/context.ts" {
  interface CallerVariables {
    /** The value is set if the operation requires a visitor's token. */
    visitor: VisitorToken;
  }
}

/** The WebSocket subprotocol that a browser names together with its token, and that the service confirms. */
export const LIVE_PROTOCOL = "support-agent";

/** Admits requests that have a visitor's token. */
export const requireVisitor: Check = async (c) => {
  const token = bearerToken(c) ?? protocolToken(c);
  if (token === undefined) {
    throw visitorUnauthorized(
      "missing_visitor_token",
      "Send the visitor_token of the last answer in the header: Authorization: Bearer vt_…",
    );
  }
  const visitor = await checkToken(c, token);
  c.set("visitor", visitor);
  return answerInRegion(c, visitor.agentId);
};

/** Returns the token that a browser names as a subprotocol of its WebSocket, because a page cannot set the headers of a WebSocket. */
function protocolToken(c: AppContext): string | undefined {
  return namedProtocols(c).find((protocol) => protocol !== LIVE_PROTOCOL);
}

/** Returns the subprotocols that a WebSocket's client names. */
export function namedProtocols(c: AppContext): string[] {
  const protocols = c.req.header("Sec-WebSocket-Protocol")?.split(",") ?? [];
  return protocols.map((protocol) => protocol.trim());
}

/**
 * Verifies a token without reading storage, and counts the request against the limit of its visitor.
 * @param agentId the agent that the token must name, if the request names one.
 * @throws ApiError invalid_visitor_token, rate_limited.
 */
async function checkToken(c: AppContext, token: string, agentId?: string): Promise<VisitorToken> {
  const read = await verifyVisitorToken(token, secretValues(c.env.KEY_SECRET), Date.now());
  if (read.outcome === "expired") throw invalidToken("The visitor_token has expired. Start again without one.");
  if (read.outcome === "forged") {
    throw invalidToken("This is not a visitor_token of this service. Send the one of the last answer, unchanged.");
  }
  if (agentId !== undefined && read.agentId !== agentId) {
    throw invalidToken("The visitor_token is another agent's. Start again without one.");
  }
  limitVisitor(c, read.visitorId);
  return read;
}

function invalidToken(message: string): ApiError {
  return visitorUnauthorized("invalid_visitor_token", message);
}

/** Returns the 401 error for a visitor without a valid credential. */
export function visitorUnauthorized(code: ErrorCode, message: string): ApiError {
  return new ApiError(code, message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/**
 * Returns the database of an agent.
 * @throws ApiError not_found if no database can have the agent.
 */
export function agentDb(c: AppContext, agentId: string): Database {
  if (!isMapped(c.env, agentId)) throw agentNotFound();
  return dbFor(c.env, agentId, c.get("meter"));
}

/** @throws ApiError invalid_visitor_token if the token was ended. */
function requireLive(token: VisitorToken, agent: AgentRow, visitor: VisitorRow): void {
  if (isEnded(token, agent, visitor, Date.now())) throw invalidToken("The visitor_token was ended. Start again without one.");
}

type FoundAgent = Awaited<ReturnType<typeof findAgentWithPlan>>[number];

/**
 * Returns the agent, its workspace's limits and the hours of its team, if the agent allows the request's origin.
 * @throws ApiError not_found, origin_not_allowed.
 */
export function requireAgent(c: AppContext, found: FoundAgent | undefined) {
  if (!found) throw agentNotFound();
  const { plan, overrides, redaction, businessHours, ...agent } = found;
  checkOrigin(c, agent.allowedOrigins);
  c.set("logFields", { workspaceId: agent.workspaceId });
  const op = operationOf(c, agent.workspaceId);
  return { agent, op, limits: limitsOf(plan, overrides), redaction, hours: businessHoursOf(businessHours) };
}

/** The input of a request with its schema. */
interface Input {
  schema: z.ZodType;
  body: unknown;
}

/**
 * Masks the texts of an input in place. Requests with an API key do this when they are validated; here the workspace is known only once the
 * agent was read. Until then nothing uses the texts.
 */
export async function redactInput({ op, redaction: stored }: ReturnType<typeof requireAgent>, { schema, body }: Input) {
  const redaction = await redactionOf(op.env, op.workspaceId, stored);
  redaction?.fields(schema, body);
  return redaction;
}

/**
 * Checks a request that sends something, and masks its texts. It reads the agent of the path, the visitor of the body's token, if there is
 * one, and further queries in one trip to D1.
 * @throws ApiError not_found, origin_not_allowed, invalid_visitor_token, rate_limited.
 */
export async function openAgent<const Queries extends readonly Statement[] = []>(
  c: AppContext,
  agentId: string,
  { token, flow, input }: { token: string | null | undefined; flow: SentByVisitors; input: Input },
  queries?: (db: Database, claim: VisitorClaim) => Queries,
) {
  const nowMs = Date.now();
  const claim = token ? await checkToken(c, token, agentId) : undefined;
  const db = agentDb(c, agentId);
  const named = claim ?? { agentId, visitorId: "" };
  const { before: read, after } = await transact(db, {
    before: queries?.(db, named) ?? ([] as unknown as Queries),
    after: [findAgentWithPlan(db, agentId), findTokenVisitor(db, named), listSentToAgent(db, agentId, nowMs)],
  });
  const [[found], [visitor], sent] = after;
  const opened = requireAgent(c, found);
  if (claim && !visitor) throw invalidToken("The visitor_token's visitor does not exist any more. Start again without one.");
  if (claim && visitor) requireLive(claim, opened.agent, visitor);
  // What visitors send is counted when it is stored. This check stops a flood beyond the day's limit after one trip.
  const full = findFullWindow(windowsOf(visitorLimitOf(opened.limits, flow, null), nowMs), sent);
  if (full) throw limitReached(full, nowMs);
  return { ...opened, claim, visitor, read, redaction: await redactInput(opened, input) };
}

/**
 * Finds a conversation of the token's visitor with the token's agent. Further queries are read in the same trip.
 * @throws ApiError not_found, origin_not_allowed, invalid_visitor_token.
 */
export async function openConversation<const Queries extends readonly Statement[] = []>(
  c: AppContext,
  conversationId: string,
  queries?: (db: Database, claim: VisitorClaim) => Queries,
) {
  const claim = c.get("visitor");
  const db = agentDb(c, claim.agentId);
  const { before: read, after } = await transact(db, {
    before: queries?.(db, claim) ?? ([] as unknown as Queries),
    after: [findAgentWithPlan(db, claim.agentId), findTokenVisitor(db, claim), findOwnConversation(db, claim, conversationId)],
  });
  const [[found], [visitor], [conversation]] = after;
  const opened = requireAgent(c, found);
  if (visitor) requireLive(claim, opened.agent, visitor);
  if (!visitor || !conversation) throw conversationNotFound();
  return { ...opened, conversation, claim, visitor, read };
}

/**
 * Finds the latest conversations of the token's visitor.
 * @throws ApiError not_found, origin_not_allowed, invalid_visitor_token.
 */
export async function openVisitor(c: AppContext) {
  const claim = c.get("visitor");
  const db = agentDb(c, claim.agentId);
  const [conversations, [found], [visitor]] = await db.batch([
    listOwnConversations(db, claim),
    findAgentWithPlan(db, claim.agentId),
    findTokenVisitor(db, claim),
  ]);
  const { agent } = requireAgent(c, found);
  if (!visitor) throw invalidToken("The visitor_token's visitor does not exist any more.");
  requireLive(claim, agent, visitor);
  return { claim, db, conversations };
}

/**
 * Ends all tokens of the token's visitor, including this one, and closes the sockets of their latest conversations. The socket of
 * an earlier conversation gets no more notifications once it is ten minutes old.
 * @throws ApiError not_found, origin_not_allowed, invalid_visitor_token.
 */
export async function endSessions(c: AppContext): Promise<void> {
  const { claim, db, conversations } = await openVisitor(c);
  await db.batch([endTokens(db, claim, Date.now())]);
  for (const conversation of conversations) reconnectVisitor(c.env, conversation);
}

/**
 * Requires a Turnstile token if the agent asks for one. Callers check only visitors without a token and without a proven identity.
 * @throws ApiError challenge_required; UnreadableSecretError.
 */
export async function requireChallenge(c: AppContext, agent: AgentRow, token: string | null | undefined): Promise<void> {
  const secret = await turnstileSecretOf(c.env, agent);
  if (secret === null) return;
  if (!token) throw challengeRequired("Send a turnstile_token, solved with the agent's turnstile_site_key.");
  const problem = await turnstileProblem(c.env, secret, token, (hostname) => isAllowedHost(c, agent.allowedOrigins, hostname));
  if (problem === undefined) return;
  log("turnstile_refused", { workspace_id: agent.workspaceId, agent_id: agent.id, reason: problem });
  throw challengeRequired("The turnstile_token was not accepted. A token is valid once, for five minutes. Send a new one.");
}

function challengeRequired(message: string): ApiError<"challenge_required"> {
  return new ApiError("challenge_required", `Confirm that you are human. ${message}`);
}

/** The response is 404 for another visitor's conversation too, so that nobody learns whether it exists. */
export function conversationNotFound(): ApiError<"not_found"> {
  const message = "No such conversation of this visitor. Send the visitor_token that it was started with, and its conversation_id.";
  return new ApiError("not_found", message);
}

function agentNotFound(): ApiError<"not_found"> {
  return new ApiError("not_found", "No agent with this id. Check the id.");
}
