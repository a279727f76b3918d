import { createRoute, z } from "@hono/zod-openapi";
import type { Page } from "../platform/db/sql.ts";
import { timeQuery, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { csvResponse, orCsv, wantsCsv } from "../platform/http/csv.ts";
import { cursorPageOf, cursorQuery, toCursorPage } from "../platform/http/page.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { AUDIT_ACTIONS, type AuditFilter, countAuditEntries, listAuditEntries, OPERATOR_ACTOR } from "../workspaces/audit-store.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";

export const auditRoutes = createRouter("Members");

const entrySchema = z
  .object({
    id: uuid(),
    actor: z
      .object({
        type: z.enum(["member", "key", "operator"]).meta({ description: "Whether a member, an API key or the operator did it." }),
        id: z.string().nullable().meta({ description: "The id of the member or key; null for the operator." }),
        name: z.string().nullable().meta({ description: "The present name; null for the operator.", example: "Grace Hopper" }),
      })
      .meta({ description: "Who did it." }),
    action: z.enum(AUDIT_ACTIONS).meta({ description: "What was done." }),
    target_id: z.string().nullable().meta({ description: "The id of the agent, key, member or webhook endpoint that it is about." }),
    target_name: z
      .string()
      .nullable()
      .meta({ description: "Its present name; null if it does not exist any more.", example: "Acme support" }),
    detail: z.record(z.string(), z.unknown()).meta({
      description: "More about it, such as the names of the changed fields. It contains no values of settings.",
      example: { fields: ["instructions"] },
    }),
    created_at: timestamp(),
  })
  .openapi("AuditLogEntry");

type Row = Awaited<ReturnType<typeof listAuditEntries>>[number];
type Entry = z.infer<typeof entrySchema>;

const listRoute = createRoute({
  operationId: "listAuditLog",
  method: "get",
  path: "/audit",
  summary: "List what was done in the workspace",
  description:
    "Changes of agents, keys, members, sign-in and webhooks, sign-ins, and exports and erasures of personal data. Entries are kept for 400 days, at most 20,000 of them; erasures that deleted something are kept for ever.",
  ...needsScope("members:write"),
  request: {
    query: cursorQuery.extend({
      action: z.enum(AUDIT_ACTIONS).optional().meta({ description: "Only entries of this action." }),
      actor: z
        .string()
        .max(100)
        .optional()
        .meta({ description: `Only entries of the member or key with this id, or of \`${OPERATOR_ACTOR}\`.` }),
      since: timeQuery().optional().meta({ description: "Only entries at or after this time." }),
    }),
  },
  responses: {
    200: orCsv(jsonResponse(cursorPageOf(entrySchema, "AuditLogPage"), "A page of entries, newest first.")),
    ...errorResponses(403, 422),
  },
});

auditRoutes.openapi(listRoute, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const { action, actor, since: sinceMs, ...page } = c.req.valid("query");
  const filter: AuditFilter = { action, actor, sinceMs };
  const positionOf = ({ createdAt, id }: Row) => ({ atMs: createdAt, id });
  if (wantsCsv(c)) {
    const readRows = async (asked: Page) => (await db.batch([listAuditEntries(db, workspaceId, filter, asked)]))[0];
    return (await csvResponse(c, { name: "audit", columns: CSV, cursor: page.cursor, readRows, positionOf, toItem: toEntry })) as never;
  }
  const [rows, [counted]] = await db.batch([listAuditEntries(db, workspaceId, filter, page), countAuditEntries(db, workspaceId, filter)]);
  return c.json(toCursorPage(rows, counted?.total ?? 0, page, positionOf, toEntry), 200);
});

const CSV = {
  created_at: (entry: Entry) => entry.created_at,
  actor_type: ({ actor }: Entry) => actor.type,
  actor_id: ({ actor }: Entry) => actor.id,
  actor_name: ({ actor }: Entry) => actor.name,
  action: (entry: Entry) => entry.action,
  target_id: (entry: Entry) => entry.target_id,
  target_name: (entry: Entry) => entry.target_name,
  detail: ({ detail }: Entry) => JSON.stringify(detail),
};

function toEntry(row: Row): Entry {
  const [type = "", id = null] = row.actor.split("/");
  // The hashes of an erased person's visitors are for the service alone.
  const { visitors: _, ...detail } = row.detail ?? {};
  return toRecord(entrySchema, row, {
    actor: { type: type as Entry["actor"]["type"], id, name: row.actorName },
    action: row.action as Entry["action"],
    detail,
  });
}
