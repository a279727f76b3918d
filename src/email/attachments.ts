import PostalMime, { type Email } from "postal-mime";
import { upload, type Uploader, USABLE_FOR_MS } from "../attachments/uploads.ts";
import { MAX_FILE_BYTES, MAX_FILES } from "../attachments/wire.ts";
import type { TakenFiles } from "../attachments/store.ts";
import type { Operation } from "../platform/db/client.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { type VisitorLimit, windowsOf } from "../workspaces/usage-limits.ts";
import type { Limits } from "../workspaces/plans.ts";

/** A file of a mail. */
export interface MailFile {
  name: string | null;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The most bytes of a part's headers. */
const MAX_HEADER_BYTES = 4_096;
/** The most parts that are looked at. */
const MAX_PARTS = 200;
/** The smallest size of a file within an HTML text that is kept, such as a screenshot. The logo of a signature is smaller. */
export const MIN_INLINE_BYTES = 16 * 1024;
const LINE_FEED = 0x0a;
const DASH = 0x2d;
const CARRIAGE_RETURN = 0x0d;

const latin1 = new TextDecoder("latin1");

/**
 * Reads the first files of a mail from its bytes. The parser of mails takes many times their memory, so it gets only the headers of each
 * part. Mail programs send files in base64, whose lines never begin with `--` as boundaries do; other parts are no files here. Small
 * images that belong to an HTML text are left out.
 */
export async function filesIn(raw: Uint8Array<ArrayBuffer>): Promise<MailFile[]> {
  const files: MailFile[] = [];
  let start = nextDashedLine(raw, 0);
  for (let part = 0; start < raw.length && part < MAX_PARTS && files.length < MAX_FILES; part++) {
    const end = nextDashedLine(raw, start);
    const file = await fileIn(raw.subarray(start, end));
    if (file) files.push(file);
    start = end;
  }
  return files;
}

/** Reads the file of a part, which begins with the line of its boundary. */
async function fileIn(part: Uint8Array<ArrayBuffer>): Promise<MailFile | undefined> {
  const headersAt = part.indexOf(LINE_FEED) + 1;
  const bodyAt = endOfHeaders(part, headersAt);
  if (headersAt === 0 || bodyAt === undefined) return undefined;
  const headers = latin1.decode(part.subarray(headersAt, bodyAt));
  if (!/^content-transfer-encoding:\s*base64/im.test(headers)) return undefined;
  const [parsed] = (await parsedHeaders(part.subarray(headersAt, bodyAt)))?.attachments ?? [];
  if (!parsed) return undefined;
  const body = part.subarray(bodyAt);
  // Base64 takes four bytes for three, and a line break for each 76.
  if (body.length > MAX_FILE_BYTES * 1.4) return undefined;
  try {
    const bytes = Uint8Array.fromBase64(latin1.decode(body));
    const isInline = parsed.contentId && parsed.disposition !== "attachment";
    return isInline && bytes.length < MIN_INLINE_BYTES ? undefined : { name: parsed.filename, bytes };
  } catch {
    return undefined;
  }
}

async function parsedHeaders(headers: Uint8Array<ArrayBuffer>): Promise<Email | undefined> {
  try {
    return await PostalMime.parse(headers);
  } catch {
    return undefined;
  }
}

/** The position after the empty line that ends the headers; undefined if they are too long. */
function endOfHeaders(part: Uint8Array, start: number): number | undefined {
  for (let at = start; at < Math.min(part.length, start + MAX_HEADER_BYTES); at = part.indexOf(LINE_FEED, at) + 1) {
    if (part[at] === LINE_FEED) return at + 1;
    if (part[at] === CARRIAGE_RETURN && part[at + 1] === LINE_FEED) return at + 2;
    if (part.indexOf(LINE_FEED, at) < 0) return undefined;
  }
  return undefined;
}

/** The position of the next line after `start` that begins with `--`, or the end. */
export function nextDashedLine(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(LINE_FEED, start); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === DASH && bytes[at + 2] === DASH) return at + 1;
  }
  return bytes.length;
}

/** The files of a mail that were stored, and the names of the stored ones. */
export interface StoredFiles {
  files: TakenFiles | undefined;
  names: (string | null)[];
}

/**
 * Stores the files of a mail, for the question that takes them. A file of another type, or without room, is left out: the mail is answered
 * without it.
 */
export async function storeFiles(
  op: Operation,
  sent: readonly MailFile[],
  { questionId, limits, limit, redact }: { questionId: string; limits: Limits; limit: VisitorLimit } & Pick<Uploader, "redact">,
): Promise<StoredFiles> {
  const owner = `mail:${questionId}`;
  const windows = windowsOf(limit, op.nowMs);
  const [ids, names]: [string[], (string | null)[]] = [[], []];
  for (const { name, bytes } of sent) {
    try {
      const uploader = { owner, expiresAtMs: op.nowMs + USABLE_FOR_MS, windows, redact };
      const stored = await upload(op, { name, pieces: [bytes] }, uploader, limits);
      if (stored.outcome !== "uploaded") continue;
      ids.push(stored.attachment.id);
      names.push(name);
    } catch (error) {
      logProblem("mail_file_failed", { workspace_id: op.workspaceId }, error);
    }
  }
  return { files: ids.length > 0 ? { ids, owners: [owner] } : undefined, names };
}
