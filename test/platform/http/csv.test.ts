import { Context } from "hono";
import { expect, test } from "vitest";
import type { AppEnv } from "../../../src/platform/http/context.ts";
import { csvLine } from "../../../src/platform/csv.ts";
import { csvResponse } from "../../../src/platform/http/csv.ts";
import { toCursorPage } from "../../../src/platform/http/page.ts";
import { createAgent, createKey, createWorkspace, newAddress, send } from "../../harness.ts";

test("a list is one file, whose pages are read as the client consumes it", async () => {
  const rows = Array.from({ length: 1_201 }, (_, n) => ({ id: crypto.randomUUID(), atMs: 1_201 - n, n }));
  let reads = 0;
  const context = new Context<AppEnv>(new Request("https://service.test/"));
  const response = await csvResponse(context, "numbers", { n: ({ n }: { n: number }) => n }, async ({ limit, cursor, offset }) => {
    reads++;
    const from = cursor ? rows.findIndex(({ id }) => id === cursor.id) + 1 : 0;
    const page = { limit, offset, cursor };
    return toCursorPage(
      rows.slice(from, from + limit + 1),
      rows.length,
      page,
      ({ id, atMs }) => ({ id, atMs }),
      (row) => row,
    );
  });
  expect(reads).toBe(1);
  const lines = (await response.text()).split("\r\n");
  expect(lines).toEqual(["n", ...rows.map(({ n }) => String(n)), ""]);
  expect(reads).toBe(3);
});

test("leads and conversations are downloaded as CSV with the usual headers, and no cell is a formula", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const body = {
    name: '=HYPERLINK("http://evil.test")',
    email: "ada@example.com",
    message: 'Two lines,\nand a "quote"',
    custom_fields: { seats: 12 },
  };
  await send("POST", `/widget/v1/agents/${agent.id}/leads`, { headers: newAddress(), body });
  const user = { id: "u1", name: "@Ada", email: "ada@example.com" };
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello?", user });
  const csv = (path: string) => workspace.call("GET", path, undefined, { Accept: "text/csv" });
  const leads = await csv("/leads?limit=1");
  expect(leads.headers.get("Content-Type")).toBe("text/csv; charset=utf-8");
  for (const name of ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]) {
    expect(leads.headers.get(name), name).toMatch(/./);
  }
  expect(leads.headers.get("Content-Disposition")).toBe('attachment; filename="leads.csv"');
  expect(leads.body).toMatch(/^id,created_at,name,email,phone,message,custom_fields,/);
  expect(leads.body).toContain(`,"'=HYPERLINK(""http://evil.test"")",ada@example.com,,"Two lines,\nand a ""quote""","{""seats"":12}",`);
  const conversations = await csv("/conversations?channel=api");
  expect(conversations.body).toContain(",'@Ada,ada@example.com,");
  expect((await csv("/conversations?channel=email")).body.split("\r\n")).toHaveLength(2);
  expect((await csv("/leads?q=nobody")).body.split("\r\n")).toHaveLength(2);
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＠SUM(A1)"])(
  "%j is not evaluated by a spreadsheet",
  (cell) => {
    expect(csvLine([cell]).replace(/^"/, "").startsWith("'")).toBe(true);
  },
);

test("what is refused as JSON is refused as CSV", async () => {
  const workspace = await createWorkspace();
  const { key } = await createKey(workspace, ["agents:read"]);
  const headers = { Accept: "text/csv" };
  expect((await send("GET", "/api/v1/leads", { token: key, headers })).body.error.code).toBe("insufficient_scope");
  expect((await workspace.call("GET", "/leads?agent_id=x", undefined, headers)).status).toBe(422);
});
