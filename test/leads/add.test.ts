import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { addLead, eraseLeads, indexLeads } from "../../src/leads/leads.ts";
import { toSearchText } from "../../src/leads/search-text.ts";
import { eraseLeadRows, listLeads, markIndexed, pageLeads } from "../../src/leads/store.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { costOf, createKey, createWorkspace, deliver, envWith, listen, operate, query, send, type Workspace } from "../harness.ts";
import { createFixture, indexStorage, type MadeUp, madeUp, newLead, START_MS, storeLead, sweepAll, writeRows } from "./fixture.ts";

const MINUTE_MS = 60_000;

const search = async (workspace: Workspace, q: string) => (await workspace.call("GET", `/leads?q=${encodeURIComponent(q)}`)).body;

/** An environment whose index of leads is out of reach. */
const withoutIndex = () => envWith({ LEADS: { getByName: () => ({ put: () => Promise.reject(new Error("Out of reach")) }) } });

test("a lead has the same form in the list, in a search and in its event", async () => {
  const { workspace, agents, op } = await createFixture();
  await listen(workspace);
  const customFields = { company: "Ünïcode & Söhne", seats: 12 };
  const given = { name: "Ada", email: "Ada@Example.com", message: "Call me", customFields, sourceUrl: "https://acme.example/contact" };
  const lead = await storeLead(op, newLead(agents[0], given));
  const { body } = await workspace.call("GET", "/leads");
  expect(body).toMatchObject({ total: 1, limit: 20, offset: 0, has_more: false, next_cursor: null });
  expect(body.data).toEqual([
    {
      id: lead.id,
      agent_id: agents[0],
      conversation_id: null,
      visitor_id: null,
      name: "Ada",
      email: "Ada@Example.com",
      phone: null,
      message: "Call me",
      custom_fields: customFields,
      source_url: "https://acme.example/contact",
      created_at: new Date(op.nowMs).toISOString(),
    },
  ]);
  expect((await search(workspace, "söhne")).data).toEqual(body.data);
  // The message is not searched.
  expect((await search(workspace, "call me")).total).toBe(0);
  const events = await query<{ id: string; payload: string }>(workspace.id, "SELECT * FROM events WHERE workspace_id = ?", workspace.id);
  expect(events.map(({ id, payload }) => ({ id, ...JSON.parse(payload) }))).toMatchObject([
    { id: lead.id, type: "lead.created", data: body.data[0] },
  ]);
});

test("a lead for another workspace's agent leaves no lead, event or index entry", async () => {
  const [{ workspace, op }, other] = [await createFixture(), await createFixture()];
  await listen(workspace);
  expect(await addLead(op, newLead(other.agents[0], { name: "Eve" }))).toEqual({ outcome: "not_found" });
  expect((await workspace.call("GET", "/leads")).body.total).toBe(0);
  expect(await query(workspace.id, "SELECT 1 FROM events WHERE workspace_id = ?", workspace.id)).toEqual([]);
  expect((await indexStorage(workspace)).tables).toEqual([]);
});

test("a lead of a visitor or conversation that was erased meanwhile is not kept", async () => {
  const { workspace, op, agents } = await createFixture();
  const erased = crypto.randomUUID();
  for (const of of [{ visitorId: erased }, { conversationId: erased }])
    expect(await addLead(op, newLead(agents[0], { name: "Ada", ...of }))).toEqual({ outcome: "not_found" });
  expect((await workspace.call("GET", "/leads")).body.total).toBe(0);
});

test("another workspace's leads are neither listed nor found, and the scope is required", async () => {
  const [{ agents, op }, other] = [await createFixture(), await createFixture()];
  await addLead(op, newLead(agents[0], { name: "Ada Lovelace" }));
  expect((await other.workspace.call("GET", "/leads")).body.total).toBe(0);
  expect((await search(other.workspace, "ada")).total).toBe(0);
  expect((await other.workspace.call("GET", `/leads?agent_id=${agents[0]}&q=ada`)).body.total).toBe(0);
  const { key } = await createKey(other.workspace, ["conversations:read"]);
  const refused = await send("GET", "/api/v1/leads", { token: key });
  expect(refused).toMatchObject({ status: 403, body: { error: { code: "insufficient_scope" } } });
  expect(refused.body.error.message).toContain("leads:read");
});

test("a lead that could not be indexed is stored all the same, and the sweep indexes it", async () => {
  const { workspace, agents, op } = await createFixture();
  const lead = await storeLead({ ...op, env: withoutIndex() }, newLead(agents[0], { name: "Grace Hopper" }));
  expect((await workspace.call("GET", "/leads")).body.data).toMatchObject([{ id: lead.id }]);
  expect((await search(workspace, "hopper")).total).toBe(0);
  await sweep(env, op.nowMs + MINUTE_MS);
  expect((await search(workspace, "hopper")).total).toBe(0);
  await sweep(env, op.nowMs + MINUTE_MS + 1);
  expect((await search(workspace, "hopper")).data).toMatchObject([{ id: lead.id }]);
  expect(await query(workspace.id, "SELECT 1 FROM leads WHERE indexed_at IS NULL AND workspace_id = ?", workspace.id)).toEqual([]);
});

test("an unreachable index of one workspace does not keep another's leads from being indexed", async () => {
  const fixtures = [await createFixture(), await createFixture()] as const;
  for (const { workspace, agents } of fixtures) await writeRows(workspace, [madeUp(workspace, agents[0], 0, { name: "Ada" })]);
  const [broken, whole] = fixtures.map(({ workspace }) => workspace) as [Workspace, Workspace];
  const getByName = (name: string) => (name === broken.id ? withoutIndex().LEADS.getByName(name) : env.LEADS.getByName(name));
  await sweep(envWith({ LEADS: { getByName } }), Date.now());
  expect([(await search(broken, "ada")).total, (await search(whole, "ada")).total]).toEqual([0, 1]);
});

test("a search's total stays right when leads are added and erased", async () => {
  const { workspace, agents, op } = await createFixture();
  const add = (name: string, agentId: string) => storeLead(op, newLead(agentId, { name, phone: "+1 (202) 555" }));
  const totals = async () => {
    const since = "created_since=2026-01-01T00:00:00Z";
    const queries = ["q=ada", "q=d", "q=202555", `q=ada&agent_id=${agents[0]}`, `q=ada&${since}`];
    return Promise.all(queries.map(async (one) => (await workspace.call("GET", `/leads?${one}&limit=1`)).body.total as number));
  };
  const first = await add("Ada One", agents[0]);
  await add("Ada Two", agents[1]);
  expect(await totals()).toEqual([2, 2, 2, 1, 2]);
  await add("ADA Three", agents[0]);
  await add("Bob", agents[0]);
  expect(await totals()).toEqual([3, 3, 4, 2, 3]);
  await eraseLeads(op, [first.id]);
  expect(await totals()).toEqual([2, 2, 3, 1, 2]);
});

test("an erased lead leaves nothing in the index, and erasing again is safe", async () => {
  const { workspace, agents, op } = await createFixture();
  const mark = { name: "Žofie Ωμέγα", email: "žofie@ωμέγα.example", phone: "+999 888 777", customFields: { тайна: "秘密" } };
  await addLead(op, newLead(agents[0], { name: "Ada Lovelace", phone: "+1 222" }));
  const { trigrams } = await indexStorage(workspace);
  const erased = await storeLead(op, newLead(agents[1], mark));
  expect((await search(workspace, "秘密")).total).toBe(1);
  expect((await eraseLeads(op, [erased.id, crypto.randomUUID()])).leads).toBe(1);
  expect((await eraseLeads(op, [erased.id])).leads).toBe(0);
  expect(await indexStorage(workspace)).toMatchObject({ rows: [{ text: "ada lovelace\u001f+1 222" }], trigrams });
  expect((await workspace.call("GET", "/leads")).body.total).toBe(1);
});

test("a lead that is erased while it is indexed is removed from the index again", async () => {
  const { workspace, agents, op } = await createFixture();
  const lead = await storeLead({ ...op, env: withoutIndex() }, newLead(agents[0], { name: "Ada" }));
  await eraseLeads(op, [lead.id]);
  await indexLeads(op, [lead]);
  expect((await indexStorage(workspace)).rows).toEqual([]);
});

/** Puts made-up leads into the workspace's index, without D1. */
const put = (workspace: Workspace, leads: MadeUp[]) => {
  const indexed = leads.map((lead) => ({ id: lead.id, agentId: lead.agentId, createdAtMs: lead.createdAtMs, ...toSearchText(lead) }));
  return env.LEADS.getByName(workspace.id).put(indexed);
};

test("leads are found in the order of the list, in whatever order they are indexed", async () => {
  const { workspace, agents } = await createFixture();
  const made = Array.from({ length: 300 }, (_, at) => madeUp(workspace, agents[0], at, { name: `Lead ${at}` }));
  await put(workspace, [made[0]!, made[299]!]);
  for (let at = 0; at < 50; at++) await put(workspace, [made[at % 2 ? at : 299 - at]!]);
  await put(workspace, made.slice(150).toReversed());
  await put(workspace, made);
  const newestFirst = made.map(({ id }) => id).toReversed();
  const { rows } = await indexStorage(workspace);
  expect(rows.map((row: any) => row.lead_id)).toEqual(newestFirst);
  const hits = await env.LEADS.getByName(workspace.id).search({ q: "lead 1", limit: 200, offset: 0 });
  const names = new Map(made.map(({ id, name }) => [id, name!]));
  expect(hits.ids).toEqual(newestFirst.filter((id) => names.get(id)!.startsWith("Lead 1")));
});

test("a list costs one D1 trip, a search one hop more, and neither reads more D1 rows in a larger workspace", async () => {
  const costs = [];
  for (const size of [50, 1000]) {
    const { workspace, agents } = await createFixture();
    await writeRows(
      workspace,
      Array.from({ length: size }, (_, at) => madeUp(workspace, agents[at % 2]!, at, { name: `Lead ${at}` })),
    );
    await sweepAll(workspace);
    await workspace.call("GET", "/me");
    const [listed, found] = [await costOf(() => workspace.call("GET", "/leads?limit=5")), await costOf(() => search(workspace, "lead"))];
    const ofAgent = await costOf(() => workspace.call("GET", `/leads?limit=5&agent_id=${agents[0]}`));
    expect([listed, found, ofAgent]).toMatchObject([
      { object_hops: 1, d1_trips: 1 },
      { object_hops: 2, d1_trips: 1 },
      { object_hops: 1, d1_trips: 1 },
    ]);
    costs.push([listed, found, ofAgent].map(({ rows_read }) => rows_read));
  }
  expect(costs[1]).toEqual(costs[0]);
});

test("no statement reads a whole table", async () => {
  const { workspace } = await createFixture();
  const { db } = newOperation(env, new Meter(), workspace.id);
  const page = { limit: 20, offset: 0, cursor: { atMs: START_MS, id: workspace.id } };
  const statements = [
    ...pageLeads(db, workspace.id, {}, page),
    ...pageLeads(db, workspace.id, { agentId: workspace.id, sinceMs: START_MS }, page),
    ...pageLeads(db, workspace.id, { agentId: workspace.id }, page),
    ...pageLeads(db, workspace.id, { visitorId: workspace.id }, page),
    listLeads(db, workspace.id, [workspace.id]),
    markIndexed(db, workspace.id, [workspace.id], START_MS),
    eraseLeadRows(db, workspace.id, [workspace.id]),
  ];
  for (const statement of statements) {
    const { sql, params } = statement.toSQL();
    const plan = await query<{ detail: string }>(workspace.id, `EXPLAIN QUERY PLAN ${sql}`, ...params);
    const steps = plan.map(({ detail }) => detail);
    expect(
      steps.filter((step) => /^SCAN (?!json_each)/.test(step)),
      sql,
    ).toEqual([]);
    // Lists come in the order of an index; a person's few, and what is asked for by identifier, are read one by one.
    if (sql.includes('visitor_id" =')) expect(steps[0], sql).toMatch(/^SEARCH leads USING .*\(workspace_id=\? AND visitor_id=\?\)$/);
    else if (sql.includes("json_each")) expect(steps[0], sql).toMatch(/^SEARCH leads USING .*\(id=\?\)$/);
    else
      expect(
        steps.filter((step) => step.includes("TEMP B-TREE")),
        sql,
      ).toEqual([]);
  }
});

test("a deleted workspace leaves neither leads nor counts, and its object holds nothing", async () => {
  const { workspace, agents, op } = await createFixture();
  await addLead(op, newLead(agents[0], { name: "Ada" }));
  await operate("DELETE", `/workspaces/${workspace.id}`);
  await deliver("support-agent-erasure", { workspaceId: workspace.id });
  for (const table of ["leads", "lead_counts"]) {
    expect(await query(workspace.id, `SELECT 1 FROM ${table} WHERE workspace_id = ?`, workspace.id), table).toEqual([]);
  }
  expect((await indexStorage(workspace)).tables).toEqual([]);
});

test("a search in a workspace that never had a lead leaves its object empty", async () => {
  const workspace = await createWorkspace();
  expect((await search(workspace, "ada")).total).toBe(0);
  expect((await indexStorage(workspace)).tables).toEqual([]);
});
