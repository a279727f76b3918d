import { UserError } from "../shared/cli.ts";
import { isOwnWorker, type WorkerSettings } from "./check-account.ts";
import { type Database, isBound, query } from "./databases.ts";
import type { Deployment, Step } from "./deployment.ts";
import { WranglerError } from "./wrangler.ts";

/** Something of this deployment that the account has, with how to delete it. */
interface Found {
  thing: string;
  remove: () => Promise<unknown>;
}

/** Lists what the account has of this deployment; asked for by the Worker's name, deletes it. */
export const removal: Step = {
  title: "Remove",
  next: "What is still there, `npm run deploy -- --remove` lists.",
  run: async (deployment) => {
    const { options, project, say } = deployment;
    const name = options.dryRun ? undefined : options.name;
    if (name !== undefined && name !== project.worker) throw new UserError(`--name is "${name}", but the Worker is ${project.worker}.`);
    const workspaces = await countWorkspaces(deployment);
    const found = await findAll(deployment);
    for (const [database, count] of workspaces) say(database, `holds ${count} workspaces`);
    if (name === undefined) return sayWhatFor(deployment, found);
    if (workspaces.size > 0 && !options.withData) {
      throw new UserError(
        `${[...workspaces.keys()].join(", ")} holds workspaces, and nothing was deleted: their knowledge is in the Worker's objects, and their secrets open with its keys alone. ` +
          "Export them first (docs/backup-and-restore.md), or delete them too: add `--with-data`.",
      );
    }
    for (const { thing, remove } of found) {
      await remove();
      say(thing, "deleted");
    }
  },
};

function sayWhatFor({ project, say }: Deployment, found: Found[]): void {
  if (found.length === 0) return say(project.worker, "the account has nothing of it");
  for (const { thing } of found) say(thing, "exists");
  say("to delete all of it", `npm run deploy -- --remove --name ${project.worker}`);
}

/** What is there, in the order in which it can be deleted: a Worker that consumes a queue cannot, nor what a Worker binds. */
async function findAll(deployment: Deployment): Promise<Found[]> {
  const { project, wrangler } = deployment;
  const api = apiOf(deployment);
  const [settings, queues, indexes, databases] = await Promise.all([
    api.read<WorkerSettings>(`workers/scripts/${project.worker}/settings`),
    api.list<{ queue_name: string; consumers?: { script?: string; service?: string }[] }>("queues"),
    api.read<{ name: string }[]>("vectorize/v2/indexes"),
    api.list<Database>("d1/database"),
  ]);
  if (!queues.result || !indexes.result || !databases.result) throw new UserError("The login may not read what the account has.");
  const ownQueues = queues.result.filter(({ queue_name: name }) => project.queues.includes(name));
  const consumed = ownQueues.filter(({ consumers }) => consumers?.some((one) => (one.script ?? one.service) === project.worker));
  const ownIndexes = indexes.result.filter(({ name }) => project.indexes.includes(name));
  const ownDatabases = databases.result.filter((database) => project.databases.some((bound) => isBound(database, bound)));
  return [
    ...consumed.map(({ queue_name: name }) => ({
      thing: `consumer of ${name}`,
      remove: () => wrangler.run("queues", "consumer", "remove", name, project.worker),
    })),
    ...(settings.result && isOwnWorker(settings.result, project.queues)
      ? [{ thing: `Worker ${project.worker}, its secrets and its objects`, remove: () => wrangler.run("delete", "--force") }]
      : []),
    ...ownQueues.map(({ queue_name: name }) => ({ thing: `queue ${name}`, remove: () => wrangler.run("queues", "delete", name) })),
    ...ownIndexes.map(({ name }) => ({ thing: `index ${name}`, remove: () => wrangler.run("vectorize", "delete", name, "--force") })),
    ...ownDatabases.map(({ name }) => ({
      thing: `database ${name}`,
      remove: () => wrangler.run("d1", "delete", name, "--skip-confirmation"),
    })),
  ];
}

/** How many workspaces each database holds, where it holds any. */
async function countWorkspaces(deployment: Deployment): Promise<Map<string, number>> {
  const { project, wrangler } = deployment;
  const { result: existing } = await apiOf(deployment).list<Database>("d1/database");
  const counts = new Map<string, number>();
  for (const bound of project.databases) {
    if (!existing?.some((database) => isBound(database, bound))) continue;
    const { binding, name } = bound;
    try {
      const [row] = await query(wrangler, binding, "SELECT count(*) AS held FROM workspaces");
      if (Number(row?.["held"]) > 0) counts.set(name, Number(row?.["held"]));
    } catch (error) {
      // One that was made, and has no tables yet.
      if (!(error instanceof WranglerError && error.message.includes("no such table"))) throw error;
    }
  }
  return counts;
}

function apiOf({ api }: Deployment) {
  if (!api) throw new UserError("There are several accounts: set CLOUDFLARE_ACCOUNT_ID to the id of the one.");
  return api;
}
