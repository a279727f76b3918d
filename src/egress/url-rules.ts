/** What an outgoing request may address. */
export interface UrlPolicy {
  protocols: readonly string[];
  ports: readonly string[];
}

export const WEBHOOK_POLICY: UrlPolicy = { protocols: ["https:"], ports: ["", "443", "8443"] };
export const CRAWLER_POLICY: UrlPolicy = { protocols: ["https:", "http:"], ports: ["", "80", "443", "8443"] };

/** Names that never lead to a public host (RFC 6761, RFC 6762, RFC 8375 and what networks use inside). */
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

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
/** The parser drops or mends these without a word, so what is checked would not be what was written. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const MENDED_SILENTLY = /[\u0000-\u0020\u007f\\]/;

/**
 * Why a URL may not be requested, as a clause for a message; undefined when its text allows it. What its name resolves
 * to is another question.
 */
export function urlProblem(raw: string, policy: UrlPolicy, allowsPrivate: boolean): string | undefined {
  if (MENDED_SILENTLY.test(raw)) return "it holds white space, a control character or a backslash";
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/[^/]/i.exec(raw)?.[1];
  if (scheme === undefined || !URL.canParse(raw)) return "it is not a complete URL such as https://www.example.com/";
  const url = new URL(raw);
  const protocols = allowsPrivate ? ["https:", "http:"] : policy.protocols;
  if (!protocols.includes(url.protocol)) return `its scheme is not ${protocols.map((name) => name.slice(0, -1)).join(" or ")}`;
  if (url.username !== "" || url.password !== "") return "it carries a user name or password";
  if (allowsPrivate) return undefined;
  if (!policy.ports.includes(url.port)) return "its port is not one of the usual ones";
  return hostProblem(url.hostname);
}

function hostProblem(hostname: string): string | undefined {
  const host = hostname.replace(/\.$/, "").toLowerCase();
  if (host.startsWith("[") || IPV4.test(host)) return "its host is an IP address";
  if (!host.includes(".")) return "its host is a single name";
  const reserved = RESERVED_SUFFIXES.find((suffix) => host.endsWith(`.${suffix}`));
  return reserved === undefined ? undefined : `its host ends in .${reserved}, which is not public`;
}
