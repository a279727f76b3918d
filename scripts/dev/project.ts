import { fork } from "node:child_process";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT, UserError } from "../shared/cli.ts";
import { type Flags } from "./flags.ts";
import { WRANGLER_ENV } from "./wrangler.ts";

/** What the steps need of wrangler's configuration. */
export interface Project {
  ip: string;
  port: number;
  protocol: string;
  /** The bindings of all D1 databases, the shards. */
  databases: string[];
  /** What makes wrangler take the Worker as `npm run build` makes it. */
  workerArgs: string[];
  /** The plain variables and secrets of `.dev.vars` as `wrangler dev` would load them. */
  vars: Record<string, string>;
}

/** What the reader in the child process is asked. */
export interface ProjectQuery {
  config: string | undefined;
  env: string | undefined;
  envFiles: string[];
}

/** The directory of the configuration file, where `.dev.vars` lives. */
export function configDirectory(flags: Flags): string {
  return flags.config === undefined ? ROOT : dirname(resolve(ROOT, flags.config));
}

/** Asks wrangler itself for the configuration, in a process of its own: wrangler's code would stay in memory for the whole session. */
export async function readProject(flags: Flags): Promise<Project> {
  const query: ProjectQuery = { config: flags.config, env: flags.env, envFiles: flags.envFiles };
  const reader = fileURLToPath(new URL("./project-reader.ts", import.meta.url));
  const child = fork(reader, { cwd: ROOT, env: WRANGLER_ENV, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const { promise, resolve: found, reject } = Promise.withResolvers<Project>();
  child.once("message", (project) => found(project as Project));
  child.once("exit", (code) => reject(new UserError(`The configuration could not be read (exit code ${code}).`)));
  child.once("error", reject);
  child.send(query);
  return await promise;
}
