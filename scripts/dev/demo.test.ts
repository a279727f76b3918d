import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withoutTranscripts } from "./demo.ts";
import { ROOT } from "./project.ts";

void test("what the README's commands ask and print is no knowledge; its words and its examples are", () => {
  const markdown = "# A\n\nOne.\n\n```sh\nask one\n```\n\nTwo.\n\n```\nanswer\n```\n\n```ts\nkept();\n```\n\n```json\n{}\n```\n";
  assert.equal(withoutTranscripts(markdown), "# A\n\nOne.\n\n\nTwo.\n\n\n```ts\nkept();\n```\n\n");
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const known = withoutTranscripts(readme);
  assert.match(readme, /"message": "Which plans include webhooks\?"/);
  assert.doesNotMatch(known, /curl -|printf %|operate -/);
  for (const kept of ["## Start", "### Back up and restore", "def read_event", "function read_event"]) assert(known.includes(kept), kept);
});
