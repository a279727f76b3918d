import type { AppContext } from "./context.ts";

const BEARER = /^Bearer +(\S+) *$/i;

/** The credential of the Authorization header (RFC 6750); undefined where there is none of this scheme. */
export function bearerToken(c: AppContext): string | undefined {
  return BEARER.exec(c.req.header("Authorization") ?? "")?.[1];
}
