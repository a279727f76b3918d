import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../dev/project.ts";

/** What a fresh clone does not have: what was installed, built or kept here. */
const NOT_CLONED = /^(node_modules|\.git|\.wrangler|dist|\.dev\.vars.*|\.secrets\..*)$/;
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 10_000;
const POLL_MS = 100;
const EXPORTS = /^export (SUPPORT_URL=\S+ SUPPORT_KEY=\S+ SUPPORT_AGENT=\S+)$/m;

/** The service as a newcomer has it after `npm run dev`, in a copy of the project. */
export interface Service {
  directory: string;
  /** The variables that `npm run dev` prints. */
  variables: Record<string, string>;
  stop: () => Promise<void>;
}

/**
 * Starts `npm run dev` in a temporary copy of the project, with a state and secrets of its own.
 * @throws Error with what it printed, where it does not start.
 */
export async function startService(): Promise<Service> {
  const directory = mkdtempSync(join(tmpdir(), "support-agent-docs-"));
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (child) await end(child);
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    cpSync(ROOT, directory, { recursive: true, filter: (path) => !NOT_CLONED.test(relative(ROOT, path).split(sep)[0]!) });
    symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
    const args = ["scripts/dev.ts", `--port=${await freePort()}`, "--var", "ALLOW_PRIVATE_TARGETS:true"];
    child = spawn(process.execPath, args, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
    return { directory, variables: await readVariables(child), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function readVariables(child: ChildProcess): Promise<Record<string, string>> {
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  for (const deadline = Date.now() + START_LIMIT_MS; Date.now() < deadline && child.exitCode === null; await sleep(POLL_MS)) {
    const [, exported] = EXPORTS.exec(output) ?? [];
    const [, url] = /runs at (\S+)/.exec(output) ?? [];
    const [, key] = /DEMO_API_KEY\s+(\S+)/.exec(output) ?? [];
    const [, agent] = /DEMO_AGENT_ID\s+(\S+)/.exec(output) ?? [];
    if (url && key && agent) return { SUPPORT_URL: url, SUPPORT_KEY: key, SUPPORT_AGENT: agent };
    if (exported)
      return Object.fromEntries(exported.split(" ").map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
  }
  throw new Error(`npm run dev did not start:\n${output}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await exited;
  clearTimeout(timer);
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
