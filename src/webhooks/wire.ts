import { DELIVERY_STATUSES, DELIVERY_TRIGGERS } from "../platform/db/columns.ts";
import { z } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { approvalSchema } from "../conversations/approval-wire.ts";
import { conversationSchema, handoffSchema, messageSchema } from "../conversations/wire.ts";
import { ALL_EVENTS, API_VERSION, EVENT_TYPES, type EventType, TEST_EVENT } from "../events/event-types.ts";
import { sourceSchema } from "../knowledge/wire.ts";
import { leadSchema } from "../leads/wire.ts";
import type { deliveries, deliveryAttempts } from "../platform/db/schema.ts";
import { targetProblem } from "../platform/egress/target.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { cursorPageOf, cursorQuery, pageOf, pageQuery } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { ATTEMPT_ERRORS } from "./attempt.ts";
import type { EndpointRow } from "./endpoints.ts";

const problemOf = (value: string) => targetProblem(env, value, WEBHOOK_POLICY);

/** The error message for a URL that may not be called. */
export function urlRefusal(reason: string): string {
  return `this url cannot be called: ${reason}. Use an https URL on a public host, such as https://hooks.example.com/support`;
}

const url = () =>
  z
    .string()
    .min(8)
    .max(500)
    .refine((value) => problemOf(value) === undefined, {
      error: (issue) => urlRefusal(problemOf(String(issue.input))!),
    })
    .meta({ format: "uri", description: "HTTPS on a public host.", example: "https://hooks.example.com/support" });

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
    .meta({ description: "The types to receive, or the single value * for all types, including those of later versions." });

const description = () => z.string().max(300).nullable();

export const webhookInSchema = z
  .object({
    url: url(),
    events: subscribedEvents(),
    description: description().optional().meta({ description: "A note for your team about the purpose of the endpoint." }),
    enabled: z.boolean().default(true).meta({ description: "Whether events are sent to it." }),
  })
  .openapi("WebhookIn", {
    example: { url: "https://hooks.example.com/support", events: ["handoff.created", "lead.created"], description: "Support team alerts" },
  });

export const webhookPatchSchema = z
  .object({
    url: url().nullable(),
    events: subscribedEvents().nullable(),
    description: description().meta({ description: "Null clears it." }),
    enabled: z.boolean().nullable().meta({ description: "true also resets the failure streak; false fails the pending deliveries." }),
  })
  .partial()
  .openapi("WebhookPatch", {
    description: "A field that is left out or null stays as it is. Only description is cleared by null.",
    example: { events: ["*"], enabled: true },
  });

export const webhookSchema = z
  .object({
    id: uuid(),
    url: z.string().meta({ description: "Where events are sent.", example: "https://hooks.example.com/support" }),
    events: z
      .array(z.string())
      .meta({ description: "The types that it receives; * stands for all.", example: ["handoff.created", "lead.created"] }),
    description: z
      .string()
      .nullable()
      .meta({ description: "A note for your team about the purpose of the endpoint.", example: "Support team alerts" }),
    enabled: z.boolean().meta({ description: "Whether events are sent to it." }),
    disabled_reason: z.string().nullable().meta({ description: "manual, failing or gone; null while it is enabled." }),
    disabled_at: timestamp().nullable().meta({ description: "When it was disabled." }),
    failure_streak: z.int().meta({ description: "Failed attempts since the last success." }),
    last_success_at: timestamp().nullable().meta({ description: "When it last answered with a 2xx." }),
    last_skipped_at: timestamp().nullable().meta({
      description: "When an event was last not delivered, because the plan's deliveries of the day were used up. GET /events lists it.",
    }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Webhook");

export const webhookWithSecretSchema = webhookSchema
  .extend({
    secret: z
      .string()
      .meta({ description: "The secret that signs each request (Standard Webhooks). It is shown only here.", example: "whsec_MfKQ…" }),
  })
  .openapi("WebhookWithSecret");

const truncated = z.literal(true).optional().meta({ description: "Present when texts were cut to keep the event under 64 KB." });

/** The body of an event of one type, as receivers get it. */
function eventOf<Type extends EventType | typeof TEST_EVENT, Data extends z.ZodObject>(type: Type, data: Data, description: string) {
  return z.object({
    id: uuid().meta({ description: "Equal to the header webhook-id; the same on every attempt and redelivery." }),
    type: z.literal(type).meta({ description: "The type of the event, which determines the type of data." }),
    created_at: timestamp().meta({ description: "When it happened." }),
    api_version: z.literal(API_VERSION).meta({ description: "The version of the format." }),
    workspace_id: uuid().meta({ description: "The workspace that it happened in." }),
    data: z.intersection(data, z.object({ truncated })).meta({ description }),
  });
}

const testDataSchema = z
  .object({ message: z.string().meta({ description: "A sentence for the person who reads the event.", example: "This is a test." }) })
  .openapi("WebhookTest");

const SENT_EVENTS = [
  eventOf("conversation.created", conversationSchema, "The conversation as it started.").openapi("ConversationCreatedEvent"),
  eventOf("conversation.resolved", conversationSchema, "The conversation as it was resolved.").openapi("ConversationResolvedEvent"),
  eventOf("message.ai_replied", messageSchema, "The agent's message.").openapi("MessageAiRepliedEvent"),
  eventOf("message.human_replied", messageSchema, "The team's message.").openapi("MessageHumanRepliedEvent"),
  eventOf("handoff.created", handoffSchema, "The hand-off as it was requested.").openapi("HandoffCreatedEvent"),
  eventOf("tool_call.approval_requested", approvalSchema, "The call that waits for an approval.").openapi("ToolCallApprovalRequestedEvent"),
  eventOf("tool_call.decided", approvalSchema, "The call as it was decided.").openapi("ToolCallDecidedEvent"),
  eventOf("lead.created", leadSchema, "The lead as it was left.").openapi("LeadCreatedEvent"),
  eventOf("source.synced", sourceSchema, "The source as it was then.").openapi("SourceSyncedEvent"),
  eventOf("source.failed", sourceSchema, "The source as it was then, with its error.").openapi("SourceFailedEvent"),
] as const;

const testEventSchema = eventOf(TEST_EVENT, testDataSchema, "A sentence.").openapi("WebhookTestEvent");

/** An event's body, as receivers get it: its type determines the type of data. */
export const eventSchema = z.discriminatedUnion("type", [...SENT_EVENTS, testEventSchema]).openapi("WebhookEvent");

/** The cursor of the place after the last event. */
export const LATEST = "latest";
/** The cursor of the place before the first one. */
const START = "00000000-0000-0000-0000-000000000000";

const SENT_TYPES = [...EVENT_TYPES, TEST_EVENT] as const;
type SentType = (typeof SENT_TYPES)[number];

const isSentType = (type: string): type is SentType => (SENT_TYPES as readonly string[]).includes(type);

export const eventQuery = z.object({
  limit: pageQuery.shape.limit,
  cursor: z
    .string()
    .toLowerCase()
    .refine(
      (text) => text === LATEST || z.guid().safeParse(text).success,
      valueErrorParams("use the next_cursor of the previous page, the id of an event, or latest"),
    )
    .transform((text) => (text === START ? undefined : text))
    .optional()
    .meta({
      type: "string",
      description:
        "The next_cursor of the previous page or the id of an event, to get the events that were recorded after it. With latest, the page is empty and its next_cursor gives the events that are recorded from then on. Without a cursor, the first page starts at the oldest event that is kept.",
    }),
  types: z
    .string()
    .transform((text) => text.split(","))
    .refine(
      (types): types is SentType[] => types.every(isSentType),
      valueErrorParams(`use types of events, separated by commas: ${SENT_TYPES.join(", ")}`),
    )
    .optional()
    .meta({
      type: "string",
      description:
        "Only events of these types are returned; separate them by commas. The key must be allowed to read all of them. A page may hold fewer events than limit, even none, although has_more is true.",
      example: "handoff.created,lead.created",
    }),
});

export const eventPageSchema = z
  .object({
    data: z.array(eventSchema).meta({ description: "Oldest first." }),
    has_more: z.boolean().meta({ description: "Whether there are more events now." }),
    next_cursor: z
      .string()
      .meta({ description: "The cursor for the next page, now or later.", example: "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00" }),
  })
  .openapi("EventPage");

/**
 * A page of events. Its next_cursor also skips the events in `rows` that have other types or that the caller may not read.
 * @param rows one more than the page holds, if there is one.
 */
export function toEventPage(
  rows: { id: string; type: string; payload: string }[],
  { limit, cursor, types }: z.infer<typeof eventQuery>,
  mayRead: (type: string) => boolean,
): z.infer<typeof eventPageSchema> {
  const passed = rows.slice(0, limit);
  const shown = passed.filter(({ type }) => (!types || types.some((one) => one === type)) && mayRead(type));
  return {
    data: shown.map(({ payload }) => JSON.parse(payload) as z.infer<typeof eventSchema>),
    has_more: rows.length > limit,
    next_cursor: passed.at(-1)?.id ?? cursor ?? START,
  };
}

const eventTypeSchema = z
  .object({
    type: z.enum(EVENT_TYPES).meta({ description: "The type, as endpoints subscribe to it." }),
    description: z.string().meta({ description: "What happened, and what data is." }),
    example: eventSchema,
  })
  .openapi("WebhookEventType");

export const webhookListSchema = pageOf(webhookSchema, "WebhookPage")
  .extend({ event_types: z.array(eventTypeSchema).meta({ description: "The event catalogue." }) })
  .openapi("WebhookList");

const attemptSchema = z
  .object({
    number: z.int().meta({ description: "1 for the first attempt." }),
    started_at: timestamp().meta({ description: "When the attempt was made." }),
    duration_ms: z.int().meta({ description: "The duration of the attempt in milliseconds.", example: 187 }),
    response_status: z.int().nullable().meta({ description: "The HTTP status; null without a response.", example: 200 }),
    response_body: z.string().nullable().meta({
      description:
        "The first 8 KiB of the response body. Null without a response, if the log has no room for it, a day after a success, and if the key may not read the event.",
      example: "ok",
    }),
    response_truncated: z.boolean().meta({ description: "Whether the body was longer than what is kept of it." }),
    error: z
      .enum([...ATTEMPT_ERRORS, "endpoint_disabled"])
      .nullable()
      .meta({
        description:
          "Why the attempt failed; null if it succeeded. `endpoint_disabled`: nothing was sent, because the endpoint was disabled or the plan no longer includes webhooks.",
      }),
    url: z.string().meta({ description: "The address of the attempt.", example: "https://hooks.example.com/support" }),
  })
  .openapi("DeliveryAttempt");

export const deliverySchema = z
  .object({
    id: uuid(),
    webhook_id: uuid(),
    event_id: uuid(),
    event_type: z.string().meta({ description: "What happened.", example: "handoff.created" }),
    status: z.enum(DELIVERY_STATUSES).meta({ description: "The status of the delivery, which is `pending` while it is retried." }),
    trigger: z.enum(DELIVERY_TRIGGERS).meta({ description: "Whether the delivery was sent for an event, as a test, or again." }),
    attempt_count: z.int().meta({ description: "The number of attempts so far." }),
    next_attempt_at: timestamp().nullable().meta({ description: "When the next attempt is due; null if no attempt follows." }),
    created_at: timestamp(),
    completed_at: timestamp().nullable().meta({ description: "When it succeeded or failed for good." }),
    attempts: z.array(attemptSchema).meta({ description: "Oldest first." }),
  })
  .openapi("Delivery");

export const deliveryRequestSchema = z
  .object({
    headers: z.record(z.string(), z.string()).meta({
      description:
        "The headers that are the same in each attempt. `webhook-timestamp` and `webhook-signature` are made anew for each attempt, and not kept.",
      example: { "Content-Type": "application/json", "webhook-id": "01890a5d-ac96-774b-bcce-b302099a8057" },
    }),
    body: z.string().nullable().meta({
      description: "The body as it is sent; null if the event is too old and no longer kept.",
      example: '{"id":"01890a5d-ac96-774b-bcce-b302099a8057","type":"handoff.created"}',
    }),
  })
  .openapi("DeliveryRequest");

export const deliveryPageSchema = cursorPageOf(deliverySchema, "DeliveryPage");

export const deliveryQuery = cursorQuery.extend({
  status: z.enum(DELIVERY_STATUSES).optional().meta({ description: "Only deliveries with this status.", example: "failed" }),
});

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
