import { resolve } from "node:path";
import { inspect } from "node:util";

/** The directory of package.json. */
export const ROOT = resolve(import.meta.dirname, "../..");

/** The signals that end a script, with its exit codes: 128 plus the signal's number, as in shells. */
export const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Makes signals end this process by `process.exit`, so that what listens to its exit can remove temporary files. */
export function exitOnSignals(): void {
  for (const [signal, code] of Object.entries(SIGNAL_EXIT_CODES)) process.once(signal, () => process.exit(code));
}

/** An error that the user of a script can correct: its message says how, and is printed without a stack. */
export class UserError extends Error {}

/** The text of an error that ends a script: the message alone where the user can correct it, otherwise with the stack. */
export function errorText(error: unknown): string {
  const isWrongFlag = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
  // An error of esbuild, whose message says where the code is wrong.
  const isWrongCode = error instanceof Error && "errors" in error && "warnings" in error;
  return error instanceof UserError || isWrongFlag || isWrongCode ? error.message : inspect(error);
}

/**
 * Parses a command line.
 * @throws UserError with the usage for a wrong flag.
 */
export function withUsage<Values>(usage: string, parse: () => Values): Values {
  try {
    return parse();
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n\n${usage}`);
  }
}

/** Runs a script's main function, whose result is the exit code. An error is printed, and the exit code is 1. */
export async function runMain(main: () => Promise<number | void>): Promise<void> {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    console.error(errorText(error));
    process.exitCode = 1;
  }
}
