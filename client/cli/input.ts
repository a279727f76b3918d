import { readFile } from "node:fs/promises";
import { UsageError } from "./errors.ts";

/** Reads the standard input to its end. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Reads a file that the command line names. @param instead tells the user what else to name if it cannot be read. */
export async function readNamedFile(path: string, instead = "Name a file."): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : (error as Error).message;
    throw new UsageError(`${path} cannot be read: ${reason}. ${instead}`);
  }
}
