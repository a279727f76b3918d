import type { WebhookOperation } from "./endpoints.ts";
import type { DeliveryRow, AttemptRow } from "./wire.ts";

export async function sendTest(_: WebhookOperation, __: string): Promise<{ delivery: DeliveryRow; attempts: AttemptRow[] } | undefined> {
  return undefined;
}
