import { z } from "@hono/zod-openapi";
import type { PersonIdentifier } from "../conversations/persons.ts";
import { conversationSchema, feedbackSchema, messageSchema, visitorSchema } from "../conversations/wire.ts";
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
  .object({ type: z.enum(TYPES), value: z.string().openapi({ example: "ann@example.com" }) })
  .openapi("PrivacyIdentifier");

export const foundSchema = z
  .object({
    identifier: identifierSchema,
    visitors: z.array(visitorSchema),
    shared_visitors: z
      .array(visitorSchema)
      .openapi({ description: "Visitors from whom the email was left, and another one too: not counted, and found by their anon_id." }),
    counts: z.object({ conversations: z.int(), messages: z.int(), leads: z.int(), handoffs: z.int() }),
  })
  .openapi("PrivacyFound");

export const erasedSchema = z
  .object({
    audit_id: uuid(),
    erased_at: timestamp(),
    deleted: z
      .record(z.string(), z.int())
      .openapi({ description: "How many records of each kind were erased.", example: { conversations: 3, messages: 14 } }),
  })
  .openapi("PrivacyErased");

export const exportSchema = z
  .object({
    identifier: identifierSchema,
    exported_at: timestamp(),
    visitors: z.array(visitorSchema),
    conversations: z.array(
      conversationSchema.extend({
        handoffs: z.array(z.unknown()),
        feedback: z.array(feedbackSchema),
        messages: z.array(messageSchema),
        notes: z.array(messageSchema),
      }),
    ),
    leads: z.array(z.unknown()),
  })
  .openapi("PrivacyExport");
