import { getDocumentProxy } from "unpdf";
import type { PdfFile } from "./file.ts";
import { type PdfDict, PdfName, PdfString, PdfTooLargeError, type PdfValue } from "./values.ts";
import { PdfWriter } from "./writer.ts";

/** Each stream searches the list of all, so that their number multiplies the time. */
const MAX_STREAMS = 3_000;
/** The parser reads text only. */
export const PARSER_OPTIONS = { disableFontFace: true, verbosity: 0, maxImageSize: 1 };

/**
 * Decrypts the streams of a file that opens without a password. They are put into a new PDF as attachments, which the parser
 * decrypts but does not unpack: how much they unpack to is not known yet.
 * @throws PasswordException, PdfTooLargeError
 */
export async function decryptStreams(file: PdfFile): Promise<void> {
  if (file.streams.length > MAX_STREAMS) throw new PdfTooLargeError();
  const document = await getDocumentProxy(attachmentsOf(file), PARSER_OPTIONS);
  try {
    const decrypted = new Map<number, Uint8Array>();
    for (const { number } of file.streams) {
      const bytes: unknown = await document.getAttachmentContent(`${number}`);
      if (bytes instanceof Uint8Array) decrypted.set(number, bytes);
    }
    await file.decrypt(decrypted);
  } finally {
    await document.loadingTask.destroy();
  }
}

/** A PDF whose attachments are the streams of the file, under their numbers, on which their keys depend. */
function attachmentsOf(file: PdfFile): Uint8Array<ArrayBuffer> {
  const writer = new PdfWriter();
  const names: PdfValue[] = [];
  for (const place of file.streams) {
    const stream = file.stream(place);
    if (!stream) continue;
    writer.stream(new Map(), stream.packed, place);
    names.push(new PdfString(`(${place.number})`), dict({ EF: dict({ F: place }) }));
  }
  const page = writer.next();
  const pages = writer.next();
  writer.object(dict({ Type: new PdfName("Page"), Parent: pages, MediaBox: [0, 0, 1, 1] }), page);
  writer.object(dict({ Type: new PdfName("Pages"), Kids: [page], Count: 1 }), pages);
  // The strings of a trailer are not encrypted, so the catalogue is a part of it.
  const catalog = dict({ Type: new PdfName("Catalog"), Pages: pages, Names: dict({ EmbeddedFiles: dict({ Names: names }) }) });
  const encrypt = file.dict(file.trailer.get("Encrypt")) ?? null;
  return writer.end(dict({ Root: catalog, Encrypt: encrypt, ID: file.get(file.trailer.get("ID")) }));
}

function dict(entries: Record<string, PdfValue>): PdfDict {
  return new Map(Object.entries(entries));
}
