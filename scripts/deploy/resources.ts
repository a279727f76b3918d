import { UserError } from "../shared/cli.ts";
import { type Deployment, ensure, type Step } from "./deployment.ts";
import type { DatabaseBinding } from "./project.ts";

/** How near two texts are is the angle between their vectors. */
const METRIC = "cosine";
/** What searches filter by. Vectors that came before their metadata index are not in it: it is made with the index. */
const FILTERED = { property: "agent", type: "string" };

interface Index {
  name: string;
  config: { dimensions?: number; metric?: string };
}

/** The Vectorize indexes, with what searches filter by. */
export const vectors: Step = {
  title: "Vectorize",
  next: "A token needs the permission Vectorize: Edit.",
  run: async (deployment) => {
    const { hasAccount, wrangler, project } = deployment;
    const found = hasAccount ? (JSON.parse((await wrangler.run("vectorize", "list", "--json")).stdout) as Index[]) : [];
    for (const name of project.indexes) {
      await ensureIndex(
        deployment,
        name,
        found.find((index) => index.name === name),
      );
    }
  },
};

async function ensureIndex(deployment: Deployment, name: string, found: Index | undefined): Promise<void> {
  const { wrangler, project, say } = deployment;
  const { dimensions } = project;
  if (found) refuseOther(found, dimensions);
  await ensure(deployment, `index ${name}, ${dimensions} dimensions, ${METRIC}`, {
    exists: found !== undefined,
    create: () => wrangler.run("vectorize", "create", name, `--dimensions=${dimensions}`, `--metric=${METRIC}`, "--json"),
  });
  const isFiltered = found !== undefined && (await filteredBy(deployment, name)).includes(FILTERED.property);
  await ensure(deployment, `metadata index ${FILTERED.property} of ${name}`, {
    exists: isFiltered,
    create: () =>
      wrangler.run("vectorize", "create-metadata-index", name, `--propertyName=${FILTERED.property}`, `--type=${FILTERED.type}`),
  });
  if (found && !isFiltered) say(name, "vectors that it holds already are not found: raise VECTORS_ROUND, so that they are made again");
}

async function filteredBy({ wrangler }: Deployment, name: string): Promise<string[]> {
  const { stdout } = await wrangler.run("vectorize", "list-metadata-index", name, "--json");
  return (JSON.parse(stdout) as { propertyName: string }[]).map(({ propertyName }) => propertyName);
}

/** An index keeps the shape that it was made with. */
function refuseOther({ name, config }: Index, dimensions: number): void {
  if (config.dimensions === dimensions && config.metric === METRIC) return;
  throw new UserError(
    `The index ${name} has ${config.dimensions} dimensions and the metric ${config.metric}; the model needs ${dimensions} and ${METRIC}. ` +
      `Delete it (\`npx wrangler vectorize delete ${name}\`), raise VECTORS_ROUND, so that its vectors are made again, and run this again.`,
  );
}

/** All queues of the configuration, those of dead letters among them. */
export const queues: Step = {
  title: "Queues",
  next: "A token needs the permission Queues: Edit.",
  run: async (deployment) => {
    const found = deployment.hasAccount ? await listQueues(deployment) : new Set<string>();
    for (const name of deployment.project.queues) {
      await ensure(deployment, name, { exists: found.has(name), create: () => deployment.wrangler.run("queues", "create", name) });
    }
  },
};

/** wrangler lists queues page by page, as a table alone. It is read until nothing is missing, or a page shows nothing new. */
async function listQueues({ wrangler, project }: Deployment): Promise<Set<string>> {
  const names = new Set<string>();
  for (let page = 1; ; page++) {
    const known = names.size;
    const { stdout } = await wrangler.run("queues", "list", `--page=${page}`);
    for (const name of namesIn(stdout)) names.add(name);
    if (names.size === known || project.queues.every((queue) => names.has(queue))) return names;
  }
}

/**
 * The column of names in a table as wrangler draws it.
 * @throws UserError when what was printed is no such table.
 */
export function namesIn(table: string): string[] {
  const rows = table.split("\n").filter((line) => line.includes("│"));
  const [head, ...body] = rows.map((line) => line.split("│").map((cell) => cell.trim()));
  if (!head) return [];
  const column = head.indexOf("name");
  if (column < 0) throw new UserError("wrangler listed the queues in a form that this command does not know.");
  return body.flatMap((cells) => cells[column] || []);
}

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
    throw new UserError(
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
