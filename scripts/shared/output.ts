import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** A file that a build makes. */
export interface OutputFile {
  /** Absolute, or relative to the folder of the build. */
  path: string;
  contents: Uint8Array;
}

/**
 * Writes what changed, then removes what is not made any more: a server that watches the folder sees no more than that, and who
 * reads it meanwhile finds each file whole.
 */
export function writeOutput(folder: string, files: readonly OutputFile[]): void {
  const made = new Map(files.map(({ path, contents }) => [resolve(folder, path), contents]));
  for (const [path, contents] of made) {
    mkdirSync(dirname(path), { recursive: true });
    if (isSame(path, contents)) continue;
    const written = `${path}.${process.pid}`;
    writeFileSync(written, contents);
    renameSync(written, path);
  }
  const found = globSync("**", { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { parentPath, name } of found) if (!made.has(join(parentPath, name))) rmSync(join(parentPath, name), { force: true });
}

function isSame(path: string, contents: Uint8Array): boolean {
  try {
    return readFileSync(path).equals(contents);
  } catch {
    return false;
  }
}
