import { createRoute } from "@hono/zod-openapi";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { errorResponses, jsonResponse } from "../http/responses.ts";
import { createRouter } from "../http/router.ts";
import { type WalkPosition, walkSecrets } from "./reencryption.ts";
import { toWalkStep, walkQuery, walkStepSchema } from "./secret-wire.ts";

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
