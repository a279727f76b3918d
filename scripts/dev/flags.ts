import { UserError } from "../shared/cli.ts";

/** The flags of `npm run dev`: its own, those of `wrangler dev` that it needs itself, and all that it passes on. */
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
  /** The chat model to use, as its server names it, or "none"; undefined for whichever is found. */
  model: string | undefined;
  /** Print the service's log lines as JSON. */
  json: boolean;
  /** Whether the demo has sample conversations; false erases them. */
  samples: boolean;
  help: boolean;
  version: boolean;
  /** All flags for wrangler, as they were given; the port is passed separately. */
  passed: string[];
}

export const USAGE = `npm run dev [-- FLAGS]: runs the service on this machine, with a demo workspace, key and agent.

  --port PORT   where it listens (8787; 0: any free port)
  --model NAME  a model of a server on this machine (Ollama, LM Studio, llama.cpp, vLLM), or none; without it, one that is found
  --no-samples  a demo without sample conversations; those that are there are erased
  --json        print the service's log as JSON, as in production
  --version     print the versions of the service and of wrangler
  --help        print this

Flags of \`wrangler dev\` are passed on, such as --persist-to DIR, --var NAME:VALUE and --env NAME.`;

const ALIASES: Record<string, string> = { "-c": "--config", "-e": "--env", "-r": "--remote", "-h": "--help", "-v": "--version" };
/** Flags that take every value up to the next flag. */
const LIST_FLAGS = new Set(["--var", "--env-file"]);
const SWITCHES = new Set(["--remote", "--help", "--version", "--json", "--no-samples"]);
/** Not passed on to wrangler. */
const OWN_FLAGS = new Set(["--port", "--model", "--json", "--no-samples", "--help", "--version"]);
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
      if (REFUSED[name] !== undefined && found[0] !== "false") throw new UserError(REFUSED[name]);
      values.set(name, [...(values.get(name) ?? []), ...found]);
    }
    if (name === undefined || !OWN_FLAGS.has(name)) passed.push(...args.slice(at, at + length));
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
    model: readModel(values.has("--model"), last("--model")),
    json: values.has("--json"),
    samples: !values.has("--no-samples"),
    help: values.has("--help"),
    version: values.has("--version"),
    passed,
  };
}

/** The flag at an index, with its values and how many arguments it takes; without a name where there is none. */
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
  if (!(port <= MAX_PORT)) throw new UserError(`--port takes a number from 0 to ${MAX_PORT}, not "${value ?? ""}".`);
  return port;
}

function readModel(given: boolean, value: string | undefined): string | undefined {
  if (given && !value) throw new UserError("--model takes the name of a model, or none.");
  return value;
}

function splitVar(pair: string): [string, string] {
  const colon = pair.indexOf(":");
  return colon < 0 ? [pair, ""] : [pair.slice(0, colon), pair.slice(colon + 1)];
}
