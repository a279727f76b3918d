// `npm run dev`: the whole service on this machine, with a demo to try. Flags are those of `wrangler dev`.
import { relative } from "node:path";
import { tickEachMinute } from "./dev/cron.ts";
import { type Demo, ensureDemo } from "./dev/demo.ts";
import { devVarsPath, ensureSecrets, readDevVars, setDevVars } from "./dev/dev-vars.ts";
import { type Flags, parseFlags, told } from "./dev/flags.ts";
import { applyMigrations } from "./dev/migrations.ts";
import { claimPort, reachableHost } from "./dev/port.ts";
import { configDirectory, type Project, readProject, ROOT } from "./dev/project.ts";
import { clientOf, operatorRefusal, waitUntilHealthy } from "./dev/service.ts";
import { SIGNAL_EXIT_CODES } from "./dev/signals.ts";
import { killAll, runWrangler, stopAll } from "./dev/wrangler.ts";

const PARENT_CHECK_MS = 250;

let ending = false;

/** Ends everything that was started, then this process. A second call, such as another Ctrl-C, does not wait. */
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
  // npm does not pass every end on to its script: under npm, this process goes when its parent does.
  const parent = process.ppid;
  if (process.env["npm_lifecycle_event"] !== undefined) {
    setInterval(() => process.ppid !== parent && void end(SIGNAL_EXIT_CODES.SIGHUP), PARENT_CHECK_MS).unref();
  }
}

async function main(flags: Flags): Promise<void> {
  if (flags.informs) return await end(await runWrangler(["dev", ...flags.passed], { cwd: ROOT, quiet: false }).ended);
  const devVars = devVarsPath(configDirectory(flags), flags.env ?? process.env["CLOUDFLARE_ENV"]);
  const made = ensureSecrets(devVars);
  if (made.length > 0) console.log(`Made ${made.join(", ")} in ${shown(devVars)}.`);
  const project = await readProject(flags);
  const host = reachableHost(flags.ip ?? project.ip);
  const port = await claimPort(flags.port ?? project.port, host);
  const url = `${flags.protocol ?? project.protocol}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  await applyMigrations(project.databases, flags);
  startWrangler(flags, port);
  if (url.startsWith("https:")) trustSelfSigned();
  await waitUntilHealthy(url);
  void tickEachMinute(url);
  const demo = await prepareDemo(url, flags, project, devVars);
  if (demo && !ending) announce(url, demo, flags, devVars);
}

function startWrangler(flags: Flags, port: number): void {
  const args = ["dev", `--port=${port}`, "--show-interactive-dev-session=false", ...flags.passed];
  const { ended } = runWrangler(args, { cwd: ROOT, quiet: false });
  void ended.then((code) => end(code || 1, `wrangler dev ended (exit code ${code}).`));
}

/** wrangler makes its own certificate, and this process talks to nobody else. */
function trustSelfSigned(): void {
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
}

/** The demo; undefined where the configuration that was asked for allows none, and the service runs without. */
async function prepareDemo(url: string, flags: Flags, project: Project, devVars: string): Promise<Demo | undefined> {
  const tokens = flags.vars.get("OPERATOR_TOKEN") ?? project.vars["OPERATOR_TOKEN"] ?? "";
  const operator = clientOf(url, tokens.split(",")[0]!.trim());
  const refusal = await operatorRefusal(operator);
  if (refusal !== undefined) {
    console.error(`The service runs at ${url} without a demo: ${refusal}`);
    return undefined;
  }
  const { DEMO_API_KEY: apiKey, DEMO_AGENT_ID: agentId } = readDevVars(devVars);
  const demo = await ensureDemo(url, operator, { ...(apiKey && { apiKey }), ...(agentId && { agentId }) });
  setDevVars(devVars, { DEMO_API_KEY: demo.apiKey, DEMO_AGENT_ID: demo.agentId });
  return demo;
}

function announce(url: string, { apiKey, agentId }: Demo, flags: Flags, devVars: string): void {
  const question = `{"message":"How are webhook notifications signed?"}`;
  const token = flags.vars.has("OPERATOR_TOKEN") ? "as given by --var OPERATOR_TOKEN" : `OPERATOR_TOKEN in ${shown(devVars)}`;
  console.log(`
Support Agent Service runs at ${url}

  Documentation   ${url}/docs
  Operator token  ${token}
  DEMO_API_KEY    ${apiKey}
  DEMO_AGENT_ID   ${agentId}

The cron handler runs each minute. Ask the demo agent:

curl -s${url.startsWith("https:") ? "k" : ""} ${url}/api/v1/agents/${agentId}/messages -H "Authorization: Bearer ${apiKey}" -H "Content-Type: application/json" -d '${question}'
`);
}

function shown(path: string): string {
  return relative(ROOT, path);
}

endOnSignals();
try {
  await main(parseFlags(process.argv.slice(2)));
} catch (error) {
  await end(1, told(error));
}
