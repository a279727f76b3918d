import type { z } from "@hono/zod-openapi";

/** The JSON body that a route requires, for its `request`. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true as const, content: { "application/json": { schema } } };
}
