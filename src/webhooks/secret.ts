import { decryptSecret, encryptSecret } from "../crypto/secrets.ts";

/** As Standard Webhooks asks for: 24 to 64 random bytes behind a prefix that says what it is. */
const SECRET_BYTES = 32;
export const SECRET_PREFIX = "whsec_";

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
