import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Context } from "hono";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { csvLine } from "../../../src/platform/csv.ts";
import { seededId } from "../../../src/platform/db/ids.ts";
import type { Page, Position } from "../../../src/platform/db/sql.ts";
import type { AppEnv } from "../../../src/platform/http/context.ts";
import { csvResponse } from "../../../src/platform/http/csv.ts";
import { cursorQuery } from "../../../src/platform/http/page.ts";
import { createAgent, createKey, createWorkspace, newAddress, send } from "../../harness.ts";

interface Row {
  id: string;
  atMs: number;
  n: number;
}

/** A list of so many records, newest first, several of them of the same time. It counts its reads. */
function listOf(length: number) {
  const rows: Row[] = Array.from({ length }, (_, n) => ({ id: seededId(0, 0, idBytes(length - n)), atMs: (length - n) >> 2, n }));
  const list = { rows, reads: 0 };
  const readRows = async ({ limit, offset, cursor }: Page) => {
    list.reads++;
    const isAfter = ({ id, atMs }: Row) => !cursor || atMs < cursor.atMs || (atMs === cursor.atMs && id < cursor.id);
    const from = cursor ? list.rows.findIndex(isAfter) : 0;
    return from < 0 ? [] : list.rows.slice(from + offset, from + offset + limit + 1);
  };
  const positionOf = ({ id, atMs }: Row) => ({ id, atMs });
  const columns = { n: ({ n }: Row) => n };
  const read = (cursor: Position | undefined) => {
    const context = new Context<AppEnv>(new Request("https://service.test/"));
    return csvResponse(context, { name: "numbers", columns, cursor, readRows, positionOf, toItem: (row: Row) => row });
  };
  return { list, read };
}

/** The bytes of an id that sorts by a number. */
function idBytes(number: number): Uint8Array {
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(9, number);
  return bytes;
}

/** The cursor of the next part, as a request with it has it. */
function nextOf({ headers }: Response): Position | undefined {
  const cursor = headers.get("X-Next-Cursor");
  return cursor === null ? undefined : cursorQuery.parse({ cursor }).cursor;
}

/** The lines of a list of records. */
const linesOf = (rows: readonly Row[]) => ["n", ...rows.map(({ n }) => String(n)), ""].join("\r\n");

test("a list is read page by page as the client takes it, without a query for the total", async () => {
  const { list, read } = listOf(2_001);
  const response = await read(undefined);
  // The first page, and the search for the end of the part.
  expect(list.reads).toBe(2);
  expect(await response.text()).toBe(linesOf(list.rows));
  expect([list.reads, nextOf(response)]).toEqual([4, undefined]);
});

test.each([0, 1, 999, 1_000, 1_001, 39_999, 40_000, 40_001, 80_000, 100_001])(
  "the parts of a list of %i records are one file, and none takes more queries than an invocation has in any plan",
  async (length) => {
    const { list, read } = listOf(length);
    let text = "";
    let parts = 0;
    let cursor: Position | undefined;
    do {
      list.reads = 0;
      const response = await read(cursor);
      text += await response.text();
      parts++;
      expect(list.reads).toBeLessThanOrEqual(50);
      cursor = nextOf(response);
    } while (cursor);
    expect(text === linesOf(list.rows)).toBe(true);
    expect(parts).toBe(Math.max(1, Math.ceil(length / 40_000)));
  },
);

test("a record is read once, although others are moved to the front of the list while a part is read", async () => {
  const { list, read } = listOf(100_001);
  const all = list.rows;
  const first = await read(undefined);
  const moved = new Set([20_000, 39_998, 39_999, 60_000]);
  const now = { id: seededId(0, 0, idBytes(1_000_000)), atMs: 1_000_000 };
  list.rows = [...all.filter(({ n }) => moved.has(n)).map((row) => ({ ...row, ...now })), ...all.filter(({ n }) => !moved.has(n))];
  let text = await first.text();
  for (let cursor = nextOf(first); cursor;) {
    const next = await read(cursor);
    text += await next.text();
    cursor = nextOf(next);
  }
  expect(text === linesOf(all.filter(({ n }) => !moved.has(n)))).toBe(true);
});

/** How many queries the databases are asked while a request is answered: each statement of a batch is one. */
async function queriesOf(path: string, token: string): Promise<number> {
  let queries = 0;
  const counting = (database: D1Database) => ({
    prepare: (sql: string) => database.prepare(sql),
    batch: (statements: D1PreparedStatement[]) => {
      queries += statements.length;
      return database.batch(statements);
    },
  });
  const bindings = { ...env, DB: counting(env.DB), DB_1: counting(env.DB_1) } as unknown as Env;
  const request = new Request(`https://service.test${path}`, { headers: { Authorization: `Bearer ${token}`, Accept: "text/csv" } });
  const response = await app.fetch(request, bindings, createExecutionContext());
  expect(response.status).toBe(200);
  await response.text();
  return queries;
}

test.each(["/leads", "/leads?q=ada", "/conversations", "/conversations?q=hello"])(
  "%s asks the database one query for a page, behind the guard of its shard",
  async (path) => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await send("POST", `/widget/v1/agents/${agent.id}/leads`, { headers: newAddress(), body: { name: "Ada", email: "ada@example.com" } });
    await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello?" });
    expect(await queriesOf(`/api/v1${path}`, workspace.key)).toBe(2);
  },
);

test("a list continues after a cursor, without the names of the columns", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  for (const name of ["Ada", "Grace", "Joan"])
    await send("POST", `/widget/v1/agents/${agent.id}/leads`, { headers: newAddress(), body: { name, email: "a@example.com" } });
  const csv = async (path: string) => (await workspace.call("GET", path, undefined, { Accept: "text/csv" })).body.split("\r\n");
  for (const search of ["", "&q=example"]) {
    const page = await workspace.call("GET", `/leads?limit=1${search}`);
    const [head, ...lines] = await csv(`/leads?${search}`);
    expect(head).toMatch(/^id,/);
    expect(await csv(`/leads?cursor=${page.body.next_cursor}${search}`)).toEqual(lines.slice(1));
  }
  expect((await workspace.call("GET", "/leads?cursor=x", undefined, { Accept: "text/csv" })).status).toBe(422);
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

test.each(["a;=1+1", "a\t@SUM(A1)", 'a;"=1+1;b', "a; +1", "a\n=1+1", "a\r-1", "a;＝1+1", ";;=1"])(
  "%j has no formula where a spreadsheet separates cells by semicolons, tabs or lines",
  (cell) => {
    const parts = csvLine([cell]).split(/[;\t\r\n]/);
    for (const part of parts) expect(part.replaceAll(/^[" ]+/g, "")).not.toMatch(/^[=+\-@＝＋－＠]/);
  },
);

test.each(["a;b", "a = b; c", "5-4", "a@example.com; b@example.com", "1\t2"])("%j stays as it is", (cell) => {
  expect(csvLine([cell])).toBe(`${cell}\r\n`);
});

test("a text of many separators and white space takes linear time", () => {
  for (const piece of [";", " ", "; ", '"', "\t", "\n", ';"']) expect(csvLine([piece.repeat(1_000_000)]).length).toBeGreaterThan(1_000_000);
});

test("what is refused as JSON is refused as CSV", async () => {
  const workspace = await createWorkspace();
  const { key } = await createKey(workspace, ["agents:read"]);
  const headers = { Accept: "text/csv" };
  expect((await send("GET", "/api/v1/leads", { token: key, headers })).body.error.code).toBe("insufficient_scope");
  expect((await workspace.call("GET", "/leads?agent_id=X", undefined, headers)).status).toBe(422);
});
