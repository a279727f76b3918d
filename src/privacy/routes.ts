import { createRoute } from "@hono/zod-openapi";
import { withAddresses } from "../attachments/links.ts";
import { toVisitor } from "../conversations/wire.ts";
import { toTimestamp } from "../platform/http/fields.ts";
import { errorResponses, jsonResponse, textStream } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { limitReached, needsScope, operationOf } from "../workspaces/checks.ts";
import { erasePerson } from "./erase.ts";
import { exportPerson } from "./export.ts";
import { countRecords, listSharedVisitors, listVisitors } from "./person-store.ts";
import { erasedSchema, exportSchema, foundSchema, personQuery, toIdentifier } from "./wire.ts";

export const privacyRoutes = createRouter("Privacy");

const findPerson = createRoute({
  operationId: "findPerson",
  method: "get",
  path: "/privacy/visitors",
  summary: "Find the data of one person",
  ...needsScope("privacy:read"),
  request: { query: personQuery },
  responses: { 200: jsonResponse(foundSchema, "The visitors, and the numbers of records."), ...errorResponses(403, 422) },
});

privacyRoutes.openapi(findPerson, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const person = toIdentifier(c.req.valid("query"));
  const [visitors, shared, [inConversations], [inLeads], [inHandoffs]] = await db.batch([
    listVisitors(db, workspaceId, person),
    listSharedVisitors(db, workspaceId, person),
    ...countRecords(db, workspaceId, person),
  ]);
  const { conversations, messages } = inConversations ?? { conversations: 0, messages: 0 };
  const counts = { conversations, messages, leads: inLeads?.leads ?? 0, handoffs: inHandoffs?.handoffs ?? 0 };
  return c.json({ identifier: person, visitors: visitors.map(toVisitor), shared_visitors: shared.map(toVisitor), counts }, 200);
});

const eraseRoute = createRoute({
  operationId: "erasePerson",
  method: "delete",
  path: "/privacy/visitors",
  summary: "Erase all data of one person",
  description: "This cannot be undone. It is recorded in the audit log with a keyed hash of the identifier. Repeating it is safe.",
  ...needsScope("privacy:write"),
  request: { query: personQuery },
  responses: { 200: jsonResponse(erasedSchema, "What was erased."), ...errorResponses(403, 422) },
});

privacyRoutes.openapi(eraseRoute, async (c) => {
  const op = operationOf(c);
  const { workspace } = c.get("caller");
  const person = toIdentifier(c.req.valid("query"));
  const result = await erasePerson(op, person, workspace.limits.erasures_per_day);
  if (result.outcome === "rate_limited") throw limitReached(result.full, op.nowMs);
  return c.json({ audit_id: result.auditId, erased_at: toTimestamp(Date.now()), deleted: result.deleted }, 200);
});

const exportRoute = createRoute({
  operationId: "exportPerson",
  method: "get",
  path: "/privacy/export",
  summary: "Download all data of one person",
  ...needsScope("privacy:read"),
  request: { query: personQuery },
  responses: {
    200: jsonResponse(exportSchema, "All records of the person, in the same form as in other responses."),
    ...errorResponses(403, 422),
  },
});

privacyRoutes.openapi(exportRoute, (c) => {
  const pieces = exportPerson(operationOf(c), toIdentifier(c.req.valid("query")), (messages) => withAddresses(c, messages));
  c.header("Content-Type", "application/json");
  c.header("Content-Disposition", 'attachment; filename="export.json"');
  // The type of the response does not allow a stream. A test parses the stream with the schema.
  return c.body(textStream(pieces), 200) as never;
});
