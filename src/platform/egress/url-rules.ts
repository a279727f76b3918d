/** What an outgoing request may address. */
export interface UrlPolicy {
  protocols: readonly string[];
  /** The ports that a URL may name, besides its scheme's default. */
  ports: readonly string[];
}

/** For webhooks and agents' tools, whose payloads are confidential. */
export const WEBHOOK_POLICY: UrlPolicy = { protocols: ["https:"], ports: ["443", "8443"] };
/** For public pages. */
export const CRAWLER_POLICY: UrlPolicy = { protocols: ["https:", "http:"], ports: ["80", "443", "8443"] };

/** Suffixes of names that are never public (RFC 6761, RFC 6762, RFC 8375 and common private ones). */
const RESERVED_SUFFIXES = [
  "localhost",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "private",
  "home.arpa",
  "arpa",
  "invalid",
  "test",
  "onion",
];

/** The limits of a host name and its labels (RFC 1035), without the final dot. Underscores occur in practice. */
const MAX_NAME_LENGTH = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
/** The URL parser silently drops or changes these, so the checked URL would not be the one that was written. */
const NORMALIZED_CHARACTERS = /[\p{Cc}\p{Cs}\s\\]/u;
/** What the parser also drops or changes in a host and port: invisible characters, escapes, an empty port, leading zeros of a port. */
const NORMALIZED_AUTHORITY = /[\p{Cf}%]|:(0\d*)?$/u;
const COMPLETE_URL = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i;
const WRITTEN_PORT = /:(\d+)$/;

/**
 * Returns why a URL may not be requested, as a clause for a message; undefined if its text allows it. `checkTarget` also checks what its
 * host resolves to.
 * @param allowsPrivate allows http, every port and every host, for receivers on a developer's machine.
 */
export function urlProblem(raw: string, policy: UrlPolicy, allowsPrivate: boolean): string | undefined {
  if (NORMALIZED_CHARACTERS.test(raw)) return "it holds white space, a control character or a backslash";
  const authority = COMPLETE_URL.exec(raw)?.[1];
  if (authority === undefined || !URL.canParse(raw)) return "it is not a complete URL such as https://www.example.com/";
  if (authority.includes("@")) return "it carries a user name or password";
  if (NORMALIZED_AUTHORITY.test(authority)) return "its host or port is written in an unusual way";
  const url = new URL(raw);
  // A private host is reported first: with another scheme or port it would still be refused.
  const privateHost = allowsPrivate ? undefined : hostProblem(url.hostname);
  if (privateHost !== undefined) return privateHost;
  const protocols = allowsPrivate ? ["https:", "http:"] : policy.protocols;
  if (!protocols.includes(url.protocol)) return `its scheme is not ${protocols.map((name) => name.slice(0, -1)).join(" or ")}`;
  if (allowsPrivate) return undefined;
  const port = WRITTEN_PORT.exec(authority)?.[1];
  const isOpen = port === undefined || policy.ports.includes(port);
  return isOpen ? undefined : `its port is not one of ${policy.ports.join(", ")}`;
}

/** Returns whether a URL is refused only for its private host, so that a developer may allow it on their machine. */
export function isAllowedWhenPrivate(raw: string, policy: UrlPolicy): boolean {
  return urlProblem(raw, policy, true) === undefined && hostProblem(new URL(raw).hostname) !== undefined;
}

/** @param hostname of a parsed URL: in lower case and ASCII, with an IPv4 address in its usual form. */
function hostProblem(hostname: string): string | undefined {
  const host = hostname.replace(/\.$/, "");
  if (host.startsWith("[") || IPV4.test(host)) return "its host is an IP address";
  const labels = host.split(".");
  if (host.length > MAX_NAME_LENGTH || !labels.every((label) => LABEL.test(label))) return "its host is not a valid name";
  if (labels.length === 1) return "its host is a single name";
  const reserved = RESERVED_SUFFIXES.find((suffix) => host.endsWith(`.${suffix}`));
  return reserved === undefined ? undefined : `its host ends in .${reserved}, which is not public`;
}
