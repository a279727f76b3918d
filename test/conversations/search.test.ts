import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { snippetOf, toIndexText, toPhrases } from "../../src/conversations/search-text.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { costOf, createAgent, createWorkspace, databases, operate, query, type Workspace } from "../harness.ts";

const START_MS = Date.UTC(2026, 0, 1);
const STATUSES = ["open", "needs_human", "resolved"];
const CHANNELS = ["api", "widget", "email"];

/** A workspace with conversations of these messages, a minute apart, oldest first. */
async function createArchive(talks: readonly (readonly string[])[], startMs = START_MS) {
  const workspace = await createWorkspace({ limits: { requests_per_minute: 1_000_000 } });
  const shard = shardOf(workspace.id);
  const agents = [newId(shard, startMs), newId(shard, startMs)];
  const rows = talks.map((texts, at) => ({
    id: newId(shard, startMs + at * 60_000),
    agent_id: agents[at % 2]!,
    status: STATUSES[at % 3]!,
    channel: CHANNELS[at % 3]!,
    assignee_id: at % 4 === 0 ? "grace" : null,
    at: startMs + at * 60_000,
    texts,
  }));
  const messages = rows.flatMap(({ id, at, texts }) =>
    texts.map((content, place) => ({ id: newId(shard, at), conversation_id: id, content, at: at + place })),
  );
  const insert = [
    `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, assignee_id, assignee_name, last_message_at, created_at, updated_at)
      SELECT value ->> 'id', ?1, value ->> 'agent_id', value ->> 'channel', value ->> 'status', value ->> 'assignee_id', value ->> 'assignee_id',
        value ->> 'at', value ->> 'at', value ->> 'at' FROM json_each(?2)`,
    `INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, created_at)
      SELECT value ->> 'id', ?1, value ->> 'conversation_id', 'user', 'visitor', value ->> 'content', value ->> 'at' FROM json_each(?2)`,
  ];
  for (const [at, records] of [rows, messages].entries()) {
    for (let from = 0; from < records.length; from += 2_000) {
      await databases[shard]!.prepare(insert[at]!)
        .bind(workspace.id, JSON.stringify(records.slice(from, from + 2_000)))
        .run();
    }
  }
  return { workspace, agents, rows: rows.toReversed() };
}

const search = (workspace: Workspace, filter: Record<string, string>) =>
  workspace.call("GET", `/conversations?${new URLSearchParams(filter).toString()}`);
const idsOf = ({ body }: { body: any }): string[] => body.data.map(({ id }: any) => id);
const marked = (parts: { text: string; is_match: boolean }[]) =>
  parts.map(({ text, is_match }) => (is_match ? `[${text}]` : text)).join("");

/** Texts, each with a query that finds it, and the words that are marked. */
const LANGUAGES: [text: string, q: string, marked: string][] = [
  ["Where is my refund? I sent it back.", "REFUND", "[refund]"],
  ["Where is my refund? I sent it back.", "refu", "[refund]"],
  ["Where is my refund? I sent it back.", "back refund", "[back]"],
  ["Bestellung #4711-22 fehlt", "4711-22", "[4711-22]"],
  ["Schreiben Sie an ann@example.com bitte", "ann@exam", "[ann@example]"],
  ["Wo ist die Straße?", "STRASSE", "[Straße]"],
  ["C'était très cassé hier", "casse", "[cassé]"],
  ["İade yapmak istiyorum", "iade", "[İade]"],
  ["Где мой возврат денег?", "ВОЗВРАТ", "[возврат]"],
  ["Πού είναι ο ΣΊΣΥΦΟΣ;", "σίσυφος", "[ΣΊΣΥΦΟΣ]"],
  ["أين المَبْلَغ المُسترد؟", "المبلغ", "[المَبْلَغ]"],
  ["मेरा पैसा कब वापस आएगा?", "वापस", "[वापस]"],
  ["我想申请退款政策说明", "退款", "[退款]"],
  ["我想申请退款政策说明", "款", "[款"],
  ["我想申请退款政策说明", "退款政策", "[退款政策]"],
  ["返金はいつですか。サーバーが止まった", "サーバー", "[サーバー]"],
  ["환불은 언제 되나요?", "환불", "[환불]"],
  ["ฉันต้องการคืนเงิน", "คืนเงิน", "[คืนเงิน]"],
  ["iPhoneを買いました", "iphone", "[iPhone]"],
  ["ＡＢＣ１２３ の注文", "abc123", "[ＡＢＣ１２３]"],
];

test("a text is found by its words, or their beginnings, in any language, and they are marked", async () => {
  const { workspace, rows } = await createArchive(LANGUAGES.map(([text]) => [text]));
  const textOf = new Map(rows.map(({ id, texts }) => [id, texts[0]!]));
  for (const [text, q, mark] of LANGUAGES) {
    const found = await search(workspace, { q });
    const hit = found.body.data.find(({ id }: any) => textOf.get(id) === text);
    expect(hit, q).toBeDefined();
    expect(marked(hit.match.snippet), q).toContain(mark);
    expect(hit.match.snippet.map((part: any) => part.text).join("")).toBe(text.normalize("NFC"));
  }
});

test.each(["zzzz", "fund", "policy 退", "退策", '"refund my"', "政退", "!!!", '"', "*", "refund NOT back x", "ann@other", "4711-33"])(
  "%s finds nothing",
  async (q) => {
    const { workspace } = await createArchive([["Where is my refund?"], ["我想申请退款政策说明"], ["ann@example.com 4711-22"]]);
    expect((await search(workspace, { q })).body).toMatchObject({ data: [], total: 0, next_cursor: null });
  },
);

test("a quoted phrase is matched exactly, and an empty search finds everything", async () => {
  const { workspace, rows } = await createArchive([["late refund"], ["refund late"], ["late refunds"]]);
  expect(idsOf(await search(workspace, { q: '"late refund"' }))).toEqual([rows[2]!.id]);
  expect((await search(workspace, { q: "late refund" })).body.total).toBe(3);
  expect((await search(workspace, { q: "" })).body).toMatchObject({ total: 3, data: [{ match: null }, { match: null }, { match: null }] });
});

test("every filter gives the right pages and the exact total, by last activity, also after a cursor", async () => {
  const words = ["alpha beta", "beta gamma", "gamma alpha"];
  const { workspace, agents, rows } = await createArchive(Array.from({ length: 120 }, (_, at) => [words[at % 3]!, `number ${at} delta`]));
  await query(
    workspace.id,
    "UPDATE conversations SET unread_count = 1 WHERE workspace_id = ? AND id IN (SELECT value FROM json_each(?))",
    workspace.id,
    JSON.stringify(rows.filter((_, at) => at % 5 === 0).map(({ id }) => id)),
  );
  const since = new Date(START_MS + 60 * 60_000).toISOString();
  const filters: Record<string, string>[] = [
    {},
    { agent_id: agents[0]! },
    { status: "resolved" },
    { channel: "email" },
    { updated_since: since },
    { assignee_id: "grace" },
    { unread: "true" },
    { agent_id: agents[1]!, status: "open", updated_since: since },
  ];
  for (const filter of filters) {
    const wanted = rows.filter(
      (row, at) =>
        row.texts[0]!.includes("alpha") &&
        (filter["agent_id"] ?? row.agent_id) === row.agent_id &&
        (filter["status"] ?? row.status) === row.status &&
        (filter["channel"] ?? row.channel) === row.channel &&
        (filter["assignee_id"] ?? row.assignee_id) === row.assignee_id &&
        (filter["unread"] === undefined || at % 5 === 0) &&
        row.at >= Date.parse(filter["updated_since"] ?? "1970-01-01T00:00:00Z"),
    );
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await search(workspace, { ...filter, q: "alpha", limit: "7", ...(cursor && { cursor }) });
      expect([filter, page.body.total]).toEqual([filter, wanted.length]);
      seen.push(...idsOf(page));
      cursor = page.body.next_cursor;
    }
    expect(seen).toEqual(wanted.map(({ id }) => id));
    expect(idsOf(await search(workspace, { ...filter, q: "alpha", limit: "3", offset: "2" }))).toEqual(
      wanted.slice(2, 5).map(({ id }) => id),
    );
  }
});

test("new messages, notes, assignees and statuses are found at once", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const total = async (filter: Record<string, string>) => (await search(workspace, filter)).body.total;
  expect(await total({ q: "zebra" })).toBe(0);
  const user = { id: "u-1", name: "Ada Lovelace", email: "ada@example.net" };
  const ask = async (message: string, conversation_id?: string) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message, user, conversation_id })).body.conversation_id;
  const id = await ask("I want to talk to a human about a zebra.");
  const [hit] = (await search(workspace, { q: "zebra" })).body.data;
  expect(hit).toMatchObject({ id, match: { message_id: expect.any(String) } });
  expect(await total({ q: "giraffe" })).toBe(0);
  await ask("And a giraffe.", id);
  await workspace.call("POST", `/conversations/${id}/notes`, { content: "She means an okapi." });
  const noted = (await search(workspace, { q: "okapi" })).body.data[0];
  expect(marked(noted.match.snippet)).toBe("She means an [okapi].");
  expect([await total({ q: "giraffe" }), await total({ q: "lovelace" }), await total({ q: "ada@example.net" })]).toEqual([1, 1, 1]);
  expect((await search(workspace, { q: "lovelace" })).body.data[0].match.message_id).toBeNull();
  await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved", assignee: { id: "grace", name: "Grace" } });
  expect([
    await total({ q: "zebra", status: "needs_human" }),
    await total({ q: "zebra", status: "resolved", assignee_id: "grace" }),
  ]).toEqual([0, 1]);
});

/** Reads the index of a workspace. */
function indexStorage(workspace: Workspace) {
  return runInDurableObject(env.CONVERSATIONS.getByName(workspace.id), (_, { storage: { sql } }) => {
    const tables = sql.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray();
    if (!tables.some(({ name }) => name === "texts")) return { tables: tables.length, texts: [], terms: [] };
    sql.exec("INSERT INTO text_index (text_index, rank) VALUES ('integrity-check', 1)");
    sql.exec("CREATE VIRTUAL TABLE terms USING fts5vocab (text_index, row)");
    const terms = sql.exec<{ term: string }>("SELECT term FROM terms").toArray();
    sql.exec("DROP TABLE terms");
    return {
      tables: tables.length,
      texts: sql.exec<{ words: string }>("SELECT words FROM texts").toArray(),
      terms: terms.map(({ term }) => term),
    };
  });
}

test("an erased person's words are removed from the index, and a deleted workspace leaves nothing", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  for (const id of ["ann", "bob"]) await workspace.call("POST", `/agents/${agent.id}/messages`, { message: `zebra ${id}`, user: { id } });
  expect((await search(workspace, { q: "zebra" })).body.total).toBe(2);
  await workspace.call("DELETE", "/privacy/visitors?external_id=ann");
  expect((await search(workspace, { q: "zebra" })).body.total).toBe(1);
  const { texts, terms } = await indexStorage(workspace);
  expect(JSON.stringify([texts, terms])).not.toMatch(/\bann\b/);
  expect(terms).toContain("bob");
  await env.CONVERSATIONS.getByName(workspace.id).erase();
  expect(await indexStorage(workspace)).toMatchObject({ tables: 0 });
});

test("a conversation that is erased while it is indexed stays out, and one that was not erased after all comes back", async () => {
  const { workspace, rows } = await createArchive([["zebra one"], ["zebra two"]]);
  expect((await search(workspace, { q: "zebra" })).body.total).toBe(2);
  const index = env.CONVERSATIONS.getByName(workspace.id);
  await index.remove([rows[0]!.id]);
  await query(workspace.id, "UPDATE conversations SET updated_at = ? WHERE id = ?", Date.now(), rows[0]!.id);
  expect((await search(workspace, { q: "zebra" })).body.total).toBe(1);
  await runInDurableObject(index, (_, { storage: { sql } }) => void sql.exec("UPDATE erased SET at = at - 3600000"));
  expect((await search(workspace, { q: "zebra" })).body.total).toBe(2);
});

test("a conversation whose erasure begins before the first search stays out", async () => {
  const { workspace, rows } = await createArchive([["zebra one"], ["zebra two"]]);
  await env.CONVERSATIONS.getByName(workspace.id).remove([rows[0]!.id]);
  expect(idsOf(await search(workspace, { q: "zebra" }))).toEqual([rows[1]!.id]);
});

test("marks of earlier erasures do not pile up where nobody searches, and the first search still reads everything", async () => {
  const { workspace, rows } = await createArchive([["zebra one"], ["zebra two"]]);
  const index = env.CONVERSATIONS.getByName(workspace.id);
  const age = () => runInDurableObject(index, (_, { storage: { sql } }) => void sql.exec("UPDATE erased SET at = at - 3600000"));
  await index.remove([rows[0]!.id]);
  await age();
  await index.remove([rows[1]!.id]);
  const marks = await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("SELECT id FROM erased").toArray());
  expect(marks).toEqual([{ id: rows[1]!.id }]);
  expect(idsOf(await search(workspace, { q: "zebra" }))).toEqual([rows[0]!.id]);
  await age();
  expect((await search(workspace, { q: "zebra" })).body.total).toBe(2);
});

test("a conversation whose erasure is repeated while it is indexed again stays out", async () => {
  const { workspace, rows } = await createArchive([["zebra one"]]);
  expect((await search(workspace, { q: "zebra" })).body.total).toBe(1);
  await runInDurableObject(env.CONVERSATIONS.getByName(workspace.id), async (index, { storage: { sql } }) => {
    await index.remove([rows[0]!.id]);
    sql.exec("UPDATE erased SET at = at - 3600000");
    const searching = index.search({ q: "zebra", limit: 20, offset: 0 });
    await index.remove([rows[0]!.id]);
    await searching;
  });
  expect((await indexStorage(workspace)).texts).toEqual([]);
});

test("a lost index rebuilds itself, and a search costs two hops and two trips", async () => {
  const { workspace, rows } = await createArchive(Array.from({ length: 450 }, (_, at) => [`message ${at} about zebras`, "and more"]));
  expect((await search(workspace, { q: "zebras", limit: "1" })).body.total).toBe(450);
  await env.CONVERSATIONS.getByName(workspace.id).erase();
  expect(idsOf(await search(workspace, { q: "message 7 about", limit: "1" })).length).toBe(1);
  expect((await search(workspace, { q: "zebras", limit: "1" })).body).toMatchObject({ total: 450, data: [{ id: rows[0]!.id }] });
  expect(await costOf(() => search(workspace, { q: "zebras" }))).toMatchObject({ object_hops: 2, d1_trips: 2 });
});

test("what was read is not read again, and a change that is committed late is found", async () => {
  const { workspace, rows } = await createArchive(Array.from({ length: 650 }, () => ["zebra"]));
  // All but the last ones within two minutes.
  const spread = `UPDATE conversations SET updated_at = ?2 - 100 * n FROM (SELECT id AS other, row_number() OVER (ORDER BY updated_at DESC) AS n
    FROM conversations WHERE workspace_id = ?1) WHERE id = other AND n <= 600`;
  const nowMs = Date.now();
  await query(workspace.id, spread, workspace.id, nowMs);
  const find = () => search(workspace, { q: "zebra", status: "human_active" });
  expect((await find()).body.total).toBe(0);
  expect(await costOf(find)).toMatchObject({ d1_trips: 1 });
  const change = "UPDATE conversations SET status = 'human_active', updated_at = ? WHERE id = ?";
  // One of these was last updated before the two minutes, the other one within them.
  for (const [at, id] of [rows[649]!.id, rows[300]!.id].entries()) {
    await query(workspace.id, change, nowMs - 30_000 - at * 10_000, id);
    expect((await find()).body.total).toBe(at + 1);
    expect(await costOf(find)).toMatchObject({ d1_trips: 2 });
  }
});

test("new activity leaves what was read before unread", async () => {
  const { workspace, rows } = await createArchive(Array.from({ length: 450 }, () => ["zebra"]));
  const nowMs = Date.now();
  const spread = `UPDATE conversations SET updated_at = ?2 - 200 * n FROM (SELECT id AS other, row_number() OVER (ORDER BY updated_at DESC) AS n
    FROM conversations WHERE workspace_id = ?1) WHERE id = other`;
  await query(workspace.id, spread, workspace.id, nowMs);
  const find = () => search(workspace, { q: "zebra", status: "human_active" });
  await find();
  const change = "UPDATE conversations SET status = 'human_active', updated_at = ? WHERE id = ?";
  // A new one, and one of those that were read: the oldest ones are further back than two minutes by now.
  for (const [at, { id }] of [rows[449]!, rows[200]!].entries()) {
    await query(workspace.id, change, nowMs + (at + 1) * 30_000, id);
    // The trips read the changes, their texts, and the page.
    expect(await costOf(find)).toMatchObject({ d1_trips: 3 });
    expect((await find()).body.total).toBe(at + 1);
  }
});

test("a message and a note that are committed after a later change of their conversation are found", async () => {
  const { workspace, rows } = await createArchive([["zebra"], ["zebra"], ["zebra"]]);
  const nowMs = Date.now();
  const move = (at: number, ms: number) => query(workspace.id, "UPDATE conversations SET updated_at = ? WHERE id = ?", ms, rows[at]!.id);
  const find = async (q: string) => (await search(workspace, { q })).body.total;
  await move(0, nowMs + 60_000);
  for (const at of [1, 2]) await move(at, nowMs + 30_000);
  expect(await find("zebra")).toBe(3);
  await workspace.call("POST", `/conversations/${rows[1]!.id}/messages`, { content: "A quagga." });
  await query(workspace.id, "UPDATE conversations SET updated_at = ? WHERE id = ?", nowMs + 30_000, rows[1]!.id);
  expect(await find("quagga")).toBe(1);
  await workspace.call("POST", `/conversations/${rows[2]!.id}/notes`, { content: "An okapi." });
  expect(await find("okapi")).toBe(1);
});

test("q has at most 200 characters, and finds only the workspace's own conversations", async () => {
  const { workspace } = await createArchive([["zebra"]]);
  const other = await createWorkspace();
  expect((await search(other, { q: "zebra" })).body.total).toBe(0);
  expect((await search(workspace, { q: "x".repeat(201) })).body.detail).toMatchObject([{ loc: ["query", "q"], type: "string_too_long" }]);
  await operate("DELETE", `/workspaces/${other.id}`);
});

test("a snippet of a long text shows its match, and no half characters", () => {
  const text = `${"😀 filler ".repeat(100)}the needle is here ${"😀 more ".repeat(100)}`;
  const parts = snippetOf(text, toPhrases("needle"));
  expect(marked(parts)).toContain("the [needle] is here");
  expect(parts.map((part) => part.text).join("").length).toBeLessThan(200);
  expect(parts.every((part) => part.text.isWellFormed())).toBe(true);
  expect(toIndexText("Ünïcode_9 don't")).toBe("unicode_9 don t");
});
