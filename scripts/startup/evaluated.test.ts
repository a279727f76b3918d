import assert from "node:assert/strict";
import { test } from "node:test";
import type { Metafile } from "esbuild";
import { evaluatedAtStart, findGrowth } from "./evaluated.ts";

const ENTRY = "src/index.ts";
const KIB = 1_024;

interface Module {
  bytes: number;
  imports?: string[];
  importsLater?: string[];
}

const MODULES: Record<string, Module> = {
  [ENTRY]: { bytes: 100, imports: ["src/app/routes.ts", "node_modules/types/index.js"], importsLater: ["src/mail/read.ts"] },
  "src/app/routes.ts": { bytes: 100, imports: ["node_modules/schemas/index.js"] },
  "src/mail/read.ts": { bytes: 100, imports: ["node_modules/schemas/index.js", "node_modules/@mail/parser/index.js"] },
  "node_modules/schemas/index.js": { bytes: 3 * KIB, imports: ["node_modules/schemas/checks.js"] },
  "node_modules/schemas/checks.js": { bytes: KIB },
  "node_modules/types/index.js": { bytes: 0 },
  "node_modules/@mail/parser/index.js": { bytes: 50 * KIB },
};

const BOUNDS = { [ENTRY]: 1, "src/app": 1, schemas: 4 };

function evaluatedOf(modules: Record<string, Module>) {
  const inputs: Metafile["inputs"] = {};
  const bundled: Metafile["outputs"][string]["inputs"] = {};
  for (const [path, { bytes, imports = [], importsLater = [] }] of Object.entries(modules)) {
    const now = imports.map((imported) => ({ path: imported, kind: "import-statement" as const }));
    const later = importsLater.map((imported) => ({ path: imported, kind: "dynamic-import" as const }));
    inputs[path] = { bytes, imports: [...now, ...later] };
    bundled[path] = { bytesInOutput: bytes };
  }
  const outputs = { "index.js": { bytes: 0, inputs: bundled, imports: [], exports: [], entryPoint: ENTRY } };
  return evaluatedAtStart({ inputs, outputs }, ENTRY);
}

void test("what is imported when it is needed is not evaluated at the start, nor what nothing uses", () => {
  const evaluated = evaluatedOf(MODULES);
  assert.deepEqual(Object.fromEntries(evaluated.bytes), { "src/index.ts": 100, "src/app": 100, schemas: 4 * KIB });
  assert.deepEqual(findGrowth(evaluated, BOUNDS), []);
});

void test("a package or folder that is evaluated although it may not be is named, with the way to it", () => {
  const routes = { bytes: 100, imports: ["src/mail/read.ts"] };
  assert.deepEqual(findGrowth(evaluatedOf({ ...MODULES, "src/app/routes.ts": routes }), BOUNDS), [
    "src/mail is evaluated, and may not be: src/index.ts > src/app/routes.ts > src/mail/read.ts",
    "@mail/parser is evaluated, and may not be: src/index.ts > src/app/routes.ts > src/mail/read.ts > node_modules/@mail/parser/index.js",
  ]);
});

void test("a package that has grown is named, with the way to it", () => {
  assert.deepEqual(findGrowth(evaluatedOf(MODULES), { ...BOUNDS, schemas: 3 }), [
    "4 KiB of schemas are evaluated, and may be 3: src/index.ts > src/app/routes.ts > node_modules/schemas/index.js",
  ]);
});
