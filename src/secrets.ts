import { rotating } from "./config.ts";

const FORMAT = "v1";
/** The nonce length that AES-GCM is specified for (NIST SP 800-38D). */
const NONCE_BYTES = 12;
const KEY_ID_BYTES = 4;
/** A nonce is 16 letters of base64url. */
const STORED_SECRET = /\bv1\.([0-9a-f]{8})\.[\w-]{16}\.[\w-]+/g;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

interface StorageKey {
  id: string;
  key: CryptoKey;
}

/**
 * Encrypts a secret for storage, AES-256-GCM: `v1.<key id>.<nonce>.<ciphertext>`. The key's id is stored with it, so
 * that the key can be rotated.
 * @param place where it is stored, such as `agent/<id>`: the text decrypts nowhere else.
 */
export async function encryptSecret(env: Env, secret: string, place: string): Promise<string> {
  const { id, key } = await storageKey(rotating(env.ENCRYPTION_KEY)[0]);
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const encrypted = await crypto.subtle.encrypt(gcm(nonce, place), key, new TextEncoder().encode(secret));
  return [FORMAT, id, nonce.toBase64(BASE64URL), new Uint8Array(encrypted).toBase64(BASE64URL)].join(".");
}

/**
 * Decrypts what `encryptSecret` made with any of the keys that are in use.
 * @throws Error when none of them is the one, or the text was changed or moved.
 */
export async function decryptSecret(env: Env, stored: string, place: string): Promise<string> {
  const [format, keyId, nonce, encrypted] = stored.split(".");
  if (format !== FORMAT || !nonce || !encrypted) throw new Error("A stored secret is not in a known format");
  for (const secret of rotating(env.ENCRYPTION_KEY)) {
    const { id, key } = await storageKey(secret);
    if (id !== keyId) continue;
    const bytes = Uint8Array.fromBase64(encrypted, { alphabet: "base64url" });
    const plain = await crypto.subtle.decrypt(gcm(Uint8Array.fromBase64(nonce, { alphabet: "base64url" }), place), key, bytes);
    return new TextDecoder().decode(plain);
  }
  throw new Error("A stored secret was encrypted with a key that ENCRYPTION_KEY no longer holds");
}

/** What tells the values of a secret apart without giving them away: the ids that stored secrets name their keys by. */
export async function keyIdsOf(secret: string): Promise<string[]> {
  return Promise.all(rotating(secret).map(async (value) => (await storageKey(value)).id));
}

/** The ids of the keys that stored secrets in a text were encrypted with. */
export function keyIdsIn(text: string): string[] {
  return [...text.matchAll(STORED_SECRET)].map(([, keyId]) => keyId!);
}

function gcm(nonce: Uint8Array, place: string) {
  return { name: "AES-GCM", iv: nonce, additionalData: new TextEncoder().encode(place) };
}

const storageKeys = new Map<string, Promise<StorageKey>>();

function storageKey(secret: string): Promise<StorageKey> {
  let key = storageKeys.get(secret);
  if (!key) {
    key = deriveStorageKey(secret);
    storageKeys.set(secret, key);
  }
  return key;
}

async function deriveStorageKey(secret: string): Promise<StorageKey> {
  const bytes = new TextEncoder().encode(secret);
  const material = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey", "deriveBits"]);
  const hkdf = (info: string) => ({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: new TextEncoder().encode(info) });
  const aes = { name: "AES-GCM", length: 256 };
  const [key, id] = await Promise.all([
    crypto.subtle.deriveKey(hkdf("stored secrets"), material, aes, false, ["encrypt", "decrypt"]),
    crypto.subtle.deriveBits(hkdf("key id"), material, KEY_ID_BYTES * 8),
  ]);
  return { id: new Uint8Array(id).toHex(), key };
}
