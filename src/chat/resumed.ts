import type { ConversationStatus } from "../conversations/status.ts";
import type { messages } from "../db/schema.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { answerEvents } from "../http/event-stream.ts";
import { AnswerStream } from "./stream.ts";
import { readingOf, type StreamCaller } from "./stream-caller.ts";
import { hasAll, readStream } from "./stream-reader.ts";
import { sessionOf } from "./stub.ts";
import { LAST_EVENT_ID, toChatAnswer } from "./wire.ts";

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
  if (body) return answerEvents(c, body, conversationId);
  // Finished between the two, or not there at all.
  return answerStored(c, await find(), caller);
}

function answerStored(c: AppContext, { stored, status }: Pick<Found, "stored" | "status">, caller: StreamCaller): Response {
  if (!stored) throw noAnswer();
  const stream = AnswerStream.of(toChatAnswer(stored, status));
  if (hasAll(stream, caller.lastEventId)) return c.body(null, 204);
  return answerEvents(c, readStream(stream, readingOf(c.env, caller)), stored.conversationId);
}

function noAnswer(): ApiError<"not_found"> {
  return new ApiError("not_found", "No answer of an agent with this id in the conversation. Check the id, or ask again.");
}
