import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkFile, combine, emptySum, hashOf, totalOf } from "./lines.ts";

const HEADER = { type: "header", workspace_id: "w", exported_at: "2026-11-21T00:00:00.000Z" };

/** An export of messages with these texts, as the service writes it. */
function exportOf(texts: readonly string[], lineBreak = "\n"): string {
  const records = texts.map((content) => JSON.stringify({ type: "messages", record: { content } }));
  const sum = emptySum();
  for (const record of records) combine(sum, hashOf(record));
  const end = { type: "end", counts: { messages: texts.length }, checksum: Buffer.from(sum).toString("hex") };
  return [JSON.stringify(HEADER), ...records, JSON.stringify(end), ""].join(lineBreak);
}

void test("a line ends where the file says, whatever stands in it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lines-"));
  try {
    const file = join(folder, "export.ndjson");
    // The last one is longer than what is read at once.
    const texts = ["One\u2028two\u2029three", "a\rb\nc", "\u0085\v\f", "x".repeat(200_000)];
    for (const lineBreak of ["\n", "\r\n"]) {
      await writeFile(file, exportOf(texts, lineBreak));
      assert.equal(totalOf((await checkFile(file)).end), texts.length);
    }
    await writeFile(file, exportOf(texts).slice(0, -50));
    await assert.rejects(checkFile(file), /is cut off/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
