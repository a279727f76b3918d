import { inspect } from "node:util";

/** What `npm run dev` was started with: what this script needs of wrangler's flags, and all that wrangler is to get. */
export interface Flags {
  port: number | undefined;
  ip: string | undefined;
  protocol: string | undefined;
  persistTo: string | undefined;
  config: string | undefined;
  env: string | undefined;
  envFiles: string[];
  /** The `--var NAME:VALUE` pairs. */
  vars: Map<string, string>;
  /** Asked for wrangler's help or version only. */
  informs: boolean;
  /** Everything but the port, as it came. */
  passed: string[];
}

/** Says all that whoever started the script needs to know: it is shown without a stack. */
export class PlainError extends Error {}

/** What to print of an error that ends a script: the words alone where whoever started it can mend it, as with a wrong flag. */
export function told(error: unknown): string {
  const isWrongFlag = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
  return error instanceof PlainError || isWrongFlag ? error.message : inspect(error);
}

/**
 * What `parse` reads of a command line.
 * @throws PlainError with the usage too, where it holds a wrong flag.
 */
export function readArgs<Read>(usage: string, parse: () => Read): Read {
  try {
    return parse();
  } catch (error) {
    throw new PlainError(`${(error as Error).message}\n\n${usage}`);
  }
}

const ALIASES: Record<string, string> = { "-c": "--config", "-e": "--env", "-r": "--remote", "-h": "--help", "-v": "--version" };
/** Flags that take every value up to the next flag. */
const LIST_FLAGS = new Set(["--var", "--env-file"]);
const SWITCHES = new Set(["--remote", "--help", "--version"]);
const MAX_PORT = 65_535;
const REFUSED: Record<string, string> = {
  "--remote": "npm run dev is for this machine alone: it needs no account and touches no network. Use `npx wrangler dev --remote`.",
  "--cwd": "--cwd is not supported: npm run dev always runs in the directory of package.json.",
};

/** Reads the flags of `wrangler dev`, in both forms: `--flag value` and `--flag=value`. */
export function parseFlags(args: readonly string[]): Flags {
  const values = new Map<string, string[]>();
  const passed: string[] = [];
  for (let at = 0; at < args.length;) {
    const { name, found, length } = readFlag(args, at);
    if (name !== undefined) {
      if (REFUSED[name] !== undefined && found[0] !== "false") throw new PlainError(REFUSED[name]);
      values.set(name, [...(values.get(name) ?? []), ...found]);
    }
    if (name !== "--port") passed.push(...args.slice(at, at + length));
    at += length;
  }
  const last = (name: string): string | undefined => values.get(name)?.at(-1);
  return {
    port: readPort(values.has("--port"), last("--port")),
    ip: last("--ip"),
    protocol: last("--local-protocol"),
    persistTo: last("--persist-to"),
    config: last("--config"),
    env: last("--env"),
    envFiles: values.get("--env-file") ?? [],
    vars: new Map((values.get("--var") ?? []).map(splitVar)),
    informs: values.has("--help") || values.has("--version"),
    passed,
  };
}

/** The flag at a place, with its values and how many arguments it takes; a name only where there is a flag. */
function readFlag(args: readonly string[], at: number): { name?: string; found: string[]; length: number } {
  const arg = args[at] ?? "";
  if (!arg.startsWith("-")) return { found: [], length: 1 };
  const equals = arg.indexOf("=");
  const written = equals < 0 ? arg : arg.slice(0, equals);
  const name = ALIASES[written] ?? written;
  const found = equals < 0 ? [] : [arg.slice(equals + 1)];
  const isList = LIST_FLAGS.has(name);
  let length = 1;
  while (!SWITCHES.has(name) && (isList || found.length === 0) && isValue(args[at + length])) {
    found.push(args[at + length]!);
    length++;
  }
  return { name, found, length };
}

function isValue(arg: string | undefined): boolean {
  return arg !== undefined && !arg.startsWith("-");
}

function readPort(given: boolean, value: string | undefined): number | undefined {
  if (!given) return undefined;
  const port = /^\d+$/.test(value ?? "") ? Number(value) : Number.NaN;
  if (!(port <= MAX_PORT)) throw new PlainError(`--port takes a number from 0 to ${MAX_PORT}, not "${value ?? ""}".`);
  return port;
}

function splitVar(pair: string): [string, string] {
  const colon = pair.indexOf(":");
  return colon < 0 ? [pair, ""] : [pair.slice(0, colon), pair.slice(colon + 1)];
}
