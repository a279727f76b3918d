import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { sendDeliveryWakeUps } from "../../src/events/outbox.ts";
import { createWorkspace } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import { addEvent, addReceiver, attemptsOf, deliveryOf } from "../webhooks/world.ts";
import { patiently, withEachFault } from "./scenario.ts";

await withEachFault("an event", {
  queues: ["support-agent-deliveries", "support-agent-slow-deliveries", "support-agent-deliveries-dlq"],
  prepare: async () => {
    const workspace = await createWorkspace();
    const [first, second] = [await addReceiver(workspace), await addReceiver(workspace)];
    await behaveAt(first.host, {});
    await behaveAt(second.host, { status: 500 }, {});
    return { receivers: [first, second], ids: await addEvent([first, second], Date.now()) };
  },
  act: ({ ids }) => patiently(sendDeliveryWakeUps(env.DELIVERY_QUEUE, ids)),
  check: async ({ receivers, ids }) => {
    for (const [at, id] of ids.entries()) {
      const [requests, attempts, delivery] = [await receivedBy(receivers[at]!.host), await attemptsOf(id), await deliveryOf(id)];
      expect(delivery).toMatchObject({ status: "succeeded", attempt_count: attempts.length, lease_until: null });
      expect(attempts.at(-1)).toMatchObject({ response_status: 200, error: null });
      // It is delivered at least once, always as the same event.
      expect(requests.length).toBeGreaterThanOrEqual(at + 1);
      expect(new Set(requests.map(({ headers }) => headers["webhook-id"]))).toHaveProperty("size", 1);
      expect(new Set(requests.map(({ headers }) => headers["x-delivery-id"]))).toEqual(new Set([id]));
    }
  },
});
