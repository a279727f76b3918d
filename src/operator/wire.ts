import { z } from "@hono/zod-openapi";
import { toolSchema, toolsInputSchema, toTool } from "../agents/tool-wire.ts";
import {
  appearanceSchema,
  contactFormSchema,
  hostedPageSchema,
  languagesSchema,
  toWidgetSettings,
  widgetFields,
} from "../agents/widget-wire.ts";
import { type AgentRow, agentSchema, toAgent } from "../agents/wire.ts";
import { AGENT_STATUSES, PLAN_NAMES, type Retention } from "../platform/db/columns.ts";
import type { apiKeys, operatorAudit, workspaces } from "../platform/db/schema.ts";
import { slug, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { type Region, REGIONS } from "../platform/db/regions.ts";
import { limitsOf } from "../workspaces/plans.ts";
import { RETENTION_BOUNDS, retentionOf } from "../workspaces/retention.ts";
import { ALL_SCOPES, expandScopes, SCOPES } from "../workspaces/scopes.ts";
import { limitsSchema } from "../workspaces/wire.ts";

/** The highest value of a limit. */
const MAX_LIMIT = 1_000_000_000;
const MAX_INACTIVITY_MINUTES = 60 * 24 * 365;

const name = () => z.string().min(1).max(120);
const longText = () => z.string().max(8000);
/** Null restores the default. */
const days = (name: keyof Retention) => z.int().gte(RETENTION_BOUNDS[name].min).lte(RETENTION_BOUNDS[name].max).nullable();
const limit = () => z.int().gte(0).lte(MAX_LIMIT).nullable();

// --- Workspaces ------------------------------------------------------------------------------------------------------

const retentionSchema = z.object({
  conversations_days: z.int().nullable(),
  leads_days: z.int().nullable(),
  event_log_days: z.int(),
});

export const workspaceSchema = z.object({
  id: uuid(),
  name: z.string(),
  slug: z.string(),
  plan: z.enum(PLAN_NAMES),
  /** Null where the operator named none. */
  region: z.enum(REGIONS).nullable(),
  limits: limitsSchema,
  limit_overrides: limitsSchema.partial(),
  retention: retentionSchema,
  created_at: timestamp(),
  updated_at: timestamp(),
});

export const workspacePageSchema = pageOf(workspaceSchema, "WorkspacePage");

export const workspaceCreateSchema = z.object({
  name: name(),
  slug: slug(),
  plan: z.enum(PLAN_NAMES).default("free"),
  region: z.enum(REGIONS).optional(),
});

export const workspaceUpdateSchema = z.object({
  name: name().optional(),
  plan: z.enum(PLAN_NAMES).optional(),
  limits: z
    .object({
      requests_per_minute: limit(),
      messages: limit(),
      messages_per_conversation: limit(),
      visitor_messages_per_day: limit(),
      leads_per_day: limit(),
      team_messages_per_day: limit(),
      agents: limit(),
      api_keys: limit(),
      sources: limit(),
      max_pages: limit(),
      answers_per_agent: limit(),
      knowledge_mb_per_agent: limit(),
      webhooks: z.boolean().nullable(),
    })
    .partial()
    .optional(),
  retention: z
    .object({
      conversations_days: days("conversations_days"),
      leads_days: days("leads_days"),
      event_log_days: days("event_log_days"),
    })
    .partial()
    .optional(),
});

type WorkspaceRow = typeof workspaces.$inferSelect;

/** A workspace as the operator sees it. */
export function toWorkspace(row: WorkspaceRow, region: Region | undefined): z.infer<typeof workspaceSchema> {
  const limits = limitsOf(row.plan, row.limits);
  return toRecord(workspaceSchema, row, {
    region: region ?? null,
    limits,
    limit_overrides: row.limits,
    retention: retentionOf(row.retention),
  });
}

// --- Keys ------------------------------------------------------------------------------------------------------------

export const keySchema = z.object({
  id: uuid(),
  name: z.string(),
  prefix: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  created_at: timestamp(),
  revoked_at: timestamp().nullable(),
});

export const newKeySchema = keySchema.extend({ key: z.string() });

export const keyPageSchema = pageOf(keySchema, "KeyPage");

export const keyCreateSchema = z.object({
  name: name(),
  scopes: z
    .array(z.enum([...SCOPES, ALL_SCOPES]))
    .min(1)
    .max(SCOPES.length),
});

type KeyRow = typeof apiKeys.$inferSelect;

/** A key as the operator sees it, without the key itself. */
export function toKey(row: KeyRow): z.infer<typeof keySchema> {
  return toRecord(keySchema, row, { scopes: expandScopes(row.scopes) });
}

// --- Agents ----------------------------------------------------------------------------------------------------------

const isFraction = (value: unknown) => typeof value === "number" && value >= 0 && value <= 1;
/** Patterns such as https://*.example.com are refused: no browser's Origin header would equal them. */
const isOrigin = (value: string) => value === "*" || (!value.includes("*") && URL.canParse(value) && new URL(value).origin === value);

const agentFields = z.object({
  name: name(),
  slug: slug(),
  description: z.string().max(2000).nullable(),
  language: z.string().min(2).max(35).openapi({ description: "A BCP 47 tag." }),
  instructions: z.string().max(20_000).nullable(),
  welcome_message: longText(),
  handoff_message: longText().min(1),
  confidence_threshold: z.custom<number>(isFraction, valueErrorParams("use a number from 0 to 1")).openapi({ type: "number" }),
  inactivity_minutes: z.int().gte(1).lte(MAX_INACTIVITY_MINUTES),
  status: z.enum(AGENT_STATUSES),
  model: z.string().min(1).max(200).nullable(),
  tools: toolsInputSchema,
  allowed_origins: z.array(z.string().refine(isOrigin, valueErrorParams("use an origin such as https://www.example.com, or *"))).max(50),
  email_address: z.email().max(320).toLowerCase().nullable(),
  turnstile: z
    .object({ site_key: z.string().regex(/^[\w-]{1,100}$/), secret: z.string().min(1).max(200) })
    .nullable()
    .openapi({ description: "The keys of a Turnstile widget that visitors solve before their first message and with a lead." }),
  ...widgetFields,
});

export const agentUpdateSchema = agentFields.partial();
export const agentCreateSchema = agentUpdateSchema.required({ name: true });

/** An agent as the operator sees it: with its prompt and settings, but without secrets. */
export const operatorAgentSchema = agentSchema.extend({
  instructions: z.string().nullable(),
  inactivity_minutes: z.int(),
  model: z.string().nullable(),
  tools: z.array(toolSchema),
  allowed_origins: z.array(z.string()),
  email_address: z.string().nullable(),
  turnstile: z.object({ site_key: z.string() }).nullable(),
  has_identity_secret: z.boolean(),
  appearance: appearanceSchema,
  contact_form: contactFormSchema.nullable(),
  languages: languagesSchema,
  hosted_page: hostedPageSchema,
});

export const operatorAgentPageSchema = pageOf(operatorAgentSchema, "OperatorAgentPage");

export const identityRotateSchema = z.object({ revoke: z.boolean().default(false) });

export const identitySecretSchema = z.object({ secret: z.string(), previous_valid_until: timestamp().nullable() });

export function toOperatorAgent(row: AgentRow): z.infer<typeof operatorAgentSchema> {
  return toRecord(operatorAgentSchema, row, {
    ...toAgent(row),
    ...toWidgetSettings(row),
    tools: row.tools.map(toTool),
    turnstile: row.turnstileSiteKey === null ? null : { site_key: row.turnstileSiteKey },
    has_identity_secret: row.identitySecret !== null,
  });
}

// --- The audit log ---------------------------------------------------------------------------------------------------

export const auditEntrySchema = z.object({
  id: uuid(),
  actor: z.string(),
  operation: z.string(),
  workspace_id: uuid().nullable(),
  target_id: uuid().nullable(),
  fields: z.array(z.string()),
  request_id: uuid(),
  created_at: timestamp(),
});

/** An entry of the audit log. */
export function toAuditEntry(row: typeof operatorAudit.$inferSelect): z.infer<typeof auditEntrySchema> {
  return toRecord(auditEntrySchema, row, {});
}
