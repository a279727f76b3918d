import { memoized } from "../lru-cache.ts";
import { pacer } from "../time.ts";

/** Returns the HMAC-SHA256 key of a configured secret, which is cached in the isolate. */
export const hmacKey = memoized((secret: string) => importHmacKey(secret));

/** Imports any secret as an HMAC-SHA256 key, without caching it. A text stands for its UTF-8 bytes. */
export function importHmacKey(secret: string | Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const raw = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

/** Returns the HMAC-SHA256 of a text in hex: a pseudonym that only the holder of the secret can match to its text. */
export async function keyedHash(secret: string, text: string): Promise<string> {
  const mac = await crypto.subtle.sign("HMAC", await hmacKey(secret), new TextEncoder().encode(text));
  return new Uint8Array(mac).toHex();
}

/** Returns the SHA-256 of a text in UTF-8, in hex. */
export async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}

/** After so many bytes, which are hashed in a few milliseconds, other requests get their turn. */
const SLICE_BYTES = 512 * 1024;

/** Returns the SHA-256 of the bytes of all pieces in order, in hex. The pieces are never joined in memory. */
export async function sha256OfPieces(pieces: readonly Uint8Array[]): Promise<string> {
  const stream = new crypto.DigestStream("SHA-256");
  const writer = stream.getWriter();
  const pause = pacer(SLICE_BYTES);
  for (const piece of pieces) {
    await writer.write(piece);
    await pause(piece.length);
  }
  await writer.close();
  return new Uint8Array(await stream.digest).toHex();
}
