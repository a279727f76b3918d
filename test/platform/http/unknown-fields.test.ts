import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createAgent, createWorkspace, newAddress, send } from "../../harness.ts";

const unknownOf = ({ headers }: { headers: Headers }) => headers.get("X-Unknown-Fields");

test("fields that an operation does not know are ignored and named, nested ones by their path", async () => {
  const workspace = await createWorkspace();
  const { id } = await createAgent(workspace);
  const asked = await workspace.call("POST", `/agents/${id}/messages`, {
    message: "Hello",
    steam: true,
    user: { id: "u-1", nmae: "Ann" },
    "a b,c\r\n": 1,
  });
  expect(asked.status).toBe(200);
  expect(unknownOf(asked)).toBe("steam;did_you_mean=stream, user.nmae;did_you_mean=name, a%20b%2Cc%0D%0A");
  expect(unknownOf(await workspace.call("POST", `/agents/${id}/messages`, { message: "Hello", user: { id: "u-1" } }))).toBeNull();
});

test("parameters of a query that an operation does not know are ignored and named", async () => {
  const workspace = await createWorkspace();
  const listed = await workspace.call("GET", "/conversations?stauts=open&limit=5&x=1");
  expect([listed.status, unknownOf(listed)]).toEqual([200, "stauts;did_you_mean=status, x"]);
  expect(unknownOf(await workspace.call("GET", "/agents?limit=5&offset=0"))).toBeNull();
});

test("unknown fields are named beside a 422, and in items of a list", async () => {
  const workspace = await createWorkspace();
  const { id } = await createAgent(workspace);
  const misspelt = await workspace.call("POST", `/agents/${id}/messages`, { mesage: "Hello" });
  expect([misspelt.status, unknownOf(misspelt)]).toEqual([422, "mesage;did_you_mean=message"]);
  const tool = {
    name: "orders",
    description: "Orders.",
    method: "GET",
    url: "https://api.example.com/",
    tmeout_seconds: 5,
    parameters: { type: "object" },
  };
  expect(unknownOf(await workspace.call("PATCH", `/agents/${id}`, { tools: [tool] }))).toBe(
    "tools.0.tmeout_seconds;did_you_mean=timeout_seconds",
  );
});

test("free-form objects have no unknown fields", async () => {
  const workspace = await createWorkspace();
  const { id } = await createAgent(workspace, { allowed_origins: ["*"] });
  const lead = await send("POST", `/widget/v1/agents/${id}/leads`, {
    body: { email: "ann@example.com", custom_fields: { company: "Acme" }, compnay: "Acme" },
    headers: newAddress(),
  });
  expect([lead.status, unknownOf(lead)]).toEqual([201, "compnay"]);
});

test("at most twenty unknown fields are named", async () => {
  const workspace = await createWorkspace();
  const { id } = await createAgent(workspace);
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`f${at}`, at]));
  const asked = await workspace.call("POST", `/agents/${id}/search`, { query: "refunds", ...many });
  expect(unknownOf(asked)!.split(", ")).toHaveLength(21);
  expect(unknownOf(asked)).toMatch(/, \.\.\.$/);
});

test("the operator's API refuses unknown fields", async () => {
  const workspace = await createWorkspace();
  const operator = (method: string, path: string, body: object) => send(method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, body });
  const { status, body } = await operator("PATCH", `/workspaces/${workspace.id}`, { limits: { message: 5 }, nmae: "Acme" });
  expect(status).toBe(422);
  expect(body.detail).toEqual([
    {
      loc: ["body", "limits", "message"],
      msg: "Extra inputs are not permitted. Did you mean messages?",
      type: "extra_forbidden",
      input: 5,
    },
    { loc: ["body", "nmae"], msg: "Extra inputs are not permitted. Did you mean name?", type: "extra_forbidden", input: "Acme" },
  ]);
});
