import { resolve } from "node:path";
import { ROOT } from "../shared/cli.ts";
import { rawConfigOf, rewriteConfigTo, shown } from "./config-file.ts";
import type { Options } from "./deployment.ts";
import { withoutTables } from "./environment-text.ts";

const TABLE = "analytics_engine_datasets";

/**
 * Takes Analytics Engine out of an environment of the configuration, so that later deployments leave it out too. The lines stay as
 * comments.
 * @returns what was done; undefined if the environment does not have it.
 * @throws UserError where the file cannot be changed.
 */
export function removeMetrics({ config, env }: Options): string | undefined {
  const path = resolve(ROOT, config ?? "wrangler.toml");
  const { env: environments, ...others } = rawConfigOf(path);
  const { [TABLE]: datasets, ...environment } = environments?.[env] ?? {};
  if (datasets === undefined) return undefined;
  const byHand = `take ${TABLE} out of ${env} by hand`;
  const wanted = { ...others, env: { ...environments, [env]: environment } };
  rewriteConfigTo(path, wanted, byHand, (toml) => withoutTables(toml, `env.${env}.${TABLE}`));
  return `${shown(path)} has no ${TABLE} for ${env} any more: commit it, and run \`npm run types\`. The lines are comments; to have metrics again, take the comment signs away.`;
}
