import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { listen } from "../shared/ports.ts";
import { findBrokenLinks, readBlocks } from "./blocks.ts";
import { compileBlocks } from "./compile.ts";
import { runGuide } from "./shell.ts";

const directory = mkdtempSync(join(tmpdir(), "docs-test-"));
const server = createServer((_, response) => response.writeHead(404).end("no such page"));
const url = await listen(server);
after(() => {
  server.close();
  rmSync(directory, { recursive: true });
});

const fence = (info: string, ...lines: string[]) => ["```" + info, ...lines, "```", ""].join("\n");
const run = (markdown: string, timeoutMs = 10_000) =>
  runGuide(readBlocks("guide.md", markdown), { cwd: directory, env: { ...process.env, URL: url }, timeoutMs });

void test("blocks run in order in one shell, with the files that the guide has the reader save", async () => {
  const guide = [fence("sh", "NAME=Ada"), fence("js title=hello.mjs", 'console.log("hello")'), fence("console", "exit 1")];
  assert.equal(await run([...guide, fence("sh", '[ "$(node hello.mjs) $NAME" = "hello Ada" ]')].join("\n")), undefined);
});

void test("a block that fails is reported with its line and its output, and nothing runs after it", async () => {
  const failure = await run(
    ["# Guide", "", fence("sh", "echo first"), fence("sh", "echo second", "false", "echo third"), fence("sh", "exit 0")].join("\n"),
  );
  assert.equal(failure?.block.line, 7);
  assert.equal(failure.output, "second\n");
  assert.equal(failure.reason, "exit code 1");
});

void test("an HTTP error fails a block, also in a pipeline, unless the block shows that error", async () => {
  assert.match((await run(fence("sh", "curl -s $URL")))!.output, /no such page/);
  assert.equal((await run(fence("sh", "curl -s $URL | cat")))?.reason, "exit code 22");
  assert.equal(await run(fence("sh error=404", "curl -s $URL")), undefined);
  assert.match((await run(fence("sh error=409", "curl -s $URL")))!.output, /shows an error 409, and it did not happen/);
  assert.match((await run(fence("sh error=404", "echo fine")))!.output, /did not happen/);
});

void test("a block that hangs is killed together with its background processes", async () => {
  const failure = await run(fence("sh", "sleep 60 &", "echo $!", "sleep 60"), 1_000);
  assert.equal(failure?.reason, "did not end within 1 s");
  // What was killed may wait for its parent to collect it, as a zombie.
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", failure.output.trim()], { encoding: "utf8" });
  assert.match(stdout, /^Z|^$/);
});

void test("an example that does not compile is found", () => {
  const blocks = readBlocks(
    "guide.md",
    [fence("js", "const a = 1;"), fence("python", "def f():", "    return 1"), fence("js", "const = 2;")].join("\n"),
  );
  assert.deepEqual(
    compileBlocks(blocks, directory).map(({ block }) => block.line),
    [10],
  );
});

void test("a link or path to a file or heading that is not there is found", () => {
  const files: Record<string, string> = {
    "README.md":
      "# A\n\n[fine](docs/b.md#retries--backoff), [no file](docs/c.md),\n[no heading](#b), [web](https://example.com),\n`docs/b.md` `src/gone.ts`\n",
    "docs/b.md": "# B\n\n## Retries & backoff\n\n[up](../README.md#a)\n\n```\n[code](x.md)\n```\n",
  };
  const read = (file: string) => files[file] ?? readFileSync(join(directory, file), "utf8");
  assert.deepEqual(findBrokenLinks(Object.keys(files), read), [
    "README.md:3 docs/c.md leads nowhere",
    "README.md:4 #b leads nowhere",
    "README.md:5 src/gone.ts leads nowhere",
  ]);
});
