import type { z } from "@hono/zod-openapi";
import {
  getMultipartBoundary,
  MaxFileSizeExceededError,
  MaxTotalSizeExceededError,
  MultipartParseError,
  MultipartParser,
  type MultipartPart,
} from "@remix-run/multipart-parser";
import { type BodyLimits, payloadTooLarge } from "./body.ts";
import { sha256OfPieces } from "../crypto/hashes.ts";
import { pacer } from "../time.ts";
import type { ValidationItem } from "./errors.ts";
import { valueError } from "./validation.ts";

/** The limit of all fields and headers together, without the file. */
const MAX_FIELDS_BYTES = 64 * 1024;
const MAX_PARTS = 20;
/** RFC 2046, 5.1.1. Each byte of a form may be compared with the whole boundary. */
const MAX_BOUNDARY_LENGTH = 70;
/** After so many bytes, which are received in a few milliseconds, other requests get their turn. */
const SLICE_BYTES = 256 * 1024;
/** The size of the pieces in which a form is received. */
const READ_BYTES = 64 * 1024;

/** A file of a form, in the pieces in which it was received. */
export class FormFile {
  constructor(
    /** The name of the file without the folders that some browsers send; null if the file has no name. */
    readonly name: string | null,
    readonly pieces: Uint8Array[],
  ) {}

  get size(): number {
    return this.pieces.reduce((sum, { length }) => sum + length, 0);
  }

  /** Keeps the content of the file out of validation errors, which show the input. */
  toJSON(): undefined {
    return undefined;
  }
}

type FormResult =
  | { ok: true; value: Record<string, string | FormFile>; digest: Uint8Array<ArrayBuffer> }
  | { ok: false; item: ValidationItem };

/**
 * Reads a request's form within the limits, which are checked while it streams in. A file is in memory once:
 * `Request.formData` holds it in the body and in the form.
 * @returns the form, and a digest by which a repeated one is recognized.
 * @throws ApiError payload_too_large.
 */
export async function readForm(request: Request, limits: BodyLimits): Promise<FormResult> {
  const { "x-max-file-bytes": maxFileSize = MAX_FIELDS_BYTES } = limits;
  const maxTotalSize = maxFileSize + MAX_FIELDS_BYTES;
  if (Number(request.headers.get("Content-Length") ?? 0) > maxTotalSize) throw payloadTooLarge(maxFileSize);
  const type = request.headers.get("Content-Type") ?? "";
  const boundary = /^multipart\/form-data\b/i.test(type) ? getMultipartBoundary(type) : null;
  if (boundary === null || boundary.length > MAX_BOUNDARY_LENGTH || !request.body)
    return fail("send the body as multipart/form-data, with its boundary in Content-Type");
  const form = new Map<string, string | FormFile>();
  const digests: string[] = [];
  try {
    const parser = new MultipartParser(boundary, { maxFileSize, maxParts: MAX_PARTS, maxTotalSize });
    for await (const part of partsIn(request.body, parser)) {
      const { name } = part;
      if (name === undefined) continue;
      // Choosing one of two files silently would mislead the caller.
      if (form.has(name)) return fail("send one part of this name", name);
      form.set(name, valueOf(part));
      digests.push(`${name} ${part.filename ?? ""} ${await sha256OfPieces(part.content)}`);
    }
  } catch (error) {
    if (error instanceof MaxFileSizeExceededError || error instanceof MaxTotalSizeExceededError) throw payloadTooLarge(maxFileSize);
    if (error instanceof MultipartParseError || error instanceof TypeError) return fail("the form is damaged, or has too many parts");
    throw error;
  }
  return { ok: true, value: Object.fromEntries(form), digest: Uint8Array.from(new TextEncoder().encode(digests.join("\n"))) };
}

/** The parts of a form. What follows its last boundary is not read. */
async function* partsIn(body: ReadableStream<Uint8Array>, parser: MultipartParser): AsyncGenerator<MultipartPart> {
  const pause = pacer(SLICE_BYTES);
  const reader = body.getReader({ mode: "byob" });
  try {
    for (;;) {
      // One large read costs a tenth of the many small ones that `values` makes.
      const { done, value: chunk } = await reader.readAtLeast(READ_BYTES, new Uint8Array(READ_BYTES));
      if (done || isFinished(parser)) break;
      yield* parser.write(chunk);
      await pause(chunk.length);
    }
  } finally {
    reader.releaseLock();
  }
  parser.finish();
}

function isFinished(parser: MultipartParser): boolean {
  try {
    parser.finish();
    return true;
  } catch {
    return false;
  }
}

function valueOf(part: MultipartPart): string | FormFile {
  if (!part.isFile) return part.text;
  return new FormFile(part.filename?.split(/[\\/]/).at(-1)?.trim() || null, part.content);
}

function fail(error: string, ...path: string[]): FormResult {
  return { ok: false, item: { loc: ["body", ...path], ...valueError(error), input: null } };
}

/** Returns a form with a file for a route's `request`. */
export function formBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true as const, content: { "multipart/form-data": { schema } } };
}
