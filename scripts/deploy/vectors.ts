import { PlainError } from "../dev/flags.ts";
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
  throw new PlainError(
    `The index ${name} has ${config.dimensions} dimensions and the metric ${config.metric}; the model needs ${dimensions} and ${METRIC}. ` +
      `Delete it (\`npx wrangler vectorize delete ${name}\`), raise VECTORS_ROUND, so that its vectors are made again, and run this again.`,
  );
}
