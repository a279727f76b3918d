import type { AppContext } from "./context.ts";

/** The headers that restrict browsers, on every response. A page names what it loads in a Content-Security-Policy of its own. */
const HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

/** Adds the security headers to the response of a request. */
export function addSecurityHeaders(c: AppContext): void {
  for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
}

/** Whether a response has them. */
export function hasSecurityHeaders({ headers }: Response): boolean {
  return headers.has("X-Content-Type-Options");
}
