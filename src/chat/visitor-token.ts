import { hmacKey } from "../platform/crypto/hashes.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";

const TOKEN_START = "vt_";
const ID_BYTES = 16;
/** Milliseconds fit into 6 bytes until the year 10889. */
const TIME_BYTES = 6;
const NAMED_BYTES = ID_BYTES + ID_BYTES + TIME_BYTES;
const MAC_BYTES = 32;
/** 70 bytes in base64url; of its last letter only two bits are used, and the others must be zero. */
const BODY = /^[A-Za-z0-9_-]{93}[AQgw]$/;
/** KEY_SECRET makes the MAC of API keys too: under this label none is ever made for the other's sake. */
const LABEL = new TextEncoder().encode("visitor-token/1\0");
/** Each answer brings a new token, so that only who stays away this long begins anew. */
export const TOKEN_LIFETIME_MS = 365 * 24 * 60 * 60 * 1000;

/** What a token says of its bearer. */
export interface VisitorClaim {
  agentId: string;
  visitorId: string;
}

export type VisitorTokenResult = ({ outcome: "genuine" } & VisitorClaim) | { outcome: "forged" } | { outcome: "expired" };

/**
 * A visitor's token: `vt_` and, in base64url, the agent's 16 bytes, the visitor's 16, when it was made and an
 * HMAC-SHA256 over them. It is checked without storage.
 */
export async function mintVisitorToken({ agentId, visitorId }: VisitorClaim, secret: string, nowMs: number): Promise<string> {
  const named = new Uint8Array(NAMED_BYTES);
  named.set(parseUuid(agentId));
  named.set(parseUuid(visitorId), ID_BYTES);
  const view = new DataView(named.buffer, ID_BYTES * 2);
  view.setUint16(0, Math.floor(nowMs / 2 ** 32));
  view.setUint32(2, nowMs % 2 ** 32);
  const mac = await crypto.subtle.sign("HMAC", await hmacKey(secret), labelled(named));
  const bytes = new Uint8Array([...named, ...new Uint8Array(mac)]);
  return TOKEN_START + bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Reads a token that one of the secrets made. */
export async function verifyVisitorToken(token: string, secrets: readonly string[], nowMs: number): Promise<VisitorTokenResult> {
  const body = token.slice(TOKEN_START.length);
  if (!token.startsWith(TOKEN_START) || !BODY.test(body)) return { outcome: "forged" };
  const bytes = Uint8Array.fromBase64(body, { alphabet: "base64url" });
  const named = bytes.subarray(0, NAMED_BYTES);
  if (!(await isOurs(named, bytes.subarray(-MAC_BYTES), secrets))) return { outcome: "forged" };
  const view = new DataView(bytes.buffer, ID_BYTES * 2, TIME_BYTES);
  const madeAtMs = view.getUint16(0) * 2 ** 32 + view.getUint32(2);
  if (nowMs >= madeAtMs + TOKEN_LIFETIME_MS) return { outcome: "expired" };
  const [agentId, visitorId] = [formatUuid(named.subarray(0, ID_BYTES)), formatUuid(named.subarray(ID_BYTES, ID_BYTES * 2))];
  return { outcome: "genuine", agentId, visitorId };
}

async function isOurs(named: Uint8Array, mac: Uint8Array<ArrayBuffer>, secrets: readonly string[]): Promise<boolean> {
  for (const secret of secrets) {
    if (await crypto.subtle.verify("HMAC", await hmacKey(secret), mac, labelled(named))) return true;
  }
  return false;
}

function labelled(named: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array([...LABEL, ...named]);
}
