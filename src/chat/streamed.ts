import type { AppContext } from "../http/context.ts";
import type { ApiError } from "../http/errors.ts";
import { answerEvents } from "../http/event-stream.ts";
import { refusalError } from "./outcome.ts";
import type { StreamCaller } from "./stream-caller.ts";
import { sessionOf } from "./stub.ts";
import type { Refusal, TurnRequest } from "./turn.ts";

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
  return answerEvents(c, body!, request.conversationId);
}
