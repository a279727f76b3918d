import type { z } from "@hono/zod-openapi";
import { readAtMost } from "../read-stream.ts";
import { ApiError, type ValidationItem } from "./errors.ts";

/** For all bodies but a source's text: 8,000 characters fit several times, even if each is escaped. */
export const MAX_BODY_BYTES = 512 * 1024;

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

type JsonResult = { ok: true; value: unknown; text: string } | { ok: false; item: ValidationItem };

/**
 * Reads a request's JSON body of at most `maxBytes` bytes.
 * @throws ApiError payload_too_large.
 */
export async function readJson(request: Request, maxBytes: number): Promise<JsonResult> {
  if (Number(request.headers.get("Content-Length") ?? 0) > maxBytes) throw payloadTooLarge(maxBytes);
  const { body, isTruncated } = await readAtMost(request.body, maxBytes);
  if (isTruncated) throw payloadTooLarge(maxBytes);
  const contentType = request.headers.get("Content-Type") ?? "";
  if (body.length === 0) return fail({ loc: ["body"], msg: "Field required", type: "missing", input: null });
  if (!JSON_TYPE.test(contentType)) return fail(jsonInvalid(0, `send the body as JSON, with Content-Type: application/json`));
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body);
  } catch {
    const hint = request.headers.has("Content-Encoding") ? ": send it without Content-Encoding" : "";
    return fail(jsonInvalid(0, `the body is not valid UTF-8${hint}`));
  }
  try {
    return { ok: true, value: JSON.parse(toWellFormed(text)) as unknown, text };
  } catch (error) {
    return fail(jsonInvalid(positionOf(error, text), "the body is not valid JSON"));
  }
}

const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[^])/g;
const LONE_SURROGATE = /^\\u[dD][89a-fA-F][\da-fA-F]{2}$/;

/** Replaces escaped lone surrogates by U+FFFD: databases cannot store them, so a record named by one could not be found again. */
function toWellFormed(json: string): string {
  return json.replaceAll(ESCAPES, (escape) => (LONE_SURROGATE.test(escape) ? "\\ufffd" : escape));
}

/** Where parsing failed, or 0: for a short text the engine gives no position. */
function positionOf(error: unknown, text: string): number {
  const message = String(error);
  if (message.endsWith("Unexpected end of JSON input")) return text.length;
  return Number(/ (?:in|after) JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)?.[1] ?? 0);
}

function fail(item: ValidationItem): JsonResult {
  return { ok: false, item };
}

function jsonInvalid(position: number, error: string): ValidationItem {
  return { loc: ["body", position], msg: "JSON decode error", type: "json_invalid", input: {}, ctx: { error } };
}

/** 413 with the limit. */
export function payloadTooLarge(maxBytes: number): ApiError<"payload_too_large"> {
  return new ApiError("payload_too_large", `The body is too large: send at most ${maxBytes.toLocaleString("en")} bytes.`);
}

/** The required JSON body in a route's `request`. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true as const, content: { "application/json": { schema } } };
}
