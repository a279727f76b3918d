import { z } from "@hono/zod-openapi";
import { ANSWER_DESCRIPTIONS, answerFields } from "../agents/settings-wire.ts";
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
import { filledText, slug, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { ALL_SCOPES, expandScopes, SCOPES } from "../workspaces/scopes.ts";

const MAX_INACTIVITY_MINUTES = 60 * 24 * 365;

const longText = () => z.string().max(8000);

/** Patterns such as https://*.example.com are refused: no browser's Origin header would equal them. */
const isOrigin = (value: string) => value === "*" || (!value.includes("*") && URL.canParse(value) && new URL(value).origin === value);

// --- Agents ----------------------------------------------------------------------------------------------------------

const DESCRIPTIONS = {
  ...ANSWER_DESCRIPTIONS,
  inactivity_minutes: "The number of minutes without a message after which an answered conversation is resolved.",
  tools: "Requests to your API, and tools of MCP servers, that the model may call while it answers.",
  allowed_origins:
    "The websites whose browsers may use the agent, such as https://www.example.com; * for all of them, an empty list for none but the hosted page.",
  email_address: "The agent's mailbox: what arrives there is answered by mail. Only the operator sets one; null removes it.",
  turnstile: "The Turnstile widget that visitors solve before their first message and with a lead; null for none.",
};

const agentFields = z.object({
  name: filledText(120).meta({ description: "What your team and visitors call it." }),
  slug: slug().meta({
    description: "A short name, unique in the workspace. Made from the name where it is left out.",
  }),
  description: z.string().max(2000).nullable().meta({ description: "What it is for, for your team." }),
  language: z.string().min(2).max(35).meta({
    description: "A BCP 47 tag, such as en or pt-BR: the language of the texts that you do not set. Answers are in the visitor's.",
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
  email_address: z.email().max(320).toLowerCase().nullable().meta({ description: DESCRIPTIONS.email_address }),
  turnstile: z
    .object({
      site_key: z
        .string()
        .regex(/^[\w-]{1,100}$/, "copy it from the widget's page in Cloudflare's dashboard")
        .meta({ description: "The widget's public key." }),
      secret: z.string().min(1).max(200).meta({ description: "Its secret key, which is never shown again." }),
    })
    .nullable()
    .meta({ description: DESCRIPTIONS.turnstile }),
  ...widgetFields,
});

export const agentUpdateSchema = agentFields.partial().openapi("AgentUpdate", {
  description: "Fields that are left out stay unchanged.",
  example: { confidence_threshold: 0.6, instructions: "Answer in two sentences at most." },
});

export const agentCreateSchema = agentFields
  .partial()
  .required({ name: true })
  .openapi("AgentCreate", { example: { name: "Acme support", language: "en", instructions: "Be brief and friendly." } });

/** What only its administrators see of an agent, besides what `agentSchema` has. */
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
  hosted_page: hostedPageSchema.meta({ description: WIDGET_DESCRIPTIONS.hosted_page }),
};

/** An agent with all its settings, but without secrets. */
export const agentSettingsSchema = agentSchema.extend(settings).openapi("AgentSettings");

/** An agent as a key with `agents:read` sees it. */
export const readableAgentSchema = agentSchema
  .extend(z.object(settings).partial().shape)
  .openapi("Agent", { description: "The fields from instructions on are there for keys that carry agents:write too." });

export const agentPageSchema = pageOf(readableAgentSchema, "AgentPage");
export const agentSettingsPageSchema = pageOf(agentSettingsSchema, "AgentSettingsPage");

export const identityRotateSchema = z
  .object({
    revoke: z
      .boolean()
      .default(false)
      .meta({ description: "Whether the previous secret and the tokens of the agent's visitors end at once, as after a leak." }),
  })
  .openapi("IdentitySecretRotation", { example: { revoke: false } });

export const identitySecretSchema = z
  .object({
    secret: z.string().meta({ description: "Signs visitors' identities. Shown here and never again.", example: "Zk3vQ0pA…" }),
    previous_valid_until: timestamp()
      .nullable()
      .meta({ description: "Until then the previous secret is valid too; null if there is none." }),
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
  });
}

// --- Keys ------------------------------------------------------------------------------------------------------------

export const keySchema = z
  .object({
    id: uuid(),
    name: z.string().meta({ description: "What it is used for.", example: "Backend" }),
    prefix: z.string().meta({ description: "The key's first 16 characters, to recognize it by.", example: "sk_live_Zk3vQ0pA" }),
    scopes: z.array(z.enum(SCOPES)).meta({ description: "What it may do." }),
    created_at: timestamp(),
    revoked_at: timestamp().nullable().meta({ description: "Since when it is refused; null while it is valid." }),
  })
  .openapi("Key");

export const newKeySchema = keySchema
  .extend({ key: z.string().meta({ description: "The API key. Shown here and never again.", example: "sk_live_Zk3vQ0pA…" }) })
  .openapi("NewKey");

export const keyPageSchema = pageOf(keySchema, "KeyPage");

export const keyCreateSchema = z
  .object({
    name: filledText(120).meta({ description: "What it will be used for." }),
    scopes: z
      .array(z.enum([...SCOPES, ALL_SCOPES]))
      .min(1)
      .max(SCOPES.length)
      .meta({ description: "What it may do; * for everything, scopes of later versions included." }),
  })
  .openapi("KeyCreate", { example: { name: "Backend", scopes: ["agents:read", "chat:write"] } });

/** A key without the key itself. */
export function toKey(row: typeof apiKeys.$inferSelect): z.infer<typeof keySchema> {
  return toRecord(keySchema, row, { scopes: expandScopes(row.scopes) });
}
