import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ingest } from "../../../src/knowledge/consumer.ts";
import { query } from "../../harness.ts";
import type { Behaviour } from "../../outbound-protocol.ts";
import { receivedBy } from "../../outbound.ts";
import { catching, createReader, createSite, indexStub, type Reader, type Site, work } from "./site.ts";

const unmodified: Behaviour = { status: 304, headers: { ETag: '"1"' } };

/** The documents in the index with their ids, which show whether a document was created again. */
async function documentsOf(reader: Reader) {
  return runInDurableObject(indexStub(reader), (_, { storage: { sql } }) =>
    sql.exec<{ id: number; url: string; chunks_count: number }>("SELECT id, url, chunks_count FROM documents ORDER BY url").toArray(),
  );
}

const countRows = (reader: Reader) =>
  runInDurableObject(indexStub(reader), (_, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const ours = ["crawls", "pages", "page_texts", "page_blocks", "variant_groups", "documents", "chunks", "generations"];
    const here = ours.filter((name) => tables.some((table) => table.name === name));
    return Object.fromEntries(here.map((name) => [name, sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${name}`).one().n]));
  });

/** A site of a start, three pages below it and one below these. */
async function createTree(): Promise<Site> {
  const site = await createSite();
  const headers = { ETag: '"1"', "Last-Modified": "Fri, 20 Nov 2026 10:00:00 GMT" };
  await site.has("/", { links: ["/a", "/b", "/c", "/hidden"], headers });
  await site.has("/a", { text: "Parcels leave in the evening.", links: ["/deep"], headers });
  await site.has("/b", { text: "Refunds are paid within five days.", headers });
  await site.has("/c", { text: "Zebras are striped animals.", headers });
  await site.has("/deep", { text: "Lions roar at night.", headers });
  await site.has("/hidden", { head: `<meta name="robots" content="noindex">`, links: ["/behind"], headers });
  await site.has("/behind", { text: "Penguins cannot fly.", headers });
  return site;
}

test("a sync sends conditional requests; unchanged pages keep their documents, and removed pages go", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id, last_synced_at } = await reader.read({ url: site.at("/") });
  const before = await documentsOf(reader);
  expect(before).toHaveLength(6);
  for (const path of ["/", "/a", "/deep", "/hidden", "/behind"]) await site.answers(path, unmodified);
  await site.has("/b", { text: "Refunds are paid within seven days.", headers: { ETag: '"2"' } });
  await site.answers("/c", { status: 404 });
  const asked = (await site.requested()).length;
  const source = await reader.sync(id);
  expect(source).toMatchObject({ status: "ready", pages_found: 7, pages_indexed: 5, pages_failed: 1, pages_skipped: 1 });
  expect(source.last_synced_at > last_synced_at).toBe(true);
  expect((await site.requested()).slice(asked).toSorted()).toEqual(["/", "/a", "/b", "/behind", "/c", "/deep", "/hidden"]);
  const [, conditional] = (await receivedBy(site.host)).filter(({ place }) => place === `${site.host}/deep`);
  expect(conditional?.headers).toMatchObject({ "if-none-match": '"1"', "if-modified-since": "Fri, 20 Nov 2026 10:00:00 GMT" });
  const after = await documentsOf(reader);
  const kept = (documents: typeof after) => documents.filter(({ url }) => !/\/[bc]$/.test(url));
  expect(kept(after)).toEqual(kept(before));
  expect(after.map(({ url }) => url)).toEqual(["/", "/a", "/b", "/behind", "/deep"].map((path) => site.at(path)));
  expect((await reader.search("When are refunds paid?"))[0].content).toContain("seven days");
  expect(await reader.search("zebras")).toEqual([]);
  expect(await reader.pages(id, "skipped")).toEqual({ "/hidden": "skipped: noindex" });
});

test("a sync reads pages again whose documents are missing, as after the import of an export that was made during a sync", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await runInDurableObject(indexStub(reader), (_, { storage: { sql } }) => {
    sql.exec("DELETE FROM documents WHERE url IN (?, ?)", site.at("/b"), site.at("/c"));
  });
  await site.has("/b", {
    text: "Refunds are paid within seven days, or ten if the parcel was damaged on its way to us.",
    headers: { ETag: '"2"' },
  });
  expect(await reader.sync(id)).toMatchObject({ status: "ready", pages_indexed: 6, pages_failed: 0 });
  expect((await reader.search("When are refunds paid?"))[0].content).toContain("seven days");
  expect((await reader.search("zebras"))[0].content).toContain("striped");
});

test("a sync of an unchanged site builds nothing", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  const state = async () => [await documentsOf(reader), await countRows(reader), await generationsOf(reader)];
  const before = await state();
  // Once the site answers whole pages again, once that nothing has changed.
  await reader.sync(id);
  expect(await state()).toEqual(before);
  for (const path of ["/", "/a", "/b", "/c", "/deep", "/hidden", "/behind"]) await site.answers(path, unmodified);
  const source = await reader.sync(id);
  expect(await state()).toEqual(before);
  expect(source).toMatchObject({ status: "ready", pages_indexed: 6, pages_skipped: 1 });
});

const generationsOf = (reader: Reader) =>
  runInDurableObject(indexStub(reader), (_, { storage: { sql } }) => sql.exec("SELECT id, state FROM generations").toArray());

test("pages that are no longer linked are removed", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await site.has("/", { links: ["/b"] });
  const source = await reader.sync(id);
  expect(source).toMatchObject({ status: "ready", pages_found: 2, pages_indexed: 2 });
  expect(await reader.pages(id)).toEqual({ "/": "indexed", "/b": "indexed" });
  expect(await reader.search("Lions roar")).toEqual([]);
});

test("a page with a transient failure stays in use, and so do the pages that it links to", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await site.answers("/a", { status: 500 });
  const source = await reader.sync(id);
  expect(source).toMatchObject({ status: "ready", pages_failed: 1, pages_indexed: 5 });
  expect(await reader.search("Parcels leave")).not.toEqual([]);
  expect(await reader.search("Lions roar")).not.toEqual([]);
  const listed = await reader.call("GET", `${reader.path}/${id}/pages?status=failed`);
  expect(listed.body).toMatchObject({
    total: 1,
    data: [{ url: site.at("/a"), status: "failed", reason: "http_500", in_use: true, title: "Title of /a" }],
  });
});

test.for<[string, Behaviour, string]>([
  ["robots.txt", { status: 500 }, "robots_unreachable"],
  ["", { status: 503 }, "nothing_read"],
])("a site whose /%s fails: the sync fails, and all that was read stays in use", async ([path, behaviour, code]) => {
  const site = await createTree();
  const reader = await createReader();
  const { id, last_synced_at, chunks_count } = await reader.read({ url: site.at("/") });
  const before = await documentsOf(reader);
  await site.answers(`/${path}`, behaviour);
  if (path === "") for (const other of ["/a", "/b", "/c", "/deep", "/hidden", "/behind"]) await site.answers(other, behaviour);
  const source = await reader.sync(id);
  expect(source).toMatchObject({ status: "failed", error: { code }, pages_indexed: 6, chunks_count, last_synced_at });
  expect(await documentsOf(reader)).toEqual(before);
  expect(await reader.search("Lions roar")).not.toEqual([]);
  // And it comes back.
  await site.answers(`/${path}`, { status: 404 });
  for (const other of ["", "a", "b", "c", "deep", "hidden", "behind"]) await site.answers(`/${other}`, unmodified);
  expect(await reader.sync(id)).toMatchObject({ status: "ready", pages_indexed: 6, error: null });
  expect(await documentsOf(reader)).toEqual(before);
});

test("a site that goes down during a sync keeps the pages that were not reached", async () => {
  const site = await createSite();
  const links = Array.from({ length: 40 }, (_, at) => `/p${at}`);
  await site.has("/", { links });
  await site.has("/behind-all", {});
  for (const link of links) await site.has(link, link === "/p39" ? { links: ["/behind-all"] } : {});
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  const before = await documentsOf(reader);
  expect(before).toHaveLength(42);
  for (const link of links.slice(5)) await site.answers(link, { status: 503 });
  const asked = (await site.requested()).length;
  expect(await reader.sync(id)).toMatchObject({ status: "ready", pages_indexed: 6, pages_failed: 36 });
  expect(await documentsOf(reader)).toEqual(before);
  // The crawl gives up before it has requested all pages that fail.
  expect((await site.requested()).length - asked).toBeLessThan(30);
});

test("pages that only a sitemap lists stay in use while it cannot be read, and go when it no longer lists them", async () => {
  const site = await createTree();
  const map = (...paths: string[]) => ({
    body: `<urlset>${paths.map((path) => `<url><loc>${site.at(path)}</loc></url>`).join("")}</urlset>`,
  });
  await site.answers("/sitemap.xml", map("/listed"));
  await site.has("/listed", { text: "Walruses lie on the ice." });
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await site.answers("/sitemap.xml", { status: 503 });
  expect(await reader.sync(id)).toMatchObject({ status: "ready", pages_indexed: 6, pages_failed: 1 });
  expect(await reader.pages(id, "failed")).toEqual({ "/listed": "failed: sitemap_unreachable" });
  expect(await reader.search("walruses")).not.toEqual([]);
  await site.answers("/sitemap.xml", map());
  expect(await reader.sync(id)).toMatchObject({ status: "ready", pages_indexed: 6, pages_failed: 0 });
  expect(await reader.search("walruses")).toEqual([]);
});

test("a page is fetched again under the URL that its site uses", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/a"] });
  await site.answers("/a", { status: 301, headers: { Location: "/a/" } });
  await site.has("/a/", {});
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await reader.sync(id);
  expect(await site.requested()).toEqual(["/", "/a", "/a/", "/", "/a/"]);
});

test("a new version of the pipeline reads every page in full", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await runInDurableObject(
    indexStub(reader),
    (_, { storage: { sql } }) => void sql.exec("UPDATE pages SET hash = '0:' || substr(hash, 3)"),
  );
  const asked = (await receivedBy(site.host)).length;
  expect(await reader.sync(id)).toMatchObject({ status: "ready", pages_indexed: 6 });
  const again = (await receivedBy(site.host)).slice(asked);
  expect(again.filter(({ headers }) => headers["if-none-match"] !== undefined)).toEqual([]);
});

// --- Crashes ---------------------------------------------------------------------------------------------------------

const DEAD = new Error("the machine is gone");

/** An environment whose every call to D1 and to the index is counted, and dies before or after the n-th. */
function dyingAt(call: number, isAfter: boolean) {
  let calls = 0;
  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    calls++;
    if (calls > call || (calls === call && !isAfter)) throw DEAD;
    const result = await work();
    if (calls === call) throw DEAD;
    return result;
  };
  const database = (inner: D1Database) => ({
    prepare: (statement: string) => inner.prepare(statement),
    batch: (statements: D1PreparedStatement[]) => guarded(() => inner.batch(statements)),
  });
  const bindings = {
    DB: database(env.DB),
    DB_1: database(env.DB_1),
    INDEX: {
      getByName: (name: string) => {
        const stub = env.INDEX.getByName(name);
        return {
          crawl: (source: never, step: never) => guarded(() => stub.crawl(source, step) as Promise<unknown>),
          removeSource: (id: string) => guarded(() => stub.removeSource(id)),
        };
      },
    },
  };
  return { bindings, isOver: () => calls < call };
}

test("a consumer that dies before or after any of its calls: the next one goes on, nothing is lost and nothing is there twice", async () => {
  for (const isAfter of [false, true]) {
    for (let call = 1; ; call++) {
      const site = await createTree();
      const reader = await createReader();
      const webhook = await reader.call("POST", "/webhooks", {
        url: "https://hooks.example.com/",
        events: ["source.synced", "source.failed"],
      });
      const { id } = await reader.add({ url: site.at("/") });
      const { bindings, isOver } = dyingAt(call, isAfter);
      const queue = catching(bindings);
      const startMs = Date.now();
      await ingest(queue.env, reader.message(id), () => startMs).catch((error: unknown) => expect(error).toBe(DEAD));
      // Whatever it left behind, the sweep finds it once its lease is over.
      await work(reader.message(id), {}, startMs + 10 * 60_000);
      expect(await reader.find(id)).toMatchObject({
        status: "ready",
        pages_found: 7,
        pages_indexed: 6,
        pages_skipped: 1,
        pages_failed: 0,
      });
      expect(await documentsOf(reader)).toHaveLength(6);
      const events = await query(
        id,
        "SELECT type FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.webhook_id = ?",
        webhook.body.id,
      );
      expect(events).toEqual([{ type: "source.synced" }]);
      if (isOver()) break;
      expect(call).toBeLessThan(60);
    }
  }
});

test("two consumers at once do the work once", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  await Promise.all(Array.from({ length: 5 }, () => work(reader.message(id))));
  expect(await reader.find(id)).toMatchObject({ status: "ready", pages_indexed: 6 });
  expect((await site.requested()).toSorted()).toEqual(["/", "/a", "/b", "/behind", "/c", "/deep", "/hidden"]);
});

test("a consumer that lost its lease finishes nothing, and what it read twice is there once", async () => {
  const site = await createTree();
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  let steps = 0;
  const bindings = {
    INDEX: {
      getByName: (name: string) => {
        const stub = env.INDEX.getByName(name);
        return {
          crawl: async (source: never, step: never) => {
            if (++steps === 3) {
              await query(id, "UPDATE sources SET lease_until = 1 WHERE id = ?", id);
              await work(reader.message(id));
            }
            return stub.crawl(source, step);
          },
        };
      },
    },
  };
  await work(reader.message(id), bindings);
  expect(await reader.find(id)).toMatchObject({ status: "ready", pages_indexed: 6 });
  expect(await documentsOf(reader)).toHaveLength(6);
});

test("a source that is deleted between any two steps leaves nothing behind, and nothing more is fetched of its site", async () => {
  for (let at = 1; ; at++) {
    const site = await createTree();
    const reader = await createReader();
    const { id } = await reader.add({ url: site.at("/") });
    let steps = 0;
    let askedAtDeletion = 0;
    const bindings = {
      INDEX: {
        getByName: (name: string) => {
          const stub = env.INDEX.getByName(name);
          return {
            crawl: async (source: never, step: never) => {
              if (++steps === at) {
                expect((await reader.call("DELETE", `${reader.path}/${id}`)).status).toBe(204);
                askedAtDeletion = (await site.requested()).length;
              }
              return stub.crawl(source, step);
            },
            removeSource: (sourceId: string) => stub.removeSource(sourceId),
          };
        },
      },
    };
    await work(reader.message(id), bindings);
    if (steps < at) break;
    expect(Object.values(await countRows(reader)).filter((rows) => rows > 0)).toEqual([]);
    if (at > 1) expect((await site.requested()).length).toBe(askedAtDeletion);
    expect(at).toBeLessThan(30);
  }
});

test("two sources of one site take turns", async () => {
  const site = await createTree();
  const reader = await createReader();
  const [one, other] = [await reader.add({ url: site.at("/") }), await reader.add({ url: site.at("/a") })];
  const first = indexStub(reader);
  const nowMs = Date.now();
  const sourceOf = (id: string, path: string) => ({
    id,
    type: "website" as const,
    url: site.at(path),
    maxPages: 10,
    maxBytes: 1_000_000,
    syncNumber: 0,
  });
  const step = { results: [], unfetched: [], isFirst: true, isLast: false, pauseMs: 0, nowMs };
  expect(await first.crawl(sourceOf(one.id, "/"), step)).toMatchObject({ fetch: [{ kind: "robots" }] });
  const waiting = await first.crawl(sourceOf(other.id, "/a"), step);
  expect(waiting).toMatchObject({ fetch: [], waitMs: expect.any(Number) });
  expect((waiting as { waitMs: number }).waitMs).toBeGreaterThan(3_000);
  // The first one is done for now.
  await first.crawl(sourceOf(one.id, "/"), { ...step, isLast: true });
  expect(await first.crawl(sourceOf(other.id, "/a"), step)).toMatchObject({ fetch: [{ kind: "robots" }] });
});

test("a page is read again after its noindex, which a header may hold without another validator", async () => {
  const site = await createSite();
  const headers = { ETag: '"1"' };
  await site.has("/", { links: ["/a", "/b"], headers });
  await site.has("/a", { text: "Zebras are striped animals.", headers: { ...headers, "X-Robots-Tag": "noindex" } });
  await site.has("/b", { text: "Lions roar at night.", headers });
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  expect(await reader.pages(id, "skipped")).toEqual({ "/a": "skipped: noindex" });
  await site.has("/a", { text: "Zebras are striped animals.", headers });
  await site.answers("/b", { status: 304, headers: { ...headers, "X-Robots-Tag": "noindex" } });
  await reader.sync(id);
  expect(await reader.pages(id, "skipped")).toEqual({ "/b": "skipped: noindex" });
  expect((await reader.search("zebras"))[0].content).toContain("striped");
  expect(await reader.search("lions")).toEqual([]);
});

test("a text that was read in a sync that failed is not taken for the one in use", async () => {
  const site = await createSite();
  const head = `<meta name="robots" content="noindex">`;
  await site.has("/", { text: "Zebras are striped animals." });
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await site.has("/", { text: "Lions roar at night.", head, headers: { ETag: '"2"' } });
  expect(await reader.sync(id)).toMatchObject({ status: "failed" });
  await site.has("/", { text: "Lions roar at night.", headers: { ETag: '"2"' } });
  expect(await reader.sync(id)).toMatchObject({ status: "ready" });
  expect((await reader.search("lions"))[0].content).toContain("roar");
  expect(await reader.search("zebras")).toEqual([]);
});

test("a page that was empty once is read again when its earlier content is back", async () => {
  const site = await createSite();
  const page = { text: "Zebras are striped animals.", headers: { ETag: '"1"' } };
  await site.has("/", { links: ["/a"] });
  await site.has("/a", page);
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  await site.answers("/a", { status: 200, body: "" });
  await reader.sync(id);
  expect(await reader.search("zebras")).toEqual([]);
  await site.has("/a", page);
  await reader.sync(id);
  const last = (await receivedBy(site.host)).findLast(({ place }) => place === `${site.host}/a`);
  expect(last?.headers).not.toHaveProperty("if-none-match");
  expect((await reader.search("zebras"))[0].content).toContain("striped");
});
