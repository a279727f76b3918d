import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { newSecret, signatureHeaders } from "../../src/webhooks/signature.ts";

const NOW = Date.now();
const TEXT = '{"id":"1","data":{"text":"Zoë \\u0000 😀"}}';

const sign = (secrets: string[], text = TEXT, timestampMs = NOW) =>
  signatureHeaders({ id: "019a-1", timestampMs, body: new TextEncoder().encode(text) }, secrets);

test("signs like the example of the specification", async () => {
  const body = new TextEncoder().encode('{"test": 2432232314}');
  const message = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestampMs: 1_614_265_330_999, body };
  expect(await signatureHeaders(message, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("the Standard Webhooks verifier accepts a signed message, and nothing else", async () => {
  const secret = newSecret();
  const headers = await sign([secret]);
  expect(() => new Webhook(secret).verify(TEXT, headers)).not.toThrow();
  expect(() => new Webhook(secret).verify(TEXT.replace("1", "2"), headers)).toThrow();
  expect(() => new Webhook(secret).verify(TEXT, { ...headers, "webhook-id": "019a-2" })).toThrow();
  expect(() => new Webhook(newSecret()).verify(TEXT, headers)).toThrow();
  const old = await sign([secret], TEXT, NOW - 6 * 60_000);
  expect(() => new Webhook(secret).verify(TEXT, old)).toThrow();
});

test("the Standard Webhooks verifier accepts either secret during a rotation", async () => {
  const [current, previous] = [newSecret(), newSecret()];
  const headers = await sign([current, previous]);
  expect(headers["webhook-signature"]!.split(" ")).toHaveLength(2);
  for (const secret of [current, previous]) expect(() => new Webhook(secret).verify(TEXT, headers)).not.toThrow();
  expect(() => new Webhook(newSecret()).verify(TEXT, headers)).toThrow();
});
