import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parseEnv } from "node:util";
import { ROOT } from "../shared/cli.ts";
import { databases, migrations, shards } from "./databases.ts";
import { createHarness, EXISTING_SECRETS, SECOND_DATABASE, simulateEarlierDeployment } from "./harness.ts";
import { vectors } from "./resources.ts";
import { secrets } from "./secrets.ts";
import { deploy } from "./steps.ts";

const SECRETS = ["OPERATOR_TOKEN", "KEY_SECRET", "ENCRYPTION_KEY", "HEALTH_TOKEN"];
const RANDOM = /^[A-Za-z0-9_-]{43}$/;
/** Changes of the Worker, which each deployment uploads again. */
const OF_WORKER = /^(POST|PUT|PATCH) (workers\/|queues\/…\/consumers)/;

// Each starts the project's real wrangler several times, against an API on this machine.
void describe("npm run deploy", { concurrency: 2 }, () => {
  void test("a first deployment creates everything in the order of the dependencies", async (t) => {
    const { cloudflare, directory, ...harness } = await createHarness(t);
    const { code, output } = await harness.deploy("--anywhere");
    assert.equal(code, 0, output);
    assert.deepEqual(cloudflare.changes(), [
      "POST vectorize/v2/indexes",
      "POST vectorize/v2/indexes/small-chunks/metadata_index/create",
      "POST queues",
      "POST queues",
      "POST d1/database",
      "POST d1/database/…/query",
      "PUT workers/scripts/small",
      "PATCH workers/scripts/small/script-settings",
      "POST workers/scripts/small/subdomain",
      "POST queues/…/consumers",
    ]);
    const [index] = cloudflare.vectorize.indexes;
    assert.deepEqual(index?.config, { dimensions: 1024, metric: "cosine" });
    assert.deepEqual(index?.properties, [{ propertyName: "agent", indexType: "string" }]);
    assert.deepEqual(cloudflare.queues.consumersOf("small-work"), ["small small-work-dlq"]);
    assert.ok(cloudflare.d1.tables("small-0").includes("notes"));
    const file = join(directory, ".secrets.production");
    const kept = parseEnv(readFileSync(file, "utf8"));
    for (const name of SECRETS) assert.match(kept[name]!, RANDOM);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(cloudflare.workers.secrets, { ...kept });
    for (const secret of Object.values(kept)) assert.ok(!output.includes(secret!), "a secret is never printed");
    assert.match(output, /In .*\.secrets\.production, readable by you alone: OPERATOR_TOKEN, KEY_SECRET, ENCRYPTION_KEY, HEALTH_TOKEN\./);
    assert.match(
      output,
      /\/healthz: answers 200\n.*\/api\/v1\/me: answers 401\n[\s\S]*a question: answered from a text, which is deleted again\n/,
    );
  });

  void test("a second deployment creates nothing and keeps the secrets and the configuration", async (t) => {
    const { cloudflare, directory, ...harness } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    const before = readFileSync(join(directory, "wrangler.toml"), "utf8");
    const { code, output } = await harness.deploy();
    assert.equal(code, 0, output);
    assert.deepEqual(
      cloudflare.changes().filter((change) => !OF_WORKER.test(change)),
      [],
    );
    assert.deepEqual(cloudflare.workers.secrets, EXISTING_SECRETS);
    assert.ok(!existsSync(join(directory, ".secrets.production")));
    assert.equal(readFileSync(join(directory, "wrangler.toml"), "utf8"), before);
    assert.doesNotMatch(output, /created|made at random|readable by you alone/);
  });

  void test("a deployment that failed says what to do, and the next run continues with the same secrets", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    cloudflare.workers.bindings = undefined;
    cloudflare.down = /^PUT workers\/scripts\/small$/;
    appendFileSync(join(directory, "wrangler.toml"), SECOND_DATABASE);
    const broken = await run(databases, secrets, deploy);
    assert.match(broken.failure!, /^Deploy failed: .*wrangler deploy[\s\S]*Workers Scripts: Edit[\s\S]*run the same command again/);
    assert.match(broken.output, /DB_1: small-1: created\n/);
    assert.match(broken.failure!, /This run made, and the next one uses: DB_1: small-1\.\n.*--remove/);
    const kept = parseEnv(readFileSync(join(directory, ".secrets.production"), "utf8"));
    assert.deepEqual(Object.keys(kept).toSorted(), SECRETS.toSorted());
    cloudflare.down = undefined;
    const resumed = await run(databases, secrets, deploy);
    assert.equal(resumed.failure, undefined);
    assert.match(resumed.output, /DB_1: small-1: exists\n/);
    assert.deepEqual(cloudflare.workers.secrets, { ...kept });
  });

  void test("a Worker that was uploaded before the deployment failed is listed among what was created", async (t) => {
    const { cloudflare, run } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    cloudflare.workers.bindings = undefined;
    cloudflare.down = /^POST workers\/scripts\/small\/subdomain$/;
    assert.match((await run(secrets, deploy)).failure!, /This run made, and the next one uses: Worker small\./);
  });

  void test("only the missing secret is set", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    const { KEY_SECRET: _, ...others } = EXISTING_SECRETS;
    simulateEarlierDeployment(cloudflare, others);
    const { failure, output } = await run(secrets, deploy);
    assert.equal(failure, undefined);
    assert.match(output, /small: deployed to https:\/\/small\.stand-in\.workers\.dev\n/);
    const { KEY_SECRET: made, ...untouched } = cloudflare.workers.secrets;
    assert.deepEqual(untouched, others);
    assert.match(made!, RANDOM);
    assert.deepEqual({ ...parseEnv(readFileSync(join(directory, ".secrets.production"), "utf8")) }, { KEY_SECRET: made });
  });

  void test("a CI runner makes no secrets, and takes those that the job wrote into the file", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t, { CI: "true" });
    const file = join(directory, ".secrets.production");
    const refused = await run(secrets, deploy);
    assert.match(
      refused.failure!,
      /the Worker lacks OPERATOR_TOKEN, KEY_SECRET, ENCRYPTION_KEY, and a CI runner would lose .*your machine/,
    );
    assert.deepEqual([existsSync(file), cloudflare.changes()], [false, []]);
    const { HEALTH_TOKEN: _, ...required } = EXISTING_SECRETS;
    const lines = Object.entries(required).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(file, lines.join(""));
    const allowed = await run(secrets);
    assert.equal(allowed.failure, undefined);
    assert.match(allowed.output, /HEALTH_TOKEN: not made, .*\nOPERATOR_TOKEN: will be set with the Worker, from /);
    assert.equal(readFileSync(file, "utf8"), lines.join(""));
    simulateEarlierDeployment(cloudflare);
    assert.doesNotMatch((await run(secrets)).output, /made|set/);
  });

  void test("a database that was added is created with its schema, and the others stay", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    appendFileSync(join(directory, "wrangler.toml"), SECOND_DATABASE);
    const { output } = await run(databases, migrations);
    assert.deepEqual(cloudflare.changes(), ["POST d1/database", "POST d1/database/…/query"]);
    assert.ok(cloudflare.d1.tables("small-1").includes("notes"));
    assert.match(output, /DB: up to date\nDB_1: applied, up to 0000_notes\.sql\n/);
  });

  void test("a map that gives a shard to another database than that of its workspaces is refused", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    appendFileSync(join(directory, "wrangler.toml"), SECOND_DATABASE);
    writeFileSync(
      join(directory, "migrations/0001_shards.sql"),
      "CREATE TABLE workspaces (id TEXT);\nCREATE TABLE shard_moves (shard TEXT);\n",
    );
    assert.match((await run(databases, migrations, shards)).output, /each shard is where its workspaces are/);
    const id = (shard: string) => `018f0000-0000-7000-8000-0000000000${shard}`;
    cloudflare.d1.find("small-1").sqlite.exec(`INSERT INTO workspaces VALUES ('${id("01")}'), ('${id("40")}')`);
    cloudflare.d1.find("small-1").sqlite.exec("INSERT INTO shard_moves VALUES ('40')");
    assert.match((await run(shards)).failure!, /DB_1 holds workspaces of the shards 1, which SHARD_MAP gives to another database/);
    const config = join(directory, "wrangler.toml");
    const mapped = readFileSync(config, "utf8").replace(
      "[env.production.vars]",
      '[env.production.vars]\nSHARD_MAP = "0=DB, 1=DB_1, 2-255=DB"',
    );
    writeFileSync(config, mapped);
    assert.equal((await run(shards)).failure, undefined);
  });

  void test("a database is created in its region, and one that exists in another jurisdiction is refused", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    const config = join(directory, "wrangler.toml");
    const regions = (text: string) => {
      const vars = `[env.production.vars]\nDATABASE_REGIONS = "${text}"`;
      writeFileSync(config, readFileSync(config, "utf8").replace(/\[env\.production\.vars\](?:\nDATABASE_REGIONS.*)?/, vars));
    };
    const more = (database: number) => SECOND_DATABASE.replace("DB_1", `DB_${database}`).replace("small-1", `small-${database}`);
    appendFileSync(config, more(1) + more(2));
    regions("0=weur, 1=eu, 2=sam");
    const { failure, output } = await run(databases);
    assert.equal(failure, undefined);
    assert.match(output, /DB: small-0 in weur: created\nDB_1: small-1 in eu: created\nDB_2: small-2 in sam: created\n/);
    const places = ["small-0", "small-1", "small-2"].map((name) => cloudflare.d1.find(name).place);
    assert.deepEqual(places, [{ primary_location_hint: "weur" }, { jurisdiction: "eu" }, { primary_location_hint: "enam" }]);
    assert.equal((await run(databases)).failure, undefined);
    regions("0=eu, 1=eu");
    assert.match(
      (await run(databases)).failure!,
      /DATABASE_REGIONS says eu for DB, but small-0 was created in no jurisdiction, and stays there/,
    );
  });

  void test("a migration that the platform's query endpoint cuts in two is imported as a file, with those after it", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    const trigger =
      "CREATE TRIGGER noted AFTER INSERT ON notes BEGIN\n  SELECT CASE WHEN new.id = '' THEN RAISE(ABORT, 'no id') END;\nEND;\n";
    writeFileSync(join(directory, "migrations/0001_trigger.sql"), trigger);
    writeFileSync(join(directory, "migrations/0002_tags.sql"), "CREATE TABLE tags (id TEXT);\n");
    const first = await run(migrations);
    assert.equal(first.failure, undefined);
    assert.match(first.output, /DB: applied, up to 0002_tags\.sql, .* by import\n/);
    assert.ok(cloudflare.d1.tables("small-0").includes("tags"));
    assert.throws(() => cloudflare.d1.find("small-0").sqlite.exec("INSERT INTO notes (id) VALUES ('')"), /no id/);
    assert.match((await run(migrations)).output, /DB: up to date\n/);
  });

  void test("a migration that is wrong in itself is not imported", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    writeFileSync(join(directory, "migrations/0001_wrong.sql"), "CREATE TABLE tags (id TEXT);\nCREATE TABLE notes (id TEXT);\n");
    assert.match((await run(migrations)).failure!, /^Migrations failed: [\s\S]*notes already exists/);
    assert.ok(!cloudflare.d1.tables("small-0").includes("tags"));
    assert.ok(!cloudflare.changes().some((change) => change.includes("import")));
  });

  void test("a dry run reads the account, says what exists there, and changes nothing", async (t) => {
    const { cloudflare, directory, ...harness } = await createHarness(t);
    cloudflare.queues.create("small-work");
    const { code, output } = await harness.deploy("--dry-run");
    assert.equal(code, 0, output);
    assert.deepEqual(cloudflare.changes(), []);
    for (const made of [".secrets.production", "dist"]) assert.ok(!existsSync(join(directory, made)));
    assert.match(output, /small-work: exists\n {2}small-work-dlq: would create\n/);
    assert.match(output, /index small-chunks, 1024 dimensions, cosine: would create\n/);
    assert.match(output, /OPERATOR_TOKEN: would set, made at random\n/);
  });

  void test("without an account a dry run prints every step, and a deployment says how to log in", async (t) => {
    const { cloudflare, ...harness } = await createHarness(t, { CLOUDFLARE_API_TOKEN: undefined });
    const dry = await harness.deploy("--dry-run");
    assert.equal(dry.code, 0, dry.output);
    const titles = dry.output.split("\n").filter((line) => /^[A-Z]/.test(line) && !line.startsWith("This was"));
    assert.deepEqual(titles, [
      "Account",
      "Region",
      "Check",
      "Secrets",
      "Build",
      "Vectorize",
      "Queues",
      "D1 databases",
      "Migrations",
      "Logical shards",
      "Deploy",
      "Smoke test",
    ]);
    const real = await harness.deploy();
    assert.equal(real.code, 1);
    assert.match(real.output, /Account failed: wrangler is not logged in[\s\S]*wrangler login/);
    assert.deepEqual(cloudflare.calls, []);
  });

  void test("an index of another shape is an error", async (t) => {
    const { cloudflare, run } = await createHarness(t);
    cloudflare.vectorize.create({ name: "small-chunks", config: { dimensions: 768, metric: "cosine" } });
    assert.match((await run(vectors)).failure!, /The index small-chunks has 768 dimensions .* raise VECTORS_ROUND/);
    assert.deepEqual(cloudflare.changes(), []);
  });

  void test("a build of Workers Builds deploys only the Worker that it is connected to", async (t) => {
    const { cloudflare, ...harness } = await createHarness(t, { WORKERS_CI: "1", WRANGLER_CI_OVERRIDE_NAME: "large" });
    const { code, output } = await harness.deploy("--anywhere");
    assert.equal(code, 1);
    assert.match(output, /Workers Builds deploys the Worker large here, and the environment production is small\./);
    assert.deepEqual(cloudflare.changes(), []);
  });
});

void test("Workers Builds is refused a build outside of npm run deploy", () => {
  const build = () =>
    execFileSync(process.execPath, ["scripts/worker.ts"], { cwd: ROOT, env: { ...process.env, WORKERS_CI: "1" }, stdio: "pipe" });
  assert.throws(build, /Enter `npm run deploy` as the deploy command\./);
});
