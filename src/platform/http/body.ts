import type { z } from "@hono/zod-openapi";
import { ApiError, type ValidationItem } from "./errors.ts";

/** Enough for every body but a source's text: 8,000 characters, each escaped at its longest, several times over. */
export const MAX_BODY_BYTES = 512 * 1024;

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

export type BodyResult = { ok: true; value: unknown; text: string } | { ok: false; item: ValidationItem };

/**
 * Reads a request's JSON body, never more than `maxBytes` of it.
 * @throws ApiError payload_too_large.
 */
export async function readJson(request: Request, maxBytes: number): Promise<BodyResult> {
  const bytes = await readAtMost(request, maxBytes);
  const contentType = request.headers.get("Content-Type") ?? "";
  if (bytes.length === 0) return fail({ loc: ["body"], msg: "Field required", type: "missing", input: null });
  if (!JSON_TYPE.test(contentType)) return fail(jsonInvalid(0, `send the body as JSON, with Content-Type: application/json`));
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    const hint = request.headers.has("Content-Encoding") ? ": send it without Content-Encoding" : "";
    return fail(jsonInvalid(0, `the body is not valid UTF-8${hint}`));
  }
  try {
    return { ok: true, value: JSON.parse(wellFormed(text)) as unknown, text };
  } catch (error) {
    return fail(jsonInvalid(positionOf(error, text), "the body is not valid JSON"));
  }
}

const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[^])/g;
const HALF = /^\\u[dD][89a-fA-F][\da-fA-F]{2}$/;

/**
 * JSON with U+FFFD in place of each half of a surrogate pair (a character that a client cut in two): no database keeps
 * one, so whoever is named by it could not be found again.
 */
function wellFormed(json: string): string {
  return json.replaceAll(ESCAPES, (escape) => (HALF.test(escape) ? "\\ufffd" : escape));
}

/** Where parsing failed, as far as the engine tells: it names no position in a short text. */
function positionOf(error: unknown, text: string): number {
  const message = String(error);
  if (message.endsWith("Unexpected end of JSON input")) return text.length;
  return Number(/ (?:in|after) JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)?.[1] ?? 0);
}

function fail(item: ValidationItem): BodyResult {
  return { ok: false, item };
}

function jsonInvalid(position: number, error: string): ValidationItem {
  return { loc: ["body", position], msg: "JSON decode error", type: "json_invalid", input: {}, ctx: { error } };
}

async function readAtMost(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get("Content-Length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  if (chunks.length === 1) return chunks[0]!;
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

/** 413, naming the limit. */
export function tooLarge(maxBytes: number): ApiError<"payload_too_large"> {
  return new ApiError("payload_too_large", `The body is too large: send at most ${maxBytes.toLocaleString("en")} bytes.`);
}

/** The JSON body that a route requires, for its `request`. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true as const, content: { "application/json": { schema } } };
}
