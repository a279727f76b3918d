import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
/** As an integrator's project might be: strict, and with nothing of this one. */
const COMPILER_OPTIONS = {
  ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true },
  ...{ target: "es2024", lib: ["es2024", "dom"], module: "nodenext", allowImportingTsExtensions: true },
  ...{ types: ["node"], typeRoots: [join(ROOT, "node_modules/@types")] },
};

interface Sample {
  lang: string;
  label: string;
  source: string;
}

const { paths } = JSON.parse(readFileSync(join(ROOT, "test/openapi.json"), "utf8")) as {
  paths: Record<string, Record<string, { operationId: string; "x-codeSamples": Sample[] }>>;
};

/** Writes each sample of a language into a folder of its own, removed afterwards. */
function inFolder(lang: string, extension: string, check: (folder: string, files: string[]) => Promise<unknown>) {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), "samples-"));
    try {
      const samples = Object.values(paths).flatMap((methods) =>
        Object.values(methods).flatMap((operation) =>
          operation["x-codeSamples"]
            .filter((sample) => sample.lang === lang)
            .map(({ label, source }) => ({ name: `${operation.operationId} ${label}`.replaceAll(/\W+/g, "-"), source })),
        ),
      );
      assert.ok(samples.length > 30);
      const files = samples.map(({ name }) => join(folder, `${name}.${extension}`));
      for (const [at, { source }] of samples.entries()) writeFileSync(files[at]!, source);
      await check(folder, files);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

void test(
  "every TypeScript sample compiles beside a copy of the client, in a project that knows nothing else",
  inFolder("TypeScript", "ts", async (folder) => {
    mkdirSync(join(folder, "client"));
    for (const file of ["index.ts", "schema.ts"]) cpSync(join(ROOT, "client", file), join(folder, "client", file));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
    await run(process.execPath, [TSC, "-p", folder]).catch(({ stdout }: { stdout: string }) => assert.fail(stdout));
  }),
);

const hasPython = (() => {
  try {
    return execFileSync("python3", ["--version"], { encoding: "utf8" }).startsWith("Python 3");
  } catch {
    return false;
  }
})();

void test(
  "every Python sample compiles",
  { skip: !hasPython && "python3 is not there" },
  inFolder("Python", "py", (_, files) => run("python3", ["-m", "py_compile", ...files])),
);

void test(
  "every curl sample is a command of a shell",
  inFolder("Shell", "sh", (_, files) => Promise.all(files.map((file) => run("sh", ["-n", file])))),
);
