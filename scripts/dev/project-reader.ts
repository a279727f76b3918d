import { unstable_getVarsForDev as getVarsForDev, unstable_readConfig as readConfig } from "wrangler";
import { prebuilt } from "../worker.ts";
import type { Flags } from "./flags.ts";
import type { Project } from "./project.ts";

// Prints wrangler's configuration as its last line, for the flags that its argument holds.
const DEFAULT_PORT = 8787;

const { config: path, env, envFiles } = JSON.parse(process.argv[2]!) as Pick<Flags, "config" | "env" | "envFiles">;
const config = readConfig({ ...(path !== undefined && { config: path }), ...(env !== undefined && { env }) }, { hideWarnings: true });
const vars = Object.entries(getVarsForDev(config.configPath, envFiles, config.vars, env, true, config.secrets));
const project: Project = {
  ip: config.dev.ip,
  port: config.dev.port ?? DEFAULT_PORT,
  protocol: config.dev.local_protocol,
  databases: config.d1_databases.map(({ binding }: { binding: string }) => binding),
  workerArgs: prebuilt(config),
  vars: Object.fromEntries(vars.flatMap(([name, { value }]) => (typeof value === "string" ? [[name, value]] : []))),
};
process.stdout.write(`\n${JSON.stringify(project)}`);
