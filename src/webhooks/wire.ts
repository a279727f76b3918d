import { DELIVERY_STATUSES, DELIVERY_TRIGGERS } from "../platform/db/columns.ts";
import { z } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { conversationSchema, handoffSchema, messageSchema } from "../conversations/wire.ts";
import { ALL_EVENTS, API_VERSION, EVENT_TYPES } from "../events/event-types.ts";
import { sourceSchema } from "../knowledge/wire.ts";
import { leadSchema } from "../leads/wire.ts";
import { allowsPrivateTargets } from "../platform/config.ts";
import type { deliveries, deliveryAttempts } from "../platform/db/schema.ts";
import { urlProblem, WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { cursorPageOf, cursorQuery, pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { ATTEMPT_ERRORS } from "./attempt.ts";
import type { EndpointRow } from "./endpoints.ts";

const targetProblem = (url: string) => urlProblem(url, WEBHOOK_POLICY, allowsPrivateTargets(env));

/** The error message for a URL that may not be called. */
export function urlRefusal(reason: string): string {
  return `this url cannot be called: ${reason}. Use an https URL on a public host, such as https://hooks.example.com/support`;
}

const url = () =>
  z
    .string()
    .min(8)
    .max(500)
    .refine((value) => targetProblem(value) === undefined, {
      error: (issue) => urlRefusal(targetProblem(String(issue.input))!),
    })
    .openapi({ format: "uri", description: "HTTPS on a public host.", example: "https://hooks.example.com/support" });

const subscribedEvents = () =>
  z
    .array(z.enum([...EVENT_TYPES, ALL_EVENTS]))
    .min(1)
    .max(EVENT_TYPES.length)
    .refine(
      (types) => !types.includes(ALL_EVENTS) || types.every((type) => type === ALL_EVENTS),
      valueErrorParams("send * alone: it stands for every type"),
    )
    .transform((types) => [...new Set(types)])
    .openapi({ description: "The types to receive, or the single value * for all, those of later versions included." });

const description = () => z.string().max(300).nullable();

export const webhookInSchema = z
  .object({ url: url(), events: subscribedEvents(), description: description().optional(), enabled: z.boolean().default(true) })
  .openapi("WebhookIn", {
    example: { url: "https://hooks.example.com/support", events: ["handoff.created", "lead.created"], description: "Support team alerts" },
  });

export const webhookPatchSchema = z
  .object({
    url: url().nullable(),
    events: subscribedEvents().nullable(),
    description: description().openapi({ description: "Null clears it." }),
    enabled: z.boolean().nullable().openapi({ description: "true also resets the failure streak; false fails the pending deliveries." }),
  })
  .partial()
  .openapi("WebhookPatch", {
    description: "A field that is left out or null stays as it is, but for description.",
    example: { events: ["*"], enabled: true },
  });

export const webhookSchema = z
  .object({
    id: uuid(),
    url: z.string().openapi({ example: "https://hooks.example.com/support" }),
    events: z.array(z.string()).openapi({ example: ["handoff.created", "lead.created"] }),
    description: z.string().nullable().openapi({ example: "Support team alerts" }),
    enabled: z.boolean(),
    disabled_reason: z.string().nullable().openapi({ description: "manual, failing or gone; null while it is enabled." }),
    disabled_at: timestamp().nullable(),
    failure_streak: z.int().openapi({ description: "Failed attempts since the last success." }),
    last_success_at: timestamp().nullable(),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Webhook");

export const webhookWithSecretSchema = webhookSchema
  .extend({
    secret: z
      .string()
      .openapi({ description: "Signs each request (Standard Webhooks). Shown here and never again.", example: "whsec_MfKQ…" }),
  })
  .openapi("WebhookWithSecret");

const truncated = z.literal(true).optional().openapi({ description: "Present when texts were cut to keep the event under 64 KB." });
const dataSchema = z.union([conversationSchema, messageSchema, handoffSchema, leadSchema, sourceSchema]);

/** An event's body, as receivers get it. */
export const eventSchema = z
  .object({
    id: uuid().openapi({ description: "Equal to the header webhook-id; the same on every attempt and redelivery." }),
    type: z.enum(EVENT_TYPES),
    created_at: timestamp(),
    api_version: z.literal(API_VERSION),
    workspace_id: uuid(),
    data: z.intersection(dataSchema, z.object({ truncated })).openapi({ description: "The record as it was when the event happened." }),
  })
  .openapi("WebhookEvent");

const eventTypeSchema = z.object({ type: z.enum(EVENT_TYPES), description: z.string(), example: eventSchema }).openapi("WebhookEventType");

export const webhookListSchema = pageOf(webhookSchema, "WebhookPage")
  .extend({ event_types: z.array(eventTypeSchema).openapi({ description: "The event catalogue." }) })
  .openapi("WebhookList");

const attemptSchema = z
  .object({
    number: z.int(),
    started_at: timestamp(),
    duration_ms: z.int().openapi({ example: 187 }),
    response_status: z.int().nullable().openapi({ example: 200 }),
    response_body: z.string().nullable().openapi({ description: "Its first 8 KiB.", example: "ok" }),
    response_truncated: z.boolean(),
    error: z.enum([...ATTEMPT_ERRORS, "endpoint_disabled"]).nullable(),
    url: z.string().openapi({ example: "https://hooks.example.com/support" }),
  })
  .openapi("DeliveryAttempt");

export const deliverySchema = z
  .object({
    id: uuid(),
    webhook_id: uuid(),
    event_id: uuid(),
    event_type: z.string().openapi({ example: "handoff.created" }),
    status: z.enum(DELIVERY_STATUSES),
    trigger: z.enum(DELIVERY_TRIGGERS),
    attempt_count: z.int(),
    next_attempt_at: timestamp().nullable(),
    created_at: timestamp(),
    completed_at: timestamp().nullable(),
    attempts: z.array(attemptSchema).openapi({ description: "Oldest first." }),
  })
  .openapi("Delivery");

export const deliveryPageSchema = cursorPageOf(deliverySchema, "DeliveryPage");

export const deliveryQuery = cursorQuery.extend({ status: z.enum(DELIVERY_STATUSES).optional().openapi({ example: "failed" }) });

/** The wire record of an endpoint, without the secret. */
export function toWebhook(row: EndpointRow): z.infer<typeof webhookSchema> {
  return toRecord(webhookSchema, row, {});
}

export type DeliveryRow = typeof deliveries.$inferSelect;
export type AttemptRow = typeof deliveryAttempts.$inferSelect;

/** How many deliveries an endpoint has, with one status or in total. */
export function deliveryCount(
  { pendingCount, succeededCount, failedCount }: EndpointRow,
  status: DeliveryRow["status"] | undefined,
): number {
  const counts = { pending: pendingCount, succeeded: succeededCount, failed: failedCount };
  return status === undefined ? pendingCount + succeededCount + failedCount : counts[status];
}

/** The wire record of a delivery with its attempts, which may come in any order. */
export function toDelivery(row: DeliveryRow, attempts: readonly AttemptRow[]): z.infer<typeof deliverySchema> {
  return toRecord(deliverySchema, row, { attempts: attempts.toSorted((a, b) => a.number - b.number).map(toAttempt) });
}

function toAttempt(row: AttemptRow): z.infer<typeof attemptSchema> {
  return toRecord(attemptSchema, row, { error: row.error as z.infer<typeof attemptSchema>["error"] });
}
