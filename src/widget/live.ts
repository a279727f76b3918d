import { sessionOf } from "../chat/session.ts";
import { EXPIRY_HEADER } from "../chat/visitor-sockets.ts";
import { expiryOf } from "../chat/visitor-token.ts";
import { requireUpgrade } from "../platform/http/checks.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, retryAfter } from "../platform/http/errors.ts";
import { LIVE_PROTOCOL, namedProtocols, openConversation } from "./access.ts";

const RETRY_SECONDS = 60;

/**
 * Opens a WebSocket that notifies a visitor of changes to their conversation.
 * @throws ApiError not_found, origin_not_allowed, invalid_visitor_token, conflict, rate_limited.
 */
export async function followForVisitor(c: AppContext, conversationId: string): Promise<Response> {
  const { op, conversation, claim, visitor } = await openConversation(c, conversationId);
  requireUpgrade(c);
  if (conversation.status === "resolved") {
    throw new ApiError("conflict", "The conversation is resolved. Send a message, which opens it again, before you follow it.");
  }
  // The object needs no token, and a browser accepts only a subprotocol that it has named.
  const headers = new Headers({ Upgrade: "websocket", [EXPIRY_HEADER]: String(expiryOf(claim.issuedAtMs, visitor)) });
  if (namedProtocols(c).includes(LIVE_PROTOCOL)) headers.set("Sec-WebSocket-Protocol", LIVE_PROTOCOL);
  const session = sessionOf(op, conversationId);
  const response = await session.fetch(new Request(c.req.url, { headers }));
  if (response.status === 101) return response;
  throw new ApiError(
    "rate_limited",
    "The conversation is followed by too many pages. Close one, or read its messages from time to time.",
    retryAfter(RETRY_SECONDS),
  );
}
