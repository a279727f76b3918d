import { partsOf } from "../platform/read-stream.ts";
import { jurisdictionFor } from "../platform/objects.ts";
import type { Operation } from "../platform/db/client.ts";
import { attachmentFilesOf } from "./attachment-files.ts";

/*
 * The bytes of attachments. They are in the R2 bucket ATTACHMENTS, if the deployment binds one, and otherwise in an object of the
 * workspace. A file is looked for in both places, so that a bucket can be bound later, and an import needs none.
 */

/** The size of the parts in which the object stores a file, and of the parts of an export. A row of the object holds at most 2 MB. */
export const PART_BYTES = 512 * 1024;
/** The most files that one call of the bucket deletes. */
const FILES_PER_CALL = 1_000;

type Owner = Pick<Operation, "env" | "meter" | "workspaceId">;

/** Returns the bucket. A workspace with a jurisdiction has none, because the bucket is not in the jurisdiction and its object is. */
function bucketOf({ env, workspaceId }: Owner): R2Bucket | undefined {
  return jurisdictionFor(env, workspaceId) === null ? boundBucket(env) : undefined;
}

function boundBucket(env: Env): R2Bucket | undefined {
  return (env as { ATTACHMENTS?: R2Bucket }).ATTACHMENTS;
}

/** Whether the files of a workspace are stored in its object, which holds at most 10 GB. */
export function isInObject(owner: Owner): boolean {
  return bucketOf(owner) === undefined;
}

function keyOf(workspaceId: string, fileId: string): string {
  return `${workspaceId}/${fileId}`;
}

/** Stores the bytes of a file. @param pieces are removed while they are stored in the object, so that their memory is free. */
export async function putContent(owner: Owner, fileId: string, pieces: Uint8Array[]): Promise<void> {
  const bucket = bucketOf(owner);
  if (bucket) {
    await bucket.put(keyOf(owner.workspaceId, fileId), new Blob(pieces));
    return;
  }
  let part = 0;
  for (const bytes of partsOf(pieces, PART_BYTES)) await putPart(owner, fileId, part++, bytes);
}

/** Stores one part of a file in the object, as an import does. */
export async function putPart(owner: Owner, fileId: string, part: number, bytes: Uint8Array): Promise<void> {
  await attachmentFilesOf(owner).putPart(fileId, part, bytes);
}

/** Reads a file; null if there is none. */
export async function readContent(owner: Owner, fileId: string): Promise<Uint8Array | null> {
  const stored = await bucketOf(owner)?.get(keyOf(owner.workspaceId, fileId));
  return stored ? new Uint8Array(await stored.arrayBuffer()) : attachmentFilesOf(owner).read(fileId);
}

/** Reads one part of a file; null if there is none. */
export async function readPart(owner: Owner, fileId: string, part: number): Promise<Uint8Array | null> {
  const range = { offset: part * PART_BYTES, length: PART_BYTES };
  const stored = await bucketOf(owner)?.get(keyOf(owner.workspaceId, fileId), { range });
  return stored ? new Uint8Array(await stored.arrayBuffer()) : attachmentFilesOf(owner).readPart(fileId, part);
}

/** Removes the bytes of files. */
export async function removeContents(owner: Owner, fileIds: readonly string[]): Promise<void> {
  if (fileIds.length === 0) return;
  const keys = fileIds.map((id) => keyOf(owner.workspaceId, id));
  for (let at = 0; at < keys.length; at += FILES_PER_CALL) await boundBucket(owner.env)?.delete(keys.slice(at, at + FILES_PER_CALL));
  await attachmentFilesOf(owner).remove(fileIds);
}

/** Removes all files of a workspace. */
export async function eraseContents(owner: Owner): Promise<void> {
  const bucket = boundBucket(owner.env);
  for (let isLeft = bucket !== undefined; isLeft;) {
    const { objects, truncated } = await bucket!.list({ prefix: keyOf(owner.workspaceId, ""), limit: FILES_PER_CALL });
    if (objects.length > 0) await bucket!.delete(objects.map(({ key }) => key));
    isLeft = truncated;
  }
  await attachmentFilesOf(owner).erase();
}
