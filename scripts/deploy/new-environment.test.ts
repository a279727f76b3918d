import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { unstable_readConfig as readConfig } from "wrangler";
import { ROOT } from "../shared/cli.ts";
import { parseOptions } from "./deployment.ts";
import { SMALL_PROJECT, writeSmallProject } from "./harness.ts";
import { writeNewEnvironment } from "./new-environment.ts";
import { readProject } from "./project.ts";

const write = (config: string, name = "staging", ...more: string[]) =>
  writeNewEnvironment(parseOptions([`--config=${config}`, `--new-environment=${name}`, ...more]));

/** The project's own configuration, in a directory of its own. */
function copyConfig(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "environment-test-"));
  t.after(() => rmSync(directory, { recursive: true }));
  copyFileSync(join(ROOT, "wrangler.toml"), join(directory, "wrangler.toml"));
  cpSync(join(ROOT, "migrations"), join(directory, "migrations"), { recursive: true });
  symlinkSync(join(ROOT, "src"), join(directory, "src"));
  return join(directory, "wrangler.toml");
}

void test("a new environment has all of production under names of its own, and the rest of the file stays", (t) => {
  const config = copyConfig(t);
  const before = readFileSync(config, "utf8");
  assert.match(write(config), /has the environment staging: staging-support-agent-service, [\s\S]*npm run deploy -- --env staging/);
  assert.ok(readFileSync(config, "utf8").startsWith(before));
  const [production, staging] = ["production", "staging"].map((env) => readProject({ config, env }));
  const prefixed = (names: string[]) => names.map((name) => `staging-${name}`);
  assert.equal(staging!.worker, "staging-support-agent-service");
  assert.deepEqual(staging!.queues, prefixed(production!.queues));
  assert.deepEqual(staging!.indexes, prefixed(production!.indexes));
  assert.deepEqual(
    staging!.datasets,
    production!.datasets.map((name) => `staging_${name}`),
  );
  assert.deepEqual(
    staging!.databases.map(({ name }) => name),
    prefixed(production!.databases.map(({ name }) => name)),
  );
  const [from, to] = ["production", "staging"].map((env) => readConfig({ config, env }, { hideWarnings: true }));
  for (const same of ["vars", "secrets", "durable_objects", "observability", "send_email", "ai"] as const)
    assert.deepEqual(to![same], from![same], same);
});

void test("production's hosts and the ids of its databases stay with production", (t) => {
  const directory = writeSmallProject(t);
  const config = join(directory, "wrangler.toml");
  const own = `[env.production]
workers_dev = false
routes = [
  { pattern = "help.example.com", custom_domain = true }, # the help centre
  "example.com/help/*",
]`;
  const more = `
[[env.production.r2_buckets]]
binding = "FILES"
bucket_name = "files"

[env.other]
name = "other"
`;
  const id = `database_name = "small-0"\ndatabase_id = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00"`;
  const toml = SMALL_PROJECT["wrangler.toml"].replace("[env.production]", own).replace(`database_name = "small-0"`, id);
  writeFileSync(config, toml + more);
  write(config, "test-2");
  const made = readConfig({ config, env: "test-2" }, { hideWarnings: true });
  assert.deepEqual([made.routes, made.name], [undefined, "test-2-small"]);
  assert.notEqual(made.workers_dev, false);
  assert.deepEqual(readProject({ config, env: "test-2" }).buckets, ["test-2-files"]);
  assert.equal(readProject({ config, env: "test-2" }).databases[0]?.id, undefined);
  assert.equal(readProject({ config, env: "production" }).hosts.length, 2);
});

void test("a name that exists is refused, and so is one that no resource can have", (t) => {
  const config = join(writeSmallProject(t), "wrangler.toml");
  write(config);
  const before = readFileSync(config, "utf8");
  assert.throws(() => write(config), /has an environment staging/);
  assert.throws(() => write(config, "production"), /has an environment production/);
  for (const name of ["", "Staging", "a_b", "a".repeat(21)]) assert.throws(() => write(config, name), /takes up to 20 letters/);
  assert.equal(readFileSync(config, "utf8"), before);
});

void test("what cannot be copied under a name of its own is refused, and nothing is written", (t) => {
  const config = join(writeSmallProject(t), "wrangler.toml");
  const quoted = SMALL_PROJECT["wrangler.toml"].replace(`queue = "small-work"\ndead`, `"queue" = "small-work"\ndead`);
  writeFileSync(config, quoted);
  assert.throws(() => write(config), /Both environments would use small-work\. Nothing was written/);
  assert.equal(readFileSync(config, "utf8"), quoted);
});
