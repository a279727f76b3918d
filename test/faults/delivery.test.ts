import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { sendDeliveryWakeUps } from "../../src/events/outbox.ts";
import { createWorkspace } from "../harness.ts";
import type { Behaviour } from "../outbound-protocol.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import { addEvent, addReceiver, attemptsOf, deliveryOf } from "../webhooks/simulation.ts";
import { awaitWithClock, withEachFault } from "./scenario.ts";

/** There is one delivery at a time, because several share writes in a way that depends on timing. */
const CASES: { name: string; responses: [Behaviour, ...Behaviour[]] }[] = [
  { name: "a delivery", responses: [{}] },
  { name: "a delivery whose first attempt fails", responses: [{ status: 500 }, {}] },
];

for (const { name, responses } of CASES) {
  await withEachFault(name, {
    queues: ["support-agent-deliveries", "support-agent-slow-deliveries", "support-agent-deliveries-dlq"],
    prepare: async () => {
      const receiver = await addReceiver(await createWorkspace());
      await behaveAt(receiver.host, ...responses);
      const [id] = await addEvent([receiver], Date.now());
      return { receiver, id: id! };
    },
    act: ({ id }) => awaitWithClock(sendDeliveryWakeUps(env.DELIVERY_QUEUE, [id])),
    check: async ({ receiver, id }) => {
      const [requests, attempts, delivery] = [await receivedBy(receiver.host), await attemptsOf(id), await deliveryOf(id)];
      expect(delivery).toMatchObject({ status: "succeeded", attempt_count: attempts.length, lease_until: null });
      expect(attempts.at(-1)).toMatchObject({ response_status: 200, error: null });
      // It is delivered at least once, always as the same event.
      expect(requests.length).toBeGreaterThanOrEqual(responses.length);
      expect(new Set(requests.map(({ headers }) => headers["webhook-id"]))).toHaveProperty("size", 1);
      expect(new Set(requests.map(({ headers }) => headers["x-delivery-id"]))).toEqual(new Set([id]));
    },
  });
}
