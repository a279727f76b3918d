import { createRoute, z } from "@hono/zod-openapi";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { timestamp, toTimestampOrNull, uuid } from "../platform/http/fields.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { SECRET_KINDS, WALKED_TABLES, type WalkPosition, walkSecrets, type WalkStep } from "./reencryption.ts";

const BEGINNING: WalkPosition = { shard: 0, table: WALKED_TABLES[0], after: "" };
const MAX_CURSOR_LENGTH = 100;
/** Shard, table and the row that the step comes after: an identifier, or a row's number. */
const CURSOR = /^(\d{1,3})\.([a-z_]+)\.([0-9a-f-]*)$/;

/** Where a step begins: `cursor`, or the beginning of all. */
const walkQuery = z.object({
  cursor: z
    .string()
    .max(MAX_CURSOR_LENGTH)
    .optional()
    .transform((text, ctx): WalkPosition => {
      if (text === undefined) return BEGINNING;
      const position = readCursor(text);
      if (position) return position;
      ctx.addIssue({ code: "custom", input: text, ...valueErrorParams("use the next_cursor of the step before, unchanged") });
      return z.NEVER;
    })
    .openapi({ type: "string", description: "The next_cursor of the step before." }),
});

const countsSchema = z.object({ current: z.int(), outdated: z.int(), reencrypted: z.int(), unreadable: z.int() });

const outdatedKeySchema = z.object({
  id: uuid(),
  workspace_id: uuid(),
  name: z.string(),
  prefix: z.string(),
  last_used_at: timestamp().nullable(),
});

/** What one step through the secrets found. */
const walkStepSchema = z.object({
  secrets: z.object(
    Object.fromEntries(SECRET_KINDS.map((kind) => [kind, countsSchema])) as Record<keyof WalkStep["secrets"], typeof countsSchema>,
  ),
  api_keys: z.object({ current: z.int(), outdated: z.array(outdatedKeySchema) }),
  keep_until: timestamp().nullable(),
  next_cursor: z.string().nullable(),
});

/** The record of a step. */
function toWalkStep({ secrets, apiKeys, keepUntilMs, next }: WalkStep): z.infer<typeof walkStepSchema> {
  const outdated = apiKeys.outdated.map(({ id, workspaceId, name, prefix, outdatedUseAt }) => {
    return { id, workspace_id: workspaceId, name, prefix, last_used_at: toTimestampOrNull(outdatedUseAt) };
  });
  return {
    secrets,
    api_keys: { current: apiKeys.current, outdated },
    keep_until: toTimestampOrNull(keepUntilMs),
    next_cursor: next && `${next.shard}.${next.table}.${next.after}`,
  };
}

function readCursor(text: string): WalkPosition | undefined {
  const [, shard, named, after] = CURSOR.exec(text) ?? [];
  const table = WALKED_TABLES.find((one) => one === named);
  return table && { shard: Number(shard), table, after: after! };
}

export const secretRoutes = createRouter();

const check = createRoute({
  operationId: "checkSecrets",
  method: "get",
  path: "/secrets",
  request: { query: walkQuery },
  responses: { 200: jsonResponse(walkStepSchema, "What a step found; the whole is the sum of all steps."), ...errorResponses(404, 422) },
});

secretRoutes.openapi(check, async (c) => c.json(await step(c, c.req.valid("query").cursor, false), 200));

const reencrypt = createRoute({
  operationId: "reencryptSecrets",
  method: "post",
  path: "/secrets/reencrypt",
  request: { query: walkQuery },
  responses: { 200: jsonResponse(walkStepSchema, "What a step found and encrypted anew."), ...errorResponses(404, 422) },
});

secretRoutes.openapi(reencrypt, async (c) => c.json(await step(c, c.req.valid("query").cursor, true), 200));

/** One step, from where the caller is. */
async function step(c: AppContext, position: WalkPosition, renews: boolean) {
  const made = await walkSecrets({ env: c.env, meter: c.get("meter"), nowMs: Date.now() }, position, renews);
  if (!made)
    throw new ApiError(
      "not_found",
      "No database is bound under the number that this cursor begins with, and no workspace is known there. Begin anew without a cursor.",
    );
  return toWalkStep(made);
}
