import { z } from "@hono/zod-openapi";
import type { listAudit } from "../administration/operator-audit-store.ts";
import { PLAN_NAMES, type Retention } from "../platform/db/columns.ts";
import type { workspaces } from "../platform/db/schema.ts";
import { filledText, slug, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { type Region, REGIONS } from "../platform/db/regions.ts";
import { type Limits, limitsOf } from "../workspaces/plans.ts";
import { RETENTION_BOUNDS, retentionOf } from "../workspaces/retention.ts";
import { limitsSchema, toUsage, usageSchema } from "../workspaces/wire.ts";

/** The highest value of a limit. */
const MAX_LIMIT = 1_000_000_000;

const name = () => filledText(120).meta({ description: "The name of the workspace.", example: "Acme" });
const plan = () => z.enum(PLAN_NAMES).meta({ description: "The plan, which sets the limits: see Limits in the guides." });

// --- Workspaces ------------------------------------------------------------------------------------------------------

const RETENTION_DESCRIPTIONS: Record<keyof Retention, string> = {
  conversations_days: "Conversations are deleted this many days after their last activity; null keeps them.",
  leads_days: "Leads are deleted after this many days; null keeps them.",
  event_log_days: "Events and their deliveries are deleted after this many days.",
};

const kept = (field: keyof Retention) => z.int().meta({ description: RETENTION_DESCRIPTIONS[field] });

const retentionSchema = z
  .object({
    conversations_days: kept("conversations_days").nullable(),
    leads_days: kept("leads_days").nullable(),
    event_log_days: kept("event_log_days"),
  })
  .openapi("Retention");

const DESCRIPTIONS = {
  limit_overrides: "The limits that replace the plan's, by name. The value null restores the plan's limit.",
  retention: "How long records are kept. The value null restores the default.",
};

export const workspaceSchema = z
  .object({
    id: uuid(),
    name: z.string().meta({ description: "The name of the workspace.", example: "Acme" }),
    slug: z.string().meta({ description: "The short name of the workspace, unique in the deployment.", example: "acme" }),
    plan: plan(),
    region: z.enum(REGIONS).nullable().meta({ description: "The region of its data; null if the operator named none." }),
    limits: limitsSchema.meta({ description: "The limits that apply: those of the plan, with the overrides." }),
    limit_overrides: limitsSchema.partial().meta({ description: "The limits that replace the plan's." }),
    retention: retentionSchema.meta({ description: "How long records are kept." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Workspace");

export const workspacePageSchema = pageOf(workspaceSchema, "WorkspacePage");

/** Returns the schema of a limit in a request. The value null restores the plan's limit. */
function limitInput(field: z.ZodInt | z.ZodBoolean) {
  const given = field instanceof z.ZodBoolean ? z.boolean() : z.int().gte(0).lte(MAX_LIMIT);
  return given.nullable().meta({ description: field.description });
}

const limitsInput = z
  .object(
    Object.fromEntries(Object.entries(limitsSchema.shape).map(([name, field]) => [name, limitInput(field)])) as {
      [Name in keyof Limits]: z.ZodNullable<Limits[Name] extends boolean ? z.ZodBoolean : z.ZodInt>;
    },
  )
  .partial()
  .meta({ description: DESCRIPTIONS.limit_overrides });

const days = (name: keyof Retention) =>
  z.int().gte(RETENTION_BOUNDS[name].min).lte(RETENTION_BOUNDS[name].max).nullable().meta({ description: RETENTION_DESCRIPTIONS[name] });

const retentionInput = z
  .object({
    conversations_days: days("conversations_days"),
    leads_days: days("leads_days"),
    event_log_days: days("event_log_days"),
  })
  .partial()
  .meta({ description: DESCRIPTIONS.retention });

export const workspaceCreateSchema = z
  .object({
    name: name(),
    slug: slug().meta({ description: "The short name of the workspace, unique in the deployment." }),
    plan: plan().default("free"),
    region: z
      .enum(REGIONS)
      .optional()
      .meta({ description: "The region of its data, which cannot change later: see Databases in the guides." }),
    limits: limitsInput.optional(),
    retention: retentionInput.optional(),
  })
  .openapi("WorkspaceCreate", { example: { name: "Acme", slug: "acme", plan: "pro", limits: { requests_per_minute: 600 } } });

export const workspaceUpdateSchema = z
  .object({ name: name(), plan: plan(), limits: limitsInput, retention: retentionInput })
  .partial()
  .openapi("WorkspaceUpdate", {
    description: "Fields that are left out stay unchanged.",
    example: { plan: "enterprise", limits: { requests_per_minute: null }, retention: { conversations_days: 365 } },
  });

export type WorkspaceRow = typeof workspaces.$inferSelect;

/** Returns the wire record of a workspace. */
export function toWorkspace(row: WorkspaceRow, region: Region | undefined): z.infer<typeof workspaceSchema> {
  const limits = limitsOf(row.plan, row.limits);
  return toRecord(workspaceSchema, row, {
    region: region ?? null,
    limits,
    limit_overrides: row.limits,
    retention: retentionOf(row.retention),
  });
}

// --- Usage -----------------------------------------------------------------------------------------------------------

const PERIOD = /^\d{4}-(?:0[1-9]|1[0-2])$/;

export const periodQuery = z.object({
  period: z
    .string()
    .refine((text) => PERIOD.test(text), valueErrorParams("use a month such as 2026-01"))
    .optional()
    .meta({ description: "A calendar month in UTC. By default it is the current month.", pattern: PERIOD.source }),
});

export const workspaceUsageSchema = usageSchema
  .extend({
    workspace: z
      .object({
        id: uuid(),
        name: z.string().meta({ description: "The name of the workspace.", example: "Acme" }),
        slug: z.string().meta({ description: "The short name of the workspace.", example: "acme" }),
      })
      .meta({ description: "The workspace." }),
  })
  .openapi("WorkspaceUsage", { description: "`usage.messages` counts the messages of the period. All other values are current." });

export const workspaceUsagePageSchema = pageOf(workspaceUsageSchema, "WorkspaceUsagePage");

/** Returns the wire record of a workspace's usage in a period. */
export function toWorkspaceUsage(
  { workspace, usage }: { workspace: WorkspaceRow; usage: z.infer<typeof usageSchema>["usage"] },
  period: string,
): z.infer<typeof workspaceUsageSchema> {
  const { id, name, slug, plan, limits } = workspace;
  return { workspace: { id, name, slug }, ...toUsage(plan, limitsOf(plan, limits), usage, Date.parse(`${period}-01T00:00:00Z`)) };
}

// --- The audit log ---------------------------------------------------------------------------------------------------

export const auditEntrySchema = z
  .object({
    id: uuid(),
    actor: z.string().meta({ description: "The fingerprint of the operator's token.", example: "token/1f0c9a2b3c4d5e6f" }),
    operation: z.string().meta({ description: "The operationId of the operation.", example: "createAgent" }),
    workspace_id: uuid().nullable().meta({ description: "The workspace; null for an operation on all of them." }),
    workspace_name: z
      .string()
      .nullable()
      .meta({ description: "The present name of the workspace; null if it is erased.", example: "Acme" }),
    target_id: uuid().nullable().meta({ description: "The agent or key; null if the operation changed neither." }),
    target_name: z
      .string()
      .nullable()
      .meta({ description: "The present name of the agent or key; null if it is deleted.", example: "Support" }),
    fields: z.array(z.string()).meta({ description: "The names of the fields that were sent, without their values.", example: ["name"] }),
    request_id: uuid().meta({ description: "The X-Request-Id of the response." }),
    created_at: timestamp(),
  })
  .openapi("AuditEntry");

/** Returns the wire record of an entry of the audit log. */
export function toAuditEntry(row: Awaited<ReturnType<typeof listAudit>[0]>[number]): z.infer<typeof auditEntrySchema> {
  return toRecord(auditEntrySchema, row, {});
}
