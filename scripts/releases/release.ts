import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";

/** The Worker of the last release: the modules of its bundle. */
export const RELEASE = join(import.meta.dirname, "last-release.zip");

/** Writes the modules of the last release into a folder. */
export function unpackRelease(folder: string): void {
  for (const [file, content] of Object.entries(unzipSync(readFileSync(RELEASE)))) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}
