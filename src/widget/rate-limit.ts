import { secretValues } from "../platform/config.ts";
import { keyedHash } from "../platform/crypto/hashes.ts";
import type { AppContext } from "../platform/http/context.ts";
import { clientAddress, rateLimited } from "../workspaces/checks.ts";
import { RateLimiter } from "../workspaces/rate-limit.ts";

/** Per 60 s: an office of twenty people behind one address may poll every two seconds. */
const ADDRESS_REQUESTS = 600;
/** Keeps one address from using up a workspace's messages. */
const ADDRESS_WRITES = 60;
/** A poll per second in two tabs. */
const VISITOR_REQUESTS = 120;
/** The limit is higher than what a person types. */
const VISITOR_WRITES = 30;

const ADDRESS = { requests: new RateLimiter(ADDRESS_REQUESTS), writes: new RateLimiter(ADDRESS_WRITES) };
const VISITOR = { requests: new RateLimiter(VISITOR_REQUESTS), writes: new RateLimiter(VISITOR_WRITES) };

/**
 * Counts a request against its address. The workspace's rate limit, which is the integrators', is not touched.
 * @throws ApiError rate_limited.
 */
export function limitAddress(c: AppContext): void {
  count(c, ADDRESS, clientAddress(c), "Too many requests from this address.");
}

/**
 * Counts a request against its visitor.
 * @throws ApiError rate_limited.
 */
export function limitVisitor(c: AppContext, visitorId: string): void {
  count(c, VISITOR, visitorId, "Too many requests of this visitor.");
}

/**
 * The name under which what a visitor sends is counted (workspaces/visitor-limits.ts): of the verified person, or of the address.
 * A keyed hash, since it is stored.
 */
export function senderOf(c: AppContext, workspaceId: string, visitor: { verified: boolean; externalId: string | null } | undefined) {
  const who = visitor?.verified ? `person/${visitor.externalId}` : `address/${clientAddress(c)}`;
  return keyedHash(secretValues(c.env.KEY_SECRET)[0], `visitor-sender/${workspaceId}/${who}`);
}

function count(c: AppContext, { requests, writes }: typeof ADDRESS, key: string, reason: string): void {
  for (const limiter of c.req.method === "POST" ? [requests, writes] : [requests]) {
    const window = limiter.admit(key, Date.now());
    if (!window.accepted) throw rateLimited(window, reason);
  }
}
