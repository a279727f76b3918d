import { z } from "@hono/zod-openapi";
import { ANSWER_DESCRIPTIONS, answerFields } from "../agents/settings-wire.ts";
import { handoffFields } from "../agents/handoff-wire.ts";
import { toolSchema, toolsInputSchema, toTool } from "../agents/tool-wire.ts";
import {
  appearanceSchema,
  contactFormSchema,
  hostedPageSchema,
  languagesSchema,
  toWidgetSettings,
  WIDGET_DESCRIPTIONS,
  widgetFields,
} from "../agents/widget-wire.ts";
import { type AgentRow, agentSchema, toAgent } from "../agents/wire.ts";
import { AGENT_STATUSES } from "../platform/db/columns.ts";
import type { apiKeys } from "../platform/db/schema.ts";
import { emailAddress, filledText, slug, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { ALL_SCOPES, expandScopes, SCOPES } from "../workspaces/scopes.ts";

const MAX_INACTIVITY_MINUTES = 60 * 24 * 365;

const longText = () => z.string().max(8000);

/** Patterns such as https://*.example.com are refused, because no browser sends an Origin header that equals them. */
const isOrigin = (value: string) => value === "*" || (!value.includes("*") && URL.canParse(value) && new URL(value).origin === value);

// --- Agents ----------------------------------------------------------------------------------------------------------

const DESCRIPTIONS = {
  ...ANSWER_DESCRIPTIONS,
  inactivity_minutes:
    "The number of minutes without a message after which an answered conversation is resolved. A change applies to a conversation from its next message on.",
  tools: "Requests to your API, and tools of MCP servers, that the model may call while it answers.",
  allowed_origins:
    "The websites whose browsers may use the agent, such as https://www.example.com; * for all websites, an empty list for the hosted page only.",
  email_address:
    "The address of the agent's mailbox. The agent answers the mails that arrive there. Only the operator can set it; null removes it.",
  turnstile:
    "The Turnstile widget that visitors solve before their first message and before they leave contact details; null if there is none.",
};

const agentFields = z.object({
  name: filledText(120).meta({ description: "The name of the agent, which your team and visitors see." }),
  slug: slug().meta({
    description: "A short name, unique in the workspace. The default is made from the name.",
  }),
  description: z.string().max(2000).nullable().meta({ description: "A note for your team about the purpose of the agent." }),
  language: z.string().min(2).max(35).meta({
    description:
      "The language of the texts that you do not set, as a BCP 47 tag such as en or pt-BR. Answers are in the visitor's language.",
  }),
  welcome_message: longText().meta({ description: "What visitors read before they write." }),
  handoff_message: longText()
    .min(1)
    .meta({ description: "What visitors read when a human is needed, for every reason and in every language." }),
  inactivity_minutes: z.int().gte(1).lte(MAX_INACTIVITY_MINUTES).meta({ description: DESCRIPTIONS.inactivity_minutes }),
  status: z.enum(AGENT_STATUSES).meta({ description: "A paused agent answers no questions." }),
  ...answerFields,
  tools: toolsInputSchema.meta({ description: DESCRIPTIONS.tools }),
  allowed_origins: z
    .array(z.string().refine(isOrigin, valueErrorParams("use an origin such as https://www.example.com, or *")))
    .max(50)
    .meta({ description: DESCRIPTIONS.allowed_origins }),
  email_address: emailAddress().max(320).toLowerCase().nullable().meta({ description: DESCRIPTIONS.email_address }),
  turnstile: z
    .object({
      site_key: z
        .string()
        .regex(/^[\w-]{1,100}$/, "copy it from the widget's page in Cloudflare's dashboard")
        .meta({ description: "The widget's public key." }),
      secret: z.string().min(1).max(200).meta({ description: "The widget's secret key, which is never shown again." }),
    })
    .nullable()
    .meta({ description: DESCRIPTIONS.turnstile }),
  ...widgetFields,
  ...handoffFields,
});

export const agentUpdateSchema = agentFields.partial().openapi("AgentUpdate", {
  description: "Fields that are left out stay unchanged.",
  example: { confidence_threshold: 0.6, instructions: "Answer in two sentences at most." },
});

export const agentCreateSchema = agentFields
  .partial()
  .required({ name: true })
  .openapi("AgentCreate", { example: { name: "Acme support", language: "en", instructions: "Be brief and friendly." } });

/** The fields of an agent that only administrators see, in addition to those of `agentSchema`. */
const settings = {
  instructions: z.string().nullable().meta({ description: DESCRIPTIONS.instructions, example: "Be brief and friendly." }),
  inactivity_minutes: z.int().meta({ description: DESCRIPTIONS.inactivity_minutes, example: 1440 }),
  model: z.string().nullable().meta({ description: DESCRIPTIONS.model }),
  tools: z.array(toolSchema).meta({ description: DESCRIPTIONS.tools }),
  allowed_origins: z.array(z.string()).meta({ description: DESCRIPTIONS.allowed_origins, example: ["https://www.example.com"] }),
  email_address: z.string().nullable().meta({ description: DESCRIPTIONS.email_address }),
  turnstile: z
    .object({ site_key: z.string().meta({ description: "The widget's public key." }) })
    .nullable()
    .meta({ description: DESCRIPTIONS.turnstile }),
  has_identity_secret: z.boolean().meta({ description: "Whether your website can verify visitors with a secret of the agent." }),
  appearance: appearanceSchema.meta({ description: WIDGET_DESCRIPTIONS.appearance }),
  contact_form: contactFormSchema.nullable().meta({ description: WIDGET_DESCRIPTIONS.contact_form }),
  languages: languagesSchema,
  ...handoffFields,
  hosted_page: hostedPageSchema.meta({ description: WIDGET_DESCRIPTIONS.hosted_page }),
  version: z.int().meta({ description: "The number of the published version.", example: 3 }),
  rollout: z
    .object({
      version: z.int().meta({ description: "The number of the version.", example: 4 }),
      share: z.number().meta({ description: "The share of new conversations that gets it.", example: 0.2 }),
    })
    .nullable()
    .meta({ description: "The version that is rolled out to a share of new conversations; null if there is none.", example: null }),
};

/** An agent with all its settings, but without secrets. */
export const agentSettingsSchema = agentSchema.extend(settings).openapi("AgentSettings");

/** An agent as a key with `agents:read` sees it. */
export const readableAgentSchema = agentSchema.extend(z.object(settings).partial().shape).openapi("Agent", {
  description: "The field instructions and those after it are returned only to keys that also have the scope agents:write.",
});

export const agentPageSchema = pageOf(readableAgentSchema, "AgentPage");
export const agentSettingsPageSchema = pageOf(agentSettingsSchema, "AgentSettingsPage");

export const identityRotateSchema = z
  .object({
    revoke: z.boolean().default(false).meta({
      description: "Whether the previous secret and all tokens of the agent's visitors become invalid at once. Use it after a leak.",
    }),
  })
  .openapi("IdentitySecretRotation", { example: { revoke: false } });

export const identitySecretSchema = z
  .object({
    secret: z.string().meta({ description: "The secret that signs visitors' identities. It is shown only here.", example: "Zk3vQ0pA…" }),
    previous_valid_until: timestamp().nullable().meta({ description: "When the previous secret becomes invalid; null if there is none." }),
  })
  .openapi("IdentitySecret");

/** An agent with all its settings. */
export function toAgentSettings(row: AgentRow): z.infer<typeof agentSettingsSchema> {
  return toRecord(agentSettingsSchema, row, {
    ...toAgent(row),
    ...toWidgetSettings(row),
    tools: row.tools.map(toTool),
    turnstile: row.turnstileSiteKey === null ? null : { site_key: row.turnstileSiteKey },
    has_identity_secret: row.identitySecret !== null,
    rollout: row.rolloutVersion === null ? null : { version: row.rolloutVersion, share: row.rolloutShare ?? 0 },
  });
}

// --- Keys ------------------------------------------------------------------------------------------------------------

export const keySchema = z
  .object({
    id: uuid(),
    name: z.string().meta({ description: "The purpose of the key.", example: "Backend" }),
    prefix: z
      .string()
      .meta({ description: "The first 16 characters of the key, by which you can recognize it.", example: "sk_live_Zk3vQ0pA" }),
    scopes: z.array(z.enum(SCOPES)).meta({ description: "The scopes of the key." }),
    created_at: timestamp(),
    revoked_at: timestamp().nullable().meta({ description: "When the key was revoked; null while it is valid." }),
  })
  .openapi("Key");

export const newKeySchema = keySchema
  .extend({ key: z.string().meta({ description: "The API key. It is shown only here.", example: "sk_live_Zk3vQ0pA…" }) })
  .openapi("NewKey");

export const keyPageSchema = pageOf(keySchema, "KeyPage");

export const keyCreateSchema = z
  .object({
    name: filledText(120).meta({ description: "The purpose of the key." }),
    scopes: z
      .array(z.enum([...SCOPES, ALL_SCOPES]))
      .min(1)
      .max(SCOPES.length)
      .meta({ description: "The scopes of the key; * for all scopes, including those of later versions." }),
  })
  .openapi("KeyCreate", { example: { name: "Backend", scopes: ["agents:read", "chat:write"] } });

/** A key without the key itself. */
export function toKey(row: typeof apiKeys.$inferSelect): z.infer<typeof keySchema> {
  return toRecord(keySchema, row, { scopes: expandScopes(row.scopes) });
}
