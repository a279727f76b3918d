import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./shared/cli.ts";
import { buildWorker } from "./worker.ts";

void test("a module that names schemas is evaluated after the one that extends them, whichever module an isolate imports first", async () => {
  const { outputs } = await buildWorker("dist/worker-order");
  const chunks = Object.entries(outputs).map(([path, { inputs, imports }]) => ({
    path,
    sources: Object.keys(inputs).filter((source) => source.startsWith("src/")),
    imports: imports.filter(({ kind }) => kind === "import-statement").map((imported) => imported.path),
  }));
  const byPath = new Map(chunks.map((chunk) => [chunk.path, chunk]));

  const having = (code: string) =>
    chunks.filter(({ sources }) => sources.some((source) => readFileSync(join(ROOT, source), "utf8").includes(code)));
  const extending = having("extendZodWithOpenApi(z)").map(({ path }) => path);
  const naming = having('.openapi("');
  const isExtended = (path: string): boolean => {
    const reached = new Set([path]);
    for (const next of reached) for (const imported of byPath.get(next)?.imports ?? []) reached.add(imported);
    return extending.some((next) => reached.has(next));
  };

  assert.notEqual(naming.length, 0);
  assert.deepEqual(
    naming.filter(({ path }) => !isExtended(path)).flatMap(({ sources }) => sources),
    [],
  );
});
