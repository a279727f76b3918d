import { parseArgs } from "node:util";
import { UserError, withUsage } from "../shared/cli.ts";
import type { CloudflareApi } from "./api.ts";
import type { Project } from "./project.ts";
import type { Wrangler } from "./wrangler.ts";

/** A run of the command: what its steps share. */
export interface Deployment {
  options: Options;
  project: Project;
  wrangler: Wrangler;
  /** Whether the account can be asked what it has. Only a dry run goes on without. */
  hasAccount: boolean;
  /** The API of the account; undefined where nobody is logged in, or it is not known to which of several accounts this goes. */
  api: CloudflareApi | undefined;
  /** Whether the Worker was there before this run. */
  hasWorker: boolean;
  /** What this run made in the account so far. */
  created: string[];
  /** The secrets that the Worker lacks, with the values that it gets. */
  missingSecrets: Record<string, string>;
  /** Where the service answers, once it is known. */
  url: string | undefined;
  /** Tells the operator what became of a thing. */
  say: (thing: string, state: string) => void;
}

/** A run that has done nothing yet. */
export function newDeployment(options: Options, project: Project, wrangler: Wrangler, say: Deployment["say"]): Deployment {
  return {
    options,
    project,
    wrangler,
    say,
    hasAccount: false,
    api: undefined,
    hasWorker: false,
    created: [],
    missingSecrets: {},
    url: options.url,
  };
}

/** A part of a deployment. Run again, it finds done what it did before. */
export interface Step {
  title: string;
  run: (deployment: Deployment) => Promise<void>;
  /** What the operator can do where it fails. */
  next: string;
}

/** Makes what does not exist; a dry run says so instead. */
export async function ensure(
  { options, hasAccount, created, say }: Deployment,
  thing: string,
  { exists, create }: { exists: boolean; create: () => Promise<unknown> },
): Promise<void> {
  if (exists) return say(thing, "exists");
  if (options.dryRun) return say(thing, hasAccount ? "would create" : "would create where it does not exist");
  await create();
  created.push(thing);
  say(thing, "created");
}

/** What `npm run deploy` was started with. */
export interface Options {
  dryRun: boolean;
  help: boolean;
  /** Only reads the account, and says what is missing. */
  check: boolean;
  /** Deploys although the check found something missing. */
  skipCheck: boolean;
  /** Lists what the account has of this deployment, and deletes it where `name` is given. */
  remove: boolean;
  /** The Worker's name, as what confirms a removal. */
  name: string | undefined;
  /** Deletes the data of workspaces too. */
  withData: boolean;
  /** Whether the service reports to Analytics Engine. */
  metrics: boolean;
  /** Where the service will answer; undefined: where wrangler says. */
  url: string | undefined;
  /** How long the service may take until it answers, in seconds; undefined: as long as its host may need. */
  waitSeconds: number | undefined;
  /** Another configuration file than wrangler.toml. */
  config: string | undefined;
  env: string;
}

/** A new version is everywhere within about a minute; a new host needs some more, for its name and its certificate. */
export const WAIT_SECONDS = { known: 90, new: 300 };

export const USAGE = `npm run deploy [-- FLAGS]: brings the service to the Cloudflare network. What exists stays as it is.

  --check          read the account, say what is missing in it, and do nothing
  --skip-check     deploy although the check finds something missing
  --without metrics  deploy without Analytics Engine
  --dry-run        say what would be done, and do nothing; without an account, as for an empty one
  --remove         list what the account has of this deployment
  --remove --name WORKER  delete it; with --with-data the data of workspaces too
  --url URL        where the service answers, where wrangler does not say it
  --wait SECONDS   how long it may take to answer (${WAIT_SECONDS.known}; the first time ${WAIT_SECONDS.new})
  --env NAME       the environment of the configuration (production)
  --config FILE    another configuration file (wrangler.toml)`;

/**
 * Reads the flags.
 * @throws UserError for one that it does not know.
 */
export function parseOptions(args: readonly string[]): Options {
  const options = {
    "dry-run": { type: "boolean" },
    check: { type: "boolean" },
    "skip-check": { type: "boolean" },
    remove: { type: "boolean" },
    name: { type: "string" },
    "with-data": { type: "boolean" },
    without: { type: "string" },
    help: { type: "boolean", short: "h" },
    url: { type: "string" },
    wait: { type: "string" },
    config: { type: "string", short: "c" },
    env: { type: "string", short: "e" },
  } as const;
  const { values } = withUsage(USAGE, () => parseArgs({ args: [...args], options }));
  const waitSeconds = values.wait === undefined ? undefined : Number(values.wait);
  if (waitSeconds !== undefined && !(waitSeconds >= 0)) throw new UserError(`--wait takes seconds, not "${values.wait}".`);
  if (values.url !== undefined && !URL.canParse(values.url)) throw new UserError(`--url takes a URL, not "${values.url}".`);
  if (values.without !== undefined && values.without !== "metrics")
    throw new UserError(`--without takes "metrics", not "${values.without}".`);
  return {
    dryRun: values["dry-run"] ?? false,
    help: values.help ?? false,
    check: values.check ?? false,
    skipCheck: values["skip-check"] ?? false,
    remove: values.remove ?? false,
    name: values.name,
    withData: values["with-data"] ?? false,
    metrics: values.without === undefined,
    url: values.url,
    waitSeconds,
    config: values.config,
    env: values.env ?? "production",
  };
}
