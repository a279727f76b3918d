import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { failAfterRetries, ingest } from "../../../src/knowledge/consumer.ts";
import { sweep } from "../../../src/sweep/sweep.ts";
import { operate, query } from "../../harness.ts";
import { catching, createReader, createSite, work } from "./site.ts";

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

/** Runs the sweep at a time; the sources of this workspace that it woke. */
async function sweepAt(nowMs: number, workspaceId: string): Promise<string[]> {
  const queue = catching();
  await sweep(queue.env, nowMs);
  return queue.caught.filter(({ body }) => body.workspaceId === workspaceId).map(({ body }) => body.sourceId);
}

async function createDailySite() {
  const site = await createSite();
  await site.has("/", {});
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/"), schedule: "daily" });
  return { site, reader, source, dueMs: Date.parse(source.next_sync_at) };
}

test("a daily source is synced once when it is due, and then scheduled again", async () => {
  const { reader, source, dueMs } = await createDailySite();
  const { id } = source;
  expect(dueMs - Date.now()).toBeGreaterThan(21 * HOUR);
  expect(dueMs - Date.now()).toBeLessThan(27 * HOUR);
  expect(await sweepAt(dueMs - 1, reader.workspaceId)).toEqual([]);
  expect(await sweepAt(dueMs, reader.workspaceId)).toEqual([id]);
  expect(await reader.find(id)).toMatchObject({ status: "pending", next_sync_at: null, pages_indexed: 1 });
  expect(await sweepAt(dueMs + 1, reader.workspaceId)).toEqual([]);
  await work(reader.message(id), {}, dueMs + 1000);
  const again = await reader.find(id);
  expect(again.status).toBe("ready");
  expect(Date.parse(again.next_sync_at) - dueMs).toBeGreaterThan(21 * HOUR);
});

test("a manual sync replaces the next scheduled one", async () => {
  const { reader, source } = await createDailySite();
  const { body } = await reader.call("POST", `${reader.path}/${source.id}/sync`);
  expect(body).toMatchObject({ status: "pending", next_sync_at: null });
  await work(reader.message(source.id), {}, Date.now() + 5 * HOUR);
  expect((await reader.find(source.id)).next_sync_at > source.next_sync_at).toBe(true);
});

test("a failed sync is scheduled again, also after a dead letter", async () => {
  const { site, reader, source, dueMs } = await createDailySite();
  await site.answers("/", { status: 404 });
  expect(await reader.sync(source.id)).toMatchObject({ status: "failed", next_sync_at: expect.any(String) });
  await reader.call("POST", `${reader.path}/${source.id}/sync`);
  await failAfterRetries(env, reader.message(source.id));
  const failed = await reader.find(source.id);
  expect(failed).toMatchObject({ status: "failed", error: { code: "ingestion_failed" }, next_sync_at: expect.any(String) });
  expect(await sweepAt(dueMs + DAY, reader.workspaceId)).toEqual([source.id]);
});

test("the dead letter of an earlier sync does not fail a later one", async () => {
  const { reader, source } = await createDailySite();
  await reader.call("POST", `${reader.path}/${source.id}/sync`);
  await failAfterRetries(env, { ...reader.message(source.id), syncNumber: 0 });
  expect(await reader.find(source.id)).toMatchObject({ status: "pending", error: null });
});

test("manual sources and texts are never due, nor are those of a workspace that is being erased", async () => {
  const { reader, dueMs } = await createDailySite();
  const site = await createSite();
  await site.has("/", {});
  expect(await reader.read({ url: site.at("/"), schedule: "manual" })).toMatchObject({ status: "ready", next_sync_at: null });
  expect(await reader.read({ type: "text", text: "Words.", url: null, schedule: "daily" })).toMatchObject({
    status: "ready",
    next_sync_at: null,
  });
  await operate("DELETE", `/workspaces/${reader.workspaceId}`);
  expect(await sweepAt(dueMs + 30 * DAY, reader.workspaceId)).toEqual([]);
});

test("a paused crawl is not claimed before its time, and by any wake-up after it", async () => {
  const site = await createSite();
  await site.answers("/robots.txt", { status: 429, headers: { "Retry-After": "600" } }, { status: 404 });
  await site.has("/", {});
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  const startMs = Date.now();
  // Its own wake-up is lost.
  const queue = catching();
  await ingest(queue.env, reader.message(id), () => startMs);
  expect(queue.caught).toMatchObject([{ body: { sourceId: id }, delaySeconds: 600 }]);
  expect(await reader.find(id)).toMatchObject({ status: "processing" });
  expect(await query(id, "SELECT lease_id FROM sources WHERE id = ?", id)).toEqual([{ lease_id: null }]);
  expect(await sweepAt(startMs + 599_000, reader.workspaceId)).toEqual([]);
  await ingest(queue.env, reader.message(id), () => startMs + 599_000);
  expect(await site.requested()).toEqual([]);
  expect(await sweepAt(startMs + 600_001, reader.workspaceId)).toEqual([id]);
  await work(reader.message(id), {}, startMs + 600_001);
  expect(await reader.find(id)).toMatchObject({ status: "ready", pages_indexed: 1 });
});
