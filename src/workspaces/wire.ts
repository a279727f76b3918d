import { z } from "@hono/zod-openapi";
import { type Plan, PLAN_NAMES } from "../platform/db/columns.ts";
import { timestamp, toTimestamp, uuid } from "../platform/http/fields.ts";
import { type Limits, periodBounds } from "./plans.ts";
import { SCOPES } from "./scopes.ts";

export const meSchema = z
  .object({
    workspace: z.object({ id: uuid(), name: z.string().openapi({ example: "Acme" }), slug: z.string().openapi({ example: "acme" }) }),
    plan: z.enum(PLAN_NAMES),
    api_key: z.object({
      id: uuid(),
      name: z.string().openapi({ example: "Backend" }),
      prefix: z.string().openapi({ description: "The key's first 16 characters.", example: "sk_live_Zk3vQ0pA" }),
      scopes: z.array(z.enum(SCOPES)),
    }),
    rate_limit: z.object({ requests_per_minute: z.int().openapi({ example: 300 }) }),
  })
  .openapi("KeyIntrospection");

export const limitsSchema = z
  .object({
    requests_per_minute: z.int(),
    messages: z.int().openapi({ description: "Questions that agents are asked to answer, a calendar month." }),
    agents: z.int(),
    sources: z.int().openapi({ description: "Knowledge sources for each agent." }),
    max_pages: z.int().openapi({ description: "The most pages that one website source may read." }),
    webhooks: z.boolean(),
  })
  .openapi("Limits");

export const usageSchema = z
  .object({
    plan: z.enum(PLAN_NAMES),
    period: z
      .object({ start: timestamp(), end: timestamp() })
      .openapi({ description: "The calendar month, UTC; the end is the next one's start." }),
    limits: limitsSchema,
    usage: z.object({ messages: z.int(), agents: z.int(), sources: z.int(), pages: z.int() }),
    remaining: z.object({ messages: z.int() }),
  })
  .openapi("Usage");

interface Used {
  messages: number;
  agents: number;
  sources: number;
  pages: number;
}

/** The usage of the period that `nowMs` falls into. */
export function toUsage(plan: Plan, limits: Limits, usage: Used, nowMs: number): z.infer<typeof usageSchema> {
  const { startMs, endMs } = periodBounds(nowMs);
  return {
    plan,
    period: { start: toTimestamp(startMs), end: toTimestamp(endMs) },
    limits,
    usage,
    remaining: { messages: Math.max(0, limits.messages - usage.messages) },
  };
}
