import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { WORKERS_AI_DIMENSIONS } from "../../src/models/limits.ts";
import { ROOT } from "../shared/cli.ts";
import { listen } from "../shared/ports.ts";
import { CloudflareApi } from "./api.ts";
import { newDeployment, parseOptions, type Step } from "./deployment.ts";
import { readProject } from "./project.ts";
import { ACCOUNT, CloudflareStandIn } from "./stand-in/cloudflare.ts";
import { runSteps } from "./steps.ts";
import { Wrangler } from "./wrangler.ts";

// Each wrangler of a test cleans up behind itself when the process ends.
process.setMaxListeners(100);

const QUIET = { WRANGLER_SEND_METRICS: "false", WRANGLER_SEND_ERROR_REPORTS: "false", WRANGLER_HIDE_BANNER: "true" };

/** A small project with one of each kind of thing, so that wrangler has little to do. */
export const SMALL_PROJECT = {
  "worker.js": `export class Gate {}\nexport default { fetch: () => new Response("ok"), queue: () => {} };\n`,
  "migrations/0000_notes.sql": "CREATE TABLE notes (id TEXT PRIMARY KEY);\n",
  "wrangler.toml": `
name = "small"
main = "worker.js"
compatibility_date = "2026-10-30"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["Gate"]

[env.production]
name = "small"

[env.production.vars]
ENVIRONMENT = "production"
ALLOW_PRIVATE_TARGETS = "false"

[env.production.secrets]
required = ["OPERATOR_TOKEN", "KEY_SECRET", "ENCRYPTION_KEY"]

[[env.production.d1_databases]]
binding = "DB"
database_name = "small-0"

[[env.production.vectorize]]
binding = "VECTORS"
index_name = "small-chunks"

[env.production.ai]
binding = "AI"

[[env.production.analytics_engine_datasets]]
binding = "METRICS"
dataset = "small"

[[env.production.send_email]]
name = "EMAIL"

[env.production.durable_objects]
bindings = [{ name = "GATE", class_name = "Gate" }]

[env.production.queues]
producers = [{ binding = "WORK", queue = "small-work" }]

[[env.production.queues.consumers]]
queue = "small-work"
dead_letter_queue = "small-work-dlq"
`,
};

/** Writes the small project into a new directory, which is removed when the test ends. */
export function writeSmallProject(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "deploy-test-"));
  t.after(() => rmSync(directory, { recursive: true }));
  for (const [name, content] of Object.entries(SMALL_PROJECT)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
  return directory;
}

/** What binds another database to the small project. */
export const SECOND_DATABASE = `
[[env.production.d1_databases]]
binding = "DB_1"
database_name = "small-1"
`;

/** Secrets as the operator may have set them. */
export const EXISTING_SECRETS = {
  OPERATOR_TOKEN: "o".repeat(40),
  KEY_SECRET: "k".repeat(40),
  ENCRYPTION_KEY: "e".repeat(40),
  HEALTH_TOKEN: "h".repeat(40),
};

/** Puts all that the small project needs into an account, as an earlier deployment left it, and queues of others. */
export function simulateEarlierDeployment(
  { d1, queues, vectorize, workers }: CloudflareStandIn,
  secrets: Record<string, string> = EXISTING_SECRETS,
): void {
  const filters = [{ propertyName: "agent", indexType: "string" }];
  vectorize.create({ name: "small-chunks", config: { dimensions: WORKERS_AI_DIMENSIONS, metric: "cosine" } }, filters);
  for (const queue of ["a", "b", "c", "d", "small-work", "small-work-dlq"]) queues.create(queue);
  queues.consume("small-work", "small", "small-work-dlq");
  const { uuid, sqlite } = d1.create("small-0");
  sqlite.exec(SMALL_PROJECT["migrations/0000_notes.sql"]);
  sqlite.exec("CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE, applied_at TEXT)");
  sqlite.exec("INSERT INTO d1_migrations (name) VALUES ('0000_notes.sql')");
  const bindings = [
    ...Object.entries(secrets).map(([name, value]) => ({ name, type: "secret_text", text: value })),
    { name: "DB", type: "d1", id: uuid },
    { name: "WORK", type: "queue", queue_name: "small-work" },
  ];
  workers.hold(bindings, "v1");
}

/**
 * Creates a project in a directory of its own, with an account at the stand-in and a service that answers as it should. They are
 * removed when the test ends.
 */
export async function createHarness(t: TestContext, env: NodeJS.ProcessEnv = {}) {
  const directory = writeSmallProject(t);
  const cloudflare = new CloudflareStandIn();
  const api = await cloudflare.listen();
  const service = createServer(answerAsService);
  const url = await listen(service);
  t.after(() => {
    cloudflare.close();
    service.close();
  });
  // The home directory holds no login of wrangler, so that only the token counts.
  const own = { PATH: process.env["PATH"], HOME: directory, CLOUDFLARE_API_BASE_URL: api, CLOUDFLARE_API_TOKEN: "token", ...env };
  const flags = [`--config=${join(directory, "wrangler.toml")}`, "--wait=0"];
  return {
    cloudflare,
    directory,
    /** Runs the command as an operator does. */
    deploy: (...more: string[]) => runCommand([...flags, `--url=${url}`, ...more], own),
    /** Runs some of its steps alone, for an account that is logged in. */
    run: (...steps: Step[]) => runSome(steps, flags, { ...own, ...QUIET }),
    /** The same with further flags. */
    runWith: (more: string[], ...steps: Step[]) => runSome(steps, [...flags, ...more], { ...own, ...QUIET }),
  };
}

const SOURCE = { id: "source", status: "ready", error: null };

/** Answers as a service that passes the smoke test. The response to each POST has the fields of all responses that the test reads. */
function answerAsService({ method, url, headers }: IncomingMessage, response: ServerResponse): void {
  const isUnknown = url === "/api/v1/me" && headers.authorization === undefined;
  const body = method === "GET" ? SOURCE : { ...SOURCE, key: "key", citations: [{ source_id: SOURCE.id }] };
  response.writeHead(isUnknown ? 401 : 200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

async function runSome(steps: Step[], flags: string[], env: NodeJS.ProcessEnv) {
  const options = parseOptions(flags);
  const project = readProject(options);
  const lines: string[] = [];
  const say = (thing: string, state: string) => void lines.push(`${thing}: ${state}\n`);
  const wrangler = new Wrangler(project, env);
  const api = new CloudflareApi(ACCOUNT.id, { type: "api_token", token: "token" }, env["CLOUDFLARE_API_BASE_URL"]);
  const deployment = { ...newDeployment(options, project, wrangler, say), api };
  const failure = await runSteps(steps, deployment, () => undefined);
  return { failure, output: lines.join("") };
}

async function runCommand(flags: string[], env: NodeJS.ProcessEnv): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ["scripts/deploy.ts", ...flags], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: code as number, output: stdout + stderr };
}
