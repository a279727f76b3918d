import assert from "node:assert/strict";
import { test } from "node:test";
import { readGuides } from "./guides.ts";
import { quotable } from "./quotable.ts";

void test("the demo agent learns the text and the examples of a guide, but no commands, output, images or links", () => {
  const blocks = ["```sh error=404\nask one\n```", "```text\nanswer\n```", "```json\n{}\n```", "```ts title=a.ts\nkept();\n```"];
  const markdown = `# A\n\n![A](a.png)[One](b.md#c).\n\n${blocks.join("\n\nTwo.\n\n")}\n\nRun this:\n\n${blocks[0]}\n`;
  assert.equal(quotable(markdown), "# A\n\nOne.\n\n\nTwo.\n\n\nTwo.\n\n\nTwo.\n\n```ts title=a.ts\nkept();\n```\n\nRun this.\n\n");
});

void test("the demo agent learns each guide under its title, without commands", () => {
  const guides = readGuides();
  const names = guides.map(({ name }) => name);
  assert.equal(new Set(names).size, guides.length);
  for (const name of ["Support Agent Service", "Webhooks", "Back up and restore"]) assert(names.includes(name), name);
  for (const { name, text } of guides) assert.doesNotMatch(text, /curl -s|-d '/, name);
  assert.match(guides.find(({ name }) => name === "Webhooks")!.text, /def read_event[^]+function read_event/);
});
