import type { ConversationStatus } from "../platform/db/columns.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { eventStream } from "../platform/http/responses.ts";
import { refusalError } from "./refusals.ts";
import { sessionOf } from "./session.ts";
import { AnswerStream, hasWholeAnswer, readStream, type StreamCaller } from "./stream.ts";
import type { TurnRequest } from "./turn.ts";
import type { AnswerVisitor } from "./visitor-token.ts";
import { LAST_EVENT_ID, type StoredAnswer, toChatAnswer } from "./wire.ts";

/**
 * Asks the agent, and waits for the whole answer.
 * @throws what `toError` makes of a refusal.
 */
export async function wholeAnswer(c: AppContext, request: TurnRequest, toError = refusalError) {
  const session = sessionOf(c.env, c.get("meter"), request.workspaceId, request.conversationId);
  const { result, cost } = await session.ask(request, c.get("requestId"));
  c.get("meter").add(cost);
  if (result.outcome !== "answered") throw toError(result);
  return result;
}

/**
 * Asks the agent, and answers with the stream of what it says.
 * @param visitor who gets a token with the answer.
 * @throws what `toError` makes of a refusal.
 */
export async function streamedAnswer(c: AppContext, request: TurnRequest, visitor?: AnswerVisitor, toError = refusalError) {
  const session = sessionOf(c.env, c.get("meter"), request.workspaceId, request.conversationId);
  const { refusal, body, cost } = await session.stream(request, { requestId: c.get("requestId"), visitor });
  c.get("meter").add(cost);
  if (refusal) throw toError(refusal);
  return eventStream(c, body!, request.conversationId);
}

/** The path parameters of an answer. */
export interface AnswerKey {
  conversation_id: string;
  message_id: string;
}

/** What D1 holds of an answer. */
interface FoundAnswer {
  workspaceId: string;
  status: ConversationStatus;
  /** Undefined while the answer is written, and where there is none. */
  stored: StoredAnswer | undefined;
  visitor?: AnswerVisitor;
}

/**
 * Resumes the stream of an answer after the client's last event: from D1 when the answer is finished, else from the session
 * that writes it. A client that has the whole answer gets 204, on which an EventSource stops.
 * @param find reads D1 in one trip, and throws when the caller may not read the conversation.
 * @throws ApiError not_found.
 */
export async function resumedAnswer(c: AppContext, key: AnswerKey, find: () => Promise<FoundAnswer>): Promise<Response> {
  const found = await find();
  const caller: StreamCaller = { requestId: c.get("requestId"), lastEventId: c.req.header(LAST_EVENT_ID), visitor: found.visitor };
  if (found.stored) return storedAnswer(c, found, caller);
  const session = sessionOf(c.env, c.get("meter"), found.workspaceId, key.conversation_id);
  const body = await session.resume(key.message_id, caller);
  if (body) return eventStream(c, body, key.conversation_id);
  // It was finished between the two look-ups, or does not exist.
  return storedAnswer(c, await find(), caller);
}

function storedAnswer(c: AppContext, { stored, status }: FoundAnswer, caller: StreamCaller): Response {
  if (!stored) throw new ApiError("not_found", "No answer of an agent with this id in the conversation. Check the id, or ask again.");
  const stream = AnswerStream.of(toChatAnswer(stored, status));
  if (hasWholeAnswer(stream, caller.lastEventId)) return c.body(null, 204);
  return eventStream(c, readStream(c.env, stream, caller), stored.conversationId);
}
