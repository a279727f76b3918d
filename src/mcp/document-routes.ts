import { createRoute, z } from "@hono/zod-openapi";
import { readDocument } from "../knowledge/search.ts";
import { notFound } from "../platform/http/errors.ts";
import { agentRef, integerQuery, uuid } from "../platform/http/fields.ts";
import { jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";

/** The operation that tools need and that the integrators' API does not have. */
export const documentRoutes = createRouter();

const partSchema = z.object({
  type: z.enum(["page", "text", "answer"]),
  title: z.string(),
  url: z.string().nullable(),
  text: z.string(),
  next: z.int().nullable(),
});

const readDocumentRoute = createRoute({
  method: "get",
  path: "/agents/{agent_id}/documents/{source_id}",
  ...needsScope("knowledge:read"),
  request: {
    params: z.object({ agent_id: agentRef(), source_id: uuid() }),
    query: z.object({
      url: z.string().max(2000).optional(),
      after: integerQuery({ min: 0, max: Number.MAX_SAFE_INTEGER, default: 0 }),
    }),
  },
  responses: { 200: jsonResponse(partSchema, "A part of the document.") },
});

documentRoutes.openapi(readDocumentRoute, async (c) => {
  const { agent_id: agentId, source_id: sourceId } = c.req.valid("param");
  const { url = null, after } = c.req.valid("query");
  const part = await readDocument({ ...operationOf(c), agentId }, { sourceId, url }, after);
  if (!part) throw notFound("document");
  return c.json(part, 200);
});
