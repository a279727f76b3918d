import { expect, test } from "vitest";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { costOf, createAgent, createWorkspace, createWorkspaceOn, databases, type Workspace } from "../harness.ts";

const STATUSES = ["open", "ai_handled", "needs_human", "human_active", "resolved"];
const CHANNELS = ["widget", "hosted", "email", "api", "playground"];
const START_MS = Date.UTC(2026, 0, 1);

/** A workspace with `count` conversations of all kinds, by default a second apart. `rows` are in the order of the list. */
async function populate(count: number, apartMs = 1000, made = createWorkspace()) {
  const workspace = await made;
  const shard = shardOf(workspace.id);
  const agents = [newId(shard, Date.now()), newId(shard, Date.now())];
  const visitors = [newId(shard, Date.now()), newId(shard, Date.now())];
  const teams = [newId(shard, Date.now()), newId(shard, Date.now())];
  const rows = Array.from({ length: count }, (_, at) => ({
    id: newId(shard, Date.now()),
    agent_id: agents[at % 2]!,
    status: STATUSES[at % 5]!,
    channel: CHANNELS[Math.floor(at / 5) % 5]!,
    assignee_id: ["grace", "ada", null][at % 3]!,
    unread: at % 4 === 0 ? "true" : undefined,
    team_id: teams[at % 4],
    priority: ["normal", "high", "normal", "urgent", "normal"][Math.floor(at / 2) % 5]!,
    visitor_id: visitors[Math.floor(at / 3) % 2]!,
    at_ms: START_MS + at * apartMs,
  }));
  const insert = `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, assignee_id, assignee_name, team_id, priority, visitor_id, unread_count, last_message_at, created_at, updated_at)
    SELECT value ->> 'id', ?1, value ->> 'agent_id', value ->> 'channel', value ->> 'status', value ->> 'assignee_id', value ->> 'assignee_id',
      value ->> 'team_id', value ->> 'priority', value ->> 'visitor_id', value ->> 'unread' IS NOT NULL, value ->> 'at_ms', value ->> 'at_ms', value ->> 'at_ms' FROM json_each(?2)`;
  await databases[shard]!.prepare(insert).bind(workspace.id, JSON.stringify(rows)).run();
  return { workspace, agents, visitors, teams, rows: rows.toReversed() };
}

/** Every choice of values, one for each name. */
function combine(choices: Record<string, (string | undefined)[]>): Record<string, string>[] {
  return Object.entries(choices).reduce<Record<string, string>[]>(
    (all, [name, values]) => all.flatMap((one) => values.map((value) => (value === undefined ? one : { ...one, [name]: value }))),
    [{}],
  );
}

/** Compares a page and the total of each filter with what the rows give. */
async function compare(workspace: Workspace, rows: Awaited<ReturnType<typeof populate>>["rows"], filters: Record<string, string>[]) {
  for (const filter of filters) {
    const wanted = rows.filter(
      (row) =>
        (["agent_id", "status", "channel", "assignee_id", "unread", "visitor_id", "team_id", "priority"] as const).every(
          (name) => (filter[name] ?? row[name]) === row[name],
        ) &&
        (!(filter["unassigned"] ?? filter["with_team"]) || ["needs_human", "human_active"].includes(row.status)) &&
        (!filter["unassigned"] || row.assignee_id === null) &&
        row.at_ms >= Date.parse(filter["updated_since"] ?? "1970-01-01T00:00:00Z"),
    );
    const parameters = new URLSearchParams({ ...filter, limit: "7", offset: "2" }).toString();
    const { body } = await workspace.call("GET", `/conversations?${parameters}`);
    if (!body.data) throw new Error(JSON.stringify([filter, body]));
    expect(body.data.map(({ id }: any) => id)).toEqual(wanted.slice(2, 9).map(({ id }) => id));
    expect(body).toMatchObject({ total: wanted.length, limit: 7, offset: 2, has_more: wanted.length > 9 });
  }
}

test("every filter, alone and combined, gives the right page and the exact total", async () => {
  const { workspace, agents, visitors, rows } = await populate(200);
  const filters = combine({
    agent_id: [undefined, agents[0]],
    status: [undefined, "needs_human"],
    channel: [undefined, "email"],
    updated_since: [undefined, new Date(START_MS + 120_000).toISOString()],
    assignee_id: [undefined, "grace"],
    unread: [undefined, "true"],
    visitor_id: [undefined, visitors[1]],
  });
  expect(filters).toHaveLength(128);
  await compare(workspace, rows, filters);
});

test("conversations are listed by team, by priority, without an assignee and while the team has them", async () => {
  const { workspace, teams, rows } = await populate(120);
  const filters = combine({
    with_team: [undefined, "true"],
    unassigned: [undefined, "true"],
    team_id: [undefined, teams[1]],
    priority: [undefined, "normal", "high"],
    status: [undefined, "needs_human", "open"],
    unread: [undefined, "true"],
    snoozed: [undefined, "false"],
    updated_since: [undefined, new Date(START_MS + 60_000).toISOString()],
  });
  const isRefused = (filter: object) => "with_team" in filter && "status" in filter;
  const refused = new URLSearchParams(filters.find(isRefused)).toString();
  expect((await workspace.call("GET", `/conversations?${refused}`)).body.detail).toMatchObject([{ loc: ["query", "with_team"] }]);
  const possible = filters.filter((filter) => !isRefused(filter));
  await compare(workspace, rows, possible);
});

test("a list that begins with the oldest activity is the same list in reverse, also past the first page", async () => {
  const { workspace, rows } = await populate(45);
  for (const filter of [{}, { status: "needs_human" }, { unread: "true" }]) {
    const wanted = rows
      .filter((row) => Object.entries(filter).every(([name, value]) => row[name as keyof typeof row] === value))
      .toReversed();
    const parameters = new URLSearchParams({ ...filter, order: "oldest", limit: "5" }).toString();
    const { body: first } = await workspace.call("GET", `/conversations?${parameters}`);
    const { body: second } = await workspace.call("GET", `/conversations?${parameters}&cursor=${first.next_cursor}`);
    const { body: third } = await workspace.call("GET", `/conversations?${parameters}&offset=10`);
    const shown = [first, second, third].flatMap(({ data }: any) => data.map(({ id }: any) => id));
    expect(shown).toEqual(wanted.slice(0, 15).map(({ id }) => id));
    expect(first.total).toBe(wanted.length);
  }
  const search = await workspace.call("GET", "/conversations?q=parcel&order=oldest");
  expect(search.body.detail).toMatchObject([{ loc: ["query", "order"] }]);
});

test("the cursor visits every conversation once while others move to the top", async () => {
  const { workspace, rows } = await populate(45);
  const seen: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { body }: any = await workspace.call("GET", `/conversations?limit=10${cursor && `&cursor=${cursor}`}`);
    seen.push(...body.data.map(({ id }: any) => id));
    cursor = body.next_cursor;
    await workspace.call("PATCH", `/conversations/${seen[0]}`, { tags: [String(seen.length)] });
  }
  expect(seen).toEqual(rows.map(({ id }) => id));
  const bad = await workspace.call("GET", "/conversations?cursor=nonsense");
  expect(bad.body.detail).toMatchObject([{ loc: ["query", "cursor"], type: "value_error", input: "nonsense" }]);
});

test("a page reads a number of rows that depends on its size alone, whatever the filter and the number of conversations", async () => {
  const [few, many] = [await populate(100, 1000, createWorkspaceOn(0)), await populate(2000, 1000, createWorkspaceOn(0))];
  // The scan of an index ends with the first row of the next workspace, which the last workspace of a database does not have.
  await populate(100, 1000, createWorkspaceOn(0));
  for (const filter of combine({ agent_id: [undefined, "AGENT"], status: [undefined, "open"], channel: [undefined, "api"] })) {
    const rowsRead: number[] = [];
    for (const { workspace, agents } of [few, many]) {
      const query = new URLSearchParams({ ...filter, ...(filter["agent_id"] && { agent_id: agents[0]! }), limit: "1" });
      rowsRead.push((await costOf(() => workspace.call("GET", `/conversations?${query.toString()}`))).rows_read);
    }
    expect(rowsRead[1], JSON.stringify(filter)).toBe(rowsRead[0]);
  }
});

test("a deep page equals the one that paging reaches, with every filter", async () => {
  const { workspace, agents, rows } = await populate(6_000, 20 * 60_000);
  for (const filter of combine({ agent_id: [undefined, agents[0]], status: [undefined, "open"], channel: [undefined, "email"] })) {
    const wanted = rows.filter((row) => Object.entries(filter).every(([name, value]) => row[name as keyof typeof row] === value));
    for (const offset of [1_999, 2_000, 2_071, 2_072, 2_500, 5_990, 6_000]) {
      const parameters = new URLSearchParams({ ...filter, offset: String(offset), limit: "15" });
      const { body } = await workspace.call("GET", `/conversations?${parameters.toString()}`);
      expect(body.data.map(({ id }: any) => id)).toEqual(wanted.slice(offset, offset + 15).map(({ id }) => id));
      expect(body).toMatchObject({ total: wanted.length, has_more: wanted.length > offset + 15 });
    }
  }
  const [shallow, deep] = [
    await costOf(() => workspace.call("GET", "/conversations")),
    await costOf(() => workspace.call("GET", "/conversations?offset=5000")),
  ];
  expect(deep.d1_trips).toBe(1);
  expect(deep.rows_read).toBeLessThan(shallow.rows_read + 5_000);
});

test("a conversation in the list says what its visitor wrote last while it waits, and who wrote the latest message", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ask = (message: string, more: object = {}) => workspace.call("POST", `/agents/${agent.id}/messages`, { message, ...more });
  const { conversation_id: id } = (await ask("How is bread baked?")).body;
  const listed = async (search = "") => (await workspace.call("GET", `/conversations${search}`)).body.data[0];
  expect(await listed()).toMatchObject({ last_message_role: "assistant", question_preview: "How is bread baked?" });
  await ask("Can I talk to a real person?", { conversation_id: id });
  const latest = { last_message_role: "assistant", question_preview: "Can I talk to a real person?" };
  expect(await listed()).toMatchObject({ ...latest, handoff: { summary: "How is bread baked?" } });
  expect(await listed("?q=bread")).toMatchObject(latest);
  await ask("Hello?".padEnd(300, "!"), { conversation_id: id });
  expect((await listed()).question_preview).toBe("Hello?".padEnd(200, "!"));
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "In an oven." });
  expect(await listed()).toMatchObject({ last_message_role: "human", question_preview: null, last_message_preview: "In an oven." });
  await ask("Thank you.", { conversation_id: id });
  expect(await listed()).toMatchObject({ last_message_role: "user", question_preview: null, last_message_preview: "Thank you." });
});

test("updated_since accepts RFC 3339, with or without a UTC offset", async () => {
  const { workspace } = await populate(10);
  const times = [
    "2026-01-01T00:00:05Z",
    "2026-01-01T00:00:05",
    "2026-01-01T01:00:05.000+01:00",
    "2026-01-01T01:00:05%2B01:00",
    "2026-01-01t00:00:05z",
  ];
  for (const time of times) expect((await workspace.call("GET", `/conversations?updated_since=${time}`)).body.total, time).toBe(5);
  const { body } = await workspace.call("GET", "/conversations?updated_since=yesterday");
  expect(body.detail).toMatchObject([{ loc: ["query", "updated_since"], type: "datetime_parsing", input: "yesterday" }]);
});
