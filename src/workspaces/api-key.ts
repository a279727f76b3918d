import { BASE64URL } from "../platform/crypto/base64url.ts";
import { LruCache } from "../platform/lru-cache.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import { keyIdOf } from "../platform/crypto/secrets.ts";
import { mintToken, type TokenFormat, verifyToken } from "../platform/crypto/signed-token.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";

const RANDOM_BYTES = 16;
const WORKSPACE_BYTES = 16;

/** Random bytes and the workspace's id. The label is empty because API keys were the first kind of token. */
const FORMAT: TokenFormat = {
  prefix: "sk_live_",
  label: "",
  payloadBytes: RANDOM_BYTES + WORKSPACE_BYTES,
  macBytes: 32,
  encoding: BASE64URL,
};

/** The token of a member's session. It is used as an API key is, by the console and by MCP clients. */
export const SESSION_PREFIX = "st_live_";
const SESSION_FORMAT: TokenFormat = { ...FORMAT, prefix: SESSION_PREFIX, label: "member_session" };

/** How much of a key is shown to tell it from others; it ends inside the random part, so it reveals nothing. */
const SHOWN_LENGTH = 16;

export interface NewKey {
  key: string;
  prefix: string;
  hash: string;
  secretId: string;
}

/** What a genuine key, or token of a session, states. Only the workspace's gate knows whether it is still valid. */
export interface ApiKeyClaim {
  workspaceId: string;
  /** SHA-256 of the key, hex. */
  hash: string;
  /** Which secret signed it. */
  secretId: string;
  /** Whether that secret is not the first one. The key stops working when the secret is removed from the configuration. */
  isOutdated: boolean;
}

/** Creates an API key of a workspace. Its MAC lets a made-up key be refused before any storage is read. */
export async function mintApiKey(workspaceId: string, secret: string): Promise<NewKey> {
  return mint(FORMAT, workspaceId, secret);
}

/** Creates the token of a member's session. */
export async function mintSessionToken(workspaceId: string, secret: string): Promise<NewKey> {
  return mint(SESSION_FORMAT, workspaceId, secret);
}

async function mint(format: TokenFormat, workspaceId: string, secret: string): Promise<NewKey> {
  const payload = new Uint8Array([...crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)), ...parseUuid(workspaceId)]);
  const key = await mintToken(format, payload, secret);
  return { key, prefix: key.slice(0, SHOWN_LENGTH), hash: await sha256Hex(key), secretId: await keyIdOf(secret) };
}

/** Returns whether this is the token of a member's session rather than an API key. */
export function isSessionToken(key: string): boolean {
  return key.startsWith(SESSION_PREFIX);
}

/** Verified keys. Verification is a pure function of key and secrets, so its result never becomes stale. */
const verifiedClaims = new LruCache<string, ApiKeyClaim>(2_000);

/** Verifies a key or the token of a session against the secrets, the one for new keys first; undefined if none of them signed it. */
export async function verifyApiKey(key: string, secrets: readonly string[]): Promise<ApiKeyClaim | undefined> {
  const cacheKey = `${secrets.join()} ${key}`;
  const cached = verifiedClaims.get(cacheKey);
  if (cached) return cached;
  const format = isSessionToken(key) ? SESSION_FORMAT : FORMAT;
  const verified = await verifyToken(format, key, secrets);
  if (!verified) return undefined;
  const { payload, secretIndex } = verified;
  const workspaceId = formatUuid(payload.subarray(RANDOM_BYTES));
  const secretId = await keyIdOf(secrets[secretIndex]!);
  const claim = { workspaceId, hash: await sha256Hex(key), secretId, isOutdated: secretIndex > 0 };
  verifiedClaims.set(cacheKey, claim);
  return claim;
}
