import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ROOT, UserError } from "../shared/cli.ts";
import type { Flags } from "./flags.ts";

/** No telemetry, no question, and nothing that asks the network: no check for updates, no lookup of this machine's place. */
export const WRANGLER_ENV: NodeJS.ProcessEnv = {
  // Its local trace store keeps whole URLs in the persist folder, and those of the privacy operations name whom they erase.
  X_LOCAL_OBSERVABILITY: "false",
  ...process.env,
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: "true",
  WRANGLER_HIDE_BANNER: "true",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

/** The time that a group has to end by itself before it is killed; group-leader.ts waits a little less. */
const GRACE_MS = 6_000;
/** The time that the rest of a group has after its leader ended, for each of the two signals. */
const REST_MS = 2_000;
const CHECK_EVERY_MS = 50;
const GROUP_LEADER = fileURLToPath(new URL("./group-leader.ts", import.meta.url));

/** A run of wrangler with every process that it starts, in a process group of its own. */
export interface Run {
  /** wrangler's exit code; 1 where it was killed. Settles when no process of the group is left. */
  ended: Promise<number>;
  /** The output so far, where no `onLine` was given. */
  output: () => string;
}

type OnLine = (line: string, stream: "stdout" | "stderr") => void;

const running = new Map<ChildProcess, Promise<number>>();
let stopped = false;

/** Starts wrangler in a process group of its own, under a leader that ends the group should this process die. */
export function runWrangler(args: readonly string[], onLine?: OnLine): Run {
  if (stopped) throw new Error("This session is ending.");
  const stdio = ["ignore", "pipe", "pipe", "ipc"] as const;
  const leader = spawn(process.execPath, [GROUP_LEADER, ...args], { cwd: ROOT, env: WRANGLER_ENV, stdio: [...stdio], detached: true });
  let output = "";
  const read: OnLine = onLine ?? ((line) => void (output += `${line}\n`));
  for (const stream of ["stdout", "stderr"] as const) createInterface({ input: leader[stream]! }).on("line", (line) => read(line, stream));
  const ended = groupEnd(leader).finally(() => running.delete(leader));
  running.set(leader, ended);
  return { ended, output: () => output };
}

/** Ends every group and resolves when none is left. No other group can be started afterwards. */
export async function stopAll(): Promise<void> {
  stopped = true;
  for (const leader of running.keys()) signalGroup(leader, "SIGTERM");
  const timer = setTimeout(killAll, GRACE_MS);
  await Promise.allSettled(running.values());
  clearTimeout(timer);
}

/** Kills every group at once. */
export function killAll(): void {
  for (const leader of running.keys()) signalGroup(leader, "SIGKILL");
}

async function groupEnd(leader: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  leader.once("error", reject);
  leader.once("exit", (code) => resolve(code ?? 1));
  const code = await promise;
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const deadline = Date.now() + REST_MS;
    let left = signalGroup(leader, signal);
    while (left && Date.now() < deadline) {
      await sleep(CHECK_EVERY_MS);
      left = signalGroup(leader, 0);
    }
  }
  // wrangler exits with 0 when it is killed.
  return stopped && code === 0 ? 1 : code;
}

/** Sends a signal to a whole group; false when none of it is left. */
function signalGroup(leader: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (leader.pid === undefined) return false;
  try {
    return process.kill(-leader.pid, signal);
  } catch {
    return false;
  }
}

/** Part of wrangler's output. */
const NOTHING_TO_DO = "No migrations to apply";

/** Applies the missing migrations to every local database. Returns the bindings of the databases that changed. */
export async function applyMigrations(databases: readonly string[], flags: Flags): Promise<string[]> {
  const migrated: string[] = [];
  for (const binding of databases) {
    const run = runWrangler(["d1", "migrations", "apply", binding, "--local", ...sharedFlags(flags)]);
    const code = await run.ended;
    if (code !== 0) throw new UserError(`The migrations of ${binding} failed:\n${run.output()}`);
    if (!run.output().includes(NOTHING_TO_DO)) migrated.push(binding);
  }
  return migrated;
}

/** The flags for the configuration and the state. */
function sharedFlags({ config, env, envFiles, persistTo }: Flags): string[] {
  const given = { "--config": config, "--env": env, "--persist-to": persistTo };
  const flags = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return [...flags, ...envFiles.map((file) => `--env-file=${file}`)];
}
