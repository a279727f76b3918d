import type { Options } from "./options.ts";
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
