import { ApiError } from "../../client/transport.ts";
import { IdentityError } from "./identity.ts";

/** A problem that the visitor is told about. */
export type Problem = { kind: "rate_limited"; untilMs: number } | { kind: ProblemKind };

type ProblemKind =
  | "conversation_full"
  | "quota_exceeded"
  | "paused"
  | "unavailable"
  | "session_ended"
  | "challenge_failed"
  | "identity_rejected";

/** The problems that errors of the service mean. */
const KINDS: Partial<Record<ApiError["code"], ProblemKind>> = {
  quota_exceeded: "quota_exceeded",
  conflict: "paused",
  challenge_required: "challenge_failed",
};

/** From this length on, a refusal for too many messages means that the conversation is full; before, it is a limit of an hour or a day. */
const FULL_CONVERSATION = 400;

/** The visitor has not confirmed that they are human. */
export class ChallengeError extends Error {}

/** Returns the problem that an error means in a conversation with this many messages. */
export function problemOf(error: unknown, messageCount: number): Problem {
  if (isIdentityRefused(error)) return { kind: "identity_rejected" };
  if (!(error instanceof ApiError)) return { kind: error instanceof ChallengeError ? "challenge_failed" : "unavailable" };
  if (error.code !== "rate_limited") return { kind: KINDS[error.code] ?? "unavailable" };
  if (messageCount >= FULL_CONVERSATION) return { kind: "conversation_full" };
  return { kind: "rate_limited", untilMs: Date.now() + (error.retryAfter ?? 0) * 1000 };
}

/** Whether the service refused the visitor's identity, or the page failed to prove it. */
export function isIdentityRefused(error: unknown): error is Error {
  return error instanceof IdentityError || (error instanceof ApiError && error.code === "invalid_identity");
}
