import { ApiError, notFound } from "../http/errors.ts";
import type { Refusal, TurnResult } from "./turn.ts";

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
