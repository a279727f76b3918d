import { UserError } from "../shared/cli.ts";
import { type CloudflareApi, required } from "./api.ts";
import { type Deployment, ensure, type Step } from "./deployment.ts";

/** The similarity of two texts is the angle between their vectors. */
const METRIC = "cosine";
/** What searches filter by. It is created with the index, since vectors that are older than a metadata index are not in it. */
const FILTERED = { property: "agent", type: "string" };

/** A Vectorize index of the account. */
export interface Index {
  name: string;
  config: { dimensions?: number; metric?: string };
}

/** The Vectorize indexes, with what searches filter by. */
export const vectors: Step = {
  title: "Vectorize",
  next: "A token needs the permission Vectorize: Edit.",
  run: async (deployment) => {
    const { api, project } = deployment;
    if (project.indexes.length === 0) return;
    const found = api ? required(await api.read<Index[]>("vectorize/v2/indexes"), "Vectorize indexes") : [];
    for (const name of project.indexes) {
      const index = found.find((one) => one.name === name);
      await ensureIndex(deployment, name, index);
    }
  },
};

async function ensureIndex(deployment: Deployment, name: string, found: Index | undefined): Promise<void> {
  const { api, wrangler, project, say } = deployment;
  const { dimensions } = project;
  const problem = found && indexProblem(found, dimensions);
  if (problem !== undefined) throw new UserError(problem);
  await ensure(deployment, `index ${name}, ${dimensions} dimensions, ${METRIC}`, {
    exists: found !== undefined,
    create: () => wrangler.run("vectorize", "create", name, `--dimensions=${dimensions}`, `--metric=${METRIC}`, "--json"),
  });
  const isFiltered = api !== undefined && found !== undefined && (await filtersOf(api, name)).includes(FILTERED.property);
  await ensure(deployment, `metadata index ${FILTERED.property} of ${name}`, {
    exists: isFiltered,
    create: () =>
      wrangler.run("vectorize", "create-metadata-index", name, `--propertyName=${FILTERED.property}`, `--type=${FILTERED.type}`),
  });
  if (found && !isFiltered) say(name, "vectors that it holds already are not found: raise VECTORS_ROUND, so that they are made again");
}

async function filtersOf(api: CloudflareApi, index: string): Promise<string[]> {
  const reply = await api.read<{ metadataIndexes: { propertyName: string }[] }>(`vectorize/v2/indexes/${index}/metadata_index/list`);
  return required(reply, "metadata indexes").metadataIndexes.map(({ propertyName }) => propertyName);
}

/** Why an existing index cannot be used: an index keeps the shape that it was created with. */
export function indexProblem({ name, config }: Index, dimensions: number): string | undefined {
  if (config.dimensions === dimensions && config.metric === METRIC) return undefined;
  return (
    `The index ${name} has ${config.dimensions} dimensions and the metric ${config.metric}; the model needs ${dimensions} and ${METRIC}. ` +
    `Delete it (\`npx wrangler vectorize delete ${name}\`), raise VECTORS_ROUND, so that its vectors are made again, and run this again.`
  );
}

/** A queue of the account. */
export interface Queue {
  queue_name: string;
  consumers?: { script?: string; service?: string }[];
}

/** All queues of the configuration, including those for dead letters. */
export const queues: Step = {
  title: "Queues",
  next: "A token needs the permission Queues: Edit.",
  run: async (deployment) => {
    const { api, project, wrangler } = deployment;
    const found = api ? required(await api.list<Queue>("queues"), "queues") : [];
    for (const name of project.queues) {
      const exists = found.some((queue) => queue.queue_name === name);
      await ensure(deployment, name, { exists, create: () => wrangler.run("queues", "create", name) });
    }
  },
};
