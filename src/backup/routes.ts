import { createRoute, z } from "@hono/zod-openapi";
import { recordExport } from "../administration/operator-audit-store.ts";
import { openWorkspace, operatorOperationOf } from "../operator/auth.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, invalid, unavailable } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { emptyResponse, errorResponses, jsonResponse, textStream } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import { valueError } from "../platform/http/validation.ts";
import { exportLines } from "./export.ts";
import { abandonImport, checkImport, importRecords, requireDatabase } from "./import.ts";
import { ImportError } from "./records.ts";
import { completeSchema, exportQuery, fromCursor, type Header, importSchema, importStateSchema, MAX_IMPORT_BYTES } from "./wire.ts";

export const backupRoutes = createStrictRouter("Backup");

const params = z.object({ workspace_id: uuid() });
/** Each request makes progress, so the next one may follow immediately. */
const RETRY_SECONDS = 1;

const exportRoute = createRoute({
  operationId: "exportWorkspace",
  method: "get",
  path: "/workspaces/{workspace_id}/export",
  summary: "Export a workspace",
  request: { params, query: exportQuery },
  responses: {
    200: {
      description: "Lines of the export. The last line is the end of the export, or has the cursor of the next request.",
      content: { "application/x-ndjson": { schema: z.string() } },
    },
    ...errorResponses(404, 422),
  },
});

backupRoutes.openapi(exportRoute, async (c) => {
  const { workspace_id: id } = c.req.valid("param");
  const { cursor, pages } = c.req.valid("query");
  const { workspace, op } = await openWorkspace(c, exportRoute, id);
  const from = cursor === undefined ? undefined : await fromCursor(c.env, id, cursor);
  if (cursor !== undefined && !from) throw unknownCursor();
  // A cursor continues an export that is recorded.
  if (!from) await op.db.batch([recordExport(op.db, op)]);
  const lines = exportLines(op, workspace.slug, from, pages);
  // The OpenAPI document describes the stream as a string.
  return c.body(textStream(lines), 200, { "Content-Type": "application/x-ndjson", "Cache-Control": "no-store" }) as never;
});

const importRoute = createRoute({
  operationId: "importWorkspace",
  method: "post",
  path: "/workspaces/{workspace_id}/import",
  summary: "Import a part of a workspace's records",
  "x-max-body-bytes": MAX_IMPORT_BYTES,
  "x-max-body-values": MAX_IMPORT_BYTES,
  request: { params, body: jsonBody(importSchema) },
  responses: { 200: jsonResponse(importStateSchema, "The records are imported."), ...errorResponses(409, 422) },
});

backupRoutes.openapi(importRoute, async (c) => {
  const { header, records } = c.req.valid("json");
  const { workspace_id: id } = c.req.valid("param");
  requireSameWorkspace(header, id);
  const state = await withApiErrors(c.env, id, () => importRecords(operatorOperationOf(c, importRoute, id), header, records));
  return c.json(state, 200);
});

const complete = createRoute({
  operationId: "completeImport",
  method: "post",
  path: "/workspaces/{workspace_id}/import/complete",
  summary: "Compare an import with its export, and complete it",
  request: { params, body: jsonBody(completeSchema) },
  responses: { 200: jsonResponse(importStateSchema, "The state of the comparison."), ...errorResponses(409, 422) },
});

backupRoutes.openapi(complete, async (c) => {
  const { header, end } = c.req.valid("json");
  const { workspace_id: id } = c.req.valid("param");
  requireSameWorkspace(header, id);
  const state = await withApiErrors(c.env, id, () => checkImport(operatorOperationOf(c, complete, id), header, end));
  return c.json(state, 200);
});

const abandon = createRoute({
  operationId: "abandonImport",
  method: "delete",
  path: "/workspaces/{workspace_id}/import",
  summary: "Cancel an import",
  request: { params },
  responses: { 204: emptyResponse("Cancelled; the imported records are erased in the background."), ...errorResponses(404, 422) },
});

backupRoutes.openapi(abandon, async (c) => {
  const { workspace_id: id } = c.req.valid("param");
  if (!hasDatabase(c.env, id) || !(await abandonImport(operatorOperationOf(c, abandon, id)))) throw noImport();
  return c.body(null, 204);
});

/** The response is 404, even if the import is complete. */
function noImport(): ApiError<"not_found"> {
  return new ApiError("not_found", "No import of this workspace is in progress. If it is complete, delete the workspace instead.");
}

function unknownCursor(): ApiError<"validation_error"> {
  return invalid([{ loc: ["query", "cursor"], ...valueError("use the cursor of the previous response, unchanged") }]);
}

function requireSameWorkspace(header: Header, workspaceId: string): void {
  if (header.workspace_id === workspaceId) return;
  const loc = ["body", "header", "workspace_id"];
  throw invalid([{ loc, ...valueError("this is not the workspace of the path"), input: header.workspace_id }]);
}

/** Runs work on an import of a workspace. @throws ApiError instead of each ImportError. */
async function withApiErrors<T>(env: Env, workspaceId: string, work: () => Promise<T>): Promise<T> {
  try {
    requireDatabase(env, workspaceId);
    return await work();
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    if (error.kind === "conflict") throw new ApiError("conflict", error.message);
    if (error.kind === "unavailable") throw unavailable(error.message, RETRY_SECONDS);
    const problems = error.problems.length > 0 ? error.problems : [{ path: [], message: error.message }];
    throw invalid(problems.map(toItem));
  }
}

/** Leaves out the input, which may be a visitor's message. */
function toItem({ path, message }: ImportError["problems"][number]) {
  const loc = ["body", ...(path.length > 0 ? ["records"] : ["header"]), ...(path as (string | number)[])];
  return { loc, msg: message, type: "value_error" };
}
