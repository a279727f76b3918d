import { WorkerEntrypoint } from "cloudflare:workers";
import { joinedBytes } from "../platform/read-stream.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import type * as extract from "./extract/file.ts";
import { indexOf } from "./index.ts";

/** Why a file has no text. `not_readable` means that each read of it was interrupted. */
export type FileProblem = extract.FileProblem | "not_readable";

/** The text of a file, or why it has none. */
export type FileReading = { kind: "text"; text: string } | { kind: "skipped"; reason: FileProblem };

/**
 * Reads uploaded files, each in an invocation of its own. A file that exceeds the platform's CPU time ends only its reader, so that
 * the consumer can release the source.
 */
export class FileReader extends WorkerEntrypoint<Env> {
  /** Reads the text of the file that is stored for a source; null if there is none. */
  async read(workspaceId: string, agentId: string, sourceId: string): Promise<FileReading | null> {
    const index = indexOf({ env: this.env, meter: new Meter(), workspaceId }, agentId);
    const parts: Uint8Array[] = [];
    for (let part = await index.readFilePart(sourceId, 0); part; part = await index.readFilePart(sourceId, parts.length)) parts.push(part);
    if (parts.length === 0) return null;
    // A read is counted before it begins, because a reader that is ended cannot report it.
    if (!(await index.beginFileRead(sourceId))) return { kind: "skipped", reason: "not_readable" };
    const { readFile } = await import("./extract/file.ts");
    return readFile(joinedBytes(parts.splice(0)));
  }
}
