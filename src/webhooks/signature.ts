import { importHmacKey } from "../platform/crypto/hashes.ts";
import { decryptSecret, encryptSecret } from "../platform/crypto/secrets.ts";

/** One request to be signed: https://www.standardwebhooks.com, symmetric scheme v1. */
export interface SignedMessage {
  /** The event's: the same on every attempt. */
  id: string;
  timestampMs: number;
  /** The bytes that are sent. */
  body: Uint8Array;
}

/**
 * The three headers of Standard Webhooks.
 * @param secrets `whsec_` and base64. Each signs: while a secret is rotated the receiver may hold either.
 */
export async function signatureHeaders(message: SignedMessage, secrets: readonly string[]): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(message.timestampMs / 1000));
  const head = new TextEncoder().encode(`${message.id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + message.body.length);
  signed.set(head);
  signed.set(message.body, head.length);
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, signed)));
  return { "webhook-id": message.id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

async function sign(secret: string, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const raw = Uint8Array.fromBase64(secret.slice(SECRET_PREFIX.length));
  return `v1,${new Uint8Array(await crypto.subtle.sign("HMAC", await importHmacKey(raw), signed)).toBase64()}`;
}

/** As Standard Webhooks asks for: 24 to 64 random bytes behind a prefix that says what it is. */
const SECRET_BYTES = 32;
const SECRET_PREFIX = "whsec_";

/** A new signing secret. */
export function newSecret(): string {
  return SECRET_PREFIX + crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64();
}

/** A signing secret as the endpoint's row holds it. */
export function sealSecret(env: Env, secret: string, webhookId: string): Promise<string> {
  return encryptSecret(env, secret, webhookPlace(webhookId));
}

/**
 * Reads what `sealSecret` made for the endpoint.
 * @throws UnreadableSecretError when it was made for another one, or with a key that is no longer in use.
 */
export function openSecret(env: Env, stored: string, webhookId: string): Promise<string> {
  return decryptSecret(env, stored, webhookPlace(webhookId));
}

/** Where an endpoint's secret is stored: it decrypts nowhere else. */
export function webhookPlace(webhookId: string): string {
  return `webhook/${webhookId}`;
}
