import { createRoute, z } from "@hono/zod-openapi";
import { timestamp, toTimestamp, toTimestampOrNull, uuid } from "../platform/http/fields.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { WORK_KINDS } from "./health-store.ts";
import { FAULTY_PARTS, type Health, QUEUE_NAMES, readHealth } from "./health.ts";

const healthSchema = z.object({
  status: z.enum(["ok", "degraded"]).openapi({ description: "degraded: at least one entry below is not `ok`." }),
  checked_at: timestamp(),
  databases: z.array(z.object({ shard: z.int(), ok: z.boolean(), duration_ms: z.int() })),
  queues: z.array(
    z.object({
      queue: z.enum(QUEUE_NAMES),
      ok: z.boolean(),
      messages: z.int().nullable().openapi({ description: "Null if the platform does not report it." }),
      allowed_messages: z.int().nullable(),
      oldest_message_at: timestamp().nullable(),
    }),
  ),
  work: z.array(
    z.object({
      kind: z.enum(WORK_KINDS),
      ok: z.boolean(),
      waiting: z.int().openapi({ description: "At most 1,000 are counted in each database." }),
      oldest: z.object({ id: uuid(), workspace_id: uuid(), since: timestamp(), age_seconds: z.int() }).nullable(),
      allowed_seconds: z.int().nullable(),
    }),
  ),
  faults: z.array(
    z.object({
      part: z.enum(FAULTY_PARTS),
      error: z.string(),
      ok: z.boolean(),
      count: z.int(),
      since: timestamp(),
      remedy: z.string(),
    }),
  ),
});

/** The deployment's health on the wire. */
function toHealth({ isOk, databases, queues, work, faults }: Health, nowMs: number): z.infer<typeof healthSchema> {
  return {
    status: isOk ? "ok" : "degraded",
    checked_at: toTimestamp(nowMs),
    databases: databases.map((one) => ({ shard: one.shard, ok: one.found !== undefined, duration_ms: one.durationMs })),
    queues: queues.map(({ queue, backlog, allowedMessages, isOk: ok }) => {
      const oldest = toTimestampOrNull(backlog?.oldestAtMs ?? null);
      return { queue, ok, messages: backlog?.messages ?? null, allowed_messages: allowedMessages, oldest_message_at: oldest };
    }),
    work: work.map(({ kind, count, oldest, ageMs, allowedMs, isOk: ok }) => {
      const longest = oldest && {
        id: oldest.id!,
        workspace_id: oldest.workspaceId!,
        since: toTimestamp(oldest.sinceMs!),
        age_seconds: Math.floor(ageMs / 1000),
      };
      return { kind, ok, waiting: count, oldest: longest ?? null, allowed_seconds: allowedMs === null ? null : allowedMs / 1000 };
    }),
    faults: faults.map(({ part, error, isOk: ok, count, sinceMs, remedy }) => ({
      part,
      error,
      ok,
      count,
      since: toTimestamp(sinceMs),
      remedy,
    })),
  };
}

export const healthRoutes = createRouter();

const get = createRoute({
  operationId: "getHealth",
  method: "get",
  path: "/health",
  responses: {
    ...errorResponses(),
    200: jsonResponse(healthSchema, "All databases respond."),
    503: jsonResponse(healthSchema, "A database could not be reached; the others are reported."),
  },
});

healthRoutes.openapi(get, async (c) => {
  const nowMs = Date.now();
  const health = await readHealth(c.env, c.get("meter"), nowMs);
  return c.json(toHealth(health, nowMs), health.isReachable ? 200 : 503);
});
