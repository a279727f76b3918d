import { parseArgs } from "node:util";
import { isRegion, REGIONS } from "../../src/platform/db/regions.ts";
import { UserError, withUsage } from "../shared/cli.ts";
import type { CloudflareApi } from "./api.ts";
import type { Project } from "./project.ts";
import type { Wrangler } from "./wrangler.ts";

/** A run of the command: what its steps share. */
export interface Deployment {
  options: Options;
  project: Project;
  wrangler: Wrangler;
  /** The account's API; undefined before the login is known, and in a dry run without a login. */
  api: CloudflareApi | undefined;
  /** Whether the Worker existed before this run. */
  hasWorker: boolean;
  /** What this run created in the account so far. */
  created: string[];
  /** The secrets that the Worker lacks, with the values that it gets. */
  missingSecrets: Record<string, string>;
  /** The URL of the service, once it is known. */
  url: string | undefined;
  /** Prints the state of a thing. */
  say: (thing: string, state: string) => void;
}

/** Whether a runner of a CI service runs this, whose files are deleted after the run. */
export function isOnCi({ wrangler }: Deployment): boolean {
  return !["", "0", "false"].includes(wrangler.env["CI"] ?? "");
}

/** A run that has done nothing yet. */
export function newDeployment(options: Options, project: Project, wrangler: Wrangler, say: Deployment["say"]): Deployment {
  const { url } = options;
  return { options, project, wrangler, say, api: undefined, hasWorker: false, created: [], missingSecrets: {}, url };
}

/** A part of a deployment. A second run skips what the first one did. */
export interface Step {
  title: string;
  run: (deployment: Deployment) => Promise<void>;
  /** What the operator can do where the step fails. */
  next: string;
}

/** Creates what does not exist; a dry run only prints it. */
export async function ensure(
  { options, api, created, say }: Deployment,
  thing: string,
  { exists, create }: { exists: boolean; create: () => Promise<unknown> },
): Promise<void> {
  if (exists) return say(thing, "exists");
  if (options.dryRun) return say(thing, api ? "would create" : "would create where it does not exist");
  await create();
  created.push(thing);
  say(thing, "created");
}

/** A new version is everywhere within about a minute; a new host takes longer, for its name and its certificate. */
export const WAIT_SECONDS = { known: 90, new: 300 };

export const USAGE = `npm run deploy [-- FLAGS]: brings the service to the Cloudflare network. What exists stays as it is.

  --check          read the account, say what is missing in it, and do nothing
  --skip-check     deploy although the check finds something missing
  --take-domain NAME  take over a domain that has DNS records or belongs to another Worker
  --region NAME    where the first deployment puts the data: ${REGIONS.join(", ")}
  --anywhere       the first deployment puts the data in no region
  --without metrics  deploy without Analytics Engine, from now on: take it out of the configuration
  --dry-run        say what would be done, and do nothing; without an account, as for an empty one
  --remove         list what the account has of this deployment
  --remove --name WORKER  delete it; with --with-data the data of workspaces too
  --new-environment NAME  write an environment into the configuration: a copy with names of its own
  --rollback COMMIT  deploy an earlier commit or tag with the configuration of today
  --url URL        where the service answers, where wrangler does not say it
  --wait SECONDS   how long it may take to answer (${WAIT_SECONDS.known}; the first time ${WAIT_SECONDS.new})
  --env NAME       the environment of the configuration (production)
  --config FILE    another configuration file (wrangler.toml)`;

/** The flags of `npm run deploy`, as USAGE describes them. */
export type Options = ReturnType<typeof parseOptions>;

const OPTIONS = {
  "dry-run": { type: "boolean", default: false },
  check: { type: "boolean", default: false },
  "skip-check": { type: "boolean", default: false },
  remove: { type: "boolean", default: false },
  name: { type: "string" },
  "with-data": { type: "boolean", default: false },
  "take-domain": { type: "string", multiple: true },
  region: { type: "string" },
  anywhere: { type: "boolean", default: false },
  without: { type: "string" },
  "new-environment": { type: "string" },
  rollback: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
  url: { type: "string" },
  wait: { type: "string" },
  config: { type: "string", short: "c" },
  env: { type: "string", short: "e", default: "production" },
} as const;

/**
 * Reads the flags.
 * @throws UserError for an unknown flag or a wrong value.
 */
export function parseOptions(args: readonly string[]) {
  requireSeparator();
  const { values } = withUsage(USAGE, () => parseArgs({ args: [...args], options: OPTIONS }));
  const {
    "dry-run": dryRun,
    "skip-check": skipCheck,
    "with-data": withData,
    "take-domain": takeDomain,
    "new-environment": newEnvironment,
    region,
    without,
    wait,
    ...others
  } = values;
  const waitSeconds = wait === undefined ? undefined : Number(wait);
  if (waitSeconds !== undefined && !(waitSeconds >= 0)) throw new UserError(`--wait takes seconds, not "${wait}".`);
  if (others.url !== undefined && !URL.canParse(others.url)) throw new UserError(`--url takes a URL, not "${others.url}".`);
  if (region !== undefined && !isRegion(region)) throw new UserError(`--region takes one of ${REGIONS.join(", ")}, not "${region}".`);
  if (region !== undefined && others.anywhere) throw new UserError("--region and --anywhere contradict each other: say one of them.");
  if (without !== undefined && without !== "metrics") throw new UserError(`--without takes "metrics", not "${without}".`);
  return { ...others, dryRun, skipCheck, withData, takeDomain, newEnvironment, region, waitSeconds, metrics: without === undefined };
}

/**
 * Refuses flags that npm has taken as its own settings, as of `npm run deploy --env=staging`, because another deployment would be made.
 * @throws UserError
 */
function requireSeparator(): void {
  const taken = Object.keys(OPTIONS).find((flag) => process.env[`npm_config_${flag.replaceAll("-", "_")}`] !== undefined);
  if (taken !== undefined) throw new UserError(`Write flags after a separator: npm run deploy -- --${taken}`);
}
