import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test, type TestContext } from "node:test";
import { listen } from "../shared/ports.ts";
import { type Deployment, parseOptions } from "./deployment.ts";
import { smoke } from "./steps.ts";

void test("a service that answers as it should passes the smoke test", async (t) => {
  const said: string[] = [];
  const documents = Object.fromEntries(["api", "widget", "operator"].map((name) => [`/${name}/v1/openapi.json`, 200]));
  await smoke.run(deploymentAt(await serve(t, { "/healthz": 200, "/api/v1/me": 401, ...documents }), said));
  assert.deepEqual(
    said.map((line) => line.replace(/^.*?\d+\//, "/")),
    [
      "/healthz: answers 200",
      "/api/v1/me: answers 401",
      ...Object.keys(documents).map((path) => `${path}: answers 200`),
      "a question: not asked: set OPERATOR_TOKEN in the environment, to ask one of a text",
    ],
  );
});

void test("a service that cannot be reached fails the smoke test with the reason", async () => {
  const closed = createServer();
  const url = await listen(closed);
  closed.close();
  await assert.rejects(smoke.run(deploymentAt(url)), /\/healthz should answer 200, but: no answer \(.*ECONNREFUSED/);
});

void test("a service with a wrong configuration fails the smoke test", async (t) => {
  const url = await serve(t, { "/healthz": 200, "/api/v1/me": 503 });
  await assert.rejects(smoke.run(deploymentAt(url)), /\/api\/v1\/me should answer 401, but: 503\.$/);
});

void test("the smoke test waits 90 s for a known host, and 300 s for a new one", async (t) => {
  for (const [hasWorker, seconds] of [
    [true, 90],
    [false, 300],
  ] as const) {
    t.mock.timers.enable({ apis: ["Date"], now: 0 });
    const asked = [seconds - 3, seconds - 1, seconds * 10];
    const refusing = await serve(t, { "/healthz": 503 }, () => t.mock.timers.setTime(asked.shift()! * 1000));
    await assert.rejects(smoke.run({ ...deploymentAt(refusing), hasWorker, options: parseOptions([]) }), /should answer 200, but: 503/);
    assert.deepEqual(asked, [seconds * 10]);
    t.mock.timers.reset();
  }
});

void test("without a URL the smoke test says how to give one", async () => {
  await assert.rejects(smoke.run(deploymentAt(undefined)), /-- --url https/);
});

async function serve(t: TestContext, statuses: Record<string, number>, asked = () => {}): Promise<string> {
  const server = createServer(({ url }, response) => {
    asked();
    response.writeHead(statuses[url ?? ""] ?? 404).end();
  });
  t.after(() => server.close());
  return await listen(server);
}

/** What the smoke test needs of a deployment: it starts no wrangler. */
function deploymentAt(url: string | undefined, said: string[] = []): Deployment {
  const options = parseOptions(["--wait=0"]);
  return {
    options,
    url,
    missingSecrets: {},
    project: { config: "/nowhere/wrangler.toml", env: "production" },
    wrangler: { env: {} },
    say: (thing: string, state: string) => said.push(`${thing}: ${state}`),
  } as unknown as Deployment;
}

void test("a flag that npm has taken for itself is refused", (t) => {
  t.after(() => delete process.env["npm_config_take_domain"]);
  process.env["npm_config_take_domain"] = "chat.example.com";
  assert.throws(() => parseOptions([]), /npm run deploy -- --take-domain$/);
});
