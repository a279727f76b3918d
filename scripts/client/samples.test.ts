import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../shared/cli.ts";
import { type Recorded, startRecorder } from "./recorder.ts";

/** None takes more than seconds; one that hangs must not hang the tests. */
const TIMEOUT_MS = 60_000;
const run = (command: string, args: string[]) => promisify(execFile)(command, args, { timeout: TIMEOUT_MS, cwd: folder });
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
/** As an integrator's project might be: strict, and with nothing of this one. */
const COMPILER_OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  target: "es2024",
  lib: ["es2024", "dom"],
  module: "nodenext",
  allowImportingTsExtensions: true,
  types: ["node"],
  typeRoots: [join(ROOT, "node_modules/@types")],
};
const IDS = [
  ..."APPLICATION APPROVAL ANSWER ATTACHMENT CONVERSATION DELIVERY DRAFT EVALUATION KEY MEMBER MESSAGE".split(" "),
  ..."ROUTING_RULE SAVED_REPLY SESSION SOURCE TEAM WEBHOOK WORKSPACE".split(" "),
];
const DOCUMENTS = ["openapi", "openapi.widget", "openapi.operator"];
const EXTENSIONS = { Shell: "sh", TypeScript: "ts", Python: "py" };

type Language = keyof typeof EXTENSIONS;

interface Operation {
  operationId: string;
  "x-codeSamples"?: { lang: Language; label: string; source: string }[];
}

interface ClientPackage {
  name: string;
  exports: Record<string, object>;
}

function operationsOf(document: string): Operation[] {
  const { paths } = JSON.parse(readFileSync(join(ROOT, `test/${document}.json`), "utf8")) as {
    paths: Record<string, Record<string, Operation>>;
  };
  return Object.values(paths).flatMap((methods) => Object.values(methods));
}

/** A project with every sample as a file, and the client's package, whose sources stand for what is built of them. */
function writeProject() {
  const folder = mkdtempSync(join(tmpdir(), "samples-"));
  after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "client"));
  for (const file of globSync("*.ts", { cwd: join(ROOT, "client") })) cpSync(join(ROOT, "client", file), join(folder, "client", file));
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, "client/package.json"), "utf8")) as ClientPackage;
  const sources = Object.keys(exports).map((entry) => [entry, entry === "." ? "./index.ts" : `${entry}.ts`]);
  writeFileSync(join(folder, "client/package.json"), JSON.stringify({ type: "module", exports: Object.fromEntries(sources) }));
  mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
  symlinkSync(join(folder, "client"), join(folder, "node_modules", name));
  for (const file of ["handbook.pdf", "receipt.png"]) writeFileSync(join(folder, file), "%PDF-1.7");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
  const files: Record<Language, string[]> = { Shell: [], TypeScript: [], Python: [] };
  for (const document of DOCUMENTS) {
    for (const { operationId, "x-codeSamples": samples = [] } of operationsOf(document)) {
      for (const { lang, label, source } of samples) {
        const file = join(folder, `${`${document} ${operationId} ${label}`.replaceAll(/\W+/g, "-")}.${EXTENSIONS[lang]}`);
        writeFileSync(file, source);
        files[lang].push(file);
      }
    }
  }
  return { folder, files };
}

const { folder, files } = writeProject();
const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

void test("every TypeScript sample compiles in a project that knows nothing but the client", async () => {
  await run(process.execPath, [TSC, "-p", folder]).catch(({ stdout }: { stdout: string }) => assert.fail(stdout));
});

void test("every Python sample compiles", { skip: !succeeds("python3", "--version") && "python3 is not there" }, async () => {
  await run("python3", ["-m", "py_compile", ...files.Python]);
});

/** How all samples of a language are run, one after the other in one process. */
const RUNNERS: Record<Language, () => Promise<unknown>> = {
  Shell: () => run("sh", ["-e", "-c", files.Shell.map((file) => `. ${file}`).join("\n")]),
  TypeScript: () => runModule(files.TypeScript.map((file) => `await import("${file}");`).join("\n")),
  Python: () => run("python3", ["-c", `import runpy, sys\nfor file in sys.argv[1:]: runpy.run_path(file)`, ...files.Python]),
};

function runModule(code: string) {
  return run(process.execPath, ["--input-type=module", "--no-warnings", "-e", code]);
}

/** What the samples of a language send; the client's larger pages aside. */
async function sentBy(language: Language): Promise<Recorded[]> {
  const recorder = await startRecorder();
  const ids = Object.fromEntries(IDS.map((name) => [`${name}_ID`, `${name.toLowerCase()}-1`]));
  Object.assign(process.env, ids, {
    SUPPORT_URL: recorder.origin,
    SUPPORT_KEY: "sk_live_1",
    SUPPORT_AGENT: "agent-1",
    AFTER: "message-1",
    COMPARE_TO: "evaluation-2",
    BINDING: "DB_1",
    SOURCE_KEY: "returns",
    TOOL_NAME: "order_status",
    VERSION: "2",
    VISITOR_TOKEN: "vt_1",
    OPERATOR_TOKEN: "op_1",
  });
  await RUNNERS[language]().finally(() => recorder.close());
  return recorder.take().map((request) => ({ ...request, url: normalized(request.url) }));
}

/** A path with its query in order, in one spelling, without the page's length. */
function normalized(url: string): string {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  searchParams.delete("limit");
  searchParams.sort();
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams.toString()}`;
}

const LACKING =
  succeeds("curl", "--version") && succeeds("python3", "-c", "import requests") ? false : "curl or Python's requests is not there";

void test("the samples of an operation send the same request in every language", { skip: LACKING }, async () => {
  const byShell = await sentBy("Shell");
  assert.equal(byShell.length, files.Shell.length);
  const ofApi = byShell.filter(({ url }) => url.startsWith("/api/v1/"));
  assert.ok(ofApi.every(({ authorization }) => authorization === "Bearer sk_live_1"));
  assert.deepEqual(await sentBy("TypeScript"), byShell);
  assert.deepEqual(await sentBy("Python"), byShell);
});
