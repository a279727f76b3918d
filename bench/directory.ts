import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for all temporary files of this process, which goes with it. */
export async function temporaryDirectory(prefix: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), prefix));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(130));
  process.env["TMPDIR"] = directory;
  return directory;
}
