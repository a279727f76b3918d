import { z } from "@hono/zod-openapi";
import { ATTACHMENT_TYPES, type MessageAttachment } from "../platform/db/columns.ts";
import { timestamp, uuid } from "../platform/http/fields.ts";
import { FormFile } from "../platform/http/multipart.ts";
import { valueErrorParams } from "../platform/http/validation.ts";

/** The largest file that a message carries. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** The most files of one message. */
export const MAX_FILES = 5;

export const attachmentSchema = z
  .object({
    id: uuid(),
    name: z.string().meta({ description: "The name of the file.", example: "receipt.png" }),
    type: z.enum(ATTACHMENT_TYPES).meta({ description: "The type of the file, as its content shows.", example: "image/png" }),
    size: z.int().meta({ description: "The size of the file in bytes.", example: 48_213 }),
    url: z.string().nullable().meta({
      description: "A signed address of the file, which needs no key; null in events.",
      example: "https://support.example.com/widget/v1/attachments/at_AZqfDjwbfUKKVW8dLjxLAAGanw48G31CilVvHS48SwE",
    }),
    expires_at: timestamp().nullable().meta({ description: "When the address ends; null in events." }),
  })
  .openapi("Attachment");

export type Attachment = z.infer<typeof attachmentSchema>;

/** Returns the wire record of an attachment, without an address. */
export function toAttachment({ id, name, type, size }: MessageAttachment): Attachment {
  return { id, name, type, size, url: null, expires_at: null };
}

/** The ids of uploaded files in a new message. */
export const attachmentIds = () =>
  z
    .array(uuid())
    .max(MAX_FILES)
    .refine((ids) => new Set(ids).size === ids.length, valueErrorParams("name each file once"))
    .nullable()
    .optional()
    .meta({ description: "The ids of uploaded files that the message carries. A file belongs to one message.", example: null });

const isFile = (value: unknown) => value instanceof FormFile;

/** The file of an upload. */
export const uploadSchema = z
  .object({
    file: z
      .custom<FormFile>(isFile, { params: { type: "missing" } })
      .refine((file) => !isFile(file) || file.size > 0, valueErrorParams("the file is empty"))
      .meta({
        type: "string",
        format: "binary",
        description: "A JPEG, PNG, WebP or GIF image, a PDF or a plain text in UTF-8, of at most 10 MB (10,485,760 bytes).",
      }),
  })
  .openapi("AttachmentUpload", { example: { file: "receipt.png" } });
