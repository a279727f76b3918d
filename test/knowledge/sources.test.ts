import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ingest } from "../../src/knowledge/consumer.ts";
import { addSource, syncSource } from "../../src/knowledge/sources.ts";
import { listStrandedSources } from "../../src/knowledge/store.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";
import {
  countRows,
  createAgent,
  createNeighbour,
  createWorkspace,
  deliver,
  envWith,
  learn,
  operate,
  query,
  type Workspace,
} from "../harness.ts";

const MIB = 1024 * 1024;
const QUEUE = "support-agent-ingestion";
const LIMITS = limitsOf("enterprise", {});
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function createFixture(settings: Parameters<typeof createWorkspace>[0] & { beside?: Workspace } = {}) {
  const workspace = await (settings.beside ? createNeighbour(settings.beside) : createWorkspace(settings));
  const agent = await createAgent(workspace);
  const path = `/agents/${agent.id}/sources`;
  return {
    workspace,
    agent,
    path,
    create: (body: Record<string, unknown> = {}) =>
      workspace.call("POST", path, { type: "text", name: "Handbook", text: "Refunds are paid within five working days.", ...body }),
    /** The wake-up for a source. */
    message: (sourceId: string) => ({ workspaceId: workspace.id, agentId: agent.id, sourceId }),
    list: async () => (await workspace.call("GET", path)).body,
    find: async (id: string) => (await workspace.call("GET", path)).body.data.find((source: { id: string }) => source.id === id),
    /** The operation as the route calls it, in an environment with these bindings. */
    op: (bindings: Record<string, unknown>) => ({ ...newOperation(envWith(bindings), new Meter(), workspace.id), agentId: agent.id }),
    search: async (query: string) => (await workspace.call("POST", `/agents/${agent.id}/search`, { query })).body.data,
  };
}

/** Counts the rows in each table of the agent's index object. The result is empty if the object was never written to. */
function indexRows(workspace: Workspace, agentId: string): Promise<Record<string, number>> {
  return runInDurableObject(env.INDEX.getByName(`${workspace.id}/${agentId}`), (_, { storage: { sql } }) => {
    const names = ["texts", "text_parts", "generations", "documents", "chunks"];
    const known = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const here = names.filter((name) => known.some((table) => table.name === name));
    return Object.fromEntries(here.map((name) => [name, sql.exec<{ size: number }>(`SELECT count(*) AS size FROM ${name}`).one().size]));
  });
}

const TEXT = { type: "text" as const, name: "A", text: "B", max_pages: 1, schedule: "manual" as const, metadata: {} };
const EMPTY = { texts: 0, text_parts: 0, generations: 0, documents: 0, chunks: 0 };

// --- Create and read -------------------------------------------------------------------------------------------------

test("a text source is pending at first, and ready with its counts once it was read", async () => {
  const { agent, create, find, list, message } = await createFixture();
  const created = await create();
  expect(created.status).toBe(202);
  const pending = {
    id: expect.any(String),
    key: null,
    agent_id: agent.id,
    type: "text",
    name: "Handbook",
    url: null,
    metadata: {},
    status: "pending",
    schedule: "weekly",
    max_pages: 100,
    pages_found: 0,
    pages_indexed: 0,
    pages_failed: 0,
    pages_skipped: 0,
    chunks_count: 0,
    error: null,
    last_synced_at: null,
    next_sync_at: null,
    created_at: expect.stringMatching(TIME),
    updated_at: expect.stringMatching(TIME),
  };
  expect(created.body).toEqual(pending);
  expect(await list()).toEqual({ data: [created.body], total: 1, limit: 1, offset: 0, has_more: false });
  expect(await deliver(QUEUE, message(created.body.id))).toMatchObject({ explicitAcks: [expect.any(String)], retryMessages: [] });
  expect(await find(created.body.id)).toEqual({
    ...created.body,
    status: "ready",
    pages_found: 1,
    pages_indexed: 1,
    chunks_count: 1,
    last_synced_at: expect.stringMatching(TIME),
    updated_at: expect.stringMatching(TIME),
  });
});

test("a text's schedule is accepted and does nothing", async () => {
  const { create, find, message } = await createFixture();
  for (const schedule of ["manual", "daily", "weekly"]) {
    const { id } = (await create({ schedule })).body;
    await deliver(QUEUE, message(id));
    expect(await find(id)).toMatchObject({ schedule, status: "ready", next_sync_at: null });
  }
});

test("the list holds all sources, oldest first, of this agent alone", async () => {
  const { workspace, create, list } = await createFixture();
  const other = await createAgent(workspace, { name: "Other" });
  await learn(workspace, other.id, "Something else.");
  const made: string[] = [];
  for (let at = 0; at < 25; at++) made.push((await create({ name: `Source ${at}` })).body.id);
  const page = await list();
  expect(page.data.map(({ id }: { id: string }) => id)).toEqual(made);
  expect(page).toMatchObject({ total: 25, limit: 25, offset: 0, has_more: false });
});

test("an empty list is a page too", async () => {
  const { list } = await createFixture();
  expect(await list()).toEqual({ data: [], total: 0, limit: 0, offset: 0, has_more: false });
});

test("counts of agent and usage follow creation, ingestion and deletion", async () => {
  const { workspace, agent, path, create, message } = await createFixture();
  const counts = async () => {
    const { sources, pages } = (await workspace.call("GET", "/usage")).body.usage;
    return { sources, pages, agent: (await workspace.call("GET", `/agents/${agent.id}`)).body.sources_count };
  };
  const first = (await create()).body.id;
  await create();
  expect(await counts()).toEqual({ sources: 2, pages: 0, agent: 2 });
  await deliver(QUEUE, message(first));
  expect(await counts()).toEqual({ sources: 2, pages: 1, agent: 2 });
  await workspace.call("DELETE", `${path}/${first}`);
  expect(await counts()).toEqual({ sources: 1, pages: 0, agent: 1 });
});

test("an unknown agent is 404 for every operation, and nothing is stored", async () => {
  const { workspace } = await createFixture();
  const other = await createFixture({ beside: workspace });
  const theirs = (await other.create()).body.id;
  for (const agentId of [newId(shardOf(workspace.id), Date.now()), other.agent.id]) {
    const before = await countRows();
    const path = `/agents/${agentId}/sources`;
    expect((await workspace.call("GET", path)).status).toBe(404);
    expect((await workspace.call("POST", path, { type: "text", name: "A", text: "B" })).status).toBe(404);
    expect((await workspace.call("POST", `${path}/${theirs}/sync`)).status).toBe(404);
    expect((await workspace.call("DELETE", `${path}/${theirs}`)).status).toBe(404);
    expect(await countRows()).toEqual(before);
    expect(await indexRows(workspace, agentId)).toEqual({});
  }
  expect(await other.find(theirs)).toBeDefined();
});

test("an agent's source is not another agent's of the same workspace", async () => {
  const { workspace, create, find } = await createFixture();
  const other = await createAgent(workspace, { name: "Other" });
  const { id } = (await create()).body;
  expect((await workspace.call("DELETE", `/agents/${other.id}/sources/${id}`)).status).toBe(404);
  expect((await workspace.call("POST", `/agents/${other.id}/sources/${id}/sync`)).status).toBe(404);
  expect(await find(id)).toBeDefined();
});

// --- Websites and pages ----------------------------------------------------------------------------------------------

test.for(["website", "url"])("a %s source is stored as pending, with its effective limit of pages", async (type) => {
  const { create } = await createFixture({ plan: "free" });
  const created = await create({ type, text: undefined, url: "https://example.com/help", schedule: "daily", max_pages: 500 });
  expect(created.status).toBe(202);
  expect(created.body).toMatchObject({
    type,
    url: "https://example.com/help",
    schedule: "daily",
    status: "pending",
    max_pages: 100,
    next_sync_at: null,
  });
});

test("a URL that the crawler may not read is refused, and nothing is stored", async () => {
  const { create } = await createFixture();
  const before = await countRows();
  const refused = [
    "ftp://example.com",
    "https://user:pass@example.com",
    "https://127.0.0.1/",
    "http://2130706433/",
    "https://localhost/",
    "https://intranet",
    "https://printer.local/",
    "https://example.com:8080/",
    "https:\\\\example.com",
    "not an address",
  ];
  for (const url of refused) {
    const { status, body } = await create({ type: "website", text: null, url });
    expect([url, status]).toEqual([url, 422]);
    expect(body.detail).toMatchObject([{ loc: ["body", "url"], type: "value_error", input: url }]);
  }
  expect(await countRows()).toEqual(before);
  expect((await create({ type: "website", text: null, url: "http://example.com:80/" })).status).toBe(202);
});

test("a text source keeps no url, and needs none", async () => {
  const { create } = await createFixture();
  expect((await create({ url: "https://127.0.0.1/" })).body).toMatchObject({ type: "text", url: null });
});

test("max_pages is clamped to the plan, and the effective value is answered", async () => {
  const { create } = await createFixture({ plan: "free" });
  const website = { type: "website", text: null, url: "https://example.com" };
  expect((await create({ ...website, max_pages: 10_000 })).body.max_pages).toBe(100);
  expect((await create({ ...website, max_pages: 7 })).body.max_pages).toBe(7);
  const raised = await createFixture({ plan: "free", limits: { max_pages: 3000 } });
  expect((await raised.create({ ...website, max_pages: 10_000 })).body.max_pages).toBe(3000);
});

// --- The plan's limit ------------------------------------------------------------------------------------------------

test("past the plan's sources it is 403, until one is deleted or the limit is raised", async () => {
  const { workspace, path, create } = await createFixture({ limits: { sources: 2 } });
  const first = (await create()).body.id;
  await create();
  const refused = await create();
  expect([refused.status, refused.body.error.code]).toEqual([403, "plan_required"]);
  await workspace.call("DELETE", `${path}/${first}`);
  expect((await create()).status).toBe(202);
  expect((await create()).status).toBe(403);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { sources: 3 } });
  expect((await create()).status).toBe(202);
});

test("the limit is each agent's own", async () => {
  const { workspace, create } = await createFixture({ limits: { sources: 1 } });
  const other = await createAgent(workspace, { name: "Other" });
  expect((await create()).status).toBe(202);
  expect((await workspace.call("POST", `/agents/${other.id}/sources`, { type: "text", name: "A", text: "B" })).status).toBe(202);
});

test("twenty at once against a limit of five store five sources, and no text of the others", async () => {
  const { workspace, agent, create, list } = await createFixture({ limits: { sources: 5 } });
  const created = await Promise.all(Array.from({ length: 20 }, (_, at) => create({ name: `Source ${at}` })));
  expect(created.filter(({ status }) => status === 202)).toHaveLength(5);
  expect(created.filter(({ status, body }) => status === 403 && body.error.code === "plan_required")).toHaveLength(15);
  expect((await list()).total).toBe(5);
  expect(await indexRows(workspace, agent.id)).toEqual({ ...EMPTY, texts: 5, text_parts: 5 });
});

// --- Size ------------------------------------------------------------------------------------------------------------

const SENTENCE = "Every parcel leaves the warehouse in Rotterdam at eight in the evening, and the invoice follows by mail.\n\n";

/** Text of exactly so many bytes in UTF-8. */
function textOf(bytes: number, sentence: string): string {
  const length = new TextEncoder().encode(sentence).length;
  const text = sentence.repeat(Math.floor(bytes / length));
  return text + "x".repeat(bytes - Math.floor(bytes / length) * length);
}

test.for<[string, string]>([
  ["ASCII", SENTENCE],
  ["letters of two bytes", "Große Pakete verlässt täglich die Halle, späte Rückgaben prüfen wir übermorgen, größere öfter.\n\n"],
  ["letters of three and four bytes", "返品は五営業日以内に支払われます。🙂🙂 小包は毎晩倉庫を出ます。\n\n"],
])("5 MiB of %s become ready", async ([, sentence]) => {
  const { create, find, message } = await createFixture();
  const created = await create({ text: textOf(5 * MIB, sentence) });
  expect(created.status).toBe(202);
  await deliver(QUEUE, message(created.body.id));
  const source = await find(created.body.id);
  expect(source).toMatchObject({ status: "ready", error: null, pages_indexed: 1 });
  expect(source.chunks_count).toBeGreaterThan(1000);
});

test.for<[string, string]>([
  ["ASCII", SENTENCE],
  ["longer letters", "返品は五営業日以内に支払われます。🙂🙂\n\n"],
])("one byte more of %s is 413, and nothing is kept", async ([, sentence]) => {
  const { workspace, agent, create, list } = await createFixture();
  const refused = await create({ text: textOf(5 * MIB + 1, sentence) });
  expect([refused.status, refused.body.error.code]).toEqual([413, "payload_too_large"]);
  expect((await list()).total).toBe(0);
  expect(await indexRows(workspace, agent.id)).toEqual({});
});

test("a text that JSON writes with escapes is measured by its letters", async () => {
  const { workspace, path, find } = await createFixture();
  const escaped = "\\u00e4".repeat((5 * MIB) / 2);
  const created = await workspace.call("POST", path, `{"type":"text","name":"Escaped","text":"${escaped}"}`);
  expect(created.status).toBe(202);
  expect(await find(created.body.id)).toMatchObject({ status: "pending" });
});

test("a text without a word fails with a clear error", async () => {
  const { create, find, message } = await createFixture();
  const created = await create({ text: " \n\t \n" });
  expect(created.status).toBe(202);
  await deliver(QUEUE, message(created.body.id));
  expect(await find(created.body.id)).toMatchObject({ status: "failed", error: { code: "text_empty", message: expect.any(String) } });
});

// --- Delete ----------------------------------------------------------------------------------------------------------

test("deleting takes a source out of list, search and object at once", async () => {
  const { workspace, agent, path, create, list, search, message } = await createFixture();
  const id = (await create()).body.id;
  await deliver(QUEUE, message(id));
  expect(await search("refunds")).toHaveLength(1);
  const deleted = await workspace.call("DELETE", `${path}/${id}`);
  expect([deleted.status, deleted.body]).toEqual([204, ""]);
  expect(await search("refunds")).toEqual([]);
  expect((await list()).data).toEqual([]);
  expect(await indexRows(workspace, agent.id)).toEqual(EMPTY);
  expect((await workspace.call("DELETE", `${path}/${id}`)).status).toBe(404);
  expect((await workspace.call("POST", `${path}/${id}/sync`)).status).toBe(404);
});

test("deleting one source leaves the others", async () => {
  const { workspace, path, create, search, message } = await createFixture();
  const first = (await create()).body.id;
  const second = (await create({ text: "Refunds of gift cards take a month." })).body.id;
  for (const sourceId of [first, second]) await deliver(QUEUE, message(sourceId));
  await workspace.call("DELETE", `${path}/${first}`);
  expect(await search("refunds")).toMatchObject([{ source_id: second }]);
});

test("a source deleted before it was read is not read", async () => {
  const { workspace, agent, path, create, list, message } = await createFixture();
  const id = (await create()).body.id;
  await workspace.call("DELETE", `${path}/${id}`);
  expect(await deliver(QUEUE, message(id))).toMatchObject({ retryMessages: [] });
  expect((await list()).data).toEqual([]);
  expect(await indexRows(workspace, agent.id)).toEqual(EMPTY);
});

test("a source deleted while another run holds it is gone when that run's lease ends", async () => {
  const { workspace, agent, path, create, message } = await createFixture();
  const id = (await create()).body.id;
  await query(id, "UPDATE sources SET status = 'processing', lease_id = 'run', lease_until = ? WHERE id = ?", Date.now() + 60_000, id);
  expect((await workspace.call("DELETE", `${path}/${id}`)).status).toBe(204);
  await deliver(QUEUE, message(id));
  expect(await indexRows(workspace, agent.id)).toEqual(EMPTY);
});

// --- What fails ------------------------------------------------------------------------------------------------------

/** Adds a text while the request dies at a step, as by kill -9: nothing after it runs. */
async function dieAt(fixture: Awaited<ReturnType<typeof createFixture>>, step: "before the text" | "after the text"): Promise<string> {
  const { workspace, agent } = fixture;
  const dead = new Error("killed");
  const index = env.INDEX.getByName(`${workspace.id}/${agent.id}`);
  const databases = { DB: env.DB, DB_1: env.DB_1 } as unknown as Record<string, D1Database>;
  let isDead = false;
  const mortal = Object.fromEntries(
    Object.entries(databases).map(([name, db]) => {
      const refuse = () => Promise.reject(dead);
      return [
        name,
        { prepare: (text: string) => db.prepare(text), batch: (list: D1PreparedStatement[]) => (isDead ? refuse() : db.batch(list)) },
      ];
    }),
  );
  const stageText = async (...text: [string, string, string, number]) => {
    if (step === "after the text") await index.stageText(...text);
    isDead = true;
    throw dead;
  };
  const id = newId(shardOf(workspace.id), Date.now());
  const op = { ...fixture.op({ ...mortal, INDEX: { getByName: () => ({ stageText }) } }), newId: () => id };
  await expect(addSource(op, LIMITS, TEXT)).rejects.toThrow("killed");
  return id;
}

test.for(["before the text", "after the text"] as const)("a request that dies %s is stored leaves nothing", async (step) => {
  const fixture = await createFixture();
  const { workspace, agent, list, message } = fixture;
  const id = await dieAt(fixture, step);
  expect((await list()).data).toMatchObject([{ id, status: "pending" }]);
  // A source is left alone until its request must have ended.
  await deliver(QUEUE, message(id));
  await deliver(`${QUEUE}-dlq`, message(id));
  expect((await list()).data).toMatchObject([{ id, status: "pending", error: null }]);
  await ingest(env, message(id), () => Date.now() + 61_000);
  expect((await list()).data).toEqual([]);
  expect((await workspace.call("GET", "/usage")).body.usage.sources).toBe(0);
  expect(Object.values(await indexRows(workspace, agent.id)).every((rows) => rows === 0)).toBe(true);
});

test("the sweep wakes a source whose request died", async () => {
  const fixture = await createFixture();
  const id = await dieAt(fixture, "before the text");
  const { db } = newOperation(env, new Meter(), id);
  const laterMs = Date.now() + 5 * 60_000;
  const [stranded] = await db.batch([listStrandedSources(db, laterMs - 60_000, laterMs, 1_000)]);
  expect(stranded.map((source) => source.id)).toContain(id);
});

test("a request whose source was removed as dead is refused, and leaves nothing", async () => {
  const { workspace, agent, list, message, op } = await createFixture();
  const index = env.INDEX.getByName(`${workspace.id}/${agent.id}`);
  const slow = async (...text: [string, string, string, number]) => {
    await ingest(env, message(text[0]), () => Date.now() + 61_000);
    return index.stageText(...text);
  };
  const bindings = { INDEX: { getByName: () => ({ stageText: slow }) }, INGESTION_QUEUE: { sendBatch: async () => undefined } };
  await expect(addSource(op(bindings), LIMITS, TEXT)).rejects.toThrow("was removed");
  expect((await list()).data).toEqual([]);
});

test("when the text cannot be stored there is no source", async () => {
  const fixture = await createFixture();
  const { workspace, agent, list } = fixture;
  const failing = { getByName: () => ({ stageText: () => Promise.reject(new Error("the object is overloaded")) }) };
  const sent: unknown[] = [];
  const queue = { sendBatch: async (messages: { body: unknown }[]) => void sent.push(...messages.map(({ body }) => body)) };
  const op = fixture.op({ INDEX: failing, INGESTION_QUEUE: queue });
  await expect(addSource(op, LIMITS, TEXT)).rejects.toThrow("overloaded");
  expect((await list()).data).toEqual([]);
  // The consumer removes what the object may have stored nevertheless.
  expect(sent.splice(0)).toEqual([{ workspaceId: workspace.id, agentId: agent.id, sourceId: expect.any(String), syncNumber: 0 }]);
  expect((await workspace.call("GET", "/usage")).body.usage.sources).toBe(0);
  // And with the platform as it is, the same call adds it and wakes the consumer up.
  const added = await addSource({ ...op, env: envWith({ INGESTION_QUEUE: queue }) }, LIMITS, TEXT);
  expect(added).toMatchObject({ outcome: "done", source: { status: "pending" } });
  const { id } = (await list()).data[0];
  expect(sent).toEqual([{ workspaceId: workspace.id, agentId: agent.id, sourceId: id, syncNumber: 0 }]);
  // A queue that is down loses only a wake-up: the sweep finds the source.
  const down = { sendBatch: () => Promise.reject(new Error("the queue is down")) };
  expect(await addSource({ ...op, env: envWith({ INGESTION_QUEUE: down }) }, LIMITS, TEXT)).toMatchObject({ outcome: "done" });
  await query(id, "UPDATE sources SET status = 'ready' WHERE id = ?", id);
  expect(await syncSource({ ...op, env: envWith({ INGESTION_QUEUE: down }) }, LIMITS, id)).toMatchObject({ source: { status: "pending" } });
  expect((await list()).data.map(({ status }: { status: string }) => status)).toEqual(["pending", "pending"]);
});

test("on a day whose syncs are used up, a text keeps its words and its name, and a waiting sync is joined", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const source = await learn(workspace, agent.id, "Refunds are paid within five working days.");
  const path = `/agents/${agent.id}/sources/${source.id}`;
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { syncs_per_day: 2 } });
  expect((await workspace.call("POST", `${path}/sync`)).body.status).toBe("pending");
  expect(await workspace.call("POST", `${path}/sync`)).toMatchObject({ status: 202, body: { status: "pending" } });
  expect((await workspace.call("GET", "/usage")).body.usage.syncs_today).toBe(2);
  const refused = await workspace.call("PATCH", path, { text: "Refunds are never paid.", name: "New" });
  expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limited"]);
  // Settings that need no sync can be changed.
  expect(await workspace.call("PATCH", path, { schedule: "daily" })).toMatchObject({ status: 200, body: { name: source["name"] } });
  await deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId: agent.id, sourceId: source.id });
  const found = await workspace.call("POST", `/agents/${agent.id}/search`, { query: "refunds" });
  expect(found.body.data.map(({ content }: { content: string }) => content)).toEqual(["Refunds are paid within five working days."]);
});
