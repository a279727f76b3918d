import { resolve } from "node:path";
import { inspect } from "node:util";

/** The directory of package.json. */
export const ROOT = resolve(import.meta.dirname, "../..");

/** The signals that end a script, and what it exits with then: 128 and the signal's number, as shells say it. */
export const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** An error that the user of a script can correct: its message says how, and is printed without a stack. */
export class UserError extends Error {}

/** What to print of an error that ends a script: the message alone for one that the user can correct, else the stack too. */
export function errorText(error: unknown): string {
  const isWrongFlag = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
  // esbuild's, whose message says where the code is wrong.
  const isWrongCode = error instanceof Error && "errors" in error && "warnings" in error;
  return error instanceof UserError || isWrongFlag || isWrongCode ? error.message : inspect(error);
}

/**
 * Parses a command line.
 * @throws UserError with the usage too, where it holds a wrong flag.
 */
export function withUsage<Values>(usage: string, parse: () => Values): Values {
  try {
    return parse();
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n\n${usage}`);
  }
}
