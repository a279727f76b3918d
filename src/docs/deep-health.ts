import { requireHealthReader } from "../operator/auth.ts";
import { toHealth } from "../operator/health-wire.ts";
import { readHealth } from "../operator/health.ts";
import { runChecks } from "../platform/http/checks.ts";
import type { AppContext } from "../platform/http/context.ts";
import { requireConfig } from "../workspaces/checks.ts";

/**
 * Answers `GET /healthz?deep=1`: the record of `GET /operator/v1/health`, with 503 if anything is not ok, for monitors that read only the
 * status code. The plain health check does not load this file.
 */
export async function answerDeepHealth(c: AppContext): Promise<Response> {
  await runChecks(c, [requireConfig, requireHealthReader]);
  const nowMs = Date.now();
  const health = await readHealth(c.env, c.get("meter"), nowMs);
  return c.json(toHealth(health, nowMs), health.isOk ? 200 : 503);
}
