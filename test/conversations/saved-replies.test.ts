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

test("a saved reply belongs to a team until the team is deleted", async () => {
  const [workspace, other] = [await createWorkspace(), await createWorkspace()];
  const [team, foreign] = [
    (await workspace.call("POST", "/teams", { name: "Billing", member_ids: [] })).body,
    (await other.call("POST", "/teams", { name: "Billing", member_ids: [] })).body,
  ];
  const text = { name: "Hello", content: "Hello." };
  const created = await workspace.call("POST", "/saved-replies", { ...text, team_id: team.id });
  expect([created.status, created.body.team_id]).toEqual([201, team.id]);
  const path = `/saved-replies/${created.body.id}`;
  for (const [method, to] of [
    ["POST", "/saved-replies"],
    ["PATCH", path],
  ] as const) {
    const { status, body } = await workspace.call(method, to, { ...text, team_id: foreign.id });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "team_id"]]);
  }
  expect((await workspace.call("PATCH", path, { name: "Bye" })).body).toMatchObject({ name: "Bye", team_id: team.id });
  expect((await workspace.call("PATCH", path, { team_id: null })).body.team_id).toBeNull();
  expect((await workspace.call("PATCH", path, { team_id: team.id })).body.team_id).toBe(team.id);
  expect((await workspace.call("DELETE", `/teams/${team.id}`)).status).toBe(204);
  expect((await workspace.call("GET", path)).body.team_id).toBeNull();
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
      INSERT INTO saved_replies SELECT id || i, workspace_id, name, content, created_at, updated_at, NULL FROM saved_replies, n WHERE id = ?`,
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
