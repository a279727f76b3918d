import type { z } from "@hono/zod-openapi";
import { readAtMost } from "../read-stream.ts";
import { ApiError, type ValidationItem } from "./errors.ts";
import { JsonSize } from "./json-size.ts";

/** The limit of a body, unless its route accepts a long text. Several texts of 8,000 characters fit, even if each character is escaped. */
const MAX_BODY_BYTES = 512 * 1024;

/** The limit of fields and items. A schema takes up to 25 µs to refuse one, hundreds of times as long as the parser takes. */
const MAX_VALUES = 10_000;

/** A route's limits of its body, which the OpenAPI document shows. */
export interface BodyLimits {
  /** The limit of the whole body. */
  "x-max-body-bytes"?: number;
  /** The limit of one string, in UTF-8. The rest of the body may be as large as the body of another route. */
  "x-max-text-bytes"?: number;
  /** The limit of all fields and items of JSON. */
  "x-max-body-values"?: number;
  /** The limit of one file of a form. */
  "x-max-file-bytes"?: number;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

type JsonResult = { ok: true; value: unknown; bytes: Uint8Array<ArrayBuffer> } | { ok: false; item: ValidationItem };

/**
 * Reads a request's JSON body within the limits, which are checked while it streams in.
 * @throws ApiError payload_too_large, also for too many values.
 */
export async function readJson(request: Request, limits: BodyLimits): Promise<JsonResult> {
  const body = await readBytes(request, limits);
  const contentType = request.headers.get("Content-Type") ?? "";
  if (body.length === 0) return fail({ loc: ["body"], msg: "Field required", type: "missing", input: null });
  if (!JSON_TYPE.test(contentType)) return fail(jsonInvalid(0, `send the body as JSON, with Content-Type: application/json`));
  let text: string;
  try {
    text = DECODER.decode(body);
  } catch {
    const hint = request.headers.has("Content-Encoding") ? ": send it without Content-Encoding" : "";
    return fail(jsonInvalid(0, `the body is not valid UTF-8${hint}`));
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return fail(jsonInvalid(positionOf(error, text), "the body is not valid JSON"));
  }
  const { "x-max-body-values": maxValues = MAX_VALUES } = limits;
  if (body.length > 2 * maxValues && hasMoreValues(value, maxValues)) {
    throw new ApiError(
      "payload_too_large",
      `The body has too many values: send at most ${maxValues.toLocaleString("en")} fields and items.`,
    );
  }
  return { ok: true, value, bytes: body };
}

/** Parses JSON, and replaces lone surrogates. @throws SyntaxError. */
export function parseJson(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  return ESCAPED_SURROGATE.test(text) ? toWellFormed(value) : value;
}

/** Whether a JSON value has more than `most` fields and items. */
function hasMoreValues(root: unknown, most: number): boolean {
  let count = 0;
  const left = [root];
  while (left.length > 0 && count <= most) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    const children = Object.values(value);
    count += children.length;
    for (const child of children) if (typeof child === "object") left.push(child);
  }
  return count > most;
}

/** A request's body within its limits. @throws ApiError payload_too_large. */
async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const { "x-max-body-bytes": maxBytes = MAX_BODY_BYTES, "x-max-text-bytes": maxTextBytes } = limits;
  const tooLarge = () => payloadTooLarge(maxTextBytes ?? maxBytes);
  const announced = Number(request.headers.get("Content-Length") ?? Number.NaN);
  if (announced > maxBytes) throw tooLarge();
  const isTooMuch = maxTextBytes === undefined ? undefined : textLimit(maxTextBytes);
  // The runtime reads no more than was announced, and takes less CPU time than `readAtMost`.
  if (announced <= maxBytes && !isTooMuch) return new Uint8Array(await request.arrayBuffer());
  const { body, isTruncated } = await readAtMost(request.body, maxBytes, { ...(isTooMuch && { isTooMuch }), preventCancel: true });
  if (isTruncated) throw tooLarge();
  return body;
}

/** Returns a function that is given each chunk, and says whether one string, or everything except the longest string, is too long by now. */
function textLimit(maxTextBytes: number): (chunk: Uint8Array) => boolean {
  const size = new JsonSize();
  return (chunk) => {
    size.add(chunk);
    return size.longest > maxTextBytes || size.others > MAX_BODY_BYTES;
  };
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/** Replaces lone surrogates by U+FFFD: databases cannot store them, so a record could not be found by a name that contains one. */
function toWellFormed(value: unknown): unknown {
  const root = { value };
  // A list instead of recursion, since deep nesting would exhaust the stack.
  const left: Record<string, unknown>[] = [root];
  for (let parent = left.pop(); parent; parent = left.pop()) {
    for (const [name, child] of Object.entries(parent)) {
      if (typeof child === "object" && child !== null) left.push(child as Record<string, unknown>);
      const [newName, newChild] = [name.toWellFormed(), typeof child === "string" ? child.toWellFormed() : child];
      if (newName === name && newChild === child) continue;
      delete parent[name];
      parent[newName] = newChild;
    }
  }
  return root.value;
}

/** The position where parsing failed; 0 if the engine gives none, as for a short text. */
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

/** Returns a 413 error that names the limit. */
export function payloadTooLarge(maxBytes: number): ApiError<"payload_too_large"> {
  return new ApiError("payload_too_large", `The body is too large: send at most ${maxBytes.toLocaleString("en")} bytes.`);
}

/** Returns an optional JSON body for a route's `request`. A request without a body is read as `{}`. */
export function optionalJsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: false as const, content: { "application/json": { schema } } };
}

/** Returns a required JSON body for a route's `request`. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true as const, content: { "application/json": { schema } } };
}
