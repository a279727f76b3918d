import { UserError } from "../shared/cli.ts";
import { type Deployment, ensure, type Step } from "./deployment.ts";

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
  const problem = found && indexProblem(found, dimensions);
  if (problem !== undefined) throw new UserError(problem);
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

/** What keeps an index that exists from being used: it keeps the shape that it was made with. */
export function indexProblem({ name, config }: Index, dimensions: number): string | undefined {
  if (config.dimensions === dimensions && config.metric === METRIC) return undefined;
  return (
    `The index ${name} has ${config.dimensions} dimensions and the metric ${config.metric}; the model needs ${dimensions} and ${METRIC}. ` +
    `Delete it (\`npx wrangler vectorize delete ${name}\`), raise VECTORS_ROUND, so that its vectors are made again, and run this again.`
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
