import { z } from "@hono/zod-openapi";
import { timestamp, toTimestamp, toTimestampOrNull, uuid } from "../platform/http/fields.ts";
import { bindingName } from "../platform/db/shard-map.ts";
import { WORK_KINDS } from "./health-store.ts";
import { FAULTY_PARTS, type Health, QUEUE_NAMES } from "./health.ts";

export const healthSchema = z
  .object({
    status: z.enum(["ok", "degraded"]).meta({ description: "`degraded` if an entry below is not ok; otherwise `ok`." }),
    checked_at: timestamp().meta({ description: "The time of the check." }),
    databases: z
      .array(
        z.object({
          binding: z.string().meta({ description: "The binding of the database, such as DB_1." }),
          ok: z.boolean().meta({ description: "Whether the database answered." }),
          duration_ms: z.int().meta({ description: "The duration of the query in milliseconds." }),
        }),
      )
      .meta({ description: "The databases." }),
    queues: z
      .array(
        z.object({
          queue: z.enum(QUEUE_NAMES).meta({ description: "The binding of the queue." }),
          ok: z.boolean().meta({ description: "Whether the queue has no more messages than allowed." }),
          messages: z.int().nullable().meta({ description: "Null if the platform does not report it." }),
          allowed_messages: z.int().nullable().meta({ description: "The number of messages up to which the queue is healthy." }),
          oldest_message_at: timestamp().nullable().meta({ description: "When the oldest message was sent." }),
        }),
      )
      .meta({ description: "The queues." }),
    work: z
      .array(
        z.object({
          kind: z.enum(WORK_KINDS).meta({ description: "The kind of work." }),
          ok: z.boolean().meta({ description: "Whether no work waits longer than allowed." }),
          waiting: z.int().meta({ description: "The number of waiting items, of which at most 1,000 are counted in each database." }),
          oldest: z
            .object({
              id: uuid(),
              workspace_id: uuid(),
              since: timestamp().meta({ description: "When the work began to wait." }),
              age_seconds: z.int().meta({ description: "How long the work has waited, in seconds." }),
            })
            .nullable()
            .meta({ description: "The work that waits longest; null if no work waits." }),
          allowed_seconds: z.int().nullable().meta({ description: "How long the work may wait, in seconds; null if there is no limit." }),
        }),
      )
      .meta({ description: "Background work." }),
    faults: z
      .array(
        z.object({
          part: z.enum(FAULTY_PARTS).meta({ description: "The part of the service that fails." }),
          error: z.string().meta({ description: "The name of the error." }),
          ok: z.boolean().meta({ description: "Whether the fault is too rare to need an operator." }),
          count: z.int().meta({ description: "The number of times that the fault happened." }),
          since: timestamp().meta({ description: "When the fault first happened." }),
          remedy: z.string().meta({ description: "How to correct the fault." }),
        }),
      )
      .meta({ description: "Faults that need an operator." }),
    search_model: z.string().nullable().meta({
      description: "The model by which knowledge is found by its meaning; null if it is found by its words only.",
      example: "all-MiniLM-L6-v2",
    }),
  })
  .openapi("Health");

/** Returns the wire record of the deployment's health. */
export function toHealth({ isOk, databases, queues, work, faults, searchModel }: Health, nowMs: number): z.infer<typeof healthSchema> {
  return {
    status: isOk ? "ok" : "degraded",
    checked_at: toTimestamp(nowMs),
    databases: databases.map((one) => ({ binding: bindingName(one.database), ok: one.found !== undefined, duration_ms: one.durationMs })),
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
    search_model: searchModel,
  };
}
