/** A token of RFC 9110. */
const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
/** Visible characters, with blanks and tabs between them: nothing that ends a line or is dropped on the way. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** What the request itself decides: its framing, its connection, its body, and what it tells of us. */
const OURS = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "idempotency-key",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);
/** What proxies and the platform set. */
const OURS_BY_PREFIX = ["proxy-", "cf-", "sec-"];

/** Why a header cannot be an operator's own, as a clause for a message; undefined when it can. */
export function headerNameProblem(name: string): string | undefined {
  if (!NAME.test(name)) return "name the header with letters, digits and hyphens, at most 64";
  const lower = name.toLowerCase();
  if (OURS.has(lower) || OURS_BY_PREFIX.some((prefix) => lower.startsWith(prefix))) return "the service sets this header itself";
  return undefined;
}

/** Whether a header can carry this value unchanged. */
export function isHeaderValue(value: string): boolean {
  return VALUE.test(value);
}
