import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { experimental_readRawConfig as readRawConfig } from "wrangler";
import { ROOT, UserError } from "../shared/cli.ts";

/** A path as it is printed: relative within the project. */
export function shown(path: string): string {
  const inside = relative(ROOT, path);
  return inside.startsWith("..") ? path : inside;
}

/** A configuration as it is written, with the environments in it. */
export interface RawConfig {
  env?: Record<string, Record<string, unknown>>;
}

/** Reads a configuration without wrangler's defaults. */
export function rawConfigOf(path: string): RawConfig {
  // The parser's objects have no prototype, and would equal no copy.
  return JSON.parse(JSON.stringify(readRawConfig({ config: path }).rawConfig)) as RawConfig;
}

/**
 * Rewrites a configuration in TOML so that it says what is wanted, and keeps what it does not change, comments included.
 * @param byHand what the operator does where this is not possible.
 * @throws UserError if the configuration is not TOML, or the rewritten text says something else.
 */
export function rewriteConfigTo(path: string, wanted: RawConfig, byHand: string, rewrite: (toml: string) => string): void {
  rewriteConfig(path, byHand, rewrite, (draft) => {
    if (!isDeepStrictEqual(rawConfigOf(draft), wanted)) throw new UserError(`${path} cannot be changed line by line: ${byHand}.`);
  });
}

/**
 * Rewrites a configuration in TOML, and keeps what it does not change, comments included.
 * @param byHand what the operator does where this is not possible.
 * @param check receives the path of a draft in the same folder, and throws if the draft must not replace the file.
 * @returns the result of the check.
 * @throws UserError if the configuration is not TOML.
 */
export function rewriteConfig<Result>(
  path: string,
  byHand: string,
  rewrite: (toml: string) => string,
  check: (draft: string) => Result,
): Result {
  if (extname(path) !== ".toml") throw new UserError(`${path} is not TOML: ${byHand}.`);
  const draft = join(dirname(path), `.wrangler-draft-${process.pid}.toml`);
  try {
    writeFileSync(draft, rewrite(readFileSync(path, "utf8")));
    const result = check(draft);
    renameSync(draft, path);
    return result;
  } finally {
    rmSync(draft, { force: true });
  }
}
