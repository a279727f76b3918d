import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ROOT, UserError } from "../shared/cli.ts";
import { rawConfigOf, rewriteConfig } from "./config-file.ts";
import type { Options } from "./deployment.ts";
import { environmentText } from "./environment-text.ts";
import { type Project, readProject } from "./project.ts";

/** The name is short, because the names of resources begin with it, and a resource's name has at most 63 characters. */
const NAME = /^[a-z][a-z0-9-]{0,19}$/;
const MAX_NAME = 63;

/**
 * Writes a new environment into the configuration, as a copy of another one with names of its own.
 * @returns what was written, and what to do next.
 * @throws UserError where the name is taken or the copy would share something with another environment.
 */
export function writeNewEnvironment({ config, env, newEnvironment: name = "" }: Options): string {
  const path = resolve(ROOT, config ?? "wrangler.toml");
  if (!NAME.test(name)) throw new UserError(`--new-environment takes up to 20 letters a to z, digits and dashes, not "${name}".`);
  const source = readProject({ config: path, env });
  const before = rawConfigOf(path);
  if (before.env?.[name] !== undefined) throw new UserError(`${path} has an environment ${name}. Choose another name.`);
  const rewrite = (toml: string) => `${toml.trimEnd()}\n${environmentText(toml, env, name)}`;
  return rewriteConfig(path, "copy the environment by hand", rewrite, (draft) => {
    const { [name]: _, ...others } = rawConfigOf(draft).env ?? {};
    if (!isDeepStrictEqual(others, before.env)) throw new UserError(`${path} cannot be copied line by line: copy the environment by hand.`);
    const made = readProject({ config: draft, env: name });
    const problem = sharingProblem(source, made);
    if (problem !== undefined) throw new UserError(`${problem} Nothing was written: copy the environment by hand.`);
    return `${path} has the environment ${name}: ${namesOf(made).join(", ")}.
It has no routes, and the variables of ${env}. Read it, commit it, and deploy it: \`npm run deploy -- --env ${name}\``;
  });
}

/** Returns the reason why the copy cannot be deployed beside the environment that it was copied from; undefined if it can. */
function sharingProblem(source: Project, made: Project): string | undefined {
  const taken = new Set(namesOf(source));
  const shared = namesOf(made).find((name) => taken.has(name));
  if (shared !== undefined) return `Both environments would use ${shared}.`;
  if (namesOf(made).length !== namesOf(source).length) return "The copy would lack a resource.";
  const long = namesOf(made).find((name) => name.length > MAX_NAME);
  if (long !== undefined) return `${long} has more than ${MAX_NAME} characters.`;
  return made.hosts.length > 0 ? `Both environments would use ${made.hosts[0]}.` : undefined;
}

/** Returns the names of all resources of an environment in the account. */
function namesOf({ worker, databases, queues, indexes, buckets, datasets }: Project): string[] {
  return [worker, ...databases.map(({ name, id }) => id ?? name), ...queues, ...indexes, ...buckets, ...datasets];
}
