import { agentOwner, visitorOwner } from "../attachments/store.ts";
import { identitySecretsOf } from "../agents/secrets.ts";
import type { AgentRow } from "../agents/wire.ts";
import { type Refusal, refusalError } from "../chat/refusals.ts";
import { type Question, questionLimits, type QuestionVisitor } from "../chat/question.ts";
import { type AnswerKey, resumedAnswer, streamedAnswer, streamedContinued, wholeAnswer, wholeContinued } from "../chat/responses.ts";
import { type AnswerVisitor, visitorFields, type VisitorToken } from "../chat/visitor-token.ts";
import { type ToolResult, toolResultsInSchema } from "../chat/wire.ts";
import type { VisitorRow } from "../conversations/wire.ts";
import { BASE64URL } from "../platform/crypto/base64url.ts";
import { newId, seededIds, shardOf } from "../platform/db/ids.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { DAY_MS } from "../platform/time.ts";
import { conversationNotFound, openAgent, openConversation, redactInput, requireChallenge, visitorUnauthorized } from "./access.ts";
import { type Identity, readIdentityToken, readUserHash } from "./identity.ts";
import { senderOf } from "./rate-limit.ts";
import { findVisitorAnswer, findVisitorConversation } from "./store.ts";
import { type MessageIn, messageInSchema, type VisitorAnswer } from "./wire.ts";

/** A 429 must have a Retry-After, although a full conversation does not accept a message later either. */
const FULL_RETRY_SECONDS = "3600";
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
/** The clocks of visitors are seldom wrong by more than this. A key from another time is ignored. */
const MAX_KEY_SKEW_MS = DAY_MS;
/** An anonymous id is as long as a UUID, so that it cannot be guessed. */
const ANON_ID_BYTES = 16;

/**
 * Asks the agent on behalf of a visitor. One trip to D1 finds the visitor and checks the request; then the session runs the turn.
 * @throws ApiError if the question is not answered.
 */
export async function askForVisitor(c: AppContext, agentId: string, body: MessageIn): Promise<VisitorAnswer> {
  const { question, visitor } = await toQuestion(c, agentId, body);
  const { answer, visitorId } = await wholeAnswer(c, question, { visitor, toError: toVisitorError });
  return { ...answer, ...(await visitorFields(c.env, visitor, visitorId)) };
}

/** Asks the agent on behalf of a visitor, and responds with a stream of events. */
export async function streamForVisitor(c: AppContext, agentId: string, body: MessageIn): Promise<Response> {
  const { question, visitor } = await toQuestion(c, agentId, body);
  return streamedAnswer(c, question, { visitor, toError: toVisitorError });
}

/**
 * Resumes the stream of an answer in a conversation that the visitor's token gives access to.
 * @throws ApiError not_found, origin_not_allowed.
 */
export function resumeForVisitor(c: AppContext, key: AnswerKey): Promise<Response> {
  return resumedAnswer(c, key, () => findForVisitor(c, key));
}

/** Reads an answer in a conversation that the visitor's token gives access to. @throws ApiError not_found, origin_not_allowed. */
async function findForVisitor(c: AppContext, key: AnswerKey) {
  const opened = await openConversation(c, key.conversation_id, (db, claim) => [findVisitorAnswer(db, claim, key)]);
  const { op, conversation, claim, visitor, read } = opened;
  const [[stored]] = read;
  const named = { ...claim, anonId: visitor.anonId, issuedAtMs: issuedAt(claim, visitor, Date.now()) };
  return { op, workspaceId: op.workspaceId, status: conversation.status, stored, visitor: named, opened };
}

/**
 * Sends the results of tools that the visitor's page ran, and returns the answer that waited for them.
 * @throws ApiError not_found, origin_not_allowed, validation_error.
 */
export async function continueForVisitor(c: AppContext, key: AnswerKey, results: ToolResult[]): Promise<VisitorAnswer> {
  const { sent, visitor } = await toVisitorResults(c, key, results);
  const { answer, visitorId } = await wholeContinued(c, sent, { toError: toVisitorError });
  return { ...answer, ...(await visitorFields(c.env, visitor, visitorId)) };
}

/** Sends the results of tools that the visitor's page ran, and responds with a stream of events. */
export async function streamContinuedForVisitor(c: AppContext, key: AnswerKey, results: ToolResult[]): Promise<Response> {
  const { sent, visitor } = await toVisitorResults(c, key, results);
  return streamedContinued(c, sent, { visitor, toError: toVisitorError });
}

async function toVisitorResults(c: AppContext, key: AnswerKey, results: ToolResult[]) {
  const { op, visitor, opened } = await findForVisitor(c, key);
  await redactInput(opened, { schema: toolResultsInSchema.shape.results, body: results });
  return { sent: { op, key, results, runsIn: "browser" as const, find: () => findForVisitor(c, key) }, visitor };
}

/** Makes the question of a request, and the visitor who gets a token with its answer. */
async function toQuestion(c: AppContext, agentId: string, body: MessageIn): Promise<{ question: Question; visitor: AnswerVisitor }> {
  const nowMs = Date.now();
  const { conversation_id: conversationId } = body;
  const opened = await openAgent(
    c,
    agentId,
    { token: body.visitor_token, flow: "messages", input: { schema: messageInSchema, body } },
    (db) => [findVisitorConversation(db, agentId, conversationId ?? "")],
  );
  const { agent, limits, claim, visitor: bearer, redaction } = opened;
  const { workspaceId } = opened.op;
  const [[conversation]] = opened.read;
  const identity = await readIdentity(c.env, agent, body, nowMs);
  // The name in a signed token is not a field of the body.
  if (identity?.name && redaction) identity.name = redaction.text(identity.name);
  const made = await newIds(c, { agentId, visitorId: bearer?.id, body, nowMs });
  const visitor = toQuestionVisitor(identity, bearer, made.anonId);
  if (conversationId && !(conversation && isOwn(conversation, visitor, identity ? undefined : bearer))) throw conversationNotFound();
  if (!bearer && !identity) await requireChallenge(c, agent, body.turnstile_token);
  const sender = await senderOf(c, workspaceId, visitor);
  const nextId = () => made.nextId(shardOf(workspaceId));
  const ids = { questionId: nextId(), answerId: nextId(), visitorId: nextId() };
  const question: Question = {
    ...ids,
    workspaceId,
    agentId,
    conversationId: conversation?.id ?? nextId(),
    isNew: conversation === undefined,
    // A conversation stays on the channel that it started on.
    channel: conversation?.channel ?? body.channel,
    message: body.message,
    ...(body.attachments?.length && { files: { ids: body.attachments, owners: ownersOf(agentId, bearer) } }),
    visitor,
    ...(body.client_tools?.length && { clientTools: { runsIn: "browser" as const, names: body.client_tools } }),
    ...questionLimits(limits, nowMs, sender),
    nowMs,
  };
  // Only a signature gives a token of the person. An anonymous visitor keeps its own token, even after it was merged.
  const visitorId = identity ? null : (bearer?.id ?? ids.visitorId);
  const issuedAtMs = identity || !claim || !bearer ? nowMs : issuedAt(claim, bearer, nowMs);
  return { question, visitor: { agentId, visitorId, anonId: visitor.anonId, issuedAtMs } };
}

/** Returns the owners of the files that a visitor may send. Files that were uploaded without a token are known only to who uploaded them. */
function ownersOf(agentId: string, bearer: VisitorRow | undefined): string[] {
  return [agentOwner(agentId), ...(bearer ? [visitorOwner(bearer.id)] : [])];
}

/** Returns the time of issue of a visitor's next token. An answer does not renew the token of a verified visitor. */
function issuedAt(token: VisitorToken, visitor: VisitorRow, nowMs: number): number {
  return visitor.verified ? token.issuedAtMs : nowMs;
}

/**
 * Returns the identity that the request proves; undefined if it claims none.
 * @throws ApiError invalid_identity; UnreadableSecretError if the proof may be right but cannot be checked.
 */
async function readIdentity(env: Env, agent: AgentRow, body: MessageIn, nowMs: number): Promise<Identity | undefined> {
  const { identity_token: token, user_hash: hash, user } = body;
  if (!token && !(hash && user)) return undefined;
  const { secrets, unreadable } = await identitySecretsOf(env, agent, nowMs);
  const read = token ? await readIdentityToken(token, secrets, nowMs) : await readUserHash(hash!, user!, secrets);
  if ("problem" in read && unreadable) throw unreadable;
  if ("problem" in read) throw visitorUnauthorized("invalid_identity", read.problem);
  return read.identity;
}

/**
 * Returns the author of the question. An identity has its own visitor, which is the same on every device, and the token's anonymous
 * visitor is merged into it. A visitor who already has an identity is not merged, because people share computers.
 */
function toQuestionVisitor(identity: Identity | undefined, bearer: VisitorRow | undefined, anonId: string): QuestionVisitor {
  if (identity) {
    const { externalId, name, email, isProfileSigned } = identity;
    const joins = bearer && bearer.externalId === null && bearer.mergedInto === null ? bearer.id : null;
    return { anonId: `user:${externalId}`, externalId, name, email, verified: true, isProfileVerified: isProfileSigned, joins };
  }
  const nothingNew = { email: null, isProfileVerified: false, joins: null };
  if (bearer) return { anonId: bearer.anonId, externalId: bearer.externalId, name: bearer.name, verified: bearer.verified, ...nothingNew };
  return { anonId, externalId: null, name: null, verified: false, ...nothingNew };
}

/**
 * Returns the ids of a question's new records. With an Idempotency-Key, they are derived from the key and the question. A question that
 * is sent again therefore has the same ids, and nothing has to be stored to recognize it.
 */
async function newIds(
  c: AppContext,
  { agentId, visitorId, body, nowMs }: { agentId: string; visitorId: string | undefined; body: MessageIn; nowMs: number },
) {
  const key = c.req.header("Idempotency-Key") ?? "";
  const keyMs = UUID_V7.test(key) ? Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16) : Number.NaN;
  if (!(Math.abs(nowMs - keyMs) < MAX_KEY_SKEW_MS)) {
    return { anonId: toAnonId(crypto.getRandomValues(new Uint8Array(ANON_ID_BYTES))), nextId: (shard: number) => newId(shard, nowMs) };
  }
  const seed = JSON.stringify([agentId, visitorId ?? null, body.conversation_id ?? null, key, body.message, ...(body.attachments ?? [])]);
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`anon/${seed}`));
  return { anonId: toAnonId(new Uint8Array(hash, 0, ANON_ID_BYTES)), nextId: await seededIds(seed, keyMs) };
}

/** Makes an anonymous id from random bytes. A client cannot choose it, because it could choose another visitor's id or an `api:` one. */
function toAnonId(bytes: Uint8Array): string {
  return `anon_${BASE64URL.encode(bytes)}`;
}

type FoundConversation = Awaited<ReturnType<typeof findVisitorConversation>>[number];

/** Whether the conversation belongs to the token's visitor, to the proven person, or to the visitor that is merged into the person. */
function isOwn(conversation: FoundConversation, visitor: QuestionVisitor, bearer: VisitorRow | undefined): boolean {
  if (bearer) return conversation.visitorId === bearer.id || conversation.begunBy === bearer.id;
  return conversation.anonId === visitor.anonId || (visitor.joins !== null && conversation.visitorId === visitor.joins);
}

/** Maps a refusal to an error. It does not reveal that a conversation of somebody else exists. */
function toVisitorError(refusal: Refusal): ApiError {
  switch (refusal.outcome) {
    case "conversation_not_found":
    case "other_agent":
    case "other_channel":
    case "other_user":
      return conversationNotFound();
    case "conversation_full":
      return new ApiError("rate_limited", "This conversation is too long to go on. Please start a new one.", {
        headers: { "Retry-After": FULL_RETRY_SECONDS },
      });
    default:
      return refusalError(refusal);
  }
}
