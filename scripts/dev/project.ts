import { execFile } from "node:child_process";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ROOT, UserError } from "../shared/cli.ts";
import { type Flags } from "./flags.ts";
import { WRANGLER_ENV } from "./wrangler.ts";

/** The parts of wrangler's configuration that this script uses. */
export interface Project {
  ip: string;
  port: number;
  protocol: string;
  /** The bindings of all D1 databases, the shards. */
  databases: string[];
  /** The arguments that make wrangler take the Worker as `npm run build` makes it. */
  workerArgs: string[];
  /** The plain variables and secrets of `.dev.vars` as `wrangler dev` loads them. */
  vars: Record<string, string>;
}

/** The directory of the configuration file, where `.dev.vars` is. */
export function configDirectory(flags: Flags): string {
  return flags.config === undefined ? ROOT : dirname(resolve(ROOT, flags.config));
}

/**
 * Reads the configuration with wrangler's code, in a process of its own, since that code would stay in memory for the session.
 * @throws UserError where the configuration cannot be read.
 */
export async function readProject({ config, env, envFiles }: Flags): Promise<Project> {
  const reader = [fileURLToPath(new URL("./project-reader.ts", import.meta.url)), JSON.stringify({ config, env, envFiles })];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, reader, { cwd: ROOT, env: WRANGLER_ENV });
    return JSON.parse(stdout.slice(stdout.lastIndexOf("\n") + 1)) as Project;
  } catch (error) {
    throw new UserError(`The configuration could not be read:\n${(error as { stderr?: string }).stderr}`);
  }
}
