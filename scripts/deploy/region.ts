import { JURISDICTIONS, REGIONS, type Region } from "../../src/platform/db/regions.ts";
import { bindingName, databaseNumber } from "../../src/platform/db/shard-map.ts";
import { UserError } from "../shared/cli.ts";
import { rawConfigOf, rewriteConfigTo, shown } from "./config-file.ts";
import { type Database, isBound } from "./databases.ts";
import { type Deployment, isOnCi, type Step } from "./deployment.ts";
import { withVariable } from "./environment-text.ts";
import { type Project, readProject } from "./project.ts";

const LOCATIONS = REGIONS.filter((region) => !JURISDICTIONS.some((jurisdiction) => jurisdiction === region));

const FLAGS = `  --region eu      the data is kept in the European Union, which Cloudflare guarantees (or us: in the United States)
  --region weur    the data is near a location: ${LOCATIONS.join(", ")}
  --anywhere       no region: databases are near this machine, and each object is near its first caller`;

/** Decides where the data is, which the first deployment does for good: neither databases nor objects move. */
export const region: Step = {
  title: "Region",
  next: `"Regions" in docs/deploy-and-configure.md says what a region means. Nothing was made.`,
  run: async (deployment) => {
    const { api, options, project, say } = deployment;
    const main = project.databases.find(({ binding }) => binding === bindingName(0))!;
    if (main.region !== undefined) return say(main.binding, describeConfigured(deployment, main.region));
    const found = (await api?.list<Database>("d1/database"))?.result;
    const existing = found?.find((database) => isBound(database, main));
    if (existing) return say(main.binding, describeExisting(deployment, existing));
    if (options.region !== undefined) return choose(deployment, options.region);
    if (options.anywhere) return say("anywhere", "the first deployment decides this for good");
    if (options.dryRun || options.check || (api && !found)) return say("not chosen", `a first deployment needs one of\n${FLAGS}`);
    throw new UserError(`where should the data of this deployment be? It cannot be moved later. Add one of these flags:\n${FLAGS}`);
  },
};

/** @throws UserError if the flags contradict the configuration. */
function describeConfigured({ options }: Deployment, configured: Region): string {
  if (options.anywhere || (options.region !== undefined && options.region !== configured))
    throw new UserError(`DATABASE_REGIONS in the configuration says ${configured}. Leave the flag out, or change DATABASE_REGIONS.`);
  return configured;
}

/** @throws UserError if the flags ask for another place, or the configuration has lost the jurisdiction of the database. */
function describeExisting({ options }: Deployment, { name, jurisdiction }: Database): string {
  if (options.region !== undefined)
    throw new UserError(
      `${name} exists, and stays where it is. --region is for the first deployment; later, DATABASE_REGIONS says the region.`,
    );
  if (jurisdiction && !options.anywhere)
    throw new UserError(
      `${name} is in the jurisdiction ${jurisdiction}, but DATABASE_REGIONS does not say so, and the objects of workspaces are found by it. ` +
        `Write DATABASE_REGIONS = "0=${jurisdiction}" into the configuration. If it never said so, add --anywhere.`,
    );
  return "no region; it stays where the first deployment made it";
}

/** Gives each database without a region this one, and writes that into the configuration. */
function choose(deployment: Deployment, chosen: Region): void {
  const { options, project, say } = deployment;
  const databases = project.databases.map((database) => ({ ...database, region: database.region ?? chosen }));
  const regions = databases.map(({ binding, region: own }) => `${databaseNumber(binding)}=${own}`).join(", ");
  const line = `DATABASE_REGIONS = "${regions}"`;
  if (options.dryRun || options.check) {
    deployment.project = { ...project, databases };
    return say(chosen, `would write ${line} into ${shown(project.config)}`);
  }
  if (isOnCi(deployment))
    throw new UserError(
      `a CI runner would lose the choice. Write ${line} below [env.${project.env}.vars] in the configuration, and commit it.`,
    );
  writeRegions(project, regions, line);
  deployment.project = readProject(options);
  say(chosen, `wrote ${line} into ${shown(project.config)}: commit it, and run \`npm run types\``);
}

function writeRegions({ config, env }: Project, regions: string, line: string): void {
  const byHand = `write ${line} into the variables of ${env} by hand`;
  const { env: environments, ...others } = rawConfigOf(config);
  const { vars, ...environment } = environments![env]!;
  const wanted = {
    ...others,
    env: { ...environments, [env]: { ...environment, vars: { ...(vars as object), DATABASE_REGIONS: regions } } },
  };
  rewriteConfigTo(config, wanted, byHand, (toml) => withVariable(toml, env, "DATABASE_REGIONS", regions));
}
