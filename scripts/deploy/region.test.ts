import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { databases } from "./databases.ts";
import { parseOptions } from "./deployment.ts";
import { createHarness, SECOND_DATABASE, SMALL_PROJECT, simulateEarlierDeployment } from "./harness.ts";
import { readProject } from "./project.ts";
import { region } from "./region.ts";

void describe("the region of a deployment", { concurrency: 2 }, () => {
  void test("a first deployment makes nothing until a region is chosen, or none is said", async (t) => {
    const { cloudflare, directory, runWith, ...harness } = await createHarness(t);
    const { code, output } = await harness.deploy();
    assert.equal(code, 1);
    assert.match(
      output,
      /Region failed: where should the data of this deployment be\? It cannot be moved later[\s\S]*--region eu [\s\S]*--anywhere/,
    );
    assert.deepEqual([cloudflare.changes(), existsSync(join(directory, ".secrets.production"))], [[], false]);
    for (const flag of ["--check", "--dry-run"]) {
      const asked = await runWith([flag], region);
      assert.deepEqual([asked.failure, asked.output.startsWith("not chosen: a first deployment needs one of\n")], [undefined, true]);
    }
    assert.equal((await runWith(["--anywhere"], region)).failure, undefined);
  });

  void test("later deployments do not ask, and cannot choose another region", async (t) => {
    const { cloudflare, run, runWith } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    const { failure, output } = await run(region);
    assert.deepEqual([failure, output], [undefined, "DB: no region; it stays where the first deployment made it\n"]);
    assert.match((await runWith(["--region=weur"], region)).failure!, /small-0 exists, and stays where it is/);
  });

  void test("the chosen region is written into the configuration, and all databases are made there", async (t) => {
    const { cloudflare, directory, run, runWith } = await createHarness(t);
    const config = join(directory, "wrangler.toml");
    appendFileSync(config, SECOND_DATABASE);
    const before = readFileSync(config, "utf8");
    const dry = await runWith(["--region=eu", "--dry-run"], region, databases);
    assert.match(dry.output, /^eu: would write DATABASE_REGIONS = "0=eu, 1=eu" into .*\nDB: small-0 in eu: would create\n/);
    assert.equal(readFileSync(config, "utf8"), before);
    const { failure, output } = await runWith(["--region=eu"], region, databases);
    assert.equal(failure, undefined);
    assert.match(output, /^eu: wrote DATABASE_REGIONS = "0=eu, 1=eu" into .*: commit it/);
    const vars = "[env.production.vars]\n";
    assert.equal(readFileSync(config, "utf8"), before.replace(vars, `${vars}DATABASE_REGIONS = "0=eu, 1=eu"\n`));
    for (const name of ["small-0", "small-1"]) assert.deepEqual(cloudflare.d1.find(name).place, { jurisdiction: "eu" });
    assert.equal((await run(region)).output, "DB: eu\n");
  });

  void test("an empty DATABASE_REGIONS is replaced, and the regions of other databases stay", async (t) => {
    const { directory, runWith } = await createHarness(t);
    const config = join(directory, "wrangler.toml");
    const vars = '[env.production.vars]\n# The regions.\nDATABASE_REGIONS = "1=enam"';
    writeFileSync(config, SMALL_PROJECT["wrangler.toml"].replace("[env.production.vars]", vars) + SECOND_DATABASE);
    assert.equal((await runWith(["--region=weur"], region)).failure, undefined);
    assert.match(readFileSync(config, "utf8"), /# The regions\.\nDATABASE_REGIONS = "0=weur, 1=enam"\n/);
    const { databases: made } = readProject({ config, env: "production" });
    assert.deepEqual([made[0]?.region, made[1]?.region], ["weur", "enam"]);
    assert.match((await runWith(["--region=eu"], region)).failure!, /DATABASE_REGIONS in the configuration says weur/);
    assert.match((await runWith(["--anywhere"], region)).failure!, /DATABASE_REGIONS in the configuration says weur/);
  });

  void test("a configuration that lost the jurisdiction of its database is refused", async (t) => {
    const { cloudflare, run, runWith } = await createHarness(t);
    cloudflare.d1.create("small-0", { jurisdiction: "eu" });
    assert.match(
      (await run(region)).failure!,
      /small-0 is in the jurisdiction eu, but DATABASE_REGIONS does not say so.*DATABASE_REGIONS = "0=eu"/,
    );
    assert.equal((await runWith(["--anywhere"], region)).failure, undefined);
  });

  void test("a CI runner writes no region, which it would lose", async (t) => {
    const { directory, runWith } = await createHarness(t, { CI: "true" });
    const { failure } = await runWith(["--region=eu"], region);
    assert.match(failure!, /CI runner would lose the choice. Write DATABASE_REGIONS = "0=eu" below \[env\.production\.vars\]/);
    assert.equal(readFileSync(join(directory, "wrangler.toml"), "utf8"), SMALL_PROJECT["wrangler.toml"]);
  });

  void test("a region that does not exist is refused, and so are both flags", () => {
    assert.throws(() => parseOptions(["--region=mars"]), /--region takes one of wnam, .*, us, not "mars"/);
    assert.throws(() => parseOptions(["--region=eu", "--anywhere"]), /contradict each other/);
  });
});
