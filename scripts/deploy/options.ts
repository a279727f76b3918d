import { parseArgs } from "node:util";
import { PlainError, readArgs } from "../dev/flags.ts";

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
 * @throws PlainError for one that it does not know.
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
  const { values } = readArgs(USAGE, () => parseArgs({ args: [...args], options }));
  const waitSeconds = Number(values.wait ?? DEFAULT_WAIT_SECONDS);
  if (!(waitSeconds >= 0)) throw new PlainError(`--wait takes seconds, not "${values.wait}".`);
  if (values.url !== undefined && !URL.canParse(values.url)) throw new PlainError(`--url takes a URL, not "${values.url}".`);
  return {
    dryRun: values["dry-run"] ?? false,
    help: values.help ?? false,
    url: values.url,
    waitSeconds,
    config: values.config,
    env: values.env ?? "production",
  };
}
