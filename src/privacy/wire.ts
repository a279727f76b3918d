import { z } from "@hono/zod-openapi";
import { traceSchema } from "../chat/trace-wire.ts";
import type { PersonIdentifier } from "../conversations/persons.ts";
import { conversationSchema, feedbackSchema, messageSchema, visitorSchema } from "../conversations/wire.ts";
import { storedDraftSchema } from "../knowledge/wire.ts";
import { timestamp, uuid } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { normalizeEmail } from "../platform/text.ts";

const TYPES = ["email", "anon_id", "external_id"] as const;

/** Exactly one of the identifiers. */
export const personQuery = z
  .object({
    email: z
      .string()
      .min(1)
      .max(320)
      // Nothing would be found, and the caller would believe it erased.
      .refine((email) => !/\s/.test(email), valueErrorParams("an address has no spaces: write a plus sign as %2B"))
      .optional()
      .openapi({ description: "A visitor's or contact form's email, in any case.", example: "ann@example.com" }),
    anon_id: z.string().min(1).max(128).optional().openapi({ description: "The widget's visitor id; API users are api:<user.id>." }),
    external_id: z.string().min(1).max(128).optional().openapi({ description: "A verified id, or the user.id sent to the ask operation." }),
  })
  .refine((query) => TYPES.filter((type) => query[type] !== undefined).length === 1, {
    ...valueErrorParams("pass exactly one of email, anon_id and external_id"),
    when: () => true,
  });

/** The identifier that a valid query names. */
export function toIdentifier(query: z.output<typeof personQuery>): PersonIdentifier {
  const type = TYPES.find((name) => query[name] !== undefined)!;
  const value = query[type]!;
  return { type, value: type === "email" ? normalizeEmail(value) : value };
}

const identifierSchema = z
  .object({
    type: z.enum(TYPES).openapi({ description: "Which identifier was passed." }),
    value: z.string().openapi({ description: "As it was searched for.", example: "ann@example.com" }),
  })
  .openapi("PrivacyIdentifier");

export const foundSchema = z
  .object({
    identifier: identifierSchema.openapi({ description: "Whom it was searched by." }),
    visitors: z.array(visitorSchema).openapi({ description: "The visitors that are this person." }),
    shared_visitors: z
      .array(visitorSchema)
      .openapi({ description: "Visitors from whom the email was left, and another one too: not counted, and found by their anon_id." }),
    counts: z
      .object({
        conversations: z.int().openapi({ description: "Conversations." }),
        messages: z.int().openapi({ description: "Messages of all authors in them." }),
        leads: z.int().openapi({ description: "Leads." }),
        handoffs: z.int().openapi({ description: "Hand-offs." }),
      })
      .openapi({ description: "How many records there are of them." }),
  })
  .openapi("PrivacyFound");

export const erasedSchema = z
  .object({
    audit_id: uuid().openapi({ description: "Names the erasure in the audit log." }),
    erased_at: timestamp().openapi({ description: "When they were erased." }),
    deleted: z
      .record(z.string(), z.int())
      .openapi({ description: "How many records of each kind were erased.", example: { conversations: 3, messages: 14 } }),
  })
  .openapi("PrivacyErased");

export const exportSchema = z
  .object({
    identifier: identifierSchema.openapi({ description: "Whom it is of." }),
    exported_at: timestamp().openapi({ description: "When it was made." }),
    visitors: z.array(visitorSchema).openapi({ description: "The visitors that are this person." }),
    conversations: z
      .array(
        conversationSchema.extend({
          handoffs: z.array(z.unknown()).openapi({ description: "Its hand-offs, oldest first." }),
          feedback: z.array(feedbackSchema).openapi({ description: "The ratings of its answers." }),
          drafts: z.array(storedDraftSchema).openapi({ description: "The drafts of curated answers that its replies became." }),
          messages: z.array(messageSchema).openapi({ description: "Its messages, oldest first." }),
          notes: z.array(messageSchema).openapi({ description: "The team's notes on it, oldest first." }),
          traces: z.array(traceSchema).openapi({ description: "How its answers of the last 30 days came about, oldest first." }),
        }),
      )
      .openapi({ description: "Their conversations with all messages." }),
    leads: z.array(z.unknown()).openapi({ description: "What they left." }),
  })
  .openapi("PrivacyExport");
