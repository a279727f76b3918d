import type { Operation } from "../platform/db/client.ts";
import type { attachments } from "../platform/db/schema.ts";
import { IF_CHANGED, transact } from "../platform/db/sql.ts";
import { HOUR_MS } from "../platform/time.ts";
import { type LimitWindow, findFullWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts } from "../workspaces/usage-limit-store.ts";
import type { Limits } from "../workspaces/plans.ts";
import { isInObject, putContent, removeContents } from "./contents.ts";
import { fileNameOf, typeOfFile } from "./file-type.ts";
import { createAttachment, eraseAttachments, findAttachment } from "./store.ts";

type AttachmentRow = typeof attachments.$inferSelect;

/** What an object holds at most is 10 GB, with the indexes of SQLite. */
const MAX_OBJECT_MEGABYTES = 9_000;
/** Visitors leave a fifth of the space to the team. */
const VISITORS_SHARE = 4 / 5;

/** How long the message of a visitor may take its files. */
export const USABLE_FOR_MS = HOUR_MS;

/** A file as it was sent, in the pieces in which it was received. */
interface SentFile {
  name: string | null;
  pieces: Uint8Array[];
}

/** Who uploads a file, and with which limits. */
export interface Uploader {
  owner: string;
  /** Until when a message may take the file, in Unix milliseconds. */
  expiresAtMs: number;
  /** The rate-limit windows in which the upload of a visitor is counted. */
  windows?: readonly LimitWindow[];
  /** Masks the name of the file, if the workspace has something masked. */
  redact: ((text: string) => string) | undefined;
}

export type UploadResult =
  | { outcome: "uploaded"; attachment: AttachmentRow }
  | { outcome: "unsupported_type" }
  | { outcome: "no_space" }
  | { outcome: "rate_limited"; full: LimitWindow };

/**
 * Stores an uploaded file. Its row is stored first, so that the sweep finds the bytes of an upload that was interrupted. A repeated
 * request has the same id, and stores the bytes again.
 */
export async function upload(
  op: Operation,
  { name, pieces }: SentFile,
  { owner, expiresAtMs, windows = [], redact = (text) => text }: Uploader,
  limits: Limits,
): Promise<UploadResult> {
  const { db, workspaceId, nowMs } = op;
  const type = typeOfFile(pieces);
  if (!type) return { outcome: "unsupported_type" };
  const id = op.newId();
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const file = { id, workspaceId, owner, name: redact(fileNameOf(name, type)), type, size, createdAt: nowMs, expiresAt: expiresAtMs };
  const allowed = isInObject(op) ? Math.min(limits.attachments_mb, MAX_OBJECT_MEGABYTES) : limits.attachments_mb;
  const maxMegabytes = windows.length > 0 ? allowed * VISITORS_SHARE : allowed;
  const { before, after } = await transact(db, {
    before: [listCounts(db, workspaceId, windows)],
    writes: [createAttachment(db, file, { windows, maxMegabytes }), ...countInWindows(db, workspaceId, windows, IF_CHANGED)],
    after: [findAttachment(db, workspaceId, id)],
  });
  const [[attachment]] = after;
  if (!attachment) {
    const full = findFullWindow(windows, before[0]);
    return full ? { outcome: "rate_limited", full } : { outcome: "no_space" };
  }
  await putContent(op, id, pieces);
  return { outcome: "uploaded", attachment };
}

/** Deletes files with their bytes. The bytes are deleted first, while the rows that name them exist. */
export async function removeFiles(op: Operation, ids: readonly string[]): Promise<void> {
  await removeContents(op, ids);
  await op.db.batch([eraseAttachments(op.db, op.workspaceId, ids)]);
}
