import { newDeployment, parseOptions, USAGE } from "./deploy/deployment.ts";
import { readProject } from "./deploy/project.ts";
import { secretsNotice } from "./deploy/secrets.ts";
import { runSteps, stepsFor } from "./deploy/steps.ts";
import { Wrangler } from "./deploy/wrangler.ts";
import { errorText, SIGNAL_EXIT_CODES } from "./shared/cli.ts";

// `npm run deploy`: brings the service to the Cloudflare network. Run again, it makes only what is missing.
/** Answers the process's exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const project = readProject(options);
  const say = (thing: string, state: string): void => console.log(`  ${thing}: ${state}`);
  const wrangler = new Wrangler(project);
  const deployment = newDeployment(options, project, wrangler, say);
  const failure = await runSteps(stepsFor(options), deployment, (title) => console.log(title));
  const notice = secretsNotice(deployment);
  if (notice !== undefined) console.log(`\n${notice}`);
  if (failure !== undefined) console.error(`\n${failure}`);
  else if (options.dryRun) console.log("\nThis was a dry run: nothing was changed.");
  return failure === undefined ? 0 : 1;
}

// The files of this process go with it, also when it is ended.
for (const [signal, code] of Object.entries(SIGNAL_EXIT_CODES)) process.once(signal, () => process.exit(code));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(errorText(error));
  process.exitCode = 1;
}
