import { fileNameOf, isImage } from "../attachments/file-type.ts";
import { readContent } from "../attachments/contents.ts";
import { verifyFileToken } from "../attachments/links.ts";
import { toUploaded } from "../attachments/checks.ts";
import { agentOwner, findFile, visitorOwner } from "../attachments/store.ts";
import { upload, USABLE_FOR_MS } from "../attachments/uploads.ts";
import type { Attachment } from "../attachments/wire.ts";
import { secretValues } from "../platform/config.ts";
import { isMapped } from "../platform/db/bindings.ts";
import { dbFor } from "../platform/db/client.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { answerInRegion } from "../platform/http/region.ts";
import { visitorLimitOf, windowsOf } from "../workspaces/usage-limits.ts";
import { openAgent, requireChallenge } from "./access.ts";
import { senderOf } from "./rate-limit.ts";
import { type AttachmentIn, attachmentInSchema } from "./wire.ts";

/**
 * Stores a file that a visitor uploads.
 * @throws ApiError not_found, origin_not_allowed, invalid_visitor_token, challenge_required, validation_error, plan_required, rate_limited.
 */
export async function uploadForVisitor(c: AppContext, agentId: string, body: AttachmentIn): Promise<Attachment> {
  const request = { token: body.visitor_token, flow: "attachments" as const, input: { schema: attachmentInSchema, body } };
  const { agent, op, limits, visitor, redaction } = await openAgent(c, agentId, request);
  if (!visitor) await requireChallenge(c, agent, body.turnstile_token);
  const sender = await senderOf(c, op.workspaceId, visitor);
  const windows = windowsOf(visitorLimitOf(limits, "attachments", sender), op.nowMs);
  const owner = visitor ? visitorOwner(visitor.id) : agentOwner(agentId);
  const uploader = { owner, expiresAtMs: op.nowMs + USABLE_FOR_MS, windows, redact: redaction?.text };
  const uploaded = await upload(op, body.file, uploader, limits);
  return toUploaded(c, uploaded, op.nowMs);
}

/**
 * Responds with a file by its signed address. No file runs anything in a browser: its type is one of a few, the browser must not guess
 * another one, and only images are shown in place.
 * @throws ApiError not_found.
 */
export async function serveFile(c: AppContext, token: string): Promise<Response> {
  const nowMs = Date.now();
  const named = await verifyFileToken(token, secretValues(c.env.KEY_SECRET), nowMs);
  if (!named || !isMapped(c.env, named.attachmentId)) throw noFile();
  const forwarded = await answerInRegion(c, named.attachmentId);
  if (forwarded) return forwarded;
  const meter = c.get("meter");
  const db = dbFor(c.env, named.attachmentId, meter);
  const [[file]] = await db.batch([findFile(db, named.attachmentId)]);
  if (!file) throw noFile();
  c.set("logFields", { workspaceId: file.workspaceId });
  const content = await readContent({ env: c.env, meter, workspaceId: file.workspaceId }, file.id);
  if (!content) throw noFile();
  return c.body(content as Uint8Array<ArrayBuffer>, 200, {
    "Content-Type": file.type === "text/plain" ? "text/plain; charset=utf-8" : file.type,
    "Content-Length": String(content.length),
    "Content-Disposition": dispositionOf(fileNameOf(file.name, file.type), isImage(file.type)),
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    // Pages that embed the widget may be isolated, and show its images.
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": `private, max-age=${Math.floor((named.expiresAtMs - nowMs) / 1000)}, immutable`,
  });
}

/** The response is the same for an address that has ended and for a file that was deleted. */
function noFile(): ApiError<"not_found"> {
  return new ApiError("not_found", "There is no file at this address any more. Read the message again: it has the file's present address.");
}

/** Returns the header of RFC 6266, with a name in ASCII for old clients. */
function dispositionOf(name: string, isShown: boolean): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return `${isShown ? "inline" : "attachment"}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
