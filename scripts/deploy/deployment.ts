import { parseArgs } from "node:util";
import { UserError, withUsage } from "../shared/cli.ts";
import type { Project } from "./project.ts";
import type { Wrangler } from "./wrangler.ts";

/** A run of the command: what its steps share. */
export interface Deployment {
  options: Options;
  project: Project;
  wrangler: Wrangler;
  /** Whether the account can be asked what it has. Only a dry run goes on without. */
  hasAccount: boolean;
  /** The secrets that the Worker lacks, with the values that it gets. */
  missingSecrets: Record<string, string>;
  /** Where the service answers, once it is known. */
  url: string | undefined;
  /** Tells the operator what became of a thing. */
  say: (thing: string, state: string) => void;
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
  { options, hasAccount, say }: Deployment,
  thing: string,
  { exists, create }: { exists: boolean; create: () => Promise<unknown> },
): Promise<void> {
  if (exists) return say(thing, "exists");
  if (options.dryRun) return say(thing, hasAccount ? "would create" : "would create where it does not exist");
  await create();
  say(thing, "created");
}

/** What `npm run deploy` was started with. */
export interface Options {
  dryRun: boolean;
  help: boolean;
  /** Where the service will answer; undefined: where wrangler says. */
  url: string | undefined;
  /** How long the service may take until it answers, in seconds. */
  waitSeconds: number;
  /** Another configuration file than wrangler.toml. */
  config: string | undefined;
  env: string;
}

/** A new name on workers.dev is known everywhere within about a minute. */
const DEFAULT_WAIT_SECONDS = 90;

export const USAGE = `npm run deploy [-- FLAGS]: brings the service to the Cloudflare network. What exists stays as it is.

  --dry-run        say what would be done, and do nothing; without an account, as for an empty one
  --url URL        where the service answers, where wrangler does not say it
  --wait SECONDS   how long it may take to answer (${DEFAULT_WAIT_SECONDS})
  --env NAME       the environment of the configuration (production)
  --config FILE    another configuration file (wrangler.toml)`;

/**
 * Reads the flags.
 * @throws UserError for one that it does not know.
 */
export function parseOptions(args: readonly string[]): Options {
  const options = {
    "dry-run": { type: "boolean" },
    help: { type: "boolean", short: "h" },
    url: { type: "string" },
    wait: { type: "string" },
    config: { type: "string", short: "c" },
    env: { type: "string", short: "e" },
  } as const;
  const { values } = withUsage(USAGE, () => parseArgs({ args: [...args], options }));
  const waitSeconds = Number(values.wait ?? DEFAULT_WAIT_SECONDS);
  if (!(waitSeconds >= 0)) throw new UserError(`--wait takes seconds, not "${values.wait}".`);
  if (values.url !== undefined && !URL.canParse(values.url)) throw new UserError(`--url takes a URL, not "${values.url}".`);
  return {
    dryRun: values["dry-run"] ?? false,
    help: values.help ?? false,
    url: values.url,
    waitSeconds,
    config: values.config,
    env: values.env ?? "production",
  };
}
