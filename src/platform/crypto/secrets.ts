import { secretValues } from "../config.ts";
import { memoized } from "../lru-cache.ts";
import { Fault } from "../telemetry/errors.ts";
import { BASE64URL } from "./base64url.ts";

const FORMAT = "v1";
/** The nonce length recommended for AES-GCM (NIST SP 800-38D). */
const NONCE_BYTES = 12;
const KEY_ID_BYTES = 4;
/** 12 bytes of nonce are 16 characters of base64url. */
const STORED_SECRET = /\bv1\.([0-9a-f]{8})\.[\w-]{16}\.[\w-]+/g;

/** The length of a stored secret's format and key id, which is all that `stateOfSecret` needs. */
export const SECRET_HEAD_LENGTH = `${FORMAT}.`.length + KEY_ID_BYTES * 2 + 1;

interface StorageKey {
  id: string;
  key: CryptoKey;
}

/** Whether a stored secret was encrypted with the first key of ENCRYPTION_KEY, another one, or an unknown one. */
export type SecretState = "current" | "outdated" | "unreadable";

/** A stored secret that cannot be decrypted. The message leaves out its location, which may identify a person. */
export class UnreadableSecretError extends Fault {
  override name = "UnreadableSecretError";

  constructor(reason: string) {
    super(`A stored secret cannot be read: ${reason}`);
  }
}

/**
 * Encrypts a secret for storage with AES-256-GCM: `v1.<key id>.<nonce>.<ciphertext>`. The key id allows key rotation.
 * @param context where it is stored, such as `agent/<id>`: it is authenticated, so that the secret decrypts only there.
 */
export async function encryptSecret(env: Env, secret: string, context: string): Promise<string> {
  const { id, key } = await storageKey(secretValues(env.ENCRYPTION_KEY)[0]);
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const encrypted = await crypto.subtle.encrypt(gcm(nonce, context), key, new TextEncoder().encode(secret));
  return [FORMAT, id, BASE64URL.encode(nonce), BASE64URL.encode(new Uint8Array(encrypted))].join(".");
}

/**
 * Decrypts the result of `encryptSecret` with whichever key of ENCRYPTION_KEY encrypted it.
 * @throws UnreadableSecretError when that key is missing, or the text was changed or moved.
 */
export async function decryptSecret(env: Env, stored: string, context: string): Promise<string> {
  const [format, keyId, nonce, encrypted] = stored.split(".");
  if (format !== FORMAT || !nonce || !encrypted) throw new UnreadableSecretError("its format is not known");
  const keys = await storageKeys(env);
  const found = keys.find(({ id }) => id === keyId);
  if (!found) throw new UnreadableSecretError("ENCRYPTION_KEY no longer holds the key that encrypted it");
  try {
    const bytes = BASE64URL.decode(encrypted);
    const plain = await crypto.subtle.decrypt(gcm(BASE64URL.decode(nonce), context), found.key, bytes);
    return new TextDecoder().decode(plain);
  } catch {
    throw new UnreadableSecretError("it was changed or moved");
  }
}

/**
 * Returns the state of a stored secret by its key id; nothing is decrypted.
 * @param stored the secret, or its first `SECRET_HEAD_LENGTH` characters.
 */
export async function stateOfSecret(env: Env, stored: string): Promise<SecretState> {
  const [format, keyId] = stored.split(".");
  const keys = await storageKeys(env);
  const at = format === FORMAT ? keys.findIndex(({ id }) => id === keyId) : -1;
  if (at < 0) return "unreadable";
  return at === 0 ? "current" : "outdated";
}

/** Returns the id of one value of a configured secret. Stored secrets and API keys name their value by its id, which does not reveal it. */
export async function keyIdOf(value: string): Promise<string> {
  return (await storageKey(value)).id;
}

/** Returns the ids of several values of configured secrets. */
export function keyIdsOf(values: readonly string[]): Promise<string[]> {
  return Promise.all(values.map(keyIdOf));
}

/** Returns the ids of the keys that stored secrets in a text were encrypted with. */
export function keyIdsIn(text: string): string[] {
  return [...text.matchAll(STORED_SECRET)].map(([, keyId]) => keyId!);
}

function gcm(nonce: Uint8Array, context: string) {
  return { name: "AES-GCM", iv: nonce, additionalData: new TextEncoder().encode(context) };
}

/** All keys in use, the one for new secrets first. */
function storageKeys(env: Env): Promise<StorageKey[]> {
  return Promise.all(secretValues(env.ENCRYPTION_KEY).map(storageKey));
}

const storageKey = memoized(deriveStorageKey);

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
