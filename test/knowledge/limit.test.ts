import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createReader, createSite, work } from "./crawl/site.ts";
import { createAgent, deliver, operate } from "../harness.ts";

const MIB = 1024 * 1024;
/** The text of a page of about this size, whose lines differ. */
const pageOf = (kilobytes: number, word: string) =>
  `${word} is told about at some length here. `.repeat((kilobytes * 1024) / (30 + word.length));

/** An agent that may have a megabyte of knowledge. */
async function createSmallReader() {
  const reader = await createReader();
  const limitTo = (knowledge_mb_per_agent: number) =>
    operate("PATCH", `/workspaces/${reader.workspaceId}`, { limits: { knowledge_mb_per_agent } });
  await limitTo(1);
  const addText = (kilobytes: number, name = "Text", agentId = reader.agentId) =>
    reader.call("POST", `/agents/${agentId}/sources`, { type: "text", name, text: "é".repeat(kilobytes * 512) });
  const index = env.INDEX.getByName(`${reader.workspaceId}/${reader.agentId}`);
  const inIndex = <T>(work: (sql: SqlStorage) => T) => runInDurableObject(index, (_, { storage }) => work(storage.sql));
  return { ...reader, limitTo, addText, inIndex };
}

test("a text beyond the agent's limit is refused, and nothing of it is stored", async () => {
  const reader = await createSmallReader();
  const first = await reader.addText(600, "First");
  expect(first.status).toBe(202);
  const refused = await reader.addText(500, "Second");
  expect(refused).toMatchObject({
    status: 403,
    body: {
      error: { code: "plan_required", message: expect.stringContaining("would have 1.1 MB of knowledge, and the plan includes 1 MB") },
    },
  });
  expect((await reader.call("GET", reader.path)).body.total).toBe(1);
  expect(await reader.inIndex((sql) => sql.exec("SELECT source_id FROM texts").toArray())).toEqual([{ source_id: first.body.id }]);
  expect((await reader.addText(424, "Fits")).status).toBe(202);
  expect((await reader.addText(1, "No more")).status).toBe(403);
  // Another agent has its own limit.
  const other = await createAgent({ id: reader.workspaceId } as never);
  expect((await reader.addText(1_000, "Other", other.id)).status).toBe(202);
  // Existing sources stay in use when the limit becomes smaller, and deleting them makes room.
  await reader.limitTo(0);
  await deliver("support-agent-ingestion", reader.message(first.body.id));
  expect(await reader.find(first.body.id)).toMatchObject({ status: "ready" });
  expect((await reader.addText(1)).status).toBe(403);
  await reader.limitTo(1);
  await reader.call("DELETE", `${reader.path}/${first.body.id}`);
  expect((await reader.addText(599)).status).toBe(202);
});

test("of texts that are sent at once, as many are stored as fit", async () => {
  const reader = await createSmallReader();
  const sent = await Promise.all([1, 2, 3, 4, 5].map((at) => reader.addText(400, `Text ${at}`)));
  expect(sent.map(({ status }) => status).toSorted()).toEqual([202, 202, 403, 403, 403]);
  expect(await reader.inIndex((sql) => sql.exec<{ bytes: number }>("SELECT sum(length(bytes)) AS bytes FROM text_parts").one().bytes)).toBe(
    800 * 1024,
  );
});

test("a crawl adds no pages beyond the limit and says why; what is in use stays", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/a", "/b", "/c"] });
  for (const name of ["a", "b", "c"]) await site.has(`/${name}`, { text: pageOf(400, `zebra${name}`), links: ["/d"] });
  await site.has("/d", { text: pageOf(300, "zebrad"), links: ["/e"] });
  await site.has("/e", {});
  const reader = await createSmallReader();
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({ status: "ready", pages_indexed: 3, pages_skipped: 3 });
  const skipped = "skipped: knowledge_limit";
  const full = { "/": "indexed", "/a": "indexed", "/b": "indexed", "/c": skipped, "/d": skipped };
  expect(await reader.pages(source.id)).toEqual({ ...full, "/e": skipped });
  expect(await site.requested()).not.toContain("/e");
  expect(
    await reader.inIndex((sql) => sql.exec<{ bytes: number }>("SELECT sum(text_bytes) AS bytes FROM documents").one().bytes),
  ).toBeLessThan(MIB);
  expect((await reader.addText(300)).status).toBe(403);
  // Again it has no room for more, though the first pages of this sync are new.
  await site.has("/", { links: ["/new", "/a", "/b", "/c"] });
  await site.has("/new", { text: pageOf(400, "zebranew") });
  await reader.sync(source.id);
  expect(await reader.pages(source.id)).toEqual({ ...full, "/new": skipped });
  // A page in use that has grown too long stays as it was, until there is room.
  await site.has("/a", { text: pageOf(700, "okapi") });
  await reader.sync(source.id);
  expect(await reader.pages(source.id, "failed")).toEqual({ "/a": "failed: knowledge_limit" });
  expect((await reader.search("zebraa"))[0]).toMatchObject({ url: site.at("/a") });
  // A page that has become shorter makes room for those after it.
  await site.has("/a", { text: pageOf(20, "okapi") });
  await reader.sync(source.id);
  expect((await reader.search("okapi"))[0]).toMatchObject({ url: site.at("/a") });
  expect(await reader.pages(source.id, "skipped")).toMatchObject({ "/new": skipped, "/d": skipped });
  await reader.limitTo(10);
  await reader.sync(source.id);
  expect(await reader.pages(source.id, "skipped")).toEqual({});
}, 60_000);

test("a source of which no page finds room fails with the reason", async () => {
  const site = await createSite();
  await site.has("/", { text: pageOf(200, "zebra") });
  const reader = await createSmallReader();
  await reader.addText(900);
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({ status: "failed", error: { code: "knowledge_limit", message: expect.stringContaining("larger plan") } });
  expect(await reader.pages(source.id)).toEqual({ "/": "skipped: knowledge_limit" });
});

test("the usage shows the text of the agent that has the most, beside its limit", async () => {
  const reader = await createSmallReader();
  const other = await createAgent({ id: reader.workspaceId } as never);
  const usageOf = async () => {
    const { usage, limits } = (await reader.call("GET", "/usage")).body;
    return [usage.knowledge_mb_per_agent, limits.knowledge_mb_per_agent];
  };
  const add = async (kilobytes: number, agentId = reader.agentId) => {
    const { body } = await reader.addText(kilobytes, "Text", agentId);
    await deliver("support-agent-ingestion", { ...reader.message(body.id), agentId });
    return body.id;
  };
  expect(await usageOf()).toEqual([0, 1]);
  const first = await add(128);
  await add(384);
  await add(256, other.id);
  expect(await usageOf()).toEqual([0.5, 1]);
  await reader.call("DELETE", `${reader.path}/${first}`);
  expect(await usageOf()).toEqual([0.38, 1]);
  await operate("DELETE", `/workspaces/${reader.workspaceId}/agents/${reader.agentId}`);
  expect(await usageOf()).toEqual([0.25, 1]);
  // Pages count like texts.
  const site = await createSite();
  await site.has("/", { text: pageOf(300, "Lamps") });
  const { body } = await reader.call("POST", `/agents/${other.id}/sources`, { type: "url", name: "Page", url: site.at("/") });
  await work({ workspaceId: reader.workspaceId, agentId: other.id, sourceId: body.id });
  const [used] = await usageOf();
  expect(used).toBeGreaterThan(0.5);
  expect(used).toBeLessThan(0.65);
});
