import { exports } from "cloudflare:workers";
import type { sources } from "../platform/db/schema.ts";
import { partsOf } from "../platform/read-stream.ts";
import { pacer, withTimeout } from "../platform/time.ts";
import type { FileProblem, FileReading } from "./file-reader.ts";
import type { KnowledgeIndex } from "./knowledge-index.ts";

type Index = DurableObjectStub<KnowledgeIndex>;

/** The size of a part, which is stored and read in a few milliseconds. A row of the object holds at most 2 MB. */
const PART_BYTES = 500_000;
/** The most time for one read, shorter than the lease of a source. The platform ends a reader after 30 s of CPU time. */
const MAX_READ_MS = 90_000;

/**
 * Stores an uploaded file in the agent's object, where it waits for its text to be extracted.
 * @param pieces are removed while they are stored, so that their memory is free.
 * @returns false if too many files wait; nothing is stored then.
 */
export async function stageFile(index: Index, sourceId: string, pieces: Uint8Array[]): Promise<boolean> {
  const pause = pacer();
  let part = 0;
  for (const bytes of partsOf(pieces, PART_BYTES)) {
    if (await index.putFilePart(sourceId, part++, bytes)) await pause();
    else {
      await index.removeFile(sourceId, sourceId);
      return false;
    }
  }
  return true;
}

/** The outcome for a file: its text is stored in its place, there is no file, or the file cannot be used. */
type FileExtraction = Exclude<FileReading, { outcome: "failed" }> | { outcome: "failed"; code: string; message: string };

/**
 * Extracts the text of a source's file, and stores it in place of the file.
 * @param maxBytes the most bytes of text that the agent may have.
 * @throws Error if the reader was interrupted or takes too long. Another run may read the file once more.
 */
export async function extractFile(
  { id: sourceId, name, workspaceId, agentId }: Pick<typeof sources.$inferSelect, "id" | "name" | "workspaceId" | "agentId">,
  maxBytes: number,
): Promise<FileExtraction> {
  const reading = await withTimeout<FileReading>(
    MAX_READ_MS,
    exports.FileReader.read({ workspaceId, agentId, sourceId, name, maxBytes }),
    "The reader of a file",
  );
  return reading.outcome === "failed" ? { ...reading, message: PROBLEMS[reading.code] } : reading;
}

const PROBLEMS: Record<FileProblem, string> = {
  unsupported_type:
    "This is not a PDF, Word document (DOCX), HTML, Markdown, text or CSV file. Save it as one of these and upload it again.",
  empty: "The file is empty. Upload one with text.",
  pdf_encrypted: "The PDF opens only with a password. Save it without a password and upload it again.",
  pdf_damaged: "The PDF is damaged. Export it again, or print it to a new PDF, and upload that file.",
  pdf_without_text: "The PDF contains only images. Run text recognition (OCR) on it and upload it again.",
  pdf_too_large:
    "The PDF takes more memory or time to read than one file may. Split it, or print it to a new PDF, and upload the result. Leave out pages with very detailed drawings.",
  docx_damaged: "The Word document is damaged. Save it again as DOCX and upload the new file.",
  docx_too_large: "The Word document is too large to read once it is unpacked. Split it and upload the parts.",
  html_too_complex:
    "The HTML file has too many elements, too many open elements within one another, or a tag with too many attributes. Split it, or save its text as Markdown, and upload the result.",
  not_readable:
    "Reading the file takes more time or memory than one file may take. Save it again in a simpler form, or split it, and upload the result.",
  too_much_text: "The file has more text than one source can hold. Split it and upload the parts.",
  knowledge_limit:
    "With this file the agent would have more knowledge than the plan includes. Delete sources or ask for a larger plan, then upload it again.",
};
