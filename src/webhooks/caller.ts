import { callerDb } from "../admission/caller.ts";
import type { AppContext } from "../http/context.ts";
import { judgeTarget, LOOKUP_RETRY_SECONDS } from "../egress/target.ts";
import { WEBHOOK_POLICY } from "../egress/url-rules.ts";
import { ApiError, invalid, notFound, unavailable } from "../http/errors.ts";
import type { WebhookOperation } from "./endpoints.ts";
import { findEndpoint } from "./store.ts";
import { refusalOf } from "./wire.ts";

/** The operation of a verb on the caller's endpoints. */
export function webhookOperation(c: AppContext): WebhookOperation {
  return { env: c.env, meter: c.get("meter"), workspaceId: c.get("caller").workspace.id, nowMs: Date.now(), newId: c.get("newId") };
}

/**
 * Requires that the caller's plan includes webhooks. As in every operation, an endpoint that does not exist is answered
 * first.
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

/**
 * Requires that a URL's host resolves to public addresses now; the schema has checked its text.
 * @throws ApiError 422, or 503 while the host cannot be looked up.
 */
export async function requireTarget(c: AppContext, url: string): Promise<void> {
  const judged = await judgeTarget(c.env, url, WEBHOOK_POLICY);
  if (judged.verdict === "allowed") return;
  if (judged.verdict === "unavailable") throw unavailable("The url's host could not be looked up. Try again.", LOOKUP_RETRY_SECONDS);
  const error = refusalOf(judged.reason);
  throw invalid([{ loc: ["body", "url"], msg: `Value error, ${error}`, type: "value_error", input: url, ctx: { error } }]);
}

/** 403: the plan does not include webhooks. */
export function planRequired(): ApiError<"plan_required"> {
  return new ApiError("plan_required", "The plan does not include webhooks. Ask for one that does: pro or enterprise.");
}
