// `npm run dev`: the whole service on this machine, with a demo to try.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Demo, ensureDemo } from "./dev/demo.ts";
import { type Flags, parseFlags, USAGE } from "./dev/flags.ts";
import { createLogFilter, type LogFilter } from "./dev/log.ts";
import { chooseModel } from "./dev/model.ts";
import { restoreDemo } from "./dev/past-days.ts";
import { addSamples, removeSamples } from "./dev/samples.ts";
import { claimPort, reachableHost } from "./dev/port.ts";
import { configDirectory, type Project, readProject } from "./dev/project.ts";
import { applyMigrations, killAll, runWrangler, stopAll } from "./dev/wrangler.ts";
import { errorText, ROOT, SIGNAL_EXIT_CODES } from "./shared/cli.ts";
import { devVarsPath, ensureSecrets, readDevVars, setDevVars } from "./shared/dev-vars.ts";
import { call, createClient, findDemoProblem, networkErrorText, waitUntilHealthy } from "./shared/service.ts";

const PARENT_CHECK_MS = 250;
const MINUTE_MS = 60_000;
const CRON_TIMEOUT_MS = 55_000;
/** The path that runs the cron handler: wrangler does not run it on a schedule. */
const CRON_PATH = "/cdn-cgi/local/scheduled?cron=*+*+*+*+*";
const QUESTION = `{"message":"How are webhooks signed?"}`;

/** The longest time that the samples wait for an answer, which is longer than that of a local model. */
const SAMPLE_MS = 120_000;

let ending = false;

/** Ends all child processes, then this process. */
async function end(code: number, message?: string): Promise<void> {
  if (ending) return;
  ending = true;
  if (message !== undefined) console.error(message);
  await stopAll();
  process.exit(code);
}

function endOnSignals(): void {
  for (const [signal, code] of Object.entries(SIGNAL_EXIT_CODES)) {
    process.on(signal, () => {
      if (ending) killAll();
      else void end(code);
    });
  }
  // npm does not pass every signal to its script. Under npm, this process ends when its parent does.
  const parent = process.ppid;
  if (process.env["npm_lifecycle_event"] !== undefined) {
    setInterval(() => process.ppid !== parent && void end(SIGNAL_EXIT_CODES.SIGHUP), PARENT_CHECK_MS).unref();
  }
}

async function main(flags: Flags): Promise<void> {
  if (flags.help) return console.log(USAGE);
  if (flags.version)
    return console.log(`Support Agent Service ${versionOf("../package.json")}, wrangler ${versionOf("wrangler/package.json")}`);
  const devVars = devVarsPath(configDirectory(flags), flags.env ?? process.env["CLOUDFLARE_ENV"]);
  const made = ensureSecrets(devVars);
  const project = await readProject(flags);
  const host = reachableHost(flags.ip ?? project.ip);
  const port = await claimPort(flags.port ?? project.port, host);
  const url = `${flags.protocol ?? project.protocol}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  console.log(`Starting the Support Agent Service ${versionOf("../package.json")} …`);
  if (made.length > 0) printFact("Secrets", `${made.join(", ")}, made at random in ${shortPath(devVars)}`);
  const modelChoice = chooseModel(flags.model, configuredVars(flags, project, devVars));
  const [migrated, model] = await Promise.all([applyMigrations(project.databases, flags), modelChoice]);
  if (migrated.length > 0) printFact("Database", `migrations applied to ${migrated.join(", ")}`);
  printFact("Model", model.description);
  const log = startWrangler(flags, project, port, model.vars);
  if (url.startsWith("https:")) trustSelfSignedCertificate();
  await waitUntilHealthy(url);
  const demo = await prepareDemo(url, flags, project, devVars);
  if (demo && !ending) await announce(url, demo, flags, devVars);
  log.isVerbose = true;
  void runCronEachMinute(url);
}

/** The developer's own variables: those of `.dev.vars` and `--var`, and the values of wrangler.toml that are not empty. */
function configuredVars(flags: Flags, project: Project, devVars: string): NodeJS.Dict<string> {
  const ofProject = Object.entries(project.vars).filter(([, value]) => value !== "");
  return { ...readDevVars(devVars), ...Object.fromEntries([...ofProject, ...flags.vars]) };
}

/** @param vars take precedence over the same variables in flags and files. */
function startWrangler(flags: Flags, project: Project, port: number, vars: Readonly<Record<string, string>>): LogFilter {
  const pairs = Object.entries(vars).map(([name, value]) => `--var=${name}:${value}`);
  const args = ["dev", ...project.workerArgs, ...flags.passed, ...pairs, `--port=${port}`, "--show-interactive-dev-session=false"];
  const filter = createLogFilter({ isJson: flags.json });
  const { ended } = runWrangler(args, (line, stream) => {
    const shown = filter.show(line, stream);
    if (shown !== undefined) process[stream].write(`${shown}\n`);
  });
  void ended.then((code) => end(code || 1, `wrangler dev ended (exit code ${code}).`));
  return filter;
}

/** wrangler makes its own certificate. This process sends requests only to wrangler. */
function trustSelfSignedCertificate(): void {
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
}

/** Creates the demo, or finds it; undefined if the configuration allows none, and the service runs without it. */
async function prepareDemo(url: string, flags: Flags, project: Project, devVars: string): Promise<Demo | undefined> {
  const tokens = flags.vars.get("OPERATOR_TOKEN") ?? project.vars["OPERATOR_TOKEN"] ?? "";
  const operatorToken = tokens.split(",")[0]!.trim();
  const operator = createClient(url, operatorToken);
  const problem = await findDemoProblem(operator);
  if (problem !== undefined) {
    console.error(`The service runs at ${url} without a demo: ${problem}`);
    return undefined;
  }
  const backup = join(flags.persistTo ?? join(configDirectory(flags), ".wrangler"), "demo-backup.ndjson");
  await restoreDemo({ url, operatorToken }, backup);
  const { DEMO_API_KEY: apiKey, DEMO_AGENT_ID: agentId } = readDevVars(devVars);
  const demo = await ensureDemo(url, operator, { ...(apiKey && { apiKey }), ...(agentId && { agentId }) });
  setDevVars(devVars, { DEMO_API_KEY: demo.apiKey, DEMO_AGENT_ID: demo.agentId });
  const client = createClient(url, demo.apiKey, SAMPLE_MS);
  await (flags.samples ? addSamples({ url, operatorToken }, client, demo, backup) : removeSamples(client, demo, backup));
  return demo;
}

async function announce(url: string, { apiKey, agentId }: Demo, flags: Flags, devVars: string): Promise<void> {
  const link = await call<{ url: string }>(createClient(url, apiKey), "POST", "/console/links");
  printFact("Console", `${link.url}&name=${encodeURIComponent(userInfo().username)} (signs in once; afterwards the key below does)`);
  printFact("Chat", `${url}/chat/${agentId}`);
  printFact("API", `${url}/api/v1, to try at ${url}/docs#key=${apiKey}`);
  printFact("Operator", flags.vars.has("OPERATOR_TOKEN") ? "OPERATOR_TOKEN as given by --var" : `OPERATOR_TOKEN in ${shortPath(devVars)}`);
  console.log(`Ready. Paste this line into another shell: the examples of the README, the guides and /docs read these variables.

export SUPPORT_URL=${url} SUPPORT_KEY=${apiKey} SUPPORT_AGENT=${agentId}

Then ask the demo agent:

curl -s${url.startsWith("https:") ? "k" : ""} $SUPPORT_URL/api/v1/agents/$SUPPORT_AGENT/messages -H "Authorization: Bearer $SUPPORT_KEY" -H "Content-Type: application/json" -d '${QUESTION}'
`);
}

/** Runs the cron handler on every full minute, as the platform does, for as long as this process lives. */
async function runCronEachMinute(url: string): Promise<never> {
  for (;;) {
    await sleep(MINUTE_MS - (Date.now() % MINUTE_MS));
    void runCron(url);
  }
}

async function runCron(url: string): Promise<void> {
  try {
    const response = await fetch(url + CRON_PATH, { signal: AbortSignal.timeout(CRON_TIMEOUT_MS) });
    const text = (await response.text()).trim();
    if (!response.ok) console.error(`cron: the handler answered ${response.status} ${text.slice(0, 200)}`);
  } catch (error) {
    if (!ending) console.error(`cron: the handler was not reached: ${networkErrorText(error)}`);
  }
}

function printFact(name: string, value: string): void {
  console.log(`  ${name.padEnd(10)}${value}`);
}

function shortPath(path: string): string {
  return relative(ROOT, path);
}

function versionOf(packageFile: string): string {
  const path = packageFile.startsWith(".") ? join(import.meta.dirname, packageFile) : createRequire(import.meta.url).resolve(packageFile);
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

endOnSignals();
try {
  await main(parseFlags(process.argv.slice(2)));
} catch (error) {
  await end(1, errorText(error));
}
