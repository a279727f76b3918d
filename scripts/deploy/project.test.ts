import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { unstable_readConfig as readConfig } from "wrangler";
import { VARIABLE_NAMES } from "../../src/platform/config.ts";
import { ROOT } from "../shared/cli.ts";
import { SECOND_DATABASE, SMALL_PROJECT, writeSmallProject } from "./harness.ts";
import { readProject } from "./project.ts";
import { activeMs } from "./wrangler.ts";

void test("a deployment creates what wrangler.toml lists", () => {
  const project = readProject({ env: "production" });
  assert.equal(project.worker, "support-agent-service");
  assert.deepEqual(project.indexes, ["support-agent-chunks"]);
  assert.equal(project.dimensions, 1024);
  assert.deepEqual(project.secrets, ["OPERATOR_TOKEN", "KEY_SECRET", "ENCRYPTION_KEY"]);
  assert.equal(project.databases[0]?.name, "support-agent");
  for (const queue of ["ingestion", "crawls", "erasure", "deliveries", "email"]) {
    for (const name of [`support-agent-${queue}`, `support-agent-${queue}-dlq`]) assert.ok(project.queues.includes(name), name);
  }
  assert.equal(new Set(project.queues).size, project.queues.length);
});

void test("a deployment without an environment replaces no environment's Worker", () => {
  const [development, production] = [undefined, "production"].map((env) =>
    readConfig({ config: "wrangler.toml", env }, { hideWarnings: true }),
  );
  assert.notEqual(development!.name, production!.name);
});

void test("the workflow of the repository runs scripts that there are", () => {
  const workflow = readFileSync(".github/workflows/service.yml", "utf8");
  const scripts = [...workflow.matchAll(/- run: npm run (\S+)/g)].map(([, script]) => script!);
  const { scripts: known } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
  assert.deepEqual(scripts, ["verify", "deploy"]);
  for (const script of scripts) assert.ok(known[script], script);
});

void test("the Worker is uploaded as it was built, with all its modules; another project's is left to wrangler", (t) => {
  assert.deepEqual(readProject({ env: "production" }).workerArgs, ["dist/deployed/index.js", "--no-bundle"]);
  assert.deepEqual(readProject(withMore(t, "")).workerArgs, []);
  const directory = writeSmallProject(t);
  const config = join(directory, "wrangler.toml");
  const copied = SMALL_PROJECT["wrangler.toml"].replace(`main = "worker.js"`, `main = ${JSON.stringify(join(ROOT, "src/index.ts"))}`);
  writeFileSync(config, copied);
  assert.throws(() => readProject({ config, env: "production" }), /leaves modules out/);
});

void test("databases are bound by number, some of which may be missing, and each has a name", (t) => {
  const databases = (...bindings: string[]) =>
    bindings.map((binding) => `\n[[env.production.d1_databases]]\nbinding = "${binding}"\n`).join("");
  assert.equal(readProject(withMore(t, SECOND_DATABASE)).databases.length, 2);
  const gap = readProject(withMore(t, SECOND_DATABASE.replaceAll("DB_1", "DB_255"))).databases;
  assert.deepEqual(
    gap.map(({ binding }) => binding),
    ["DB", "DB_255"],
  );
  for (const name of ["DB_0", "DB_01", "DB_256", "DB1", "OTHER"]) {
    assert.throws(() => readProject(withMore(t, SECOND_DATABASE.replaceAll("DB_1", name))), new RegExp(`${name} is no name of a database`));
  }
  assert.throws(() => readProject(withMore(t, databases("DB_1"))), /DB_1 has no database_name/);
});

void test("a placeholder for an id is an error, a real one is used", (t) => {
  const withId = (id: string) => `${SECOND_DATABASE}database_id = "${id}"\n`;
  assert.throws(() => readProject(withMore(t, withId("<the id of your database>"))), /database_id of DB_1 is a placeholder/);
  const id = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";
  assert.equal(readProject(withMore(t, withId(id))).databases[1]?.id, id);
});

void test("all values that the service would refuse are reported at once, and stop the deployment", (t) => {
  const vars = `DNS_OVER_HTTPS_URL = "http://1.1.1.1"\nCRAWL_PAUSE_MS = "soon"\n`;
  const config = withVars(t, vars);
  assert.throws(() => readProject(config), /DNS_OVER_HTTPS_URL is not an https URL[\s\S]*CRAWL_PAUSE_MS is not a number/);
});

void test("an index has the dimensions of the embedding model", (t) => {
  const server = `OPENAI_BASE_URL = "https://api.example.com/v1"\nOPENAI_MODEL = "m"\nOPENAI_EMBEDDING_MODEL = "e"\n`;
  assert.equal(readProject(withVars(t, `${server}OPENAI_EMBEDDING_DIMENSIONS = "768"\n`)).dimensions, 768);
  assert.throws(() => readProject(withVars(t, server)), /OPENAI_EMBEDDING_DIMENSIONS is not set/);
});

/** The small project with more at the end of its configuration. */
function withMore(t: TestContext, more: string): { config: string; env: string } {
  const config = join(writeSmallProject(t), "wrangler.toml");
  appendFileSync(config, more);
  return { config, env: "production" };
}

/** The small project with more variables. */
function withVars(t: TestContext, vars: string): { config: string; env: string } {
  const project = withMore(t, "");
  const head = "[env.production.vars]\n";
  writeFileSync(project.config, SMALL_PROJECT["wrangler.toml"].replace(head, head + vars));
  return project;
}

void test("the time of a start is read from wrangler's output", () => {
  const output = "│   Profile window: 290.2 ms\n│   Active: 131.3 ms (including 12.1 ms garbage collection)\n│   Idle: 142.3 ms\n";
  assert.equal(activeMs(output), 131.3);
  assert.throws(() => activeMs("│   Idle: 142.3 ms\n"), /did not say how long/);
});

for (const env of ["", "production"]) {
  void test(`every variable and secret of wrangler.toml is checked at start-up (${env || "development"})`, () => {
    const { vars, secrets } = readConfig({ config: join(ROOT, "wrangler.toml"), env }, { hideWarnings: true });
    const names = [...Object.keys(vars), ...(secrets?.required ?? [])];
    assert.ok(names.includes("KEY_SECRET"));
    assert.deepEqual(
      names.filter((name) => !VARIABLE_NAMES.includes(name)),
      [],
    );
  });
}

void test("the guide's table has a row for every variable that is checked, and no other", () => {
  const guide = readFileSync(join(ROOT, "docs/deploy-and-configure.md"), "utf8");
  const section = guide.slice(guide.indexOf("\n## Configuration\n"));
  const rows = [...section.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(([, name]) => name ?? "");
  assert.deepEqual(rows.toSorted(), VARIABLE_NAMES.toSorted());
});
