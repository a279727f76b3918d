import type { AppContext } from "../platform/http/context.ts";
import { clientAddress, rateLimited } from "../workspaces/middleware.ts";
import { RateLimiter } from "../workspaces/rate-limit.ts";

/** Per 60 s: an office of twenty people behind one address may poll every two seconds. */
const ADDRESS_REQUESTS = 600;
/** Keeps one address from using up a workspace's messages. */
const ADDRESS_WRITES = 60;
/** A poll per second in two tabs. */
const VISITOR_REQUESTS = 120;
/** More than a person types. */
const VISITOR_WRITES = 30;

const TOO_MANY_OF_ADDRESS = "Too many requests from this address.";
const TOO_MANY_OF_VISITOR = "Too many requests of this visitor.";

const windows = {
  address: new RateLimiter(ADDRESS_REQUESTS),
  addressWrites: new RateLimiter(ADDRESS_WRITES),
  visitor: new RateLimiter(VISITOR_REQUESTS),
  visitorWrites: new RateLimiter(VISITOR_WRITES),
};

/**
 * Counts a request against its address. The workspace's rate limit, which is the integrators', is not touched.
 * @throws ApiError rate_limited.
 */
export function limitRequest(c: AppContext): void {
  count("address", clientAddress(c), TOO_MANY_OF_ADDRESS);
  if (c.req.method === "POST") count("addressWrites", clientAddress(c), TOO_MANY_OF_ADDRESS);
}

/**
 * Counts a request against its visitor.
 * @throws ApiError rate_limited.
 */
export function limitVisitor(c: AppContext, visitorId: string): void {
  count("visitor", visitorId, TOO_MANY_OF_VISITOR);
  if (c.req.method === "POST") count("visitorWrites", visitorId, TOO_MANY_OF_VISITOR);
}

function count(kind: keyof typeof windows, name: string, reason: string): void {
  const window = windows[kind].admit(name, Date.now());
  if (!window.accepted) throw rateLimited(window, reason);
}
