import type { AppContext } from "../platform/http/context.ts";
import { clientAddress, rateLimited } from "../workspaces/middleware.ts";
import { RateLimiter } from "../workspaces/rate-limit.ts";

/** All requests of one address in any 60 s: an office of twenty people behind one address may poll every two seconds. */
const REQUESTS_AN_ADDRESS = 600;
/** What of them may write: nobody can use up a workspace's messages from one address in a moment. */
const WRITES_AN_ADDRESS = 60;
/** All requests of one visitor: a poll a second, in two tabs. */
const REQUESTS_A_VISITOR = 120;
/** What of them may write: more than a person types. */
const WRITES_A_VISITOR = 30;

const TOO_MANY_HERE = "Too many requests from this address.";
const TOO_MANY_YOURS = "Too many requests of this visitor.";

const windows = {
  address: new RateLimiter(REQUESTS_AN_ADDRESS),
  addressWrites: new RateLimiter(WRITES_AN_ADDRESS),
  visitor: new RateLimiter(REQUESTS_A_VISITOR),
  visitorWrites: new RateLimiter(WRITES_A_VISITOR),
};

/**
 * Counts a request against its address, with the workspace's own window untouched: visitors use up no integrator's rate.
 * @throws ApiError rate_limited.
 */
export function limitRequest(c: AppContext): void {
  count("address", clientAddress(c), TOO_MANY_HERE);
  if (c.req.method === "POST") count("addressWrites", clientAddress(c), TOO_MANY_HERE);
}

/**
 * Counts a request against its visitor.
 * @throws ApiError rate_limited.
 */
export function limitVisitor(c: AppContext, visitorId: string): void {
  count("visitor", visitorId, TOO_MANY_YOURS);
  if (c.req.method === "POST") count("visitorWrites", visitorId, TOO_MANY_YOURS);
}

function count(kind: keyof typeof windows, name: string, reason: string): void {
  const window = windows[kind].admit(name, Date.now());
  if (!window.accepted) throw rateLimited(window, reason);
}
