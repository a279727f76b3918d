import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Deployment, Step } from "./deployment.ts";
import type { Ran } from "./wrangler.ts";

/** For the owner alone. */
const FILE_MODE = 0o600;
/** Such as `name.account.workers.dev`, `api.example.com (custom domain)` and `api.example.com/* (zone name: example.com)`. */
const HOST_TARGET = /^(?:https:\/\/)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?:\/\*)?(?: \((?:custom domain|zone)[^)]*\))?$/;

/** Comes before anything is changed: what does not build is not deployed half. */
export const build: Step = {
  title: "Build",
  next: "`npm run verify` says more.",
  run: async ({ options, project, wrangler, say }) => {
    if (options.dryRun) return say(project.worker, "would build");
    await wrangler.run("deploy", "--dry-run", `--outdir=${join(dirname(project.config), "dist")}`);
    say(project.worker, "built");
  },
};

/** Puts the Worker up, with the secrets that it lacks: a Worker that does not exist yet takes them in no other way. */
export const deploy: Step = {
  title: "Deploy",
  next: "A token needs the permission Workers Scripts: Edit. An account's first Worker needs a workers.dev name: open Workers & Pages in the dashboard once.",
  run: async (deployment) => {
    const { options, project, wrangler, say } = deployment;
    if (options.dryRun) return say(project.worker, "would deploy");
    const ran = await wrangler.run("deploy", ...secretFlags(deployment));
    deployment.url = options.url ?? urlIn(ran);
    say(project.worker, `deployed${deployment.url ? ` to ${deployment.url}` : ""}`);
    for (const name of Object.keys(deployment.missingSecrets)) say(name, "set");
  },
};

function secretFlags({ missingSecrets, wrangler }: Deployment): string[] {
  if (Object.keys(missingSecrets).length === 0) return [];
  const file = join(wrangler.directory, "secrets.json");
  writeFileSync(file, JSON.stringify(missingSecrets), { mode: FILE_MODE });
  return [`--secrets-file=${file}`];
}

/** Where wrangler says that the Worker answers: a workers.dev name, or a domain of the operator's. */
function urlIn({ events }: Ran): string | undefined {
  const targets = events.flatMap((event) => event.targets ?? []);
  const hosts = targets.flatMap((target) => HOST_TARGET.exec(target)?.[1] ?? []);
  return hosts[0] === undefined ? undefined : `https://${hosts[0]}`;
}
