import type { ConversationStatus } from "../platform/db/columns.ts";
import type { messages } from "../platform/db/schema.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { eventStream } from "../platform/http/responses.ts";
import { sessionOf } from "./session.ts";
import { hasAll, readingOf, readStream, type StreamCaller } from "./stream-reader.ts";
import { AnswerStream } from "./stream.ts";
import type { Refusal, TurnRequest, TurnResult } from "./turn.ts";
import { LAST_EVENT_ID, toChatAnswer } from "./wire.ts";

/** The answer, or the error that says why there is none. */
export function answered(result: TurnResult): Extract<TurnResult, { outcome: "answered" }> {
  if (result.outcome !== "answered") throw refusalError(result);
  return result;
}

/** The error that says why there is no answer. */
export function refusalError({ outcome }: Refusal): ApiError {
  switch (outcome) {
    case "agent_not_found":
      return notFound("agent");
    case "conversation_not_found":
      return notFound("conversation");
    case "agent_paused":
      return new ApiError("conflict", "The agent is paused and takes no questions. Ask another one, or ask its operator to activate it.");
    case "other_agent":
      return new ApiError("conflict", "The conversation is with another agent. Leave conversation_id out to start a new one.");
    case "other_channel":
      return new ApiError("conflict", "The conversation was not started over the API. Leave conversation_id out to start a new one.");
    case "other_user":
      return new ApiError("conflict", "The conversation is another user's. Leave conversation_id out to start a new one.");
    case "quota_exceeded":
      return new ApiError(
        "quota_exceeded",
        "The month's message quota is used up. It starts anew with the next month, or ask for a larger plan.",
      );
  }
}

/**
 * Puts a message to its conversation, and answers with the stream of what the agent says.
 * @throws ApiError where it is not answered.
 */
export async function answerStreamed(
  c: AppContext,
  request: TurnRequest,
  visitor?: StreamCaller["visitor"],
  errorOf: (refusal: Refusal) => ApiError = refusalError,
): Promise<Response> {
  const session = sessionOf(c.env, c.get("meter"), request.workspaceId, request.conversationId);
  const { refusal, body, cost } = await session.stream(request, { requestId: c.get("requestId"), visitor });
  c.get("meter").add(cost);
  if (refusal) throw errorOf(refusal);
  return eventStream(c, body!, request.conversationId);
}

/** An answer, as a path names it. */
export interface AnswerKey {
  conversation_id: string;
  message_id: string;
}

/** What D1 has of an answer's stream. */
interface Found {
  workspaceId: string;
  status: ConversationStatus;
  /** The answer, once it is finished. */
  stored: typeof messages.$inferSelect | undefined;
  visitor?: StreamCaller["visitor"];
}

/**
 * Resumes the stream of an answer after the event that the client names: from D1 when the answer is finished, else from
 * the session that writes it. A client that has the whole answer gets 204, on which an EventSource stops.
 * @param find reads D1 in one trip, and throws when the caller may not read the conversation.
 * @throws ApiError not_found.
 */
export async function answerResumed(
  c: AppContext,
  { conversation_id: conversationId, message_id: messageId }: AnswerKey,
  find: () => Promise<Found>,
): Promise<Response> {
  const { workspaceId, visitor, ...found } = await find();
  const caller: StreamCaller = { requestId: c.get("requestId"), lastEventId: c.req.header(LAST_EVENT_ID), visitor };
  if (found.stored) return answerStored(c, found, caller);
  const body = await sessionOf(c.env, c.get("meter"), workspaceId, conversationId).resume(messageId, caller);
  if (body) return eventStream(c, body, conversationId);
  // Finished between the two, or not there at all.
  return answerStored(c, await find(), caller);
}

function answerStored(c: AppContext, { stored, status }: Pick<Found, "stored" | "status">, caller: StreamCaller): Response {
  if (!stored) throw noAnswer();
  const stream = AnswerStream.of(toChatAnswer(stored, status));
  if (hasAll(stream, caller.lastEventId)) return c.body(null, 204);
  return eventStream(c, readStream(stream, readingOf(c.env, caller)), stored.conversationId);
}

function noAnswer(): ApiError<"not_found"> {
  return new ApiError("not_found", "No answer of an agent with this id in the conversation. Check the id, or ask again.");
}
