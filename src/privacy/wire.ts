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
      .meta({ description: "A visitor's or contact form's email, in any case.", example: "ann@example.com" }),
    anon_id: z.string().min(1).max(128).optional().meta({ description: "The widget's visitor id; API users are api:<user.id>." }),
    external_id: z.string().min(1).max(128).optional().meta({ description: "A verified id, or the user.id sent to the ask operation." }),
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
    type: z.enum(TYPES).meta({ description: "The type of the identifier." }),
    value: z.string().meta({ description: "The value of the identifier, as it was searched for.", example: "ann@example.com" }),
  })
  .openapi("PrivacyIdentifier");

export const foundSchema = z
  .object({
    identifier: identifierSchema.meta({ description: "The identifier of the search." }),
    visitors: z.array(visitorSchema).meta({ description: "The visitors who are this person." }),
    shared_visitors: z
      .array(visitorSchema)
      .meta({ description: "Visitors who left this email and another one. They are not counted. Find them by their anon_id." }),
    counts: z
      .object({
        conversations: z.int().meta({ description: "Conversations." }),
        messages: z.int().meta({ description: "Messages of all authors in them." }),
        leads: z.int().meta({ description: "Leads." }),
        handoffs: z.int().meta({ description: "Hand-offs." }),
      })
      .meta({ description: "How many records there are of them." }),
  })
  .openapi("PrivacyFound");

export const erasedSchema = z
  .object({
    audit_id: uuid().meta({ description: "Names the erasure in the audit log." }),
    erased_at: timestamp().meta({ description: "When they were erased." }),
    deleted: z
      .record(z.string(), z.int())
      .meta({ description: "How many records of each kind were erased.", example: { conversations: 3, messages: 14 } }),
  })
  .openapi("PrivacyErased");

export const exportSchema = z
  .object({
    identifier: identifierSchema.meta({ description: "The identifier of the person." }),
    exported_at: timestamp().meta({ description: "When it was made." }),
    visitors: z.array(visitorSchema).meta({ description: "The visitors who are this person." }),
    conversations: z
      .array(
        conversationSchema.extend({
          handoffs: z.array(z.unknown()).meta({ description: "Its hand-offs, oldest first." }),
          feedback: z.array(feedbackSchema).meta({ description: "The ratings of its answers." }),
          drafts: z.array(storedDraftSchema).meta({ description: "The drafts of curated answers that its replies became." }),
          messages: z.array(messageSchema).meta({ description: "Its messages, oldest first." }),
          notes: z.array(messageSchema).meta({ description: "The team's notes on it, oldest first." }),
          traces: z.array(traceSchema).meta({ description: "The traces of its answers of the last 30 days, oldest first." }),
        }),
      )
      .meta({ description: "Their conversations with all messages." }),
    leads: z.array(z.unknown()).meta({ description: "What they left." }),
  })
  .openapi("PrivacyExport");
