import { EVENT_TYPES, lackingScopes } from "../events/event-types.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { operationOf } from "../workspaces/checks.ts";
import { findEndpoint } from "./endpoint-store.ts";

/**
 * Requires that the caller's plan includes webhooks. As in every operation, 404 for a missing endpoint comes first.
 * @throws ApiError 404 or 403.
 */
export async function requireWebhooksPlan(c: AppContext, webhookId?: string): Promise<void> {
  if (c.get("caller").workspace.limits.webhooks) return;
  const { db, workspaceId } = operationOf(c);
  const [[endpoint]] = webhookId === undefined ? [[]] : await db.batch([findEndpoint(db, workspaceId, webhookId)]);
  if (webhookId !== undefined && !endpoint) throw notFound("webhook endpoint");
  throw planRequired();
}

/** Returns the 403 error for a plan without webhooks. */
export function planRequired(): ApiError<"plan_required"> {
  return new ApiError("plan_required", "The plan does not include webhooks. Ask for one that does: pro or enterprise.");
}

/** Whether the caller's key may read the events of a type. */
export function mayRead(c: AppContext, type: string): boolean {
  return lackingScopes(c.get("caller").key.scopes, [type]).length === 0;
}

/** The types of events that the caller's key may not read. */
export function unreadableTypes(c: AppContext): string[] {
  return EVENT_TYPES.filter((type) => !mayRead(c, type));
}

/** Requires that the caller's key may read the events of these types. @throws ApiError insufficient_scope. */
export function requireReadable(c: AppContext, types: readonly string[]): void {
  if (lackingScopes(c.get("caller").key.scopes, types).length > 0) throw notReadable(c, types);
}

/** 403: the caller's key lacks scopes that the message names. */
export function notReadable(c: AppContext, types: readonly string[]): ApiError<"insufficient_scope"> {
  const scopes = lackingScopes(c.get("caller").key.scopes, types).join(" and ");
  return new ApiError("insufficient_scope", `Events of the type ${types.join(", ")} need the scope ${scopes}. Use a key that carries it.`);
}
