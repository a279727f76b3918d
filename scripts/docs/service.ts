import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { parseEnv } from "node:util";
import { ROOT } from "../shared/cli.ts";
import { poll } from "../shared/service.ts";

/** Files that a fresh clone does not have, since they were installed, built or stored here. */
const NOT_CLONED = /^(node_modules|\.git|\.wrangler|dist|\.dev\.vars.*|\.secrets\..*)$/;
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 10_000;
const EXPORTS = /^export (SUPPORT_URL=\S+ SUPPORT_KEY=\S+ SUPPORT_AGENT=\S+)$/m;

/** `npm run dev` in a temporary copy of the project, as a newcomer has it after a clone. */
interface Service {
  directory: string;
  /** Once it has started. */
  operatorToken: () => string;
  /** The variables that it prints; rejects with its output where it does not start. */
  variables: Promise<NodeJS.Dict<string>>;
  /** Ends it and removes the copy. */
  stop: () => Promise<void>;
}

/** Starts the service with a state and secrets of its own. @param vars further variables. */
export function startService(vars: Readonly<Record<string, string>> = {}): Service {
  const directory = mkdtempSync(join(tmpdir(), "support-agent-docs-"));
  cpSync(ROOT, directory, { recursive: true, filter: (path) => !NOT_CLONED.test(basename(relative(ROOT, path))) });
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  const pairs = Object.entries({ ...vars, ALLOW_PRIVATE_TARGETS: "true" }).map(([name, value]) => `--var=${name}:${value}`);
  const args = ["scripts/dev.ts", "--port=0", ...("OPENAI_BASE_URL" in vars ? [] : ["--model=none"]), ...pairs];
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
    await exited;
    clearTimeout(timer);
    rmSync(directory, { recursive: true, force: true });
  };
  const operatorToken = (): string => parseEnv(readFileSync(join(directory, ".dev.vars"), "utf8"))["OPERATOR_TOKEN"] ?? "";
  return { directory, operatorToken, variables: readVariables(child), stop };
}

async function readVariables(child: ChildProcess): Promise<NodeJS.Dict<string>> {
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const read = async () => EXPORTS.exec(output)?.[1] ?? (child.exitCode === null && child.signalCode === null ? undefined : "");
  const exported = await poll(read, START_LIMIT_MS);
  if (!exported) throw new Error(`npm run dev did not start:\n${output}`);
  return parseEnv(exported.replaceAll(" ", "\n"));
}
