import { createRoute, z } from "@hono/zod-openapi";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { timestamp, toTimestampOrNull, uuid } from "../platform/http/fields.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import type { Auditor } from "../administration/operator-audit-store.ts";
import { auditorOf } from "./auth.ts";
import { SECRET_KINDS, SCANNED_TABLES, type ScanPosition, scanSecrets, type ScanStep } from "./reencryption.ts";

const START: ScanPosition = { database: 0, table: SCANNED_TABLES[0], after: "" };
const MAX_CURSOR_LENGTH = 100;
/** A cursor names the database, the table, and the row after which the step starts: an identifier or a row number. */
const CURSOR = /^(\d{1,3})\.([a-z_]+)\.([0-9a-f-]*)$/;

const scanQuery = z.object({
  cursor: z
    .string()
    .max(MAX_CURSOR_LENGTH)
    .optional()
    .transform((text, ctx): ScanPosition => {
      if (text === undefined) return START;
      const position = readCursor(text);
      if (position) return position;
      ctx.addIssue({ code: "custom", input: text, ...valueErrorParams("use the next_cursor of the previous step, unchanged") });
      return z.NEVER;
    })
    .meta({ type: "string", description: "The next_cursor of the previous step." }),
});

const countsSchema = z
  .object({
    current: z.int().meta({ description: "Encrypted with the current key." }),
    outdated: z.int().meta({ description: "Encrypted with an older key that the deployment has." }),
    reencrypted: z.int().meta({ description: "Encrypted again by this request." }),
    unreadable: z.int().meta({ description: "Encrypted with a key that the deployment lacks." }),
  })
  .openapi("SecretCounts");

const outdatedKeySchema = z.object({
  id: uuid(),
  workspace_id: uuid(),
  name: z.string().meta({ description: "The purpose of the key." }),
  prefix: z.string().meta({ description: "The key's first 16 characters." }),
  last_used_at: timestamp()
    .nullable()
    .meta({ description: "When the key was last used after KEY_SECRET was replaced, to the hour; null if it was not used since then." }),
});

const scanStepSchema = z
  .object({
    secrets: z
      .object(
        Object.fromEntries(SECRET_KINDS.map((kind) => [kind, countsSchema.meta({ description: `The counts of ${kind}.` })])) as Record<
          keyof ScanStep["secrets"],
          typeof countsSchema
        >,
      )
      .meta({ description: "Stored secrets by their kind." }),
    api_keys: z
      .object({
        current: z.int().meta({ description: "Signed with the current KEY_SECRET." }),
        outdated: z.array(outdatedKeySchema).meta({ description: "Signed with an older KEY_SECRET." }),
      })
      .meta({ description: "API keys that are not revoked." }),
    keep_until: timestamp()
      .nullable()
      .meta({ description: "The time until which the older keys are needed; null if they are not needed." }),
    next_cursor: z.string().nullable().meta({ description: "The cursor of the next step; null after the last one." }),
  })
  .openapi("SecretScan");

function toScanStep({ secrets, apiKeys, keepUntilMs, next }: ScanStep): z.infer<typeof scanStepSchema> {
  const outdated = apiKeys.outdated.map(({ id, workspaceId, name, prefix, outdatedUseAt }) => {
    return { id, workspace_id: workspaceId, name, prefix, last_used_at: toTimestampOrNull(outdatedUseAt) };
  });
  return {
    secrets,
    api_keys: { current: apiKeys.current, outdated },
    keep_until: toTimestampOrNull(keepUntilMs),
    next_cursor: next && `${next.database}.${next.table}.${next.after}`,
  };
}

function readCursor(text: string): ScanPosition | undefined {
  const [, database, named, after] = CURSOR.exec(text) ?? [];
  const table = SCANNED_TABLES.find((one) => one === named);
  return table && { database: Number(database), table, after: after! };
}

export const secretRoutes = createStrictRouter("Secrets");

const check = createRoute({
  operationId: "checkSecrets",
  method: "get",
  path: "/secrets",
  summary: "Count stored secrets by the key that encrypts them",
  request: { query: scanQuery },
  responses: { 200: jsonResponse(scanStepSchema, "The result of one step; add up all steps for the total."), ...errorResponses(404, 422) },
});

secretRoutes.openapi(check, async (c) => c.json(await scanStep(c, c.req.valid("query").cursor), 200));

const reencrypt = createRoute({
  operationId: "reencryptSecrets",
  method: "post",
  path: "/secrets/reencrypt",
  summary: "Encrypt stored secrets with the current key",
  request: { query: scanQuery },
  responses: {
    200: jsonResponse(scanStepSchema, "The result of one step, with the number of secrets that it reencrypted."),
    ...errorResponses(404, 422),
  },
});

secretRoutes.openapi(reencrypt, async (c) => c.json(await scanStep(c, c.req.valid("query").cursor, auditorOf(c, reencrypt)), 200));

async function scanStep(c: AppContext, position: ScanPosition, reencryptsFor?: Auditor) {
  const result = await scanSecrets(c.env, c.get("meter"), position, reencryptsFor);
  if (!result) throw new ApiError("not_found", "No database has the number in this cursor. Start again without a cursor.");
  return toScanStep(result);
}
