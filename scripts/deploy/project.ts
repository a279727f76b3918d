import { existsSync, readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";
import { WORKERS_AI_DIMENSIONS } from "../../src/models/limits.ts";
import { configProblems, databaseRegions } from "../../src/platform/config.ts";
import type { Region } from "../../src/platform/db/regions.ts";
import { bindingName, databaseNumber, mappedDatabases, MAX_DATABASES } from "../../src/platform/db/shard-map.ts";
import { ROOT, UserError } from "../shared/cli.ts";
import { prebuilt } from "../worker.ts";

/** The folder of the build that is uploaded, which no session of `npm run dev` changes. */
export const DEPLOYED = "dist/deployed";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A D1 database as the configuration names it. */
export interface DatabaseBinding {
  binding: string;
  name: string;
  /** The region of the database and of its workspaces' objects; undefined if the configuration names none. */
  region: Region | undefined;
  /** The id in the configuration, if there is one; wrangler finds the other databases by name. */
  id: string | undefined;
  /** The folder of its migrations. */
  migrationsDirectory: string;
  /** The files of its migrations, in their order. */
  migrations: string[];
  /** The table of the migrations that were applied. */
  ledger: string;
}

/** The part of wrangler's configuration that a deployment uses: the one list of all that it creates. */
export interface Project {
  /** The configuration file. */
  config: string;
  env: string;
  worker: string;
  /** The arguments that make wrangler upload the deployment's own build; none if `main` is another Worker's. */
  workerArgs: string[];
  accountId: string | undefined;
  vars: Record<string, unknown>;
  secrets: string[];
  databases: DatabaseBinding[];
  /** The queues of producers and consumers, and the dead-letter queues. */
  queues: string[];
  /** The names of the Vectorize indexes. */
  indexes: string[];
  /** The names of R2 buckets and of datasets of Analytics Engine, which the platform makes by itself. */
  buckets: string[];
  datasets: string[];
  /** The hosts that requests and routes of the operator's own domains come by. */
  hosts: string[];
  /** Those of the hosts that are custom domains: the Worker is their origin, and wrangler creates their DNS records. */
  customDomains: string[];
  /** Whether the Worker also answers on workers.dev; undefined if the configuration does not decide it. */
  isOnWorkersDev: boolean | undefined;
  /** Whether it binds Workers AI, Analytics Engine and Email Sending. */
  uses: { ai: boolean; metrics: boolean; mail: boolean };
  /** The dimensions of the vectors in the indexes. */
  dimensions: number;
}

/** The fields that are read of wrangler's configuration, whose types its package leaves open. */
interface RawConfig {
  main?: string;
  rules: { globs: string[] }[];
  name?: string;
  account_id?: string;
  vars: Record<string, unknown>;
  secrets?: { required?: string[] };
  d1_databases: RawDatabase[];
  queues: { producers?: { queue?: string }[]; consumers?: { queue: string; dead_letter_queue?: string }[] };
  vectorize: { index_name: string }[];
  routes?: Route[];
  workers_dev?: boolean;
  ai?: unknown;
  analytics_engine_datasets?: { dataset?: string }[];
  r2_buckets?: { bucket_name?: string }[];
  send_email?: unknown[];
}

type Route = string | { pattern: string; custom_domain?: boolean };

interface RawDatabase {
  binding: string;
  database_name?: string;
  database_id?: unknown;
  migrations_dir?: string;
  migrations_table?: string;
}

/**
 * Reads an environment of the configuration as wrangler does.
 * @param options.metrics false reads it without Analytics Engine.
 * @throws UserError with every problem that would keep the deployment from working.
 */
export function readProject(options: { config?: string | undefined; env: string; metrics?: boolean }): Project {
  const path = resolve(ROOT, options.config ?? "wrangler.toml");
  const config: RawConfig = readConfig({ config: path, env: options.env }, { hideWarnings: true });
  const { producers = [], consumers = [] } = config.queues;
  const datasets = options.metrics === false ? [] : (config.analytics_engine_datasets ?? []);
  const named = [...producers.map(({ queue }) => queue), ...consumers.flatMap(({ queue, dead_letter_queue: dead }) => [queue, dead])];
  const project: Project = {
    config: path,
    env: options.env,
    worker: config.name ?? "",
    workerArgs: prebuilt(config, DEPLOYED),
    accountId: config.account_id,
    vars: config.vars,
    secrets: config.secrets?.required ?? [],
    databases: config.d1_databases.map((database) => databaseOf(database, dirname(path), databaseRegions(config.vars))),
    queues: [...new Set(named.filter((queue) => queue !== undefined))],
    indexes: config.vectorize.map(({ index_name: name }) => name),
    buckets: (config.r2_buckets ?? []).flatMap(({ bucket_name: name }) => name ?? []),
    datasets: datasets.flatMap(({ dataset }) => dataset ?? []),
    hosts: (config.routes ?? []).map(hostOf),
    customDomains: (config.routes ?? []).filter((route) => typeof route !== "string" && route.custom_domain).map(hostOf),
    isOnWorkersDev: config.workers_dev,
    uses: {
      ai: config.ai !== undefined,
      metrics: datasets.length > 0,
      mail: (config.send_email ?? []).length > 0,
    },
    dimensions: dimensionsOf(config.vars),
  };
  const problems = findProblems(project);
  if (problems.length > 0) throw new UserError(`${path} [env.${options.env}]:\n${problems.map((problem) => `- ${problem}`).join("\n")}`);
  return project;
}

/** The host of a route's pattern, such as `api.example.com` and `*.example.com/*`. */
function hostOf(route: Route): string {
  return (typeof route === "string" ? route : route.pattern)
    .replace(/^https?:\/\//, "")
    .replace(/\/.*$/, "")
    .replace(/^\*\.?/, "");
}

function databaseOf(database: RawDatabase, directory: string, regions: ReadonlyMap<number, Region>): DatabaseBinding {
  const migrations = resolve(directory, database.migrations_dir ?? "migrations");
  return {
    binding: database.binding,
    name: database.database_name ?? "",
    region: regions.get(databaseNumber(database.binding) ?? -1),
    id: typeof database.database_id === "string" ? database.database_id : undefined,
    ledger: database.migrations_table ?? "d1_migrations",
    migrationsDirectory: migrations,
    migrations: existsSync(migrations)
      ? readdirSync(migrations)
          .filter((file) => file.endsWith(".sql"))
          .sort()
      : [],
  };
}

/** The dimensions of the configured embedding model, otherwise of the model on Workers AI. */
function dimensionsOf(vars: Record<string, unknown>): number {
  const { OPENAI_EMBEDDING_MODEL: model, OPENAI_EMBEDDING_DIMENSIONS: dimensions } = vars;
  return model ? Number(dimensions) : WORKERS_AI_DIMENSIONS;
}

/** The problems that the service would find in the variables and these secrets. Unknown secrets are taken to be right. */
export function findValueProblems({ vars, secrets }: Project, known: Record<string, string> = {}): string[] {
  const unknown = Object.fromEntries(secrets.map((name) => [name, "-".repeat(64)]));
  return configProblems({ ...unknown, ...vars, ...known });
}

function findProblems(project: Project): string[] {
  const { databases, dimensions } = project;
  return [
    ...findValueProblems(project),
    ...databases.flatMap(databaseProblems),
    ...(databases.some(({ binding }) => binding === bindingName(0))
      ? []
      : ["No D1 database is bound as DB: it holds what crosses workspaces."]),
    ...unboundProblems(project),
    ...(dimensions > 0 ? [] : ["OPENAI_EMBEDDING_DIMENSIONS is not set: the Vectorize index is made with it. Set it to the model's."]),
  ];
}

/** Returns a problem for each database that SHARD_MAP names and that is not bound. */
function unboundProblems({ databases, vars }: Project): string[] {
  const unbound = mappedDatabases(vars)
    .map(bindingName)
    .filter((name) => !databases.some(({ binding }) => binding === name));
  return unbound.map((name) => `SHARD_MAP names ${name}, which is not bound. Bind it, or take it out of SHARD_MAP.`);
}

function databaseProblems({ binding, name, id, migrations }: DatabaseBinding): string[] {
  return [
    ...(databaseNumber(binding) !== undefined
      ? []
      : [`${binding} is no name of a database: they are DB, DB_1, DB_2, … up to DB_${MAX_DATABASES - 1}.`]),
    ...(name === "" ? [`${binding} has no database_name: databases are found and made by it.`] : []),
    ...(id === undefined || UUID.test(id) ? [] : [`The database_id of ${binding} is a placeholder. Take it out: it is found by its name.`]),
    ...(migrations.length > 0 ? [] : [`The migrations_dir of ${binding} holds no migrations.`]),
  ];
}
