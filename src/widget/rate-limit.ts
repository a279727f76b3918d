import { secretValues } from "../platform/config.ts";
import { keyedHash } from "../platform/crypto/hashes.ts";
import type { AppContext } from "../platform/http/context.ts";
import { clientAddress, rateLimited } from "../workspaces/checks.ts";
import { RateLimiter } from "../workspaces/rate-limit.ts";

/** The limits apply to 60 s. An office of twenty people behind one address may poll every two seconds. */
const ADDRESS_REQUESTS = 600;
/** The limit prevents one address from using up a workspace's messages. */
const ADDRESS_WRITES = 60;
/** A visitor may poll every second in two tabs. */
const VISITOR_REQUESTS = 120;
/** A person does not send messages faster than this. */
const VISITOR_WRITES = 30;

const ADDRESS = { requests: new RateLimiter(ADDRESS_REQUESTS), writes: new RateLimiter(ADDRESS_WRITES) };
const VISITOR = { requests: new RateLimiter(VISITOR_REQUESTS), writes: new RateLimiter(VISITOR_WRITES) };

/**
 * Counts a request against its address. It does not count against the workspace's rate limit, which is for integrators.
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
  count(c, VISITOR, visitorId, "Too many requests from this visitor.");
}

/**
 * Returns the name under which a visitor's messages and leads are counted (workspaces/usage-limits.ts). It is a keyed hash of the
 * verified person or of the address, because it is stored.
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
