import { z } from "@hono/zod-openapi";
import type { CsvColumns } from "../platform/http/csv.ts";
import { agentRef, timeQuery, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { cursorPageOf, cursorQuery } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import type { LeadRow } from "./leads.ts";

const customFieldSchema = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** The custom fields of a contact form, by name. */
export type CustomFields = Record<string, z.infer<typeof customFieldSchema>>;

export const leadSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    conversation_id: uuid().nullable().meta({ description: "The conversation in which the lead was left." }),
    visitor_id: uuid().nullable().meta({ description: "The visitor who left the lead." }),
    name: z.string().nullable().meta({ description: "Their name.", example: "Ann Lee" }),
    email: z.string().nullable().meta({ description: "Their email address.", example: "ann@example.com" }),
    phone: z.string().nullable().meta({ description: "Their phone number.", example: "+44 20 7946 0123" }),
    message: z.string().nullable().meta({ description: "Their message.", example: "Please call me about the team plan." }),
    custom_fields: z
      .record(z.string(), customFieldSchema)
      .meta({ description: "Further fields of the form, by name.", example: { company: "Acme", seats: 12 } }),
    source_url: z
      .string()
      .nullable()
      .meta({ description: "The URL of the page on which the lead was left.", example: "https://www.example.com/pricing" }),
    created_at: timestamp(),
  })
  .openapi("Lead");

export const leadPageSchema = cursorPageOf(leadSchema, "LeadPage");

export const leadQuery = cursorQuery
  .extend({
    agent_id: agentRef().optional(),
    q: z.string().max(200).optional().meta({
      description:
        "Only leads with this text in their name, email, phone or custom fields. Case does not matter, and a phone number is also found by its digits alone.",
      example: "ann@",
    }),
    created_since: timeQuery().optional().meta({ description: "Only leads left at or after this time." }),
    // It has no example: samples send all parameters that have one, and `q` does.
    visitor_id: uuid().optional().meta({ description: "Only leads of this visitor. It cannot be combined with `q`.", example: undefined }),
  })
  .refine(({ q, visitor_id: visitorId }) => !q || visitorId === undefined, {
    ...valueErrorParams("send either q or visitor_id"),
    path: ["visitor_id"],
  });

/** Returns the wire record of a lead. */
export function toLead(row: LeadRow): z.infer<typeof leadSchema> {
  return toRecord(leadSchema, row, { custom_fields: row.customFields as CustomFields });
}

/** A lead as a row of CSV. */
export const leadColumns: CsvColumns<z.infer<typeof leadSchema>> = {
  id: ({ id }) => id,
  created_at: ({ created_at: createdAt }) => createdAt,
  name: ({ name }) => name,
  email: ({ email }) => email,
  phone: ({ phone }) => phone,
  message: ({ message }) => message,
  custom_fields: ({ custom_fields: fields }) => (Object.keys(fields).length === 0 ? null : JSON.stringify(fields)),
  source_url: ({ source_url: url }) => url,
  agent_id: ({ agent_id: agentId }) => agentId,
  conversation_id: ({ conversation_id: conversationId }) => conversationId,
};
