// `npm run deploy`: brings the service to the Cloudflare network. Run again, it creates only what is missing.
import { newDeployment, parseOptions, USAGE } from "./deploy/deployment.ts";
import { removeMetrics } from "./deploy/metrics.ts";
import { writeNewEnvironment } from "./deploy/new-environment.ts";
import { readProject } from "./deploy/project.ts";
import { rollBack } from "./deploy/rollback.ts";
import { secretsNotice } from "./deploy/secrets.ts";
import { runSteps, stepsFor } from "./deploy/steps.ts";
import { Wrangler } from "./deploy/wrangler.ts";
import { exitOnSignals, runMain } from "./shared/cli.ts";

exitOnSignals();

await runMain(async () => {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) return console.log(USAGE);
  if (options.newEnvironment !== undefined) return console.log(writeNewEnvironment(options));
  if (options.rollback !== undefined) return rollBack({ ...options, rollback: options.rollback });
  const isDeployment = !options.dryRun && !options.check && !options.remove;
  const removed = options.metrics || !isDeployment ? undefined : removeMetrics(options);
  if (removed !== undefined) console.log(removed);
  const project = readProject(options);
  const say = (thing: string, state: string): void => console.log(`  ${thing}: ${state}`);
  const deployment = newDeployment(options, project, new Wrangler(project), say);
  const failure = await runSteps(stepsFor(options), deployment, (title) => console.log(title));
  const notice = secretsNotice(deployment);
  if (notice !== undefined) console.log(`\n${notice}`);
  if (failure !== undefined) console.error(`\n${failure}`);
  else if (options.dryRun) console.log("\nThis was a dry run: nothing was changed.");
  return failure === undefined ? 0 : 1;
});
