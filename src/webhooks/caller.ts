import { callerDb } from "../admission/caller.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { WebhookOperation } from "./endpoints.ts";
import { findEndpoint } from "./store.ts";

/** A change of the caller's endpoints, for the verbs. */
export function webhookOperation(c: AppContext): WebhookOperation {
  return { env: c.env, meter: c.get("meter"), workspaceId: c.get("caller").workspace.id, nowMs: Date.now(), newId: c.get("newId") };
}

/**
 * That the caller's plan includes webhooks. Whether the endpoint is there comes first, as in every operation.
 * @throws ApiError 404 or 403.
 */
export async function requireWebhooks(c: AppContext, webhookId?: string): Promise<void> {
  const { id, limits } = c.get("caller").workspace;
  if (limits.webhooks) return;
  const db = callerDb(c);
  const [[endpoint]] = webhookId === undefined ? [[]] : await db.batch([findEndpoint(db, id, webhookId)]);
  if (webhookId !== undefined && !endpoint) throw notFound("webhook endpoint");
  throw planRequired();
}

/** 403: the plan does not include webhooks. */
export function planRequired(): ApiError<"plan_required"> {
  return new ApiError("plan_required", "The plan does not include webhooks. Ask for one that does: pro or enterprise.");
}
