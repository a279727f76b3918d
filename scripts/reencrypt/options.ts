import { parseArgs } from "node:util";
import { PlainError } from "../dev/flags.ts";

export const USAGE = `npm run reencrypt -- --url https://support.example.com [--check]

Encrypts stored secrets with the first value of ENCRYPTION_KEY, then says what still needs an old value.
OPERATOR_TOKEN in the environment is the operator's token. Ends with 0 when nothing is left to encrypt anew.

  --url    where the service is
  --check  change nothing; end with 0 when no old value of ENCRYPTION_KEY or KEY_SECRET is needed any more`;

/** What the command is to do, and where. */
interface Options {
  /** Without a slash at its end. */
  url: string;
  token: string;
  isCheck: boolean;
}

/** The token must not travel in the clear further than this machine. */
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Reads arguments and environment; undefined where help was asked for.
 * @throws PlainError that says what is missing.
 */
export function readOptions(args: readonly string[], environment: Record<string, string | undefined>): Options | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  const url = values.url === undefined || !URL.canParse(values.url) ? undefined : new URL(values.url);
  if (!url) throw new PlainError(`Say where the service is: --url https://…\n\n${USAGE}`);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && LOOPBACK.has(url.hostname))) {
    throw new PlainError("--url takes an https URL, or http for this machine: the operator's token is sent there.");
  }
  // While it is rotated the variable may hold several; any of them opens the surface.
  const token = environment["OPERATOR_TOKEN"]?.split(",")[0]?.trim();
  if (!token) throw new PlainError("Set OPERATOR_TOKEN in the environment to the operator's token.");
  return { url: url.href.replace(/\/+$/, ""), token, isCheck: values.check };
}

function parse(args: readonly string[]) {
  try {
    const options = {
      url: { type: "string" },
      check: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new PlainError(`${(error as Error).message}\n\n${USAGE}`);
  }
}
