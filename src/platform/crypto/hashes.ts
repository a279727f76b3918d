import { memoized } from "../lru-cache.ts";
import { pacer } from "../time.ts";

/** The HMAC-SHA256 key of a configured secret, cached in the isolate. */
export const hmacKey = memoized((secret: string) => importHmacKey(secret));

/** The HMAC-SHA256 key of any secret, uncached; a text stands for its UTF-8 bytes. */
export function importHmacKey(secret: string | Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const raw = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

/** HMAC-SHA256 of a text, hex: a pseudonym that only the holder of the secret can match to its text. */
export async function keyedHash(secret: string, text: string): Promise<string> {
  const mac = await crypto.subtle.sign("HMAC", await hmacKey(secret), new TextEncoder().encode(text));
  return new Uint8Array(mac).toHex();
}

/** SHA-256 of a text in UTF-8, hex. */
export async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}

/** After so many bytes, which are hashed in a few milliseconds, other requests get their turn. */
const SLICE_BYTES = 512 * 1024;

/** SHA-256 of the bytes of all pieces in order, hex. The pieces are never joined in memory. */
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
