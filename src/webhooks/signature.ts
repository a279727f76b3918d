import { importHmacKey } from "../platform/crypto/hashes.ts";
import { decryptSecret, encryptSecret } from "../platform/crypto/secrets.ts";
import { joinedBytes } from "../platform/read-stream.ts";

/** A request to sign as https://www.standardwebhooks.com specifies, symmetric scheme v1. */
export interface SignedMessage {
  /** The event's id: the same on every attempt. */
  id: string;
  timestampMs: number;
  /** The bytes that are sent. */
  body: Uint8Array;
}

/**
 * The three headers of Standard Webhooks.
 * @param secrets in the form `whsec_` + base64. Each one signs, since during a rotation the receiver may have either.
 */
export async function signatureHeaders(message: SignedMessage, secrets: readonly string[]): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(message.timestampMs / 1000));
  const head = new TextEncoder().encode(`${message.id}.${timestamp}.`);
  const signed = joinedBytes([head, message.body]);
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, signed)));
  return { "webhook-id": message.id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

async function sign(secret: string, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const raw = Uint8Array.fromBase64(secret.slice(SECRET_PREFIX.length));
  return `v1,${new Uint8Array(await crypto.subtle.sign("HMAC", await importHmacKey(raw), signed)).toBase64()}`;
}

/** Standard Webhooks asks for 24 to 64 random bytes. */
const SECRET_BYTES = 32;
const SECRET_PREFIX = "whsec_";

/** A new signing secret. */
export function newSecret(): string {
  return SECRET_PREFIX + crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64();
}

/** Encrypts a signing secret for the endpoint's row. */
export function sealSecret(env: Env, secret: string, webhookId: string): Promise<string> {
  return encryptSecret(env, secret, webhookContext(webhookId));
}

/**
 * Decrypts a signing secret of the endpoint's row.
 * @throws UnreadableSecretError when it belongs to another endpoint, or its key is no longer configured.
 */
export function openSecret(env: Env, stored: string, webhookId: string): Promise<string> {
  return decryptSecret(env, stored, webhookContext(webhookId));
}

/** The encryption context of an endpoint's secret: it decrypts with no other one. */
export function webhookContext(webhookId: string): string {
  return `webhook/${webhookId}`;
}
