import { PlainError } from "../dev/flags.ts";
import { type Deployment, ensure, type Step } from "./deployment.ts";
import type { DatabaseBinding } from "./project.ts";

interface Database {
  uuid: string;
  name: string;
}

const NOTHING_TO_DO = "No migrations to apply";

/** Every shard's database. wrangler finds each by its name, so that no id has to be written down. */
export const databases: Step = {
  title: "D1 databases",
  next: "A token needs the permission D1: Edit.",
  run: async (deployment) => {
    const { hasAccount, project, wrangler } = deployment;
    const found = hasAccount ? (JSON.parse((await wrangler.run("d1", "list", "--json")).stdout) as Database[]) : [];
    for (const database of project.databases) await ensureDatabase(deployment, database, found);
  },
};

async function ensureDatabase(deployment: Deployment, { binding, name, id }: DatabaseBinding, found: Database[]): Promise<void> {
  const exists = found.some((database) => (id === undefined ? database.name === name : database.uuid === id));
  if (deployment.hasAccount && id !== undefined && !exists) {
    throw new PlainError(
      `The account has no database with the database_id of ${binding}. Take the id out of the configuration, so that ${name} is found or made by its name, or log in to the right account.`,
    );
  }
  await ensure(deployment, `${binding}: ${name}`, { exists, create: () => deployment.wrangler.run("d1", "create", name) });
}

/** Brings every shard's schema up to date, before the code that needs it. */
export const migrations: Step = {
  title: "Migrations",
  next: "Those that were applied stay applied. If one fails by itself, its SQL and what the database holds do not fit.",
  run: async ({ options, project, wrangler, say }) => {
    for (const { binding, migrations: files } of project.databases) {
      if (options.dryRun) {
        say(binding, `would apply what is missing of ${files.length}, up to ${files.at(-1)}`);
        continue;
      }
      const { stdout } = await wrangler.run("d1", "migrations", "apply", binding, "--remote");
      say(binding, stdout.includes(NOTHING_TO_DO) ? "up to date" : `applied, up to ${files.at(-1)}`);
    }
  },
};
