import { isImage } from "../attachments/file-type.ts";
import { readContent } from "../attachments/contents.ts";
import type { SentFile } from "../models/model.ts";
import type { MessageAttachment } from "../platform/db/columns.ts";
import type { Operation } from "../platform/db/client.ts";

/** The most bytes of images that one question gives to a model: a request has them in base64, and an isolate in memory. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

/** Returns the files of a question as a model gets them: the images with their bytes, if it sees images and they are not too large. */
export async function filesForModel(op: Operation, files: readonly MessageAttachment[], seesImages: boolean): Promise<SentFile[]> {
  let left = seesImages ? MAX_IMAGE_BYTES : 0;
  const sent: SentFile[] = [];
  for (const { id, name, type, size } of files) {
    const isSeen = isImage(type) && size <= left;
    // The model answers without an image that cannot be read.
    const bytes = isSeen ? await readContent(op, id).catch(() => null) : null;
    if (bytes) left -= size;
    sent.push({ name, type, ...(bytes && { image: bytes }) });
  }
  return sent;
}
