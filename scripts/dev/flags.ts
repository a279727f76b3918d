import { parseArgs } from "node:util";
import { UserError } from "../shared/cli.ts";

export const USAGE = `npm run dev [-- FLAGS]: runs the service on this machine, with a demo workspace, key and agent.

  --port PORT   where it listens (8787; 0: any free port)
  --model NAME  a model of a server on this machine (Ollama, LM Studio, llama.cpp, vLLM), or none; without it, one that is found
  --no-samples  a demo without sample conversations; those that are there are erased
  --json        print the service's log as JSON, as in production
  --version     print the versions of the service and of wrangler
  --help        print this

Flags of \`wrangler dev\` are passed on, such as --persist-to DIR, --var NAME:VALUE and --env NAME.`;

const OWN_OPTIONS = {
  port: { type: "string" },
  model: { type: "string" },
  json: { type: "boolean" },
  "no-samples": { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;
/** Flags of wrangler that this script reads too. */
const WRANGLER_OPTIONS = {
  ip: { type: "string" },
  "local-protocol": { type: "string" },
  "persist-to": { type: "string" },
  config: { type: "string", short: "c" },
  env: { type: "string", short: "e" },
  "env-file": { type: "string", multiple: true },
  var: { type: "string", multiple: true },
  remote: { type: "boolean", short: "r" },
  cwd: { type: "string" },
} as const;
/** Flags that take every value up to the next flag. */
const LIST_FLAGS = new Set<string | undefined>(["var", "env-file"]);
const MAX_PORT = 65_535;
const REFUSED: Record<string, string> = {
  remote: "npm run dev is for this machine alone: it needs no account and touches no network. Use `npx wrangler dev --remote`.",
  cwd: "--cwd is not supported: npm run dev always runs in the directory of package.json.",
};

/** The flags of `npm run dev`. */
export type Flags = ReturnType<typeof parseFlags>;

/**
 * Reads the flags of this script and those of `wrangler dev`.
 * @throws UserError for a wrong value.
 */
export function parseFlags(args: readonly string[]) {
  const options = { ...OWN_OPTIONS, ...WRANGLER_OPTIONS };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const values = new Map<string, string[]>();
  const own = new Set<number>();
  let last: string | undefined;
  for (const token of tokens) {
    if (token.kind === "positional" && LIST_FLAGS.has(last)) values.get(last!)!.push(token.value);
    if (token.kind !== "option") continue;
    last = token.name;
    if (REFUSED[last] !== undefined && token.value !== "false") throw new UserError(REFUSED[last]);
    values.set(last, [...(values.get(last) ?? []), ...(token.value === undefined ? [] : [token.value])]);
    if (last in OWN_OPTIONS) own.add(token.index);
    if (last in OWN_OPTIONS && token.value !== undefined && !token.inlineValue) own.add(token.index + 1);
  }
  const valueOf = (name: keyof typeof options): string | undefined => values.get(name)?.at(-1);
  return {
    port: readPort(values.has("port"), valueOf("port")),
    ip: valueOf("ip"),
    protocol: valueOf("local-protocol"),
    persistTo: valueOf("persist-to"),
    config: valueOf("config"),
    env: valueOf("env"),
    envFiles: values.get("env-file") ?? [],
    /** The `--var NAME:VALUE` pairs. */
    vars: new Map((values.get("var") ?? []).map(splitVar)),
    model: readModel(values.has("model"), valueOf("model")),
    json: values.has("json"),
    samples: !values.has("no-samples"),
    help: values.has("help"),
    version: values.has("version"),
    /** The flags for wrangler, as they were given. */
    passed: args.filter((_, at) => !own.has(at)),
  };
}

function readPort(isGiven: boolean, value = ""): number | undefined {
  if (!isGiven) return undefined;
  const port = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= MAX_PORT)) throw new UserError(`--port takes a number from 0 to ${MAX_PORT}, not "${value}".`);
  return port;
}

function readModel(isGiven: boolean, value = ""): string | undefined {
  if (isGiven && (value === "" || value.startsWith("-"))) throw new UserError("--model takes the name of a model, or none.");
  return isGiven ? value : undefined;
}

function splitVar(pair: string): [string, string] {
  const [name = "", ...value] = pair.split(":");
  return [name, value.join(":")];
}
