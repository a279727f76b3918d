import { API_OWNER } from "../attachments/store.ts";
import { findConversation, findMessage } from "../conversations/store.ts";
import type { Operation } from "../platform/db/client.ts";
import type { ClientSurface, ConversationStatus } from "../platform/db/columns.ts";
import type { AppContext } from "../platform/http/context.ts";
import { toApiError } from "../platform/http/error-handler.ts";
import { ApiError, invalid, notFound } from "../platform/http/errors.ts";
import { eventStream } from "../platform/http/responses.ts";
import type { Cost } from "../platform/telemetry/meter.ts";
import { operationOf } from "../workspaces/checks.ts";
import { visitorLimitOf } from "../workspaces/usage-limits.ts";
import { apiVisitor, type Question, questionLimits } from "./question.ts";
import { type Refusal, refusalError } from "./refusals.ts";
import { sessionOf, type Unsettled } from "./session.ts";
import { findReply, type StoredReply, toChatAnswer } from "./store.ts";
import { AnswerStream, hasWholeAnswer, readStream, type StreamCaller } from "./stream.ts";
import type { StreamFormat } from "./stream-formats.ts";
import { turnOfCall, unknownCalls } from "./suspended-turns.ts";
import { type AnswerVisitor, visitorFields } from "./visitor-token.ts";
import { type Asked, LAST_EVENT_ID, type ToolResult } from "./wire.ts";

/** Makes the question of an integrator's request. */
export function toQuestion(c: AppContext, agentId: string, asked: Asked): Question {
  const { message, conversation_id: continued, user, filter, settings, version, channel = "api", client_tools: names, attachments } = asked;
  const { limits } = c.get("caller").workspace;
  const { workspaceId, nowMs, newId } = operationOf(c);
  return {
    workspaceId,
    agentId,
    conversationId: continued ?? newId(),
    isNew: (continued ?? null) === null,
    channel,
    message,
    ...(attachments?.length && { files: { ids: attachments, owners: [API_OWNER] } }),
    visitor: user ? apiVisitor(user) : null,
    ...(filter && { filter }),
    ...(settings && { settings }),
    ...(channel === "api" && { clientTools: { runsIn: "server" as const, names: names ?? null } }),
    ...(version && { version }),
    ...questionLimits(limits, nowMs),
    messageLimit: { ...visitorLimitOf(limits, "messages", null), onlyOutsideQuota: true },
    questionId: newId(),
    answerId: newId(),
    visitorId: newId(),
    nowMs,
  };
}

interface AskOptions {
  /** The visitor who gets a token with the answer; undefined over the API. */
  visitor?: AnswerVisitor;
  /** Maps a refusal to the error of the API. */
  toError?: typeof refusalError;
}

/** Asks the agent, and waits for the whole answer. @throws ApiError the refusal, as `toError` maps it. */
export async function wholeAnswer(c: AppContext, question: Question, { visitor, toError = refusalError }: AskOptions = {}) {
  const { result } = await ask(c, question, visitor, (session) => session.ask(question, c.get("requestId")));
  if (result.outcome !== "answered") throw toError(result);
  c.set("conversationId", question.conversationId);
  return result;
}

/** Asks the agent, and responds with the stream of its answer. @throws ApiError the refusal, as `toError` maps it. */
export async function streamedAnswer(
  c: AppContext,
  question: Question,
  { visitor, toError = refusalError, format = acceptedFormat(c) }: AskOptions & { format?: StreamFormat } = {},
) {
  const caller: StreamCaller = { requestId: c.get("requestId"), visitor, format };
  const { refusal, body } = await ask(c, question, visitor, (session) => session.stream(question, caller));
  if (refusal) throw toError(refusal);
  return answerStream(c, body!, question.conversationId, format);
}

/** The results of client tools, for the turn that waits for them. */
interface SentResults {
  op: Operation;
  key: AnswerKey;
  results: readonly ToolResult[];
  /** Where the tools ran. */
  runsIn: ClientSurface;
  /** Reads the answer from D1, in case the turn has ended. */
  find: () => Promise<FoundAnswer>;
}

/** Returns results that a program of the workspace sends. */
export function resultsOf(c: AppContext, key: AnswerKey, results: readonly ToolResult[]): SentResults {
  return { op: operationOf(c), key, results, runsIn: "server", find: () => findStoredAnswer(c, key) };
}

/**
 * Sends the results of tools, and waits for the whole answer. If the turn has ended, its answer is returned again.
 * @throws ApiError `validation_error` if results are unknown or missing; `not_found` if there is no such answer.
 */
export async function wholeContinued(c: AppContext, sent: SentResults, { toError = refusalError }: Pick<AskOptions, "toError"> = {}) {
  const { op, key, results, runsIn } = sent;
  const session = sessionOf(op, key.conversation_id);
  const { result, cost } = await session.continue({ answerId: key.message_id, results, runsIn }, c.get("requestId"));
  c.get("meter").add(cost);
  c.set("conversationId", key.conversation_id);
  if (result.outcome === "answered") return result;
  if (result.outcome !== "not_waiting") throw resultsError(result, toError);
  const { stored, status } = await endedAnswer(sent);
  return { answer: toChatAnswer(stored, status), visitorId: null };
}

/** Sends the results of tools, and responds with the stream of the answer, as `wholeContinued` does. */
export async function streamedContinued(
  c: AppContext,
  sent: SentResults,
  { visitor, toError = refusalError, format = acceptedFormat(c) }: AskOptions & { format?: StreamFormat } = {},
): Promise<Response> {
  const { op, key, results, runsIn } = sent;
  const caller: StreamCaller = { requestId: c.get("requestId"), visitor, format };
  const session = sessionOf(op, key.conversation_id);
  const { refusal, body, cost } = await session.streamContinued({ answerId: key.message_id, results, runsIn }, caller);
  c.get("meter").add(cost);
  if (body) return answerStream(c, body, key.conversation_id, format);
  if (refusal!.outcome !== "not_waiting") throw resultsError(refusal!, toError);
  return storedAnswer(c, await endedAnswer(sent), caller);
}

/**
 * Finds the answer of a turn that no longer waits for results.
 * @throws ApiError `not_found` if there is no such answer; `validation_error` if results are not of its calls.
 */
async function endedAnswer({ key, results, find }: SentResults) {
  const found = await find();
  const { stored, status } = found;
  if (!stored || !status) throw notWaiting();
  const unknown = unknownCalls(results, (id) => turnOfCall(id)?.answerId === key.message_id);
  if (unknown) throw resultsError(unknown, refusalError);
  return { ...found, stored, status };
}

/** Returns the error for results that the turn does not take, or for a question that it refuses. */
function resultsError(refusal: Refusal | Exclude<Unsettled, { outcome: "not_waiting" }>, toError: typeof refusalError): ApiError {
  const loc = ["body", "results"];
  switch (refusal.outcome) {
    case "missing_calls":
      return invalid([{ loc, msg: `send a result for each call; these are missing: ${refusal.ids.join(", ")}`, type: "value_error" }]);
    case "unknown_calls": {
      const msg = "the answer has no tool call with this id: send the ids of required_action";
      return invalid(refusal.positions.map((at) => ({ loc: [...loc, at, "tool_call_id"], msg, type: "value_error" })));
    }
    default:
      return toError(refusal);
  }
}

function notWaiting(): ApiError {
  return new ApiError("not_found", "No answer with this id waits for the results of tools. Check the ids of conversation and message.");
}

/** Returns the stream format that the Accept header names; undefined for the service's own. */
export function acceptedFormat(c: AppContext): StreamFormat | undefined {
  const accepted = (c.req.header("Accept") ?? "").toLowerCase().replaceAll('"', "").split(",");
  const isUiMessages = accepted.some((one) => {
    const [type, ...parameters] = one.split(";").map((part) => part.trim());
    return type === "text/event-stream" && parameters.includes("profile=ai-sdk");
  });
  return isUiMessages ? { name: "ui-messages" } : undefined;
}

function answerStream(c: AppContext, body: ReadableStream<Uint8Array>, conversationId: string, format: StreamFormat | undefined): Response {
  if (format?.name === "ui-messages") c.header("X-Vercel-AI-UI-Message-Stream", "v1");
  c.set("conversationId", conversationId);
  return eventStream(c, body);
}

const KEPT =
  "Something failed on our side. The question is stored and will be answered: read the answer by these ids instead of asking again.";

/** Calls the session. If the call fails but the question is stored, the error has the ids with which the caller finds the answer. */
async function ask<Result extends { cost: Cost }>(
  c: AppContext,
  question: Question,
  visitor: AnswerVisitor | undefined,
  call: (session: ReturnType<typeof sessionOf>) => Promise<Result>,
): Promise<Result> {
  const { workspaceId, conversationId, answerId } = question;
  try {
    const asked = await call(sessionOf(operationOf(c, workspaceId), conversationId));
    c.get("meter").add(asked.cost);
    return asked;
  } catch (error) {
    const failure = toApiError(c, error);
    if (!(await isKept(c, question))) throw failure;
    // A visitor needs the token to read the answer.
    const token = visitor?.visitorId ? await visitorFields(c.env, visitor, null) : {};
    const fields = { conversation_id: conversationId, message_id: answerId, ...token };
    throw new ApiError(failure.code, KEPT, { headers: failure.headers, fields });
  }
}

/** Whether a question is or will be stored although its call failed. Returns true if this cannot be determined. */
async function isKept(c: AppContext, { workspaceId, conversationId, questionId, answerId }: Question): Promise<boolean> {
  const op = operationOf(c, workspaceId);
  try {
    // This creates a new stub, because the previous one cannot be used after its object has crashed.
    if (await sessionOf(op, conversationId).isUnfinished(answerId)) return true;
    const [[stored]] = await op.db.batch([findMessage(op.db, workspaceId, questionId)]);
    return stored !== undefined;
  } catch {
    return true;
  }
}

/** The path parameters of an answer. */
export interface AnswerKey {
  conversation_id: string;
  message_id: string;
}

/** Reads an answer of the caller's workspace, and its conversation. */
export async function findStoredAnswer(c: AppContext, key: AnswerKey): Promise<FoundAnswer> {
  const { db, workspaceId } = operationOf(c);
  const answer = findReply(db, workspaceId, key.conversation_id, key.message_id);
  const [[conversation], [stored]] = await db.batch([findConversation(db, workspaceId, key.conversation_id), answer]);
  return { workspaceId, status: conversation?.status, stored };
}

/** An answer and its conversation, as far as they are in D1. */
export interface FoundAnswer {
  workspaceId: string;
  /** Undefined if D1 does not hold the conversation. Its first question may still wait in the session. */
  status: ConversationStatus | undefined;
  /** Undefined while the answer is being written, and if there is no answer. */
  stored: StoredReply | undefined;
  visitor?: AnswerVisitor;
}

/**
 * Resumes the stream of an answer after the client's last event. A finished answer is read from D1, an unfinished one from the session
 * that writes it. A client that has the whole answer gets status 204, which makes an EventSource stop.
 * @param find reads D1 in one trip, and throws if the caller may not read the conversation.
 * @throws ApiError `not_found` if there is no such answer.
 */
export async function resumedAnswer(c: AppContext, key: AnswerKey, find: () => Promise<FoundAnswer>): Promise<Response> {
  const found = await find();
  const format = acceptedFormat(c);
  const caller: StreamCaller = { requestId: c.get("requestId"), lastEventId: c.req.header(LAST_EVENT_ID), visitor: found.visitor, format };
  if (found.stored) return storedAnswer(c, found, caller);
  const session = sessionOf(operationOf(c, found.workspaceId), key.conversation_id);
  const body = await session.resume(key.message_id, caller);
  if (body) return answerStream(c, body, key.conversation_id, format);
  // The answer was finished after the first look-up, or it does not exist.
  return storedAnswer(c, await find(), caller);
}

function storedAnswer(c: AppContext, { stored, status }: FoundAnswer, caller: StreamCaller): Response {
  if (!status) throw notFound("conversation");
  if (!stored) throw new ApiError("not_found", "The conversation has no answer of an agent with this id. Check the id, or ask again.");
  const stream = AnswerStream.of(toChatAnswer(stored, status));
  if (hasWholeAnswer(stream, caller.lastEventId)) return c.body(null, 204);
  return answerStream(c, readStream(c.env, stream, caller), stored.conversationId, caller.format);
}
