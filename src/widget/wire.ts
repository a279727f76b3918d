import { z } from "@hono/zod-openapi";
import { AGENT_STATUSES, CONVERSATION_STATUSES, MESSAGE_ROLES } from "../platform/db/columns.ts";
import { type AgentRow } from "../agents/wire.ts";
import { handoffMessageOf, welcomeMessageOf } from "../agents/messages.ts";
import { appearanceSchema, contactFormSchema, languagesSchema, toWidgetSettings } from "../agents/widget-wire.ts";
import { chatAnswerSchema, endUserSchema, streamField } from "../chat/wire.ts";
import { type ConversationRow, handoffSchema, messageSchema, toMessage } from "../conversations/wire.ts";
import type { CustomFields } from "../leads/wire.ts";
import type { messages } from "../platform/db/schema.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { VISITOR_CHANNELS } from "./store.ts";

const MAX_TOKEN_LENGTH = 200;
/** A signed identity has a few hundred characters. */
const MAX_IDENTITY_TOKEN_LENGTH = 4096;

const visitorToken = () =>
  z
    .string()
    .max(MAX_TOKEN_LENGTH)
    .nullable()
    .optional()
    .openapi({ description: "The one of the last answer; leave it out the first time." });

/** A token has at most so many characters. */
const MAX_TURNSTILE_TOKEN_LENGTH = 2048;

const turnstileToken = () =>
  z
    .string()
    .max(MAX_TURNSTILE_TOKEN_LENGTH)
    .nullable()
    .optional()
    .openapi({ description: "For agents with a turnstile_site_key, where there is no visitor_token." });

// --- The agent -------------------------------------------------------------------------------------------------------

export const settingsSchema = z.object({
  id: uuid(),
  name: z.string(),
  status: z.enum(AGENT_STATUSES),
  language: z.string(),
  welcome_message: z.string(),
  handoff_message: z.string(),
  turnstile_site_key: z.string().nullable(),
  appearance: appearanceSchema,
  contact_form: contactFormSchema.nullable(),
  languages: languagesSchema,
});

export function toSettings(agent: AgentRow): z.infer<typeof settingsSchema> {
  const { id, name, status, language, turnstileSiteKey: turnstile_site_key } = agent;
  const { appearance, contact_form, languages } = toWidgetSettings(agent);
  return {
    id,
    name,
    status,
    language,
    welcome_message: welcomeMessageOf(agent),
    handoff_message: handoffMessageOf(agent),
    turnstile_site_key,
    appearance,
    contact_form,
    languages,
  };
}

// --- Messages --------------------------------------------------------------------------------------------------------

export const messageInSchema = z
  .object({
    message: z.string().min(1).max(2000),
    conversation_id: uuid().nullable().optional(),
    visitor_token: visitorToken(),
    turnstile_token: turnstileToken(),
    identity_token: z.string().max(MAX_IDENTITY_TOKEN_LENGTH).nullable().optional(),
    user_hash: z.string().max(128).nullable().optional(),
    user: endUserSchema.nullable().optional(),
    channel: z.enum(VISITOR_CHANNELS).default("widget"),
    stream: streamField(),
  })
  .superRefine((body, ctx) => {
    const missing = { code: "custom" as const, params: { type: "missing" } };
    if (body.user && !body.user_hash) ctx.addIssue({ ...missing, path: ["user_hash"] });
    if (body.user_hash && !body.user) ctx.addIssue({ ...missing, path: ["user"] });
    if (body.user_hash && body.identity_token) {
      ctx.addIssue({ code: "custom", path: ["user_hash"], ...valueErrorParams("send identity_token or user_hash, not both") });
    }
  });

export type MessageIn = z.output<typeof messageInSchema>;

export const visitorAnswerSchema = chatAnswerSchema.extend({ visitor_token: z.string(), anon_id: z.string() });

export type VisitorAnswer = z.infer<typeof visitorAnswerSchema>;

/** How a visitor's list shows a conversation. */
const pastConversationSchema = z.object({
  id: uuid(),
  status: z.enum(CONVERSATION_STATUSES),
  last_message_preview: z.string().nullable(),
  last_message_at: timestamp(),
  created_at: timestamp(),
});

export const pastConversationsSchema = z.object({ data: z.array(pastConversationSchema) });

export function toPastConversation(row: ConversationRow): z.infer<typeof pastConversationSchema> {
  return toRecord(pastConversationSchema, row, {});
}

/** A message as visitors read it. */
const visitorMessageSchema = messageSchema.extend({ role: z.enum(MESSAGE_ROLES) });

/** The wire record of a message for visitors, who learn the name of a member of the team, and nothing else of them. */
export function toVisitorMessage(row: typeof messages.$inferSelect): z.infer<typeof visitorMessageSchema> {
  const message = toMessage(row);
  const author = row.authorType === "member" ? { ...message.author, id: null } : message.author;
  return { ...message, author, role: row.role };
}

export const pollSchema = z.object({ data: z.array(visitorMessageSchema), status: z.enum(CONVERSATION_STATUSES) });

// --- Hand-off, rating, lead ------------------------------------------------------------------------------------------

export const handoffAnswerSchema = z.object({
  handoff: handoffSchema.nullable(),
  status: z.enum(CONVERSATION_STATUSES),
  handoff_message: z.string(),
});

export const csatInSchema = z.object({ score: z.int().gte(1).lte(5), comment: z.string().max(2000).nullable().optional() });

export const csatSchema = z.object({ score: z.int(), comment: z.string().nullable() });

const MAX_CUSTOM_FIELDS = 50;
const MAX_FIELD_NAME_LENGTH = 64;
/** The whole lead is sent as an event, which must stay below 64 KB. */
const MAX_CUSTOM_FIELDS_BYTES = 8 * 1024;
/** No phone number anywhere has fewer. */
const MIN_PHONE_DIGITS = 3;

const customFieldsSchema = z
  .record(
    z.string(),
    z.custom<CustomFields[string]>(
      (value) => value === null || ["string", "number", "boolean"].includes(typeof value),
      valueErrorParams("use a string, a number, a boolean or null"),
    ),
  )
  .refine((fields) => Object.keys(fields).length <= MAX_CUSTOM_FIELDS, valueErrorParams(`send at most ${MAX_CUSTOM_FIELDS} fields`))
  .refine(
    (fields) => Object.keys(fields).every((name) => name !== "" && Array.from(name).length <= MAX_FIELD_NAME_LENGTH),
    valueErrorParams(`use names of 1 to ${MAX_FIELD_NAME_LENGTH} characters`),
  )
  .refine(
    (fields) => new TextEncoder().encode(JSON.stringify(fields)).length <= MAX_CUSTOM_FIELDS_BYTES,
    valueErrorParams(`send at most ${MAX_CUSTOM_FIELDS_BYTES.toLocaleString("en")} bytes of JSON`),
  );

const isWebUrl = (value: string) => URL.canParse(value) && ["https:", "http:"].includes(new URL(value).protocol);

export const leadInSchema = z
  .object({
    name: z.string().max(120).nullable().optional(),
    email: z.email().max(320).nullable().optional(),
    phone: z
      .string()
      .max(40)
      .refine(
        (phone) => (phone.match(/\p{Nd}/gu) ?? []).length >= MIN_PHONE_DIGITS,
        valueErrorParams(`use a phone number with at least ${MIN_PHONE_DIGITS} digits`),
      )
      .nullable()
      .optional(),
    message: z.string().max(4000).nullable().optional(),
    custom_fields: customFieldsSchema.nullable().optional(),
    conversation_id: uuid().nullable().optional(),
    visitor_token: visitorToken(),
    turnstile_token: turnstileToken(),
    source_url: z.string().max(2048).refine(isWebUrl, valueErrorParams("use an http or https URL")).nullable().optional(),
  })
  .refine(({ email, phone }) => Boolean(email ?? phone), valueErrorParams("give an email address or a phone number"));

export type LeadIn = z.output<typeof leadInSchema>;
