import { identitySecretsOf } from "../agents/identity-secrets.ts";
import type { AgentRow } from "../agents/wire.ts";
import { type AnswerKey, answerResumed, answerStreamed, refusalError } from "../chat/responses.ts";
import { sessionOf } from "../chat/session.ts";
import type { Refusal, TurnRequest, TurnVisitor } from "../chat/turn.ts";
import { mintVisitorToken, type VisitorClaim } from "../chat/visitor-token.ts";
import type { VisitorRow } from "../conversations/wire.ts";
import { secretValues } from "../platform/config.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import type { AppContext } from "../platform/http/context.ts";
import type { ApiError } from "../platform/http/errors.ts";
import { periodOf } from "../workspaces/plans.ts";
import { type Identity, readIdentityToken, readUserHash } from "./identity.ts";
import { agentDb, noConversation, openedAgent, readVisitor, refuse, refuseToken } from "./opening.ts";
import { findOpenAgent, findOwnConversation, findTokenVisitor, findVisitorAnswer, findVisitorConversation } from "./store.ts";
import type { MessageIn, VisitorAnswer } from "./wire.ts";

/** As long as a UUID: nobody guesses one. */
const ANON_ID_BYTES = 16;

/**
 * Asks the agent for a visitor: one D1 trip says who asks and whether they may, the rest is the turn's, as for an API key.
 * @throws ApiError for everything that keeps it from being answered.
 */
export async function askForVisitor(c: AppContext, agentId: string, body: MessageIn): Promise<VisitorAnswer> {
  const { request, visitor } = await prepare(c, agentId, body);
  const session = sessionOf(c.env, c.get("meter"), request.workspaceId, request.conversationId);
  const { result, cost } = await session.ask(request, c.get("requestId"));
  c.get("meter").add(cost);
  if (result.outcome !== "answered") throw refusalHere(result);
  const named = { agentId, visitorId: visitor.visitorId ?? result.visitorId! };
  const token = await mintVisitorToken(named, secretValues(c.env.KEY_SECRET)[0], Date.now());
  return { ...result.answer, visitor_token: token, anon_id: visitor.anonId };
}

/** The same, as a stream of events. */
export async function streamForVisitor(c: AppContext, agentId: string, body: MessageIn): Promise<Response> {
  const { request, visitor } = await prepare(c, agentId, body);
  return answerStreamed(c, request, visitor, refusalHere);
}

/** What is asked of the conversation, and whose token the answer brings. */
async function prepare(c: AppContext, agentId: string, body: MessageIn) {
  const nowMs = Date.now();
  const claim = body.visitor_token ? await readVisitor(c, body.visitor_token, agentId) : undefined;
  const { agent, workspaceId, limits, known, conversation } = await find(c, agentId, claim, body.conversation_id ?? undefined);
  const identity = await readIdentity(c.env, agent, body, nowMs);
  const visitor = whoAsks(identity, known);
  if (body.conversation_id && !(conversation && isTheirs(conversation, visitor, identity ? undefined : known))) throw noConversation();
  const request: TurnRequest = {
    workspaceId,
    agentId,
    conversationId: conversation?.id ?? newId(shardOf(workspaceId), nowMs),
    isNew: conversation === undefined,
    // A conversation stays on the channel that it began on.
    channel: conversation?.channel ?? body.channel,
    message: body.message,
    visitor,
    ids: null,
    quota: { period: periodOf(nowMs), limit: limits.messages },
  };
  // Only a signature gives a token of the person; an anonymous one stays what it is, whoever its visitor turned out to be.
  const visitorId = identity || !known ? null : known.id;
  return { request, visitor: { agentId, visitorId, anonId: visitor.anonId } };
}

async function find(c: AppContext, agentId: string, claim: VisitorClaim | undefined, conversationId: string | undefined) {
  const db = await agentDb(c, agentId);
  const [[found], [known], [conversation]] = await db.batch([
    findOpenAgent(db, agentId),
    findTokenVisitor(db, claim ?? { agentId, visitorId: "" }),
    findVisitorConversation(db, agentId, conversationId ?? ""),
  ]);
  const opened = openedAgent(c, found);
  if (claim && !known) throw refuseToken("The visitor_token's visitor is not known any more. Begin anew without one.");
  return { ...opened, known, conversation };
}

/**
 * Who the request proves to come from; undefined when it does not try.
 * @throws ApiError invalid_identity; UnreadableSecretError where the proof may be right but cannot be checked.
 */
async function readIdentity(env: Env, agent: AgentRow, body: MessageIn, nowMs: number): Promise<Identity | undefined> {
  const { identity_token: token, user_hash: hash, user } = body;
  if (!token && !(hash && user)) return undefined;
  const { secrets, unreadable } = await identitySecretsOf(env, agent, nowMs);
  const read = token ? await readIdentityToken(token, secrets, nowMs) : await readUserHash(hash!, user!, secrets);
  if ("problem" in read && unreadable) throw unreadable;
  if ("problem" in read) throw refuse("invalid_identity", read.problem);
  return read.identity;
}

/**
 * The turn's visitor. An identity is a visitor of its own, the same one from every device; the anonymous visitor of the
 * token joins it. One who has an identity already is not joined to another: the computer is shared.
 */
function whoAsks(identity: Identity | undefined, known: VisitorRow | undefined): TurnVisitor {
  if (identity) {
    const { externalId, name, email, isProfileSigned } = identity;
    const joins = known && known.externalId === null && known.mergedInto === null ? known.id : null;
    return { anonId: `user:${externalId}`, externalId, name, email, verified: true, isProfileVerified: isProfileSigned, joins };
  }
  const nothingNew = { email: null, isProfileVerified: false, joins: null };
  if (known) return { anonId: known.anonId, externalId: known.externalId, name: known.name, verified: known.verified, ...nothingNew };
  return { anonId: newAnonId(), externalId: null, name: null, verified: false, ...nothingNew };
}

/** Made here and never taken from a client, so that nobody can claim another's, or an `api:` one. */
function newAnonId(): string {
  const random = crypto.getRandomValues(new Uint8Array(ANON_ID_BYTES));
  return `anon_${random.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

type FoundConversation = Awaited<ReturnType<typeof findVisitorConversation>>[number];

/** Whether a conversation is the visitor's: the proven person's, the one's who joins them, or begun with the token. */
function isTheirs(conversation: FoundConversation, visitor: TurnVisitor, bearer: VisitorRow | undefined): boolean {
  if (bearer) return conversation.visitorId === bearer.id || conversation.begunBy === bearer.id;
  return conversation.anonId === visitor.anonId || (visitor.joins !== null && conversation.visitorId === visitor.joins);
}

/** What is another's reads the same as what is not there. */
function refusalHere(refusal: Refusal): ApiError {
  switch (refusal.outcome) {
    case "conversation_not_found":
    case "other_agent":
    case "other_channel":
    case "other_user":
      return noConversation();
    default:
      return refusalError(refusal);
  }
}

/**
 * Goes on with the stream of an answer in a conversation that the visitor's token opens.
 * @throws ApiError not_found, origin_not_allowed.
 */
export async function resumeForVisitor(c: AppContext, key: AnswerKey): Promise<Response> {
  const claim = c.get("visitor");
  const db = await agentDb(c, claim.agentId);
  return answerResumed(c, key, async () => {
    const [[found], [conversation], [known], [stored]] = await db.batch([
      findOpenAgent(db, claim.agentId),
      findOwnConversation(db, claim, key.conversation_id),
      findTokenVisitor(db, claim),
      findVisitorAnswer(db, claim, key),
    ]);
    const { workspaceId } = openedAgent(c, found);
    if (!conversation || !known) throw noConversation();
    return { workspaceId, status: conversation.status, stored, visitor: { ...claim, anonId: known.anonId } };
  });
}
