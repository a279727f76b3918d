import { secretValues } from "../platform/config.ts";
import { BASE64URL } from "../platform/crypto/base64url.ts";
import { mintToken, type TokenFormat, verifyToken } from "../platform/crypto/signed-token.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";
import { DAY_MS } from "../platform/time.ts";

const ID_BYTES = 16;
/** Milliseconds fit into 6 bytes until the year 10889. */
const TIME_BYTES = 6;

/** The payload holds the agent's id, the visitor's id and the time of issue. */
const FORMAT: TokenFormat = {
  prefix: "vt_",
  label: "visitor-token/1\0",
  payloadBytes: ID_BYTES + ID_BYTES + TIME_BYTES,
  macBytes: 32,
  encoding: BASE64URL,
};

/** The lifetime of an anonymous visitor's token, which each answer renews. */
export const TOKEN_LIFETIME_MS = 365 * DAY_MS;
/** The lifetime of a verified visitor's token from the proof of identity on. Answers do not renew it. */
export const VERIFIED_LIFETIME_MS = 30 * DAY_MS;

export interface VisitorClaim {
  agentId: string;
  visitorId: string;
}

/** The contents of a genuine token. The records of its agent and its visitor show whether it was ended since then (`isEnded`). */
export interface VisitorToken extends VisitorClaim {
  issuedAtMs: number;
}

export type VisitorTokenResult = ({ outcome: "genuine" } & VisitorToken) | { outcome: "forged" } | { outcome: "expired" };

/** Issues a visitor's token, which can be verified without storage. */
export async function mintVisitorToken({ agentId, visitorId }: VisitorClaim, secret: string, nowMs: number): Promise<string> {
  const payload = new Uint8Array(FORMAT.payloadBytes);
  payload.set(parseUuid(agentId));
  payload.set(parseUuid(visitorId), ID_BYTES);
  const time = new DataView(payload.buffer, ID_BYTES * 2);
  time.setUint16(0, Math.floor(nowMs / 2 ** 32));
  time.setUint32(2, nowMs % 2 ** 32);
  return mintToken(FORMAT, payload, secret);
}

/** Returns what a visitor's token contains, with the outcome `genuine`; otherwise only the outcome `forged` or `expired`. */
export async function verifyVisitorToken(token: string, secrets: readonly string[], nowMs: number): Promise<VisitorTokenResult> {
  const verified = await verifyToken(FORMAT, token, secrets);
  if (!verified) return { outcome: "forged" };
  const { payload } = verified;
  const time = new DataView(payload.buffer, payload.byteOffset + ID_BYTES * 2, TIME_BYTES);
  const issuedAtMs = time.getUint16(0) * 2 ** 32 + time.getUint32(2);
  if (nowMs >= issuedAtMs + TOKEN_LIFETIME_MS) return { outcome: "expired" };
  const agentId = formatUuid(payload.subarray(0, ID_BYTES));
  return { outcome: "genuine", agentId, visitorId: formatUuid(payload.subarray(ID_BYTES, ID_BYTES * 2)), issuedAtMs };
}

/** When the tokens of an agent, or of a visitor, were last ended; null if never. */
interface TokensEnd {
  tokensEndedAt: number | null;
}

/** Whether a token has expired, or was ended for its visitor or for all visitors of its agent. */
export function isEnded(
  { issuedAtMs }: VisitorToken,
  agent: TokensEnd,
  visitor: TokensEnd & { verified: boolean },
  nowMs: number,
): boolean {
  const endedAtMs = Math.max(agent.tokensEndedAt ?? 0, visitor.tokensEndedAt ?? 0);
  return issuedAtMs <= endedAtMs || nowMs >= expiryOf(issuedAtMs, visitor);
}

/** Returns when a token that was issued at this time expires, in Unix milliseconds. */
export function expiryOf(issuedAtMs: number, visitor: { verified: boolean }): number {
  return issuedAtMs + (visitor.verified ? VERIFIED_LIFETIME_MS : TOKEN_LIFETIME_MS);
}

export type TokenEnv = Pick<Env, "KEY_SECRET">;

/** The visitor who gets a token with an answer. */
export interface AnswerVisitor {
  agentId: string;
  /** Null for a new visitor, whom the turn stores. */
  visitorId: string | null;
  anonId: string;
  /** The token's time of issue. It precedes the answer, so that ending the visitor's tokens meanwhile ends this one too. */
  issuedAtMs: number;
}

/** Returns the fields with which a visitor continues the conversation. @param storedId the visitor that the turn stored. */
export async function visitorFields(env: TokenEnv, { agentId, visitorId, anonId, issuedAtMs }: AnswerVisitor, storedId: string | null) {
  const claim = { agentId, visitorId: visitorId ?? storedId! };
  return { visitor_token: await mintVisitorToken(claim, secretValues(env.KEY_SECRET)[0], issuedAtMs), anon_id: anonId };
}
