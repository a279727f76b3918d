import { z } from "@hono/zod-openapi";
import { traceSchema } from "../chat/trace-wire.ts";
import type { PersonIdentifier } from "../conversations/persons.ts";
import { conversationSchema, feedbackSchema, messageSchema, visitorSchema } from "../conversations/wire.ts";
import { approvalSchema } from "../conversations/approval-wire.ts";
import { storedDraftSchema } from "../knowledge/wire.ts";
import { MEMBER_ROLES, MEMBER_STATUSES } from "../platform/db/columns.ts";
import type { members } from "../platform/db/schema.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { normalizeEmail } from "../platform/text.ts";

const TYPES = ["email", "anon_id", "external_id"] as const;

/** The id of a user or an address, with a prefix for the channel. */
const MAX_ANON_ID = 330;

/** Exactly one of the identifiers. */
export const personQuery = z
  .object({
    email: z
      .string()
      .min(1)
      .max(320)
      // With a space, nothing would be found, and the caller would believe that the person was erased.
      .refine((email) => !/\s/.test(email), valueErrorParams("an address has no spaces: write a plus sign as %2B"))
      .optional()
      .meta({ description: "The email of a visitor or of a contact form, in upper or lower case.", example: "ann@example.com" }),
    anon_id: z
      .string()
      .min(1)
      .max(MAX_ANON_ID)
      .optional()
      .meta({ description: "The visitor's id in the widget. For a user of the API, it is `api:` and the user's id." }),
    external_id: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({ description: "The id of a verified visitor, or the `user.id` of a question over the API." }),
  })
  .refine((query) => TYPES.filter((type) => query[type] !== undefined).length === 1, {
    ...valueErrorParams("pass exactly one of email, anon_id and external_id"),
    when: () => true,
  });

/** Returns the identifier that a valid query names. */
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
        conversations: z.int().meta({ description: "The number of conversations." }),
        messages: z.int().meta({ description: "The number of messages in them, of all authors." }),
        leads: z.int().meta({ description: "The number of leads." }),
        handoffs: z.int().meta({ description: "The number of hand-offs." }),
      })
      .meta({ description: "The numbers of the person's records." }),
  })
  .openapi("PrivacyFound");

export const erasedSchema = z
  .object({
    audit_id: uuid().meta({ description: "The id of the erasure in the audit log." }),
    erased_at: timestamp().meta({ description: "When the records were erased." }),
    deleted: z
      .record(z.string(), z.int())
      .meta({ description: "How many records of each kind were erased.", example: { conversations: 3, messages: 14 } }),
  })
  .openapi("PrivacyErased");

const exportedMemberSchema = z.object({
  id: uuid(),
  name: z.string().meta({ description: "The name." }),
  email: z.string().meta({ description: "The email address." }),
  role: z.enum(MEMBER_ROLES).meta({ description: "The role." }),
  status: z.enum(MEMBER_STATUSES).meta({ description: "The status." }),
  created_at: timestamp(),
});

/** The wire record of a person who is or was a member of the team. */
export function toPersonAsMember(row: typeof members.$inferSelect): z.infer<typeof exportedMemberSchema> {
  return toRecord(exportedMemberSchema, row, {});
}

export const exportSchema = z
  .object({
    identifier: identifierSchema.meta({ description: "The identifier of the person." }),
    exported_at: timestamp().meta({ description: "When the export was made." }),
    members: z.array(exportedMemberSchema).meta({ description: "The member of the team who has this email address." }),
    visitors: z.array(visitorSchema).meta({ description: "The visitors who are this person." }),
    conversations: z
      .array(
        conversationSchema.extend({
          handoffs: z.array(z.unknown()).meta({ description: "Its hand-offs, oldest first." }),
          feedback: z.array(feedbackSchema).meta({ description: "The ratings of its answers." }),
          drafts: z.array(storedDraftSchema).meta({ description: "The drafts of curated answers that were made from its replies." }),
          approvals: z.array(approvalSchema).meta({ description: "The tool calls that the team was asked to approve." }),
          messages: z.array(messageSchema).meta({ description: "Its messages, oldest first." }),
          notes: z.array(messageSchema).meta({ description: "The team's notes on it, oldest first." }),
          traces: z.array(traceSchema).meta({ description: "The traces of its answers of the last 30 days, oldest first." }),
        }),
      )
      .meta({ description: "The person's conversations with all messages." }),
    leads: z.array(z.unknown()).meta({ description: "The leads that the person left." }),
  })
  .openapi("PrivacyExport");
