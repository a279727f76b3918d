import { hmacKey } from "./hashes.ts";

/**
 * A kind of token that is verified without storage: a prefix, then the payload and its HMAC-SHA256 in a text encoding. All
 * kinds are signed with KEY_SECRET, so each has its own label: the MAC of one kind is never valid for another.
 */
export interface TokenFormat {
  prefix: string;
  /** Signed in front of the payload. */
  label: string;
  payloadBytes: number;
  /** How many of the MAC's 32 bytes the token carries. */
  macBytes: number;
  encoding: TokenEncoding;
}

/** `decode` may throw or return anything for a malformed text: a token is valid only if it encodes back to itself. */
interface TokenEncoding {
  encode(bytes: Uint8Array): string;
  decode(text: string): Uint8Array;
}

/** Creates the token of a payload of `payloadBytes` bytes. */
export async function mintToken(format: TokenFormat, payload: Uint8Array, secret: string): Promise<string> {
  const mac = await macOf(format, payload, secret);
  return format.prefix + format.encoding.encode(new Uint8Array([...payload, ...mac]));
}

/** Verifies a token. Returns the payload of a genuine one and the index of the secret that signed it; undefined for any other text. */
export async function verifyToken(
  format: TokenFormat,
  token: string,
  secrets: readonly string[],
): Promise<{ payload: Uint8Array; secretIndex: number } | undefined> {
  const bytes = decode(format, token);
  if (!bytes) return undefined;
  const [payload, mac] = [bytes.subarray(0, format.payloadBytes), bytes.subarray(format.payloadBytes)];
  for (const [secretIndex, secret] of secrets.entries()) {
    if (crypto.subtle.timingSafeEqual(await macOf(format, payload, secret), mac)) return { payload, secretIndex };
  }
  return undefined;
}

function decode({ prefix, payloadBytes, macBytes, encoding }: TokenFormat, token: string): Uint8Array | undefined {
  // A character of any encoding holds at least four bits, so a longer text is refused before it is decoded.
  if (!token.startsWith(prefix) || token.length > prefix.length + (payloadBytes + macBytes) * 2) return undefined;
  const text = token.slice(prefix.length);
  try {
    const bytes = encoding.decode(text);
    // A token has exactly one valid text: the unused bits of its last character must be zero.
    return bytes.length === payloadBytes + macBytes && encoding.encode(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

async function macOf({ label, macBytes }: TokenFormat, payload: Uint8Array, secret: string): Promise<Uint8Array> {
  const signed = new Uint8Array([...new TextEncoder().encode(label), ...payload]);
  const mac = await crypto.subtle.sign("HMAC", await hmacKey(secret), signed);
  return new Uint8Array(mac, 0, macBytes);
}
