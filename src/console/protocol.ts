/*
 * What the console's pages and its server must name alike. Both import this module, which imports nothing.
 */

/** A header that forms and scripts of other sites cannot send: it would need a CORS permission, which this service never gives. */
export const CONSOLE_HEADER = "X-Support-Agent-Console";

/** The cookie in which the sign-in page names the workspace before it leaves for Cloudflare Access. */
export const ACCESS_COOKIE = "console-access";

/** Why a sign-in outside the console's pages failed, in the fragment of the sign-in page's address. */
export type SignInProblem = "access" | "expired" | "off" | "provider" | "refused";
