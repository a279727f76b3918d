import { createRoute, z } from "@hono/zod-openapi";
import { notFound } from "../platform/http/errors.ts";
import { uuid } from "../platform/http/fields.ts";
import { formBody } from "../platform/http/multipart.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { DAY_MS } from "../platform/time.ts";
import { needsOneOf, needsScope, operationOf } from "../workspaces/checks.ts";
import { toUploaded } from "./checks.ts";
import { withAddress } from "./links.ts";
import { API_OWNER, findAttachment } from "./store.ts";
import { upload } from "./uploads.ts";
import { attachmentSchema, MAX_FILE_BYTES, toAttachment, uploadSchema } from "./wire.ts";

export const attachmentRoutes = createRouter("Conversations");

const uploadRoute = createRoute({
  operationId: "uploadAttachment",
  method: "post",
  path: "/attachments",
  summary: "Upload a file for a message",
  description:
    "Send it as multipart/form-data, then name its id in the `attachments` of a question or a reply. The type is detected from the content, not from the name. A file that no message takes within 24 hours is deleted.",
  ...needsOneOf("conversations:write", "chat:write"),
  request: { body: formBody(uploadSchema) },
  responses: { 201: jsonResponse(attachmentSchema, "The file."), ...errorResponses(403, 422) },
  "x-max-file-bytes": MAX_FILE_BYTES,
});

attachmentRoutes.openapi(uploadRoute, async (c) => {
  const op = operationOf(c);
  const uploader = { owner: API_OWNER, expiresAtMs: op.nowMs + DAY_MS, redact: c.get("redaction")?.text };
  const uploaded = await upload(op, c.req.valid("form").file, uploader, c.get("caller").workspace.limits);
  return c.json(await toUploaded(c, uploaded, op.nowMs), 201);
});

const getAttachment = createRoute({
  operationId: "getAttachment",
  method: "get",
  path: "/attachments/{attachment_id}",
  summary: "Get an uploaded file's address",
  description: "Returns a new signed address, such as for an attachment in an event.",
  ...needsScope("conversations:read"),
  request: { params: z.object({ attachment_id: uuid() }) },
  responses: { 200: jsonResponse(attachmentSchema, "The file."), ...errorResponses(403, 404, 422) },
});

attachmentRoutes.openapi(getAttachment, async (c) => {
  const { db, workspaceId } = operationOf(c);
  const [[found]] = await db.batch([findAttachment(db, workspaceId, c.req.valid("param").attachment_id)]);
  if (!found) throw notFound("attachment");
  return c.json(await withAddress(c, toAttachment(found)), 200);
});
