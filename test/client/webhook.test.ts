import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from "../../client/index.ts";
import { newSecret, signatureHeaders } from "../../src/webhooks/signature.ts";

const SECRET = newSecret();
const EVENT = { id: "019a-1", type: "lead.created", data: { id: "l-1", name: "Zoë \u0000 😀" } };
const TEXT = JSON.stringify(EVENT);
const BYTES = new TextEncoder().encode(TEXT);

/** The headers as the service sends them. */
const sign = (secrets: string[], timestampMs = Date.now()) => signatureHeaders({ id: EVENT.id, timestampMs, body: BYTES }, secrets);

test("what the service signs is accepted, as text and as bytes, with the headers of any framework", async () => {
  const headers = await sign([SECRET]);
  const [id, timestamp, signature] = [headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"]];
  const capitalised = { "Webhook-Id": id, "Webhook-Timestamp": timestamp, "Webhook-Signature": signature };
  for (const body of [TEXT, BYTES, BYTES.slice().buffer])
    for (const given of [headers, capitalised, new Headers(headers), { get: (name: string) => headers[name] ?? null }])
      expect(await verifyWebhook(body, given, SECRET)).toEqual(EVENT);
});

test("what the Standard Webhooks library signs is accepted", async () => {
  const at = new Date();
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(SECRET).sign("msg_1", at, TEXT),
  };
  expect(await verifyWebhook(TEXT, headers, SECRET)).toEqual(EVENT);
});

test("while a secret is rotated either one is accepted", async () => {
  const [current, previous] = [newSecret(), newSecret()];
  const headers = await sign([current, previous]);
  for (const secret of [current, previous]) expect(await verifyWebhook(TEXT, headers, secret)).toEqual(EVENT);
  await expect(verifyWebhook(TEXT, headers, SECRET)).rejects.toThrow(WebhookVerificationError);
});

test("a body, an identifier, a timestamp or a signature that is another one is refused", async () => {
  const headers = await sign([SECRET]);
  const refused = (changed: Record<string, string>, body: string | Uint8Array = TEXT) =>
    expect(verifyWebhook(body, { ...headers, ...changed }, SECRET)).rejects.toThrow(WebhookVerificationError);
  await refused({}, TEXT.replace("Zoë", "Eve"));
  await refused({}, `\uFEFF${TEXT}`);
  await refused({}, new TextEncoder().encode(`\uFEFF${TEXT}`));
  await refused({ "webhook-id": "019a-2" });
  await refused({ "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) });
  await refused({ "webhook-timestamp": "now" });
  await refused({ "webhook-signature": headers["webhook-signature"]!.replace("v1,", "v2,") });
  await refused({ "webhook-signature": headers["webhook-signature"]!.slice(0, -1) });
  for (const name of Object.keys(headers)) await refused({ [name]: "" });
  await expect(verifyWebhook(TEXT, {}, SECRET)).rejects.toThrow("The header webhook-id is missing.");
});

test("a webhook that is more than five minutes old, or of the future, is refused", async () => {
  for (const ms of [-6 * 60_000, 6 * 60_000])
    await expect(verifyWebhook(TEXT, await sign([SECRET], Date.now() + ms), SECRET)).rejects.toThrow("more than five minutes");
  expect(await verifyWebhook(TEXT, await sign([SECRET], Date.now() - 4 * 60_000), SECRET)).toEqual(EVENT);
});

test("a secret that is none is the caller's mistake, not the sender's", async () => {
  const verified = verifyWebhook(TEXT, await sign([SECRET]), "");
  await expect(verified).rejects.toThrow("begins with whsec_");
  await expect(verified).rejects.not.toThrow(WebhookVerificationError);
});

/** Never run: the event's type says what its data is. */
export function typed(event: WebhookEvent): string | null {
  return event.type === "lead.created" ? event.data.name : event.id;
}
