import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { Webhook } from "standardwebhooks";
import { readBlocks } from "../docs/blocks.ts";
import { ROOT } from "../shared/cli.ts";
import { startRecorder } from "./recorder.ts";

// The client as a package: packed, and installed into an empty project, which lies outside of this one.

const TIMEOUT_MS = 120_000;
const MAX_VISITORS_BUNDLE_BYTES = 2_816;
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const PROGRAM = `
import { createClient, paginate, verifyWebhook } from "@support-agent/client";

const { SUPPORT_URL, WEBHOOK } = process.env;
const client = createClient({ baseUrl: SUPPORT_URL, apiKey: "sk_live_1" });
const question = { agent_id: "a-1", body: { message: "When?" } };
const said = [await client.askAgent(question)];
for await (const { type } of client.streamAnswer(question)) said.push(type);
for await (const lead of paginate(client.listLeads)) said.push(lead);
const { body, headers, secret } = JSON.parse(WEBHOOK);
said.push((await verifyWebhook(body, headers, secret)).type);
console.log(JSON.stringify(said));
`;
/** What compiles with the types, and what must not. */
const TYPED_PROGRAM = `
import { type Client, createClient, type Schemas, verifyWebhook } from "@support-agent/client";
import { createOperatorClient, type Schemas as OperatorSchemas } from "@support-agent/client/operator";
import { createWidgetClient } from "@support-agent/client/widget";

export const client: Client = createClient({ baseUrl: "https://support.example.com", apiKey: "k", retries: undefined });
export const answered: Promise<Schemas["ChatAnswer"]> = client.askAgent({ agent_id: "a-1", body: { message: "When?" } });
export const email = async (body: string) => {
  const event = await verifyWebhook(body, new Headers(), "whsec_");
  return event.type === "lead.created" ? event.data.email : null;
};
// @ts-expect-error -- the path's parameter is missing
await client.getAgent({});
// @ts-expect-error -- an operation that is not there
await client.readMinds();
export const health: Promise<OperatorSchemas["Health"]> = createOperatorClient({ baseUrl: "https://support.example.com", token: "t" }).getHealth();
export const said = createWidgetClient({ baseUrl: "https://support.example.com" }).streamVisitorMessage({ agent_id: "a-1", body: { message: "When?" } });
`;

const folder = mkdtempSync(join(tmpdir(), "package-"));
after(() => rmSync(folder, { recursive: true }));
const run = async (command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}) => {
  const options = { cwd, env: { ...process.env, ...env }, timeout: TIMEOUT_MS };
  const { stdout } = await promisify(execFile)(command, args, options).catch((error: { message: string; stdout: string }) =>
    assert.fail(`${error.message}\n${error.stdout}`),
  );
  return stdout;
};

let packed: { filename: string; files: { path: string }[] };

before(async () => {
  [packed] = JSON.parse(await run("npm", ["pack", "--json", "--pack-destination", folder], join(ROOT, "client"))) as [typeof packed];
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, packed.filename)], folder);
});

void test("the package contains what is built, its README, its licence and its package.json", () => {
  const namesIn = (sources: string) => globSync("*.ts", { cwd: join(ROOT, sources) }).map((name) => basename(name, ".ts"));
  const built = namesIn("client").flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
  const commands = namesIn("client/cli").map((name) => `dist/cli/${name}.js`);
  assert.deepEqual(
    packed.files.map(({ path }) => path).toSorted(),
    ["LICENSE", "README.md", ...built, ...commands, "package.json"].toSorted(),
  );
});

void test("the package can be published, for everybody", async () => {
  // A registry that answers nothing shows that a dry run asks none.
  const args = ["publish", "--dry-run", "--json", "--ignore-scripts", "--registry=http://127.0.0.1:9/", "--fetch-retries=0"];
  const published = JSON.parse(await run("npm", args, join(ROOT, "client"))) as { id: string };
  assert.match(JSON.stringify(published), /@support-agent\/client/);
  const { publishConfig } = JSON.parse(readFileSync(join(ROOT, "client/package.json"), "utf8")) as { publishConfig: unknown };
  assert.deepEqual(publishConfig, { access: "public" });
});

void test("a program in plain JavaScript asks, streams, pages and verifies a webhook", async () => {
  const recorder = await startRecorder();
  after(recorder.close);
  const body = JSON.stringify({ type: "lead.created", data: { name: "Zoë" } });
  const [secret, now] = [`whsec_${Buffer.alloc(32, 7).toString("base64")}`, new Date()];
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("msg_1", now, body),
  };
  writeFileSync(join(folder, "program.js"), PROGRAM);
  const env = { SUPPORT_URL: recorder.origin, WEBHOOK: JSON.stringify({ body, headers, secret }) };
  const said = JSON.parse(await run(process.execPath, ["program.js"], folder, env)) as unknown;
  assert.deepEqual(said, [{ data: [], has_more: false }, "done", "lead.created"]);
  assert.deepEqual(
    recorder.take().map(({ method, url, authorization }) => `${method} ${url} ${authorization}`),
    [
      "POST /api/v1/agents/a-1/messages Bearer sk_live_1",
      "POST /api/v1/agents/a-1/messages Bearer sk_live_1",
      "GET /api/v1/leads?limit=100 Bearer sk_live_1",
    ],
  );
});

void test("the command line is installed with it", async () => {
  const recorder = await startRecorder();
  after(recorder.close);
  const env = { SUPPORT_URL: recorder.origin, SUPPORT_KEY: "sk_live_1", SUPPORT_AGENT: "a-1" };
  const npx = (...args: string[]) => run("npx", ["--no-install", "support-agent", ...args], folder, env);
  assert.match(await npx("--help"), /^ {2}events listen {2,}\S/m);
  assert.match(await npx("sources", "ls"), /No sources yet/);
  assert.deepEqual(
    recorder.take().map(({ method, url, authorization }) => `${method} ${url} ${authorization}`),
    ["GET /api/v1/agents/a-1/sources Bearer sk_live_1"],
  );
});

/** How projects are set up: the newest Node, an older one, and a bundler for browsers. */
const PROJECTS = {
  node: { target: "es2024", lib: ["es2024"], module: "nodenext", types: ["node"] },
  "node-20": { target: "es2022", lib: ["es2022"], module: "node20", types: ["node"], exactOptionalPropertyTypes: true },
  bundler: { target: "es2022", lib: ["es2022", "dom"], module: "esnext", moduleResolution: "bundler", types: ["node"] },
};

void test("the types and the README's examples compile, in a project of Node's and in one of a bundler", async () => {
  const sources = join(folder, "src");
  mkdirSync(sources);
  writeFileSync(join(sources, "typed.ts"), TYPED_PROGRAM);
  const examples = readBlocks("client/README.md", readFileSync(join(ROOT, "client/README.md"), "utf8"));
  for (const { line, code } of examples.filter(({ language }) => language === "ts")) writeFileSync(join(sources, `line-${line}.ts`), code);
  const common = { strict: true, noEmit: true, typeRoots: [join(ROOT, "node_modules/@types")] };
  for (const [name, options] of Object.entries(PROJECTS)) {
    const path = join(folder, `tsconfig.${name}.json`);
    writeFileSync(path, JSON.stringify({ compilerOptions: { ...common, ...options }, include: ["src"] }));
    await run(process.execPath, [TSC, "-p", path], folder);
  }
});

void test("a bundle for browsers has no dependencies, and contains only the code that is used", async () => {
  const bundle = async (code: string) => {
    const { outputFiles } = await build({
      stdin: { contents: code, resolveDir: folder },
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      platform: "browser",
      logLevel: "silent",
    });
    return outputFiles[0]!.text;
  };
  assert.match(await bundle(`import { createClient } from "@support-agent/client"; console.log(createClient);`), /api\/v1\/me/);
  assert.doesNotMatch(await bundle(`import { verifyWebhook } from "@support-agent/client"; console.log(verifyWebhook);`), /api\/v1/);
  const visitors = await bundle(`import { createWidgetClient } from "@support-agent/client/widget"; console.log(createWidgetClient);`);
  assert.doesNotMatch(visitors, /api\/v1|operator\/v1/);
  const { length } = gzipSync(visitors);
  assert.ok(length < MAX_VISITORS_BUNDLE_BYTES, `${length} bytes`);
});
