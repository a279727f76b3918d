import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText, UserError } from "../shared/cli.ts";
import { networkErrorText } from "../shared/service.ts";
import { buildWorker } from "../worker.ts";
import { DEPLOYED } from "./project.ts";
import { CloudflareApi } from "./api.ts";
import { metricsRemedy } from "./check-account.ts";
import { check } from "./check.ts";
import { databases, migrations, shards } from "./databases.ts";
import { type Deployment, type Options, type Step, WAIT_SECONDS } from "./deployment.ts";
import { removal } from "./remove.ts";
import { answerFromText } from "./question.ts";
import { region } from "./region.ts";
import { queues, vectors } from "./resources.ts";
import { operatorToken, secrets } from "./secrets.ts";
import { type Ran, WranglerError } from "./wrangler.ts";

interface Whoami {
  loggedIn: boolean;
  email?: string;
  accounts?: { id: string; name: string }[];
}

/** Finds the account that wrangler is logged in to. */
const account: Step = {
  title: "Account",
  next: "Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.",
  run: async (deployment) => {
    const { options, project, say, wrangler } = deployment;
    const connected = wrangler.env["WRANGLER_CI_OVERRIDE_NAME"];
    if (connected !== undefined && connected !== project.worker)
      throw new UserError(`Workers Builds deploys the Worker ${connected} here, and the environment ${project.env} is ${project.worker}.`);
    const { loggedIn, accounts = [] } = await whoami(deployment);
    if (loggedIn) {
      say(accounts.map(({ name }) => name).join(", ") || "Cloudflare", "logged in");
      const id = wrangler.env["CLOUDFLARE_ACCOUNT_ID"] ?? project.accountId ?? (accounts.length === 1 ? accounts[0]?.id : undefined);
      if (id === undefined) throw new UserError("There are several accounts: set CLOUDFLARE_ACCOUNT_ID to the id of one.");
      deployment.api = await CloudflareApi.open(wrangler, id);
      return;
    }
    if (!options.dryRun) throw new UserError("wrangler is not logged in.");
    say("Cloudflare", "not logged in: what follows is said without asking an account");
  },
};

async function whoami({ wrangler, options }: Deployment): Promise<Whoami> {
  try {
    return JSON.parse((await wrangler.run("whoami", "--json")).stdout) as Whoami;
  } catch (error) {
    // wrangler fails where nobody is logged in, after printing that. A dry run needs neither an account nor a network.
    if (error instanceof WranglerError && (options.dryRun || error.message.includes('"loggedIn":false'))) return { loggedIn: false };
    throw error;
  }
}

/** Only the owner may read it. */
const FILE_MODE = 0o600;
/** The forms of a target, such as `name.account.workers.dev`, `api.example.com (custom domain)` and `api.example.com/* (zone name: example.com)`. */
const HOST_TARGET = /^(?:https:\/\/)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?:\/\*)?(?: \((?:custom domain|zone)[^)]*\))?$/;

/** Builds the Worker before anything is changed, since a broken build would leave half a deployment. */
const build: Step = {
  title: "Build",
  next: "`npm run verify` says more.",
  run: async ({ options, project, wrangler, say }) => {
    if (options.dryRun) return say(project.worker, "would build");
    if (project.workerArgs.length > 0) await buildWorker(DEPLOYED);
    await wrangler.run("deploy", ...project.workerArgs, "--dry-run");
    say(project.worker, "built");
  },
};

/** Deploys the Worker together with the secrets that it lacks: a new Worker takes them in no other way. */
export const deploy: Step = {
  title: "Deploy",
  next: "A token needs the permission Workers Scripts: Edit. An account's first Worker needs a workers.dev name: open Workers & Pages in the dashboard once.",
  run: async (deployment) => {
    const { options, project, say } = deployment;
    if (options.dryRun) return say(project.worker, "would deploy");
    const ran = await upload(deployment);
    deployment.url = options.url ?? urlIn(ran);
    say(project.worker, `deployed${deployment.url ? ` to ${deployment.url}` : ""}`);
    for (const name of Object.keys(deployment.missingSecrets)) say(name, "set");
  },
};

/** The API's code where Analytics Engine is off. */
const NO_METRICS = 10_089;

async function upload(deployment: Deployment): Promise<Ran> {
  const { api, created, hasWorker, project, wrangler } = deployment;
  try {
    const ran = await wrangler.run("deploy", ...project.workerArgs, ...secretFlags(deployment));
    if (!hasWorker) created.push(`Worker ${project.worker}`);
    return ran;
  } catch (error) {
    // The Worker may be uploaded, without its queues and routes.
    if (!hasWorker && (await api?.read(`workers/scripts/${project.worker}/settings`))?.result) created.push(`Worker ${project.worker}`);
    if (!(error instanceof WranglerError && error.hasCode(NO_METRICS))) throw error;
    throw new UserError(`Analytics Engine is off in this account: ${metricsRemedy(api?.accountId ?? ":account")}.`);
  }
}

function secretFlags({ missingSecrets, wrangler }: Deployment): string[] {
  if (Object.keys(missingSecrets).length === 0) return [];
  const file = join(wrangler.directory, "secrets.json");
  writeFileSync(file, JSON.stringify(missingSecrets), { mode: FILE_MODE });
  return [`--secrets-file=${file}`];
}

/** The URL that wrangler reports: on workers.dev, or on a domain of the operator's. */
function urlIn({ events }: Ran): string | undefined {
  const targets = events.flatMap((event) => event.targets ?? []);
  const hosts = targets.flatMap((target) => HOST_TARGET.exec(target)?.[1] ?? []);
  return hosts[0] === undefined ? undefined : `https://${hosts[0]}`;
}

const REQUEST_MS = 10_000;
const PAUSE_MS = 2_000;

/**
 * The statuses of a service that works, without a key. A 401 shows that the configuration is right, and each document that its
 * whole API can be loaded.
 */
const EXPECTED = {
  "/healthz": 200,
  "/api/v1/me": 401,
  "/api/v1/openapi.json": 200,
  "/widget/v1/openapi.json": 200,
  "/operator/v1/openapi.json": 200,
};

/** Waits until the service answers as it should. */
export const smoke: Step = {
  title: "Smoke test",
  next: "The Worker is deployed. Its log names what is wrong: `npx wrangler tail` with the name of the Worker.",
  run: async (deployment) => {
    const { options, hasWorker, say } = deployment;
    const url = options.url ?? deployment.url;
    if (options.dryRun) return say(url ?? "the service's URL", `would ask ${Object.keys(EXPECTED).join(" and ")}, and a question`);
    if (url === undefined) throw new UserError("wrangler did not say where the Worker answers. Say it with `-- --url https://…`.");
    const waitSeconds = options.waitSeconds ?? (hasWorker ? WAIT_SECONDS.known : WAIT_SECONDS.new);
    const deadlineMs = Date.now() + waitSeconds * 1000;
    for (const [path, status] of Object.entries(EXPECTED)) {
      await waitFor(new URL(path, url), status, deadlineMs);
      say(`${url}${path}`, `answers ${status}`);
    }
    const token = operatorToken(deployment);
    if (token === undefined) return say("a question", "not asked: set OPERATOR_TOKEN in the environment, to ask one of a text");
    await answerFromText(url.replace(/\/+$/, ""), token);
    say("a question", "answered from a text, which is deleted again");
  },
};

/** @throws UserError with the last answer where the expected one has not come by the deadline. */
async function waitFor(url: URL, expected: number, deadlineMs: number): Promise<void> {
  for (;;) {
    const answer = await ask(url);
    if (answer === String(expected)) return;
    if (Date.now() + PAUSE_MS > deadlineMs) throw new UserError(`${url.href} should answer ${expected}, but: ${answer}.`);
    await sleep(PAUSE_MS);
  }
}

async function ask(url: URL): Promise<string> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(REQUEST_MS) });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return `no answer (${networkErrorText(error)})`;
  }
}

/** The steps of a run. A whole deployment asks for what it cannot make before it creates anything, and creates the Worker last. */
export function stepsFor({ check: isCheck, remove: isRemoval }: Options): readonly Step[] {
  if (isRemoval) return [account, removal];
  if (isCheck) return [account, region, check];
  return [account, region, check, secrets, build, vectors, queues, databases, migrations, shards, deploy, smoke];
}

/** Runs steps up to the first that fails. Returns what failed and what to do, or undefined if all succeeded. */
export async function runSteps(
  steps: readonly Step[],
  deployment: Deployment,
  begin: (title: string) => void,
): Promise<string | undefined> {
  for (const step of steps) {
    begin(step.title);
    try {
      await step.run(deployment);
    } catch (error) {
      const reason = errorText(error);
      return `${step.title} failed: ${reason}\n\n${step.next}\nThen run the same command again: it goes on from here.${madeSoFar(deployment)}`;
    }
  }
  return undefined;
}

function madeSoFar({ created, project }: Deployment): string {
  if (created.length === 0) return "";
  return `\n\nThis run made, and the next one uses: ${created.join("; ")}.\nTo take it away instead: \`npm run deploy -- --remove --env ${project.env}\`.`;
}
