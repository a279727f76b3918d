import { PlainError } from "../dev/flags.ts";
import { type Deployment, ensure, type Step } from "./deployment.ts";

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
 * @throws PlainError when what was printed is no such table.
 */
export function namesIn(table: string): string[] {
  const rows = table.split("\n").filter((line) => line.includes("│"));
  const [head, ...body] = rows.map((line) => line.split("│").map((cell) => cell.trim()));
  if (!head) return [];
  const column = head.indexOf("name");
  if (column < 0) throw new PlainError("wrangler listed the queues in a form that this command does not know.");
  return body.flatMap((cells) => cells[column] || []);
}
