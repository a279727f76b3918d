import { expect, test } from "vitest";
import { deliver } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import { addEvent, attemptsOf, createReceiver, deliveryOf, endpointOf, verify } from "./world.ts";

const FAST = "support-agent-deliveries";

test("a wake-up sends a signed request and records it", async () => {
  const receiver = await createReceiver();
  await behaveAt(receiver.host, { body: "thanks" });
  const now = Date.now();
  const [id] = await addEvent([receiver], now);
  await deliver(FAST, { deliveryId: id });
  const [request, ...more] = await receivedBy(receiver.host);
  expect(more).toEqual([]);
  expect(request).toMatchObject({ method: "POST", place: `${receiver.host}/hooks?token=hidden` });
  expect(verify(receiver.secret, request!)).toMatchObject({ type: "lead.created", data: { name: "Zoë 😀" } });
  expect(await deliveryOf(id!)).toMatchObject({ status: "succeeded", attempt_count: 1, next_attempt_at: null, lease_until: null });
  expect(await attemptsOf(id!)).toMatchObject([
    { number: 1, response_status: 200, response_body: "thanks", error: null, url: receiver.url },
  ]);
  expect(await endpointOf(receiver)).toMatchObject({ failure_streak: 0 });
});
