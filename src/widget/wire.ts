import { z } from "@hono/zod-openapi";
import { attachmentIds, uploadSchema } from "../attachments/wire.ts";
import {
  AGENT_STATUSES,
  type BusinessHours,
  CONVERSATION_STATUSES,
  HANDOFF_SETTINGS,
  MESSAGE_ROLES,
  VISITOR_CHANNELS,
} from "../platform/db/columns.ts";
import { type AgentRow } from "../agents/wire.ts";
import { handoffMessageOf, ownWelcome, welcomeMessageOf } from "../agents/messages.ts";
import { appearanceSchema, contactFormSchema, languagesSchema, toWidgetSettings, WIDGET_DESCRIPTIONS } from "../agents/widget-wire.ts";
import { chatAnswerSchema, clientToolsField, endUserSchema, streamField } from "../chat/wire.ts";
import { type ConversationRow, handoffSchema, messageSchema, toMessage } from "../conversations/wire.ts";
import type { CustomFields } from "../leads/wire.ts";
import type { messages } from "../platform/db/schema.ts";
import { emailAddress, personName, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { addProblem, valueErrorParams } from "../platform/http/validation.ts";
import { openingFields, toOpening } from "../workspaces/business-hours-wire.ts";
import { REDACTED } from "../redaction/fields.ts";

const MAX_TOKEN_LENGTH = 200;
/** A signed identity has a few hundred characters. */
const MAX_IDENTITY_TOKEN_LENGTH = 4096;

const visitorToken = () =>
  z
    .string()
    .max(MAX_TOKEN_LENGTH)
    .nullable()
    .optional()
    .meta({ description: "The token from the last answer; leave it out of the first request." });

/** The length of the longest token of Turnstile. */
const MAX_TURNSTILE_TOKEN_LENGTH = 2048;

const turnstileToken = () =>
  z
    .string()
    .max(MAX_TURNSTILE_TOKEN_LENGTH)
    .nullable()
    .optional()
    .meta({ description: "Required for agents with a turnstile_site_key, in requests without a visitor_token." });

// --- The agent -------------------------------------------------------------------------------------------------------

export const settingsSchema = z
  .object({
    id: uuid(),
    name: z.string().meta({ description: "The name that visitors see.", example: "Acme support" }),
    status: z.enum(AGENT_STATUSES).meta({ description: "A paused agent answers no questions." }),
    language: z.string().meta({ description: "The language of its texts, as a BCP 47 tag.", example: "en" }),
    welcome_message: z
      .string()
      .meta({ description: "The message that visitors read before they write.", example: "Hello! How can we help?" }),
    is_default_welcome: z
      .boolean()
      .meta({ description: "Whether the welcome message is the default one. The chat then shows it in the visitor's language." }),
    handoff_message: z.string().meta({ description: "The message that visitors read when a human is needed." }),
    turnstile_site_key: z
      .string()
      .nullable()
      .meta({ description: "The public key of the Turnstile widget to solve before the first message; null if there is none." }),
    appearance: appearanceSchema.meta({ description: WIDGET_DESCRIPTIONS.appearance }),
    contact_form: contactFormSchema.nullable().meta({ description: WIDGET_DESCRIPTIONS.contact_form }),
    languages: languagesSchema,
    handoff: z.enum(HANDOFF_SETTINGS).meta({ description: "`off` if the agent never hands a conversation to a human." }),
    ...openingFields,
  })
  .openapi("WidgetSettings");

export function toSettings(agent: AgentRow, hours: BusinessHours, nowMs: number): z.infer<typeof settingsSchema> {
  const { id, name, status, language, handoff, turnstileSiteKey: turnstile_site_key } = agent;
  const { appearance, contact_form, languages } = toWidgetSettings(agent);
  return {
    id,
    name,
    status,
    language,
    welcome_message: welcomeMessageOf(agent),
    is_default_welcome: ownWelcome(agent) === undefined,
    handoff_message: handoffMessageOf(agent),
    turnstile_site_key,
    appearance,
    contact_form,
    languages,
    handoff,
    ...toOpening(hours, nowMs),
  };
}

// --- Messages --------------------------------------------------------------------------------------------------------

export const messageInSchema = z
  .object({
    message: z
      .string()
      .min(1)
      .max(2000)
      .meta({ ...REDACTED, description: "The question." }),
    conversation_id: uuid().nullable().optional().meta({ description: "Continues a conversation; omit to start a new one." }),
    visitor_token: visitorToken(),
    turnstile_token: turnstileToken(),
    identity_token: z
      .string()
      .max(MAX_IDENTITY_TOKEN_LENGTH)
      .nullable()
      .optional()
      .meta({ description: "A JWT that identifies the visitor. Your backend signs it with the agent's identity secret." }),
    user_hash: z
      .string()
      .max(128)
      .nullable()
      .optional()
      .meta({ description: "Hex HMAC-SHA256 of user.id with the agent's identity secret." }),
    user: endUserSchema.nullable().meta({ description: "The visitor, whose id `user_hash` proves." }).optional(),
    channel: z.enum(VISITOR_CHANNELS).default("widget").meta({ description: "The channel on which the visitor writes." }),
    client_tools: clientToolsField("By default none."),
    attachments: attachmentIds(),
    stream: streamField(),
  })
  .superRefine((body, ctx) => {
    const missing = { code: "custom" as const, params: { type: "missing" } };
    if (body.user && !body.user_hash) ctx.addIssue({ ...missing, path: ["user_hash"] });
    if (body.user_hash && !body.user) ctx.addIssue({ ...missing, path: ["user"] });
    if (body.user_hash && body.identity_token) {
      addProblem(ctx, "send identity_token or user_hash, not both", "user_hash");
    }
  })
  .openapi("VisitorMessageIn", { example: { message: "How long do refunds take?" } });

export type MessageIn = z.output<typeof messageInSchema>;

export const attachmentInSchema = uploadSchema
  .extend({ visitor_token: visitorToken(), turnstile_token: turnstileToken() })
  .openapi("VisitorAttachmentUpload", { example: { file: "receipt.png" } });

export type AttachmentIn = z.output<typeof attachmentInSchema>;

export const visitorAnswerSchema = chatAnswerSchema
  .extend({
    visitor_token: z.string().meta({ description: "The token to send with the visitor's next request. Keep it in their browser." }),
    anon_id: z.string().meta({ description: "The id of the visitor within the workspace." }),
  })
  .openapi("VisitorAnswer");

export type VisitorAnswer = z.infer<typeof visitorAnswerSchema>;

/** A conversation in a visitor's list. */
const pastConversationSchema = z
  .object({
    id: uuid(),
    status: z
      .enum(CONVERSATION_STATUSES)
      .meta({ description: "The status, which shows whether the agent or the team has the conversation, or whether it is resolved." }),
    last_message_preview: z.string().nullable().meta({ description: "The beginning of the latest message." }),
    last_message_at: timestamp().meta({ description: "The time of the latest message." }),
    created_at: timestamp(),
  })
  .openapi("PastConversation");

export const pastConversationsSchema = z
  .object({ data: z.array(pastConversationSchema).meta({ description: "The conversations, newest first." }) })
  .openapi("PastConversations");

export function toPastConversation(row: ConversationRow): z.infer<typeof pastConversationSchema> {
  return toRecord(pastConversationSchema, row, {});
}

/** A message as visitors read it. */
const visitorMessageSchema = messageSchema.omit({ agent_version: true }).extend({
  role: z
    .enum(MESSAGE_ROLES)
    .meta({ description: "The author: `user` is the visitor, `assistant` the agent, `human` the team and `system` the service." }),
});

/** Returns the wire record of a message for visitors. They see neither the version of the agent nor the id of a member of the team. */
export function toVisitorMessage(row: typeof messages.$inferSelect): z.infer<typeof visitorMessageSchema> {
  const { agent_version: _version, ...message } = toMessage(row);
  const author = row.authorType === "member" ? { ...message.author, id: null } : message.author;
  return { ...message, author, role: row.role };
}

export const pollSchema = z
  .object({
    data: z.array(visitorMessageSchema).meta({ description: "The messages, oldest first." }),
    status: z.enum(CONVERSATION_STATUSES).meta({ description: "The status of the conversation." }),
    ...openingFields,
  })
  .openapi("NewMessages");

// --- Hand-off, rating, lead ------------------------------------------------------------------------------------------

export const handoffAnswerSchema = z
  .object({
    handoff: handoffSchema
      .nullable()
      .meta({ description: "The hand-off; null if the team already has the conversation, or if the agent hands nothing off." }),
    status: z.enum(CONVERSATION_STATUSES).meta({ description: "The status of the conversation." }),
    handoff_message: z
      .string()
      .meta({ description: "The message that the visitor reads.", example: "A colleague will take it from here." }),
  })
  .openapi("HandoffAnswer");

export const csatInSchema = z
  .object({
    score: z.int().gte(1).lte(5).meta({ description: "The score from 1 to 5. 5 is the best." }),
    comment: z
      .string()
      .max(2000)
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "The visitor's comment." }),
  })
  .openapi("CsatIn", { example: { score: 5, comment: "Quick and clear." } });

const MAX_CUSTOM_FIELDS = 50;
const MAX_FIELD_NAME_LENGTH = 64;
/** The whole lead is sent as an event, which must stay below 64 KB. */
const MAX_CUSTOM_FIELDS_BYTES = 8 * 1024;
/** No phone number has fewer digits. */
const MIN_PHONE_DIGITS = 3;

const customFieldsSchema = z
  .record(
    z.string(),
    z
      .custom<CustomFields[string]>(
        (value) => value === null || ["string", "number", "boolean"].includes(typeof value),
        valueErrorParams("use a string, a number, a boolean or null"),
      )
      .meta({ type: ["string", "number", "boolean", "null"] }),
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
    name: personName()
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "Their name." }),
    email: emailAddress().max(320).nullable().optional().meta({ description: "Their email address." }),
    phone: z
      .string()
      .max(40)
      .refine(
        (phone) => (phone.match(/\p{Nd}/gu) ?? []).length >= MIN_PHONE_DIGITS,
        valueErrorParams(`use a phone number with at least ${MIN_PHONE_DIGITS} digits`),
      )
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "Their phone number." }),
    message: z
      .string()
      .max(4000)
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "Their message." }),
    custom_fields: customFieldsSchema
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "Further fields of your form, by name." }),
    conversation_id: uuid().nullable().optional().meta({ description: "The conversation in which it is left." }),
    visitor_token: visitorToken(),
    turnstile_token: turnstileToken(),
    source_url: z
      .string()
      .max(2048)
      .refine(isWebUrl, valueErrorParams("use an http or https URL"))
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "The URL of the page on which it is left." }),
  })
  .refine(({ email, phone }) => Boolean(email ?? phone), valueErrorParams("give an email address or a phone number"))
  .openapi("LeadIn", { example: { name: "Ann Lee", email: "ann@example.com", message: "Please call me about the team plan." } });

export type LeadIn = z.output<typeof leadInSchema>;
