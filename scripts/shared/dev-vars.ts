import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { parseEnv } from "node:util";

const SECRETS = ["OPERATOR_TOKEN", "KEY_SECRET", "ENCRYPTION_KEY"] as const;
const SECRET_BYTES = 32;
/** Only the owner may read it. */
const FILE_MODE = 0o600;
const HEADER = "# Made by `npm run dev` for this machine. Keep it out of version control.\n";

/** The file that `wrangler dev` reads its secrets from: an environment's own when there is one. */
export function devVarsPath(directory: string, env: string | undefined): string {
  const own = `${directory}/.dev.vars.${env}`;
  return env !== undefined && existsSync(own) ? own : `${directory}/.dev.vars`;
}

/** Every variable of the file; none when there is no file. */
export function readDevVars(path: string): NodeJS.Dict<string> {
  return existsSync(path) ? parseEnv(readFileSync(path, "utf8")) : {};
}

/** Creates the file with random secrets, or adds the missing ones. Returns the names of the new ones. */
export function ensureSecrets(path: string): string[] {
  if (!existsSync(path) && createDevVars(path)) return [...SECRETS];
  const present = readDevVars(path);
  const made = SECRETS.filter((name) => present[name] === undefined);
  setDevVars(path, Object.fromEntries(made.map((name) => [name, randomSecret()])));
  return made;
}

/** Sets variables, leaving every other line as it is; an unchanged file is not written. */
export function setDevVars(path: string, values: Record<string, string>): void {
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const after = Object.entries(values).reduce((text, [name, value]) => withVariable(text, name, value), before);
  if (after !== before) replaceFile(path, after);
}

/** A file's text with one variable set: in its line where it has one, else at the end. */
function withVariable(text: string, name: string, value: string): string {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m");
  const set = `${name}=${value}`;
  if (line.test(text)) return text.replace(line, () => set);
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${set}\n`;
}

/** Creates the whole file in one step, so that of two starts at once the second finds it. Returns whether it did. */
function createDevVars(path: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, HEADER + SECRETS.map((name) => `${name}=${randomSecret()}\n`).join(""), { mode: FILE_MODE });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(draft);
  }
}

/** Writes a draft and renames it, so that a kill never leaves half a file. A link stays a link. */
function replaceFile(path: string, text: string): void {
  const target = existsSync(path) ? realpathSync(path) : path;
  const draft = `${target}.${process.pid}`;
  writeFileSync(draft, text, { mode: FILE_MODE });
  renameSync(draft, target);
}

/** A secret that nobody can guess: 256 bits. */
export function randomSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}
