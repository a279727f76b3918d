import { parseArgs } from "node:util";
import { readArgs } from "../dev/flags.ts";
import { operatorTarget, type OperatorTarget } from "../operator/target.ts";

export const USAGE = `npm run reencrypt -- --url https://support.example.com [--check]

Encrypts stored secrets with the first value of ENCRYPTION_KEY, then says what still needs an old value.
The operator's token is taken from OPERATOR_TOKEN in the environment, or for a service on this machine from .dev.vars. Ends with 0 when nothing is left to encrypt anew.

  --url    where the service is
  --check  change nothing; end with 0 when no old value of ENCRYPTION_KEY or KEY_SECRET is needed any more`;

/** What the command is to do, and where. */
interface Options extends OperatorTarget {
  isCheck: boolean;
}

/**
 * Reads arguments and environment; undefined where help was asked for.
 * @throws PlainError that says what is missing.
 */
export function readOptions(args: readonly string[], environment: Record<string, string | undefined>): Options | undefined {
  const options = {
    url: { type: "string" },
    check: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  } as const;
  const { values } = readArgs(USAGE, () => parseArgs({ args: [...args], options }));
  if (values.help) return undefined;
  return { ...operatorTarget(values.url, environment), isCheck: values.check };
}
