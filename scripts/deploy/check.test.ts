import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createHarness, SMALL_PROJECT, simulateEarlierDeployment } from "./harness.ts";
import type { Zone } from "./stand-in/account.ts";
import { readProject } from "./project.ts";
import { deploy as upload } from "./steps.ts";
import { check } from "./check.ts";
import { parseOptions } from "./deployment.ts";
import { removeMetrics } from "./metrics.ts";

const ZONE: Zone = {
  id: "z",
  name: "example.com",
  status: "active",
  supportsSubaddress: true,
  sending: ["example.com"],
  routed: {},
  records: {},
};

function configureDomain(directory: string, host: string, more = "workers_dev = true"): void {
  const route = `[env.production]\n${more}\nroutes = [{ pattern = "${host}", custom_domain = true }]`;
  writeFileSync(join(directory, "wrangler.toml"), SMALL_PROJECT["wrangler.toml"].replace("[env.production]", route));
}

void describe("npm run deploy -- --check", { concurrency: 2 }, () => {
  void test("an account that has everything passes the check, which changes nothing", async (t) => {
    const { cloudflare, ...harness } = await createHarness(t);
    const { code, output } = await harness.deploy("--check");
    assert.equal(code, 0, output);
    assert.deepEqual(cloudflare.changes(), []);
    assert.match(output, /Workers plan: ok – paid\n {2}Workers: ok – on stand-in\.workers\.dev\n {2}Worker small: ok – the name is free\n/);
    assert.match(output, /D1: ok – 1 to create\n {2}Queues: ok – 2 to create\n {2}Vectorize: ok – 1 to create\n/);
    assert.match(output, /Workers AI: ok – @cf\/[\s\S]*Analytics Engine: ok – on\n/);
  });

  void test("a free account stops a deployment before anything is created", async (t) => {
    const { cloudflare, ...harness } = await createHarness(t);
    Object.assign(cloudflare.products, { plan: "free", metrics: "off", models: [] });
    const { code, output } = await harness.deploy("--anywhere");
    assert.equal(code, 1);
    assert.deepEqual(cloudflare.changes(), []);
    assert.match(output, /Workers plan: MISSING – .*10 ms of CPU and 50 subrequests.*\/workers\/plans\n/);
    assert.match(output, /Workers AI: MISSING – not in the account's catalogue: @cf.*OPENAI_BASE_URL/);
    assert.match(
      output,
      /Analytics Engine: note – it seems to be off, and only the upload shows .*\/workers\/analytics-engine, or .*--without metrics/,
    );
    assert.match(output, /Check failed: to be mended: Workers plan, Workers AI\.\n\nNothing was made/);
  });

  void test("what the login may not read is a note, and stops nothing", async (t) => {
    const { cloudflare, run } = await createHarness(t);
    Object.assign(cloudflare.products, { plan: "unreadable", metrics: "unreadable" });
    cloudflare.down = /zones/;
    const { failure, output } = await run(check);
    assert.equal(failure, undefined);
    for (const [subject, permission] of [
      ["Workers plan", "Billing: Read"],
      ["Analytics Engine", "Account Analytics: Read"],
      ["Mail", "Email Routing Rules: Read"],
    ]) {
      assert.match(output, new RegExp(`${subject}: note – .*${permission}`));
    }
  });

  void test("a product that the login may not read is missing, with the permission that the token needs", async (t) => {
    for (const [path, permission] of [
      ["d1/database", "D1: Edit"],
      ["queues", "Queues: Edit"],
      ["vectorize/v2/indexes", "Vectorize: Edit"],
      ["workers/subdomain", "Workers Scripts: Edit"],
    ]) {
      const { cloudflare, run } = await createHarness(t);
      cloudflare.down = new RegExp(`^GET ${path}$`);
      assert.match(
        (await run(check)).output,
        new RegExp(`MISSING – the login may not read it: give the token the permission ${permission}\n`),
      );
    }
  });

  void test("an earlier deployment is distinguished from another Worker of the same name, which is not replaced even without the check", async (t) => {
    const { cloudflare, run, runWith } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    const again = await run(check);
    assert.equal(again.failure, undefined);
    assert.match(again.output, /Worker small: ok – deployed before/);
    assert.match(again.output, /Queues: ok – all 2 exist\n/);
    assert.equal((await runWith(["--skip-check"], check)).failure, undefined);
    cloudflare.workers.hold([{ name: "DB", type: "d1" }], "v1");
    const other = await runWith(["--skip-check"], check);
    assert.match(other.output, /Worker small: TAKEN – the name belongs to another Worker/);
    assert.match(String(other.failure), /to be mended: Worker small\./);
  });

  void test("mail that is routed to the Worker needs subaddressing, since replies go to an address with a plus", async (t) => {
    const { cloudflare, run, deploy } = await createHarness(t);
    cloudflare.products.zones = [ZONE, { ...ZONE, id: "y", name: "example.net", sending: ["example.net"], supportsSubaddress: false }];
    assert.match((await run(check)).output, /Mail: note – no address is routed to the Worker/);
    for (const zone of cloudflare.products.zones) zone.routed = { small: `help@${zone.name}`, other: `else@${zone.name}` };
    const { failure, output } = await run(check);
    assert.match(output, /Mail example\.com: ok – help@example\.com is routed/);
    assert.match(
      output,
      /Mail example\.net: FAULT – help@example\.net is routed to the Worker, but replies to it bounce: switch on subaddressing/,
    );
    assert.equal(failure, undefined, "a new version is not held up by mail");
    assert.match((await deploy("--check")).output, /to be mended: Mail example\.net\./);
  });

  void test("mail from a domain that is not onboarded would be refused", async (t) => {
    const { cloudflare, run } = await createHarness(t);
    const zone = { ...ZONE, routed: { small: "help@support.example.com" } };
    const found = async (sending: string[] | undefined) => {
      cloudflare.products.zones = [{ ...zone, sending }];
      return (await run(check)).output;
    };
    assert.match(await found([]), /Mail example\.com: FAULT – .*answers from support\.example\.com are refused: .*sending enable support/);
    assert.match(await found(["example.com"]), /FAULT/);
    assert.match(await found(["support.example.com"]), /Mail example\.com: ok/);
    assert.match(await found(["*.example.com"]), /Mail example\.com: ok/);
    assert.match(await found(undefined), /Mail example\.com: note – .*Email Sending: Read/);
  });

  void test("an Enterprise contract may include Workers, so it does not stop a deployment", async (t) => {
    const { cloudflare, run } = await createHarness(t);
    cloudflare.products.plan = "enterprise";
    const { failure, output } = await run(check);
    assert.equal(failure, undefined);
    assert.match(output, /Workers plan: note – an Enterprise plan/);
  });

  void test("several accounts need CLOUDFLARE_ACCOUNT_ID, which says which one is meant", async (t) => {
    const { cloudflare, deploy } = await createHarness(t);
    cloudflare.accounts.push({ id: "f".repeat(32), name: "Another" });
    const { code, output } = await deploy("--check");
    assert.equal(code, 1);
    assert.match(output, /several accounts: set CLOUDFLARE_ACCOUNT_ID/);
    assert.doesNotMatch(output, /^Check$/m);
  });

  void test("a custom domain needs an active zone in the account", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    cloudflare.products.zones = [ZONE, { ...ZONE, id: "y", name: "example.net", status: "pending" }];
    configureDomain(directory, "help.example.com");
    assert.match((await run(check)).output, /Domain help\.example\.com: ok – in the zone example\.com\n/);
    configureDomain(directory, "help.example.net");
    assert.match((await run(check)).output, /Domain help\.example\.net: MISSING – the zone example\.net is pending/);
    configureDomain(directory, "help.example.org");
    assert.match((await run(check)).output, /Domain help\.example\.org: MISSING – its zone is not in this account/);
  });

  void test("a domain of others is not taken, even without the check, unless it is named", async (t) => {
    const { cloudflare, directory, ...harness } = await createHarness(t);
    const host = "help.example.com";
    configureDomain(directory, host);
    cloudflare.products.zones = [{ ...ZONE, records: { [host]: [{ type: "CNAME", content: "shop.example.net" }] } }];
    const recorded = await harness.deploy("--skip-check", "--anywhere");
    assert.match(
      recorded.output,
      /TAKEN – a deployment would replace its DNS records: CNAME shop\.example\.net\. To go on, add `--take-domain help/,
    );
    assert.match(recorded.output, /Check failed: to be mended: Domain help\.example\.com\./);
    assert.deepEqual(cloudflare.changes(), []);
    assert.equal((await harness.run(check)).output.includes("TAKEN"), true);
    const allowed = await harness.deploy("--check", "--take-domain", host);
    assert.match(allowed.output, /Domain help\.example\.com: ok – in the zone example\.com\n/);
    assert.equal(allowed.code, 0, allowed.output);
  });

  void test("a domain belongs to the Worker that has it, and is not free where the login may not look", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    const { products } = cloudflare;
    const host = "help.example.com";
    configureDomain(directory, host);
    products.zones = [{ ...ZONE, records: { [host]: [{ type: "TXT", content: "note" }] } }];
    assert.match((await run(check)).output, /Domain help\.example\.com: ok – in the zone/);
    products.domains = [
      ...["a", "b", "c", "d", "e"].map((name) => ({ hostname: `${name}.example.com`, service: name })),
      { hostname: host, service: "shop" },
    ];
    assert.match((await run(check)).output, /Domain help\.example\.com: TAKEN – it belongs to the Worker shop\./);
    products.domains = [{ hostname: host, service: "small" }];
    products.zones = [{ ...ZONE, records: undefined }];
    assert.match((await run(check)).output, /Domain help\.example\.com: ok – points to the Worker\n/);
    products.domains = [];
    assert.match((await run(check)).output, /TAKEN – .*permission DNS: Read\./);
    cloudflare.down = /^GET zones$/;
    assert.match((await run(check)).output, /TAKEN – .*permissions Zone: Read and DNS: Read\./);
    cloudflare.down = /^GET workers\/domains$/;
    assert.match((await run(check)).output, /TAKEN – .*permission Workers Scripts: Edit\./);
  });

  void test("a route does not end the address on workers.dev unless the configuration says so", async (t) => {
    const { cloudflare, directory, run } = await createHarness(t);
    cloudflare.products.zones = [ZONE];
    configureDomain(directory, "help.example.com", "");
    assert.match((await run(check)).output, /workers\.dev: MISSING – .*write `workers_dev = true` to keep it, or false\n/);
    for (const decision of ["true", "false"]) {
      configureDomain(directory, "help.example.com", `workers_dev = ${decision}`);
      assert.doesNotMatch((await run(check)).output, /MISSING/);
    }
    assert.equal(readProject({ env: "production" }).isOnWorkersDev, true);
  });

  void test("where the check could not tell that Analytics Engine is off, the upload's refusal says what to do", async (t) => {
    const { cloudflare, run } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    cloudflare.products.metrics = "off";
    assert.match((await run(upload)).failure!, /Analytics Engine is off in this account: switch it on at .*\/workers\/analytics-engine/);
  });

  void test("without metrics a deployment needs no Analytics Engine, and later ones leave it out too", async (t) => {
    const { cloudflare, directory, ...harness } = await createHarness(t);
    const config = join(directory, "wrangler.toml");
    cloudflare.products.metrics = "off";
    const dry = await harness.deploy("--without", "metrics", "--dry-run");
    assert.doesNotMatch(dry.output, /Analytics Engine/);
    assert.equal(readFileSync(config, "utf8"), SMALL_PROJECT["wrangler.toml"]);
    const { code, output } = await harness.deploy("--without", "metrics", "--anywhere");
    assert.equal(code, 0, output);
    assert.match(output, /has no analytics_engine_datasets for production any more: commit it/);
    assert.ok(!cloudflare.workers.bindings?.has("METRICS"));
    const changed = readFileSync(config, "utf8");
    assert.equal(changed.replaceAll(/^# /gm, ""), SMALL_PROJECT["wrangler.toml"]);
    assert.equal(readProject({ config, env: "production" }).uses.metrics, false);
    const again = await harness.run(check, upload);
    assert.equal(again.failure, undefined);
    assert.doesNotMatch(again.output, /Analytics Engine/);
    assert.equal(removeMetrics(parseOptions([`--config=${config}`])), undefined);
  });

  void test("a configuration that cannot be changed line by line stays as it is", async (t) => {
    const { directory } = await createHarness(t);
    const config = join(directory, "wrangler.toml");
    const inline = SMALL_PROJECT["wrangler.toml"]
      .replace(/\[\[env\.production\.analytics_engine_datasets\]\]\nbinding.*\ndataset.*\n/, "")
      .replace("[env.production]", `[env.production]\nanalytics_engine_datasets = [{ binding = "METRICS", dataset = "small" }]`);
    writeFileSync(config, inline);
    assert.throws(() => removeMetrics(parseOptions([`--config=${config}`])), /take analytics_engine_datasets out of production by hand/);
    assert.equal(readFileSync(config, "utf8"), inline);
  });
});
