import { hmacKey, sha256Hex } from "../platform/crypto/hashes.ts";
import { keyIdOf } from "../platform/crypto/secrets.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";

const KEY_START = "sk_live_";
/** How much of a key is shown to tell it from others; it ends inside the random part, so it gives nothing away. */
const SHOWN_LENGTH = 16;
const RANDOM_BYTES = 16;
const WORKSPACE_BYTES = 16;
const MAC_BYTES = 32;
/** 64 bytes in base64url; of its last letter only two bits are used, and the others must be zero. */
const BODY = /^[A-Za-z0-9_-]{85}[AQgw]$/;
/** Keys whose MAC was checked, kept in the isolate: the check is a pure function of key and secret. */
const MAX_REMEMBERED_KEYS = 2_000;

export interface NewKey {
  key: string;
  prefix: string;
  hash: string;
  secretId: string;
}

/** What a genuine key says of itself. Whether it still is a key of the workspace, only the workspace's gate knows. */
export interface ApiKeyClaim {
  workspaceId: string;
  /** SHA-256 of the key, hex. */
  hash: string;
  /** Which secret made its MAC. */
  secretId: string;
  /** Whether that is another than the first: when it is taken out of the configuration, the key is refused. */
  isOutdated: boolean;
}

/**
 * A new key: `sk_live_` and, in base64url, 16 random bytes, the workspace's 16 and an HMAC-SHA256 over both, so that a
 * made-up key is refused before anything is asked of storage.
 */
export async function mintApiKey(workspaceId: string, secret: string): Promise<NewKey> {
  const named = new Uint8Array(RANDOM_BYTES + WORKSPACE_BYTES);
  crypto.getRandomValues(named.subarray(0, RANDOM_BYTES));
  named.set(parseUuid(workspaceId), RANDOM_BYTES);
  const mac = await crypto.subtle.sign("HMAC", await hmacKey(secret), named);
  const bytes = new Uint8Array([...named, ...new Uint8Array(mac)]);
  const key = KEY_START + bytes.toBase64({ alphabet: "base64url", omitPadding: true });
  return { key, prefix: key.slice(0, SHOWN_LENGTH), hash: await sha256Hex(key), secretId: await keyIdOf(secret) };
}

/** Reads a key that one of the secrets made, the one for new keys first; undefined for anything else. */
export async function verifyApiKey(key: string, secrets: readonly string[]): Promise<ApiKeyClaim | undefined> {
  const cacheKey = `${secrets.join()} ${key}`;
  const remembered = rememberedClaims.get(cacheKey);
  if (remembered) return remembered;
  const body = key.slice(KEY_START.length);
  if (!key.startsWith(KEY_START) || !BODY.test(body)) return undefined;
  const bytes = Uint8Array.fromBase64(body, { alphabet: "base64url" });
  const named = bytes.subarray(0, RANDOM_BYTES + WORKSPACE_BYTES);
  const mac = bytes.subarray(-MAC_BYTES);
  for (const [at, secret] of secrets.entries()) {
    if (await crypto.subtle.verify("HMAC", await hmacKey(secret), mac, named)) {
      const workspaceId = formatUuid(named.subarray(RANDOM_BYTES));
      const claim = { workspaceId, hash: await sha256Hex(key), secretId: await keyIdOf(secret), isOutdated: at > 0 };
      remember(cacheKey, claim);
      return claim;
    }
  }
  return undefined;
}

const rememberedClaims = new Map<string, ApiKeyClaim>();

function remember(cacheKey: string, claim: ApiKeyClaim): void {
  if (rememberedClaims.size >= MAX_REMEMBERED_KEYS) rememberedClaims.delete(rememberedClaims.keys().next().value!);
  rememberedClaims.set(cacheKey, claim);
}
