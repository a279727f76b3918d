import type { Behaviour } from "../outbound-protocol.ts";

/** The address of Cloudflare's siteverify. */
export const SITEVERIFY_PLACE = "challenges.cloudflare.com/turnstile/v0/siteverify";

/** The challenge that a token was issued for, and the outcome of its verification. */
export interface Solved {
  /** The secret of the widget that issued it. */
  secret: string;
  hostname: string;
  action?: string;
  /** More than five minutes ago. */
  expired?: boolean;
  /** The behaviour of siteverify in place of its answer. */
  behaves?: Behaviour;
}

/** A token as a browser gets it for a solved challenge. Each is unique. */
export function solve(solved: Solved): string {
  return `0.${btoa(JSON.stringify({ ...solved, nonce: crypto.randomUUID() }))}`;
}

const redeemed = new Set<string>();

/** Answers like siteverify: a token is valid once, and only for the widget that has the secret. */
export function verifyToken(contentType: string, body: string): Behaviour {
  const { secret, response } = parametersOf(contentType, body);
  if (!secret) return verdict({ success: false, "error-codes": ["missing-input-secret"] });
  if (!/^0x4\w+$/.test(secret)) return verdict({ success: false, "error-codes": ["invalid-input-secret"] });
  if (!response) return verdict({ success: false, "error-codes": ["missing-input-response"] });
  const solved = readToken(response);
  if (solved?.behaves) return solved.behaves;
  if (solved?.secret !== secret) return verdict({ success: false, "error-codes": ["invalid-input-response"] });
  const isSpent = solved.expired || redeemed.has(response);
  redeemed.add(response);
  if (isSpent) return verdict({ success: false, "error-codes": ["timeout-or-duplicate"] });
  const { hostname, action = "" } = solved;
  const facts = { challenge_ts: new Date().toISOString(), hostname, action, cdata: "", metadata: { interactive: false } };
  return verdict({ success: true, "error-codes": [], ...facts });
}

/** Reads a body that is a form or JSON. */
function parametersOf(contentType: string, body: string): { secret?: string; response?: string } {
  if (!contentType.startsWith("application/json")) return Object.fromEntries(new URLSearchParams(body));
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

function readToken(token: string): Solved | undefined {
  try {
    return JSON.parse(atob(token.replace(/^0\./, "")));
  } catch {
    return undefined;
  }
}

function verdict(body: Record<string, unknown>): Behaviour {
  return { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}
