import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jurisdictionOf, type Region } from "../../src/platform/db/regions.ts";
import { databaseNumber, databaseOf } from "../../src/platform/db/shard-map.ts";
import { UserError } from "../shared/cli.ts";
import { required } from "./api.ts";
import { type Deployment, ensure, type Step } from "./deployment.ts";
import type { DatabaseBinding } from "./project.ts";
import { type Wrangler, WranglerError } from "./wrangler.ts";

/** A database of the account. */
export interface Database {
  uuid: string;
  name: string;
  jurisdiction?: string | null;
}

/** Every database. wrangler finds each by its name, so the configuration holds no ids. */
export const databases: Step = {
  title: "D1 databases",
  next: "A token needs the permission D1: Edit.",
  run: async (deployment) => {
    const { api, project } = deployment;
    const found = api ? required(await api.list<Database>("d1/database"), "D1 databases") : [];
    for (const database of project.databases) await ensureDatabase(deployment, database, found);
  },
};

async function ensureDatabase(deployment: Deployment, bound: DatabaseBinding, found: Database[]): Promise<void> {
  const { binding, name, id, region } = bound;
  const existing = found.find((database) => isBound(database, bound));
  const jurisdiction = jurisdictionOf(region);
  if (existing && jurisdiction !== null && existing.jurisdiction !== jurisdiction) {
    throw new UserError(
      `DATABASE_REGIONS says ${jurisdiction} for ${binding}, but ${name} was created in ${existing.jurisdiction ?? "no jurisdiction"}, and stays there. Take that out, and bind another database for ${jurisdiction}.`,
    );
  }
  if (deployment.api && id !== undefined && !existing) {
    throw new UserError(
      `The account has no database with the database_id of ${binding}. Take the id out of the configuration, so that ${name} is found or made by its name, or log in to the right account.`,
    );
  }
  const create = () => deployment.wrangler.run("d1", "create", name, ...placeFlags(region));
  await ensure(deployment, `${binding}: ${name}${region ? ` in ${region}` : ""}`, { exists: existing !== undefined, create });
}

/** Regions in which D1 has no databases, with the one where Cloudflare creates their Durable Objects. */
const D1_LOCATIONS: Partial<Record<Region, string>> = { sam: "enam", afr: "weur", me: "weur" };

function placeFlags(region: Region | undefined): string[] {
  if (region === undefined) return [];
  return [jurisdictionOf(region) ? `--jurisdiction=${region}` : `--location=${D1_LOCATIONS[region] ?? region}`];
}

const NOTHING_TO_DO = "No migrations to apply";

/** Whether a database of the account is the one of a binding. */
export function isBound({ name, uuid }: Database, bound: DatabaseBinding): boolean {
  return bound.id === undefined ? name === bound.name : uuid === bound.id;
}

/** Brings every database's schema up to date, before the code that needs it. */
export const migrations: Step = {
  title: "Migrations",
  next: "Those that were applied stay applied. If one fails by itself, its SQL and what the database holds do not fit.",
  run: async ({ options, project, wrangler, say }) => {
    for (const database of project.databases) {
      const { binding, migrations: files } = database;
      say(
        binding,
        options.dryRun ? `would apply what is missing of ${files.length}, up to ${files.at(-1)}` : await apply(wrangler, database),
      );
    }
  },
};

/** The statement of `listOwnShards` (src/platform/db/shards.ts), which scripts cannot import: the service finds moved shards wherever they are. */
const OWN_SHARDS = "SELECT DISTINCT substr(id, -2) AS shard FROM workspaces WHERE substr(id, -2) NOT IN (SELECT shard FROM shard_moves)";

/** Refuses a map that gives a shard to another database than the one that holds its workspaces, which would not be found there. */
export const shards: Step = {
  title: "Logical shards",
  next: "Nothing was deployed. Correct SHARD_MAP in the configuration.",
  run: async ({ options, project, wrangler, say }) => {
    // One database holds every shard, or the check of the configuration refuses the map.
    if (options.dryRun || project.databases.length === 1) return;
    for (const { binding } of project.databases) {
      const held = (await query(wrangler, binding, OWN_SHARDS)).map(({ shard }) => Number.parseInt(String(shard), 16));
      const misplaced = held.filter((shard) => databaseOf(project.vars, shard) !== databaseNumber(binding));
      if (misplaced.length === 0) continue;
      throw new UserError(
        `${binding} holds workspaces of the shards ${misplaced.join(", ")}, which SHARD_MAP gives to another database. Assign them to ${binding}; \`npm run shards\` moves them.`,
      );
    }
    say("SHARD_MAP", "each shard is where its workspaces are");
  },
};

/** Applies the missing migrations of a database. Returns the state to print. */
async function apply(wrangler: Wrangler, database: DatabaseBinding): Promise<string> {
  const { binding, migrations: files } = database;
  try {
    const { stdout } = await wrangler.run("d1", "migrations", "apply", binding, "--remote");
    return stdout.includes(NOTHING_TO_DO) ? "up to date" : `applied, up to ${files.at(-1)}`;
  } catch (error) {
    if (!isCutInTwo(error)) throw error;
    const imported = await importMissing(wrangler, database);
    return `applied, up to ${files.at(-1)}, the last ${imported} by import`;
  }
}

/**
 * The endpoint that takes SQL cuts some triggers in two (https://github.com/cloudflare/workers-sdk/issues/15690); the one
 * that imports files does not.
 */
function isCutInTwo(error: unknown): boolean {
  return error instanceof WranglerError && error.hasCode(7500) && error.message.includes("incomplete input");
}

/** Imports the migrations that the ledger lacks, each whole or not at all, with its row in the ledger. Returns how many. */
async function importMissing(
  wrangler: Wrangler,
  { binding, ledger, migrations: files, migrationsDirectory }: DatabaseBinding,
): Promise<number> {
  const applied = new Set((await query(wrangler, binding, `SELECT name FROM "${ledger}"`)).map(({ name }) => name));
  const missing = files.filter((file) => !applied.has(file));
  for (const file of missing) {
    const sql = readFileSync(join(migrationsDirectory, file), "utf8");
    const path = join(wrangler.directory, file);
    writeFileSync(path, `${sql}\nINSERT INTO "${ledger}" (name) VALUES ('${file.replaceAll("'", "''")}');\n`);
    await wrangler.run("d1", "execute", binding, "--remote", "--yes", `--file=${path}`);
  }
  return missing.length;
}

/** The rows that a statement finds in a database of the account. */
export async function query(wrangler: Wrangler, binding: string, sql: string): Promise<Record<string, unknown>[]> {
  const { stdout } = await wrangler.run("d1", "execute", binding, "--remote", "--json", `--command=${sql}`);
  const [found] = JSON.parse(stdout) as { results: Record<string, unknown>[] }[];
  return found?.results ?? [];
}
