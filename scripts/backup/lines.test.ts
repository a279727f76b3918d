import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkFile, totalOf } from "./lines.ts";
import { writeBackup } from "./records.ts";

const HEADER = { type: "header" as const, workspace_id: "w", exported_at: "2026-11-21T00:00:00.000Z" };

void test("only a line break ends a line, not the other separators of Unicode", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lines-"));
  try {
    const file = join(folder, "export.ndjson");
    // The last one is longer than what is read at once.
    const texts = ["One\u2028two\u2029three", "a\rb\nc", "\u0085\v\f", "x".repeat(200_000)];
    const backup = { header: HEADER, records: texts.map((content) => ({ type: "messages", record: { content } })) };
    for (const lineBreak of ["\n", "\r\n"]) {
      await writeBackup(file, backup);
      await writeFile(file, (await readFile(file, "utf8")).replaceAll("\n", lineBreak));
      assert.equal(totalOf((await checkFile(file)).end), texts.length);
    }
    await writeFile(file, (await readFile(file, "utf8")).slice(0, -50));
    await assert.rejects(checkFile(file), /is cut off/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
