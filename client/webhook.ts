import type { Schemas } from "./schema.ts";

/** An event as a webhook endpoint receives it; `type` determines the type of `data`. */
export type WebhookEvent = Schemas["WebhookEvent"];

/** A request that is not a webhook of the service, or one that is too old. Answer it with a 4xx status and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
}

/** The headers of a request, as `fetch` has them, or as a plain object, as Node's `http` has them. */
type RequestHeaders = Pick<Headers, "get"> | Readonly<Record<string, string | string[] | undefined>>;

const SECRET_PREFIX = "whsec_";
/** The largest difference between the timestamp and this machine's clock, as Standard Webhooks recommends it. */
const TOLERANCE_SECONDS = 5 * 60;

/**
 * Verifies the signature of a webhook (https://www.standardwebhooks.com) and returns its event. The same event, with the same `id`, may
 * be delivered more than once.
 * @param body the raw body of the request: its text or bytes before any JSON parsing.
 * @param secret the endpoint's signing secret. For a day after a rotation the old one is valid too.
 * @throws WebhookVerificationError if a header is missing, the signature does not match, or the timestamp is more than five minutes off.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: RequestHeaders,
  secret: string,
): Promise<WebhookEvent> {
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS))
    throw new WebhookVerificationError("The webhook's timestamp is more than five minutes from this machine's clock.");
  const text = typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(body);
  const expected = await sign(`${id}.${timestamp}.${text}`, secret);
  // All signatures are compared, so that the time of the check reveals nothing about them.
  const matching = signatures.split(" ").filter((given) => equalInConstantTime(given, expected));
  if (matching.length === 0)
    throw new WebhookVerificationError("The webhook's signature does not match. Pass the raw body, and the secret of this endpoint.");
  return JSON.parse(text) as WebhookEvent;
}

function headerOf(headers: RequestHeaders, name: string): string {
  // Not every framework's `Headers` is the runtime's own class, and not every one writes names in lower case.
  const value =
    typeof headers.get === "function" ? headers.get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== "string" || value === "") throw new WebhookVerificationError(`The header ${name} is missing.`);
  return value;
}

/** Signs a webhook with the current time, and returns the headers that the service sends with it. */
export async function signWebhook(id: string, body: string, secret: string): Promise<Record<string, string>> {
  const timestamp = `${Math.floor(Date.now() / 1000)}`;
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": await sign(`${id}.${timestamp}.${body}`, secret) };
}

async function sign(text: string, secret: string): Promise<string> {
  if (!secret.startsWith(SECRET_PREFIX)) throw new TypeError(`A webhook's signing secret begins with ${SECRET_PREFIX}.`);
  const raw = Uint8Array.from(atob(secret.slice(SECRET_PREFIX.length)), (char) => char.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text)));
  return `v1,${btoa(String.fromCharCode(...mac))}`;
}

/** Compares two texts in a time that depends on their lengths alone. */
function equalInConstantTime(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let at = 0; at < expected.length; at++) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at);
  return difference === 0;
}
