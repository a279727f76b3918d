import { WorkerEntrypoint } from "cloudflare:workers";
import { Meter } from "../platform/telemetry/meter.ts";
import { pacer } from "../platform/time.ts";
import type * as extract from "./extract/file.ts";
import { knowledgeIndexOf, type KnowledgeIndex } from "./knowledge-index.ts";
import type { FileRead } from "./indexing/store.ts";

/** Why a file has no text. `not_readable` means that each read of it was interrupted. */
export type FileProblem = extract.FileProblem | "not_readable" | "knowledge_limit";

/** The outcome for a file: its text is stored in its place, there is no file, or the file cannot be used. */
export type FileReading = { outcome: "extracted" | "none" } | { outcome: "failed"; code: FileProblem };

/** The stored file of a source. */
interface StoredFile {
  workspaceId: string;
  agentId: string;
  sourceId: string;
  /** The name of the source, which is the title of its passages. */
  name: string;
  /** The most bytes of text that the agent may have. */
  maxBytes: number;
}

/**
 * Reads uploaded files, each in an invocation of its own. A file that exceeds the platform's CPU time ends only its reader, so that
 * the consumer can release the source.
 */
export class FileReader extends WorkerEntrypoint<Env> {
  /** Stores the text of a file in its place. A file that cannot be used is removed. */
  async read({ workspaceId, agentId, sourceId, name, maxBytes }: StoredFile): Promise<FileReading> {
    const index = knowledgeIndexOf({ env: this.env, meter: new Meter(), workspaceId }, agentId);
    // A read is counted before it begins, because a reader that is ended cannot report it.
    const begun = await index.beginFileRead(sourceId);
    if (!begun) {
      // The source may have been renamed while its text was extracted.
      await index.stageText(sourceId, name, null, maxBytes);
      return { outcome: "none" };
    }
    const code = begun.isAllowed ? await this.stageText(index, sourceId, begun, { name, maxBytes }) : "not_readable";
    if (code === undefined) return { outcome: "extracted" };
    await index.removeFile(sourceId, begun.uploadId);
    return { outcome: "failed", code };
  }

  /** Stores the text of a file. @returns why it has none. */
  private async stageText(
    index: DurableObjectStub<KnowledgeIndex>,
    sourceId: string,
    file: FileRead,
    { name, maxBytes }: Pick<StoredFile, "name" | "maxBytes">,
  ): Promise<FileProblem | undefined> {
    const { readFile } = await import("./extract/file.ts");
    const reading = await readFile(await bytesOf(index, sourceId, file));
    if (reading.kind === "skipped") return reading.reason;
    const excess = await index.stageText(sourceId, name, reading.text, maxBytes, file.uploadId);
    return excess === undefined ? undefined : "knowledge_limit";
  }
}

/** Reads the parts of a file into one array, since parts that were joined would take the memory twice. */
async function bytesOf(index: DurableObjectStub<KnowledgeIndex>, sourceId: string, { uploadId, length }: FileRead): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const pause = pacer();
  let at = 0;
  for (let number = 0; at < length; number++) {
    const part = await index.readFilePart(sourceId, uploadId, number);
    if (!part) throw new Error("The file was removed or replaced while it was read");
    bytes.set(part, at);
    at += part.length;
    await pause();
  }
  return bytes;
}
