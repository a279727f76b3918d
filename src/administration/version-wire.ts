import { z } from "@hono/zod-openapi";
import { handoffMessageOf, welcomeMessageOf } from "../agents/messages.ts";
import { toTool } from "../agents/tool-wire.ts";
import { differencesOf, DRAFT, fieldOf, OPERATOR, VERSIONED, type VersionedField } from "../agents/versions.ts";
import type { AgentRow } from "../agents/wire.ts";
import type { VersionSettings } from "../platform/db/columns.ts";
import type { agentVersions } from "../platform/db/schema.ts";
import { timestamp, toRecord, toTimestamp } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { agentSettingsSchema, agentUpdateSchema } from "./wire.ts";

const VERSIONED_FIELDS = Object.fromEntries(VERSIONED.map((name) => [fieldOf(name), true])) as Record<VersionedField, true>;

const fieldSchema = agentSettingsSchema.pick(VERSIONED_FIELDS).keyof();

const shareSchema = () =>
  z
    .custom<number>((value) => typeof value === "number" && value >= 0 && value <= 1, valueErrorParams("use a number from 0 to 1"))
    .meta({ type: "number", description: "The share of new conversations that gets the version, from 0 to 1.", example: 0.2 });

export const versionSchema = z
  .object({
    number: z.int().nullable().meta({ description: "The number of the version, from 1; null for the draft.", example: 3 }),
    status: z.enum(["draft", "published", "rolling_out", "superseded"]).meta({
      description:
        "`published` for the version that answers, `rolling_out` for one that a share of new conversations gets, `superseded` for the others.",
    }),
    share: z
      .number()
      .nullable()
      .meta({ description: "The share of new conversations that gets it while it is rolled out; otherwise null.", example: null }),
    note: z.string().nullable().meta({ description: "What its author wrote about it.", example: "Shorter answers" }),
    author: z
      .object({
        type: z.enum(["member", "key", "operator"]).meta({ description: "Whether a member, an API key or the operator made it." }),
        id: z.string().nullable().meta({ description: "The id of the member or key; null for the operator." }),
        name: z.string().nullable().meta({ description: "The name of the member or key; null for the operator.", example: "Backend" }),
      })
      .nullable()
      .meta({ description: "Who made it; null if it is older than versions, and for a draft without changes." }),
    base: z
      .int()
      .nullable()
      .meta({ description: "The version that was published when this one was made; null for the first.", example: 2 }),
    changed_fields: z
      .array(fieldSchema)
      .meta({ description: "The settings in which it differs from that version.", example: ["instructions"] }),
    created_at: timestamp()
      .nullable()
      .meta({ description: "When it was made, or the draft last changed; null for a draft without changes." }),
  })
  .openapi("AgentVersion");

export const versionPageSchema = pageOf(versionSchema, "AgentVersionPage");

export const versionWithSettingsSchema = versionSchema
  .extend({
    settings: agentSettingsSchema.pick(VERSIONED_FIELDS).meta({ description: "All settings of the version." }),
    differences: z
      .array(
        z.object({
          field: fieldSchema.meta({ description: "The setting." }),
          before: z.unknown().meta({ description: "Its value in the version `base`." }),
          after: z.unknown().meta({ description: "Its value in this version." }),
        }),
      )
      .nullable()
      .meta({ description: "How its settings differ from those of the version `base`; null if that is not kept any more." }),
  })
  .openapi("AgentVersionWithSettings");

export const draftUpdateSchema = agentUpdateSchema.pick(VERSIONED_FIELDS).openapi("AgentDraftUpdate", {
  description: "Fields that are left out stay unchanged.",
  example: { confidence_threshold: 0.7, instructions: "Answer in one sentence." },
});

const noteSchema = () => z.string().min(1).max(500).nullable().default(null).meta({ description: "What has changed, for your team." });

export const publishSchema = z
  .object({
    note: noteSchema(),
    rollout: shareSchema().nullable().default(null).meta({
      description:
        "The share of new conversations that gets the version, from 0 to 1. It replaces a version that is rolled out already. Leave it out to publish the version to everybody.",
    }),
  })
  .openapi("AgentPublication", { example: { note: "Shorter answers", rollout: 0.2 } });

export const restoreSchema = z
  .object({ note: noteSchema() })
  .openapi("AgentRestoration", { example: { note: "The new instructions were too long" } });

export const rolloutSchema = z
  .object({
    share: shareSchema().optional(),
    end: z.enum(["keep", "drop"]).optional().meta({
      description: "`keep` publishes the version to everybody, `drop` gives all conversations back to the published version.",
    }),
  })
  .refine(({ share, end }) => (share === undefined) !== (end === undefined), valueErrorParams("send either share or end"))
  .openapi("AgentRollout", { example: { share: 0.5 } });

const MAX_NUMBER_LENGTH = 9;

/** The number of a version in a path. */
export const versionNumber = () =>
  z
    .string()
    .regex(new RegExp(`^[1-9][0-9]{0,${MAX_NUMBER_LENGTH - 1}}$`), "write the number of a version")
    .transform(Number)
    .meta({ type: "string", description: "The number of the version.", example: "1" });

/** The number of a version in a path, or `draft`. */
export const versionRef = () =>
  z
    .string()
    .regex(new RegExp(`^(?:draft|[1-9][0-9]{0,${MAX_NUMBER_LENGTH - 1}})$`), "write the number of a version, or draft")
    .transform((text) => (text === "draft" ? DRAFT : Number(text)))
    .meta({ type: "string", description: "The number of the version, or `draft`.", example: "1" });

type Summary = Omit<typeof agentVersions.$inferSelect, "settings" | "id" | "workspaceId" | "agentId"> & {
  keyName: string | null;
  memberName: string | null;
};

/** The columns of an agent that say which versions answer. */
type Published = Pick<AgentRow, "version" | "rolloutVersion" | "rolloutShare">;

/** The wire record of a version. */
export function toVersion(row: Summary, agent: Published): z.infer<typeof versionSchema> {
  const isRollingOut = row.number === agent.rolloutVersion;
  const status = isRollingOut ? "rolling_out" : row.number === agent.version ? "published" : "superseded";
  return toRecord(versionSchema, row, {
    status,
    share: isRollingOut ? agent.rolloutShare : null,
    author: authorOf(row),
    changed_fields: row.changed.map(fieldOf),
  });
}

type WithSettings = Summary & { settings: Partial<VersionSettings> };

/** The wire record of a version with its settings, and of the settings of the version on which it is based, if that is kept. */
export function toVersionWithSettings(
  row: WithSettings & { baseSettings: Partial<VersionSettings> | null },
  agent: Published,
): z.infer<typeof versionWithSettingsSchema> {
  const [settings, base] = [row.settings as VersionSettings, row.baseSettings as VersionSettings | null];
  return { ...toVersion(row, agent), settings: toSettings(settings), differences: base && differences(base, settings) };
}

/** The wire record of the draft. @param row undefined if nothing has been changed since the last publication. */
export function toDraft(row: WithSettings | undefined, agent: AgentRow): z.infer<typeof versionWithSettingsSchema> {
  const settings = { ...agent, ...row?.settings };
  const found = differences(agent, settings);
  return {
    number: null,
    status: "draft",
    share: null,
    note: null,
    author: row ? authorOf(row) : null,
    base: agent.version,
    changed_fields: found.map(({ field }) => field),
    created_at: row ? toTimestamp(row.createdAt) : null,
    settings: toSettings(settings),
    differences: found,
  };
}

function authorOf({ author, keyName, memberName }: Summary): z.infer<typeof versionSchema>["author"] {
  if (author === null) return null;
  if (author === OPERATOR) return { type: "operator", id: null, name: null };
  return memberName === null ? { type: "key", id: author, name: keyName } : { type: "member", id: author, name: memberName };
}

function toSettings(settings: VersionSettings): z.infer<typeof versionWithSettingsSchema>["settings"] {
  const record = Object.fromEntries(VERSIONED.map((name) => [fieldOf(name), valueOf(settings, name)]));
  return record as z.infer<typeof versionWithSettingsSchema>["settings"];
}

function differences(before: VersionSettings, after: VersionSettings) {
  return differencesOf(before, after).map((name) => ({ field: fieldOf(name), before: valueOf(before, name), after: valueOf(after, name) }));
}

/** The value of a setting in the API, which never shows the header values of tools. */
function valueOf(settings: VersionSettings, name: keyof VersionSettings): unknown {
  switch (name) {
    case "tools":
      return settings.tools.map(toTool);
    case "welcomeMessage":
      return welcomeMessageOf(settings);
    case "handoffMessage":
      return handoffMessageOf(settings);
    default:
      return settings[name];
  }
}
