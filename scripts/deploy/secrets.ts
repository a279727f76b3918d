import { dirname, join } from "node:path";
import { UserError } from "../shared/cli.ts";
import { randomSecret, readDevVars, setDevVars } from "../shared/dev-vars.ts";
import { required } from "./api.ts";
import { shown } from "./config-file.ts";
import { type Deployment, isOnCi, type Step } from "./deployment.ts";
import { findValueProblems, type Project } from "./project.ts";

/** Secrets that the service works without. They are made with the required ones. */
const OPTIONAL_SECRETS = ["HEALTH_TOKEN"];

/**
 * The secrets that the Worker lacks. They are written to a file on this machine before the Worker gets them, and the next run
 * takes them from there, so a deployment that failed continues with the same ones and the operator has the token.
 */
export const secrets: Step = {
  title: "Secrets",
  next: "A token needs the permission Workers Scripts: Edit.",
  run: async (deployment) => {
    const { options, project, api, say } = deployment;
    const present = await listSecrets(deployment);
    const file = secretsFile(project);
    const kept = readDevVars(file);
    const cannotMake = isOnCi(deployment);
    const unmade: string[] = [];
    for (const name of [...project.secrets, ...OPTIONAL_SECRETS]) {
      if (present.has(name)) say(name, "exists");
      else if (options.dryRun)
        say(name, `would set${api ? "" : " where it does not exist"}, ${kept[name] ? `from ${shown(file)}` : "made at random"}`);
      else if (kept[name]) deployment.missingSecrets[name] = kept[name];
      else if (!cannotMake) deployment.missingSecrets[name] = randomSecret();
      else if (OPTIONAL_SECRETS.includes(name))
        say(name, "not made, since a CI runner would lose it; a deployment from your machine makes it");
      else unmade.push(name);
    }
    if (unmade.length > 0) throw new UserError(lossOf(unmade, file));
    keep(deployment, file, kept);
  },
};

function lossOf(names: string[], file: string): string {
  return `the Worker lacks ${names.join(", ")}, and a CI runner would lose what it makes. Make the first deployment from your machine, or write them into ${shown(file)} in the job, from where you keep secrets.`;
}

/** Stores the new secrets, and then names them. */
function keep({ project, missingSecrets, say }: Deployment, file: string, kept: NodeJS.Dict<string>): void {
  // The operator may have written some of them into the file.
  const problems = findValueProblems(project, missingSecrets);
  if (problems.length > 0) throw new UserError(problems.join("\n"));
  const made = Object.entries(missingSecrets).filter(([name]) => !kept[name]);
  setDevVars(file, Object.fromEntries(made));
  for (const name of Object.keys(missingSecrets)) {
    say(
      name,
      kept[name]
        ? `will be set with the Worker, from ${shown(file)}`
        : `made at random, kept in ${shown(file)}, will be set with the Worker`,
    );
  }
}

/** The names of the Worker's secrets; none before its first deployment. */
async function listSecrets(deployment: Deployment): Promise<Set<string>> {
  const { api, project } = deployment;
  const reply = await api?.read<{ name: string }[]>(`workers/scripts/${project.worker}/secrets`);
  if (!reply || reply.status === 404) return new Set();
  const found = required(reply, "secrets");
  deployment.hasWorker = true;
  return new Set(found.map(({ name }) => name));
}

/** The file of the new secrets, beside the configuration and out of version control. */
function secretsFile({ config, env }: Project): string {
  return join(dirname(config), `.secrets.${env}`);
}

/** Returns the operator's token if this machine has it. During a rotation the secret holds several values, each of which is accepted. */
export function operatorToken({ missingSecrets, project, wrangler }: Deployment): string | undefined {
  const name = "OPERATOR_TOKEN";
  const value = missingSecrets[name] ?? wrangler.env[name] ?? readDevVars(secretsFile(project))[name];
  return value?.split(",")[0]?.trim() || undefined;
}

/** The text that says where the operator finds the new secrets; undefined if there are none. */
export function secretsNotice({ project, missingSecrets }: Deployment): string | undefined {
  const names = Object.keys(missingSecrets);
  if (names.length === 0) return undefined;
  return `In ${shown(secretsFile(project))}, readable by you alone: ${names.join(", ")}. Put what is in it where you keep secrets, and delete it:
Cloudflare shows no secret again, and without ENCRYPTION_KEY what the service stored encrypted is lost.`;
}
