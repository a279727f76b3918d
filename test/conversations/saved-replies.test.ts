import { expect, test } from "vitest";
import { fillVariables, findGap, unknownVariables } from "../../src/conversations/reply-variables.ts";
import { createWorkspace, query } from "../harness.ts";

const CONTENT = "Hello {{visitor.name}}, {{ agent.name }} of {{workspace.name}} writes to {{visitor.email}}.";

test("a saved reply is created, listed, read, changed and deleted", async () => {
  const workspace = await createWorkspace();
  const created = await workspace.call("POST", "/saved-replies", { name: " Refund\nsent ", content: CONTENT });
  expect(created).toMatchObject({ status: 201, body: { name: "Refund sent", content: CONTENT } });
  const { id } = created.body;
  await workspace.call("POST", "/saved-replies", { name: "Second", content: "Hello." });
  const { body: list } = await workspace.call("GET", "/saved-replies");
  expect(list).toMatchObject({ total: 2, has_more: false, data: [created.body, { name: "Second" }] });
  expect((await workspace.call("PATCH", `/saved-replies/${id}`, { content: "Bye.", name: null })).body).toMatchObject({
    name: "Refund sent",
    content: "Bye.",
  });
  expect((await workspace.call("GET", `/saved-replies/${id}`)).body.content).toBe("Bye.");
  expect((await workspace.call("DELETE", `/saved-replies/${id}`)).status).toBe(204);
  for (const [method, body] of [["GET"], ["PATCH", { name: "Gone" }], ["DELETE"]] as const) {
    expect((await workspace.call(method, `/saved-replies/${id}`, body)).status).toBe(404);
  }
});

test("a saved reply without a text, that is too long or has an unknown variable is refused", async () => {
  const workspace = await createWorkspace();
  for (const [field, body] of [
    ["name", { name: " ", content: "Hello." }],
    ["name", { name: "n".repeat(101), content: "Hello." }],
    ["content", { name: "Hello", content: "\n" }],
    ["content", { name: "Hello", content: "c".repeat(4001) }],
    ["content", { name: "Hello", content: "Hello {{visitor.phone}}" }],
    ["content", { name: "Hello", content: "Hello {{}}" }],
    ["content", { name: "Hello", content: "Hello {{constructor}}" }],
  ] as const) {
    const answer = await workspace.call("POST", "/saved-replies", body);
    expect([answer.status, answer.body.detail[0].loc], JSON.stringify(body)).toEqual([422, ["body", field]]);
  }
  const { body } = await workspace.call("POST", "/saved-replies", { name: "Hello", content: "Hello {{name}}" });
  expect(body.detail[0].msg).toContain("{{visitor.name}}, {{visitor.email}}, {{agent.name}}");
  expect((await workspace.call("GET", "/saved-replies")).body.total).toBe(0);
});

test("a workspace has at most 200 saved replies", async () => {
  const workspace = await createWorkspace();
  const text = { name: "Hello", content: "Hello." };
  const first = (await workspace.call("POST", "/saved-replies", text)).body.id;
  await query(
    workspace.id,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
      INSERT INTO saved_replies SELECT id || i, workspace_id, name, content, created_at, updated_at FROM saved_replies, n WHERE id = ?`,
    first,
  );
  const refused = await workspace.call("POST", "/saved-replies", text);
  expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
  await workspace.call("DELETE", `/saved-replies/${first}`);
  expect((await workspace.call("POST", "/saved-replies", text)).status).toBe(201);
});

test("the variables of a reply are filled, and one without a value stays as a gap", () => {
  const values = { "visitor.name": " Ada ", "visitor.email": null, "agent.name": "$&", "workspace.name": "" };
  const filled = fillVariables(CONTENT, values);
  expect(filled).toBe("Hello Ada, $& of {{workspace.name}} writes to {{visitor.email}}.");
  expect(findGap(filled)).toEqual({ start: 17, end: 35, placeholder: "{{workspace.name}}" });
  expect(findGap("Use {{handlebars}} and {} and {{")).toBeUndefined();
  expect(unknownVariables("{{visitor.name}} {{x}} {{ x }} {{{y}}} {{a\nb}}")).toEqual(["x", "y", "a\nb"]);
});
