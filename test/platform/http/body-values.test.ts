import { expect, test } from "vitest";
import { createAgent, createWorkspace } from "../../harness.ts";

const listOf = (count: number, item: string) => `[${Array<string>(count).fill(item).join(",")}]`;

test.each<[string, string, (agentId: string) => string]>([
  ["tools", "/agents", () => `{"name": "A", "tools": ${listOf(100_000, "{}")}}`],
  ["fields", "/agents", () => `{${Array.from({ length: 10_001 }, (_, at) => `"${at}":0`).join(",")}}`],
  ["items far down", "/agents", () => `{"name": "A", "tools": [{"body": {"a": ${listOf(10_001, "0")}}}]}`],
  // Without the bound, the errors of so many messages exceed the stack.
  ["messages", "/openai/chat/completions", (agentId) => `{"model": "${agentId}", "messages": ${listOf(200_000, "0")}}`],
])("a body with too many %s is refused before it is validated", async (_, path, bodyOf) => {
  const workspace = await createWorkspace();
  const { id } = await createAgent(workspace);
  const { status, body } = await workspace.call("POST", path, bodyOf(id));
  expect([status, body.error.code]).toEqual([413, "payload_too_large"]);
  expect(body.error.message).toContain("too many values");
});

test("the largest evaluation and a long history have as many values as they need", async () => {
  const workspace = await createWorkspace();
  const { id } = await createAgent(workspace);
  const question = { question: "Q?", previous: Array.from({ length: 10 }, () => "P"), expect: { refusal: true } };
  const cases = Array.from({ length: 500 }, () => question);
  expect((await workspace.call("POST", `/agents/${id}/evaluations`, { cases })).status).toBe(202);
  const messages = Array.from({ length: 10_000 }, () => ({ role: "user", content: "Hello" }));
  expect((await workspace.call("POST", "/openai/chat/completions", { model: id, messages })).status).toBe(200);
});
