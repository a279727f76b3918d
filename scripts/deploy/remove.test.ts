import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createHarness, simulateEarlierDeployment } from "./harness.ts";
import { removal } from "./remove.ts";

void describe("npm run deploy -- --remove", { concurrency: 2 }, () => {
  void test("it lists what the account has, and deletes that only where the Worker's name is given", async (t) => {
    const { cloudflare, run, ...harness } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    const listed = await run(removal);
    assert.equal(listed.failure, undefined);
    assert.match(listed.output, /consumer of small-work: exists\nWorker small, .*: exists\nqueue small-work: exists\n/);
    assert.match(listed.output, /to delete all of it: npm run deploy -- --remove --env production --name small\n/);
    assert.match((await harness.deploy("--remove", "--name", "other")).output, /--name is "other", but the Worker is small/);
    assert.deepEqual(cloudflare.changes(), []);
    const removed = await harness.deploy("--remove", "--name", "small");
    assert.equal(removed.code, 0, removed.output);
    assert.equal(cloudflare.workers.bindings, undefined);
    assert.deepEqual(cloudflare.queues.names, ["a", "b", "c", "d"]);
    assert.deepEqual([cloudflare.vectorize.indexes, cloudflare.d1.names], [[], []]);
    assert.match((await run(removal)).output, /small: the account has nothing of it\n/);
  });

  void test("another Worker of the same name is not part of the deployment", async (t) => {
    const { cloudflare, run } = await createHarness(t);
    cloudflare.workers.hold([{ name: "DB", type: "d1" }], "v1");
    assert.match((await run(removal)).output, /small: the account has nothing of it\n/);
  });

  void test("nothing is deleted while a database holds workspaces, unless --with-data is given", async (t) => {
    const { cloudflare, ...harness } = await createHarness(t);
    simulateEarlierDeployment(cloudflare);
    cloudflare.d1.find("small-0").sqlite.exec("CREATE TABLE workspaces (id TEXT); INSERT INTO workspaces VALUES ('w')");
    const refused = await harness.deploy("--remove", "--name", "small");
    assert.equal(refused.code, 1);
    assert.match(refused.output, /small-0: holds 1 workspaces[\s\S]*small-0 holds workspaces, and nothing was deleted[\s\S]*--with-data/);
    assert.deepEqual(cloudflare.changes(), []);
    const removed = await harness.deploy("--remove", "--name", "small", "--with-data");
    assert.equal(removed.code, 0, removed.output);
    assert.deepEqual(cloudflare.d1.names, []);
  });
});
