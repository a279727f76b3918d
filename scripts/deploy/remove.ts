import { UserError } from "../shared/cli.ts";
import { required } from "./api.ts";
import { isOwnWorker, type WorkerSettings } from "./check-account.ts";
import { type Database, isBound, query } from "./databases.ts";
import type { Deployment, Step } from "./deployment.ts";
import type { DatabaseBinding } from "./project.ts";
import type { Index, Queue } from "./resources.ts";
import { WranglerError } from "./wrangler.ts";

/** Something of this deployment in the account, and the wrangler command that deletes it. */
interface Found {
  thing: string;
  command: string[];
}

/** Lists what the account has of this deployment, and deletes it where the Worker's name confirms that. */
export const removal: Step = {
  title: "Remove",
  next: "Without `--name` the command lists what is still there.",
  run: async (deployment) => {
    const { options, project, say, wrangler } = deployment;
    const name = options.dryRun ? undefined : options.name;
    if (name !== undefined && name !== project.worker) throw new UserError(`--name is "${name}", but the Worker is ${project.worker}.`);
    const { found, databases } = await findAll(deployment);
    const holding: string[] = [];
    for (const database of databases) {
      const count = await countWorkspaces(deployment, database);
      if (count > 0) holding.push(database.name);
      if (count > 0) say(database.name, `holds ${count} workspaces`);
    }
    if (name === undefined) return list(deployment, found);
    if (holding.length > 0 && !options.withData) {
      throw new UserError(
        `${holding.join(", ")} holds workspaces, and nothing was deleted: their knowledge is in the Worker's objects, and their secrets open with its keys alone. ` +
          "Export them first (docs/backup-and-restore.md), or delete them too: add `--with-data`.",
      );
    }
    for (const { thing, command } of found) {
      await wrangler.run(...command);
      say(thing, "deleted");
    }
  },
};

function list({ project, say }: Deployment, found: Found[]): void {
  if (found.length === 0) return say(project.worker, "the account has nothing of it");
  for (const { thing } of found) say(thing, "exists");
  say("to delete all of it", `npm run deploy -- --remove --env ${project.env} --name ${project.worker}`);
}

/** What the account has, in the order in which it can be deleted: consumers before the Worker, the Worker before what it binds. */
async function findAll({ api, project }: Deployment): Promise<{ found: Found[]; databases: DatabaseBinding[] }> {
  if (!api) throw new UserError("Nobody is logged in.");
  const [{ result: settings }, allQueues, allIndexes, allDatabases] = await Promise.all([
    api.read<WorkerSettings>(`workers/scripts/${project.worker}/settings`),
    api.list<Queue>("queues"),
    api.read<Index[]>("vectorize/v2/indexes"),
    api.list<Database>("d1/database"),
  ]);
  const queues = required(allQueues, "queues").filter(({ queue_name: name }) => project.queues.includes(name));
  const consumed = queues.filter(({ consumers }) => consumers?.some((one) => (one.script ?? one.service) === project.worker));
  const indexes = required(allIndexes, "Vectorize indexes").filter(({ name }) => project.indexes.includes(name));
  const existing = required(allDatabases, "D1 databases");
  const databases = project.databases.flatMap((bound) =>
    existing.filter((database) => isBound(database, bound)).map(({ name }) => ({ ...bound, name })),
  );
  const hasWorker = settings !== undefined && isOwnWorker(settings, project.queues);
  const found = [
    ...consumed.map(({ queue_name: name }) => ({
      thing: `consumer of ${name}`,
      command: ["queues", "consumer", "remove", name, project.worker],
    })),
    ...(hasWorker ? [{ thing: `Worker ${project.worker}, its secrets and its objects`, command: ["delete", "--force"] }] : []),
    ...queues.map(({ queue_name: name }) => ({ thing: `queue ${name}`, command: ["queues", "delete", name] })),
    ...indexes.map(({ name }) => ({ thing: `index ${name}`, command: ["vectorize", "delete", name, "--force"] })),
    ...databases.map(({ name }) => ({ thing: `database ${name}`, command: ["d1", "delete", name, "--skip-confirmation"] })),
  ];
  return { found, databases };
}

/** The number of workspaces in a database; 0 for one without tables. */
async function countWorkspaces({ wrangler }: Deployment, { binding }: DatabaseBinding): Promise<number> {
  try {
    const [row] = await query(wrangler, binding, "SELECT count(*) AS held FROM workspaces");
    return Number(row?.["held"]);
  } catch (error) {
    if (error instanceof WranglerError && error.message.includes("no such table")) return 0;
    throw error;
  }
}
