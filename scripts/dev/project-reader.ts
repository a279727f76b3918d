import { unstable_getVarsForDev as getVarsForDev, unstable_readConfig as readConfig } from "wrangler";
import { prebuilt } from "../worker.ts";
import type { Project, ProjectQuery } from "./project.ts";

const DEFAULT_PORT = 8787;

process.once("message", (query) => process.send!(read(query as ProjectQuery), () => process.disconnect()));

function read(query: ProjectQuery): Project {
  const config = readConfig(
    { ...(query.config !== undefined && { config: query.config }), ...(query.env !== undefined && { env: query.env }) },
    { hideWarnings: true },
  );
  const loaded = getVarsForDev(config.configPath, query.envFiles, config.vars, query.env, true, config.secrets);
  const texts = Object.entries(loaded).filter((entry) => typeof entry[1].value === "string");
  return {
    ip: config.dev.ip,
    port: config.dev.port ?? DEFAULT_PORT,
    protocol: config.dev.local_protocol,
    databases: config.d1_databases.map(({ binding }: { binding: string }) => binding),
    workerArgs: prebuilt(config),
    vars: Object.fromEntries(texts.map(([name, binding]) => [name, String(binding.value)])),
  };
}
