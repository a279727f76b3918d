import { createExecutionContext, createMessageBatch, getQueueResult, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ingest } from "../../src/knowledge/consumer.ts";
import { newId } from "../../src/platform/db/ids.ts";
import { countRows, createAgent, createWorkspace, deliver, envWith, learn, listen, query } from "../harness.ts";
import { handleQueue } from "../queue-handler.ts";
import { ROOM } from "./agent-index.ts";

const QUEUE = "support-agent-ingestion";
const DEAD_LETTERS = "support-agent-ingestion-dlq";
const TEXT = "Refunds are paid within five working days.";

async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const path = `/agents/${agent.id}/sources`;
  const index = env.INDEX.getByName(`${workspace.id}/${agent.id}`);
  return {
    workspace,
    path,
    index,
    create: async (text = TEXT): Promise<string> => (await workspace.call("POST", path, { type: "text", name: "Handbook", text })).body.id,
    learn: (text = TEXT) => learn(workspace, agent.id, text),
    /** The wake-up for a source. */
    message: (sourceId: string) => ({ workspaceId: workspace.id, agentId: agent.id, sourceId }),
    sync: (id: string) => workspace.call("POST", `${path}/${id}/sync`),
    find: async (id: string) => (await workspace.call("GET", path)).body.data.find((source: { id: string }) => source.id === id),
    search: async (words = "refunds") => (await workspace.call("POST", `/agents/${agent.id}/search`, { query: words })).body.data,
    /** Changes what the object has of a text, as nobody but a fault would. */
    inIndex: (statement: string) => runInDurableObject(index, (_, { storage }) => void storage.sql.exec(statement)),
    generations: () =>
      runInDurableObject(index, (_, { storage: { sql } }) =>
        sql.exec<{ state: string; run_id: string }>("SELECT state, run_id FROM generations").toArray(),
      ),
  };
}

const rowOf = async (id: string) => (await query(id, "SELECT * FROM sources WHERE id = ?", id))[0]!;

/** Delivers several messages in one batch, as the platform does. */
async function deliverBatch(bodies: unknown[]) {
  const messages = bodies.map((body, at) => ({ id: `${at}`, timestamp: new Date(), attempts: 1, body }));
  const batch = createMessageBatch(QUEUE, messages);
  await handleQueue(batch, env);
  return getQueueResult(batch, createExecutionContext());
}

/** The environment with an index whose steps are watched: `before` runs before each one. */
function watched(before: (step: number) => Promise<void> | void): Env {
  let steps = 0;
  return envWith({
    INDEX: {
      getByName: (name: string) => {
        const stub = env.INDEX.getByName(name);
        return {
          ingestText: async (sourceId: string, runId: string) => {
            await before(++steps);
            return stub.ingestText(sourceId, runId);
          },
          removeSource: (sourceId: string) => stub.removeSource(sourceId),
        };
      },
    },
  });
}

/** Long enough for several steps. */
const LONG_TEXT = Array.from(
  { length: 400 },
  (_, at) => `# Chapter ${at}\n\nRule ${at}: refunds of kind${at} are paid within ${at} days.`,
).join("\n\n");

// --- Sync ------------------------------------------------------------------------------------------------------------

test("a sync of a ready source makes it pending, keeps its counts, and reads it again", async () => {
  const { learn, sync, find, search, message } = await createFixture();
  const source = await learn();
  const synced = await sync(source.id);
  expect(synced.status).toBe(202);
  expect(synced.body).toEqual({ ...source, status: "pending", updated_at: expect.any(String) });
  expect(await search()).toHaveLength(1);
  await deliver(QUEUE, message(source.id));
  const again = await find(source.id);
  expect(again).toMatchObject({ status: "ready", pages_indexed: 1, chunks_count: 1 });
  expect(again.last_synced_at >= source.last_synced_at).toBe(true);
});

test("an unchanged text is not built again", async () => {
  const { learn, sync, generations, message } = await createFixture();
  const source = await learn();
  const before = await generations();
  await sync(source.id);
  await deliver(QUEUE, message(source.id));
  expect(await generations()).toEqual(before);
});

test("a sync joins one that is pending or running", async () => {
  const { create, sync } = await createFixture();
  const id = await create();
  for (const status of ["pending", "processing"]) {
    await query(id, "UPDATE sources SET status = ?, lease_id = 'run', lease_until = 9e15, updated_at = 5 WHERE id = ?", status, id);
    const before = await rowOf(id);
    const synced = await sync(id);
    expect([synced.status, synced.body.status]).toEqual([202, status]);
    expect(await rowOf(id)).toEqual(before);
  }
});

test("ten syncs at once are one", async () => {
  const { learn, sync, find, message } = await createFixture();
  const source = await learn();
  const synced = await Promise.all(Array.from({ length: 10 }, () => sync(source.id)));
  expect(synced.map(({ status, body }) => [status, body.status])).toEqual(Array.from({ length: 10 }, () => [202, "pending"]));
  await deliver(QUEUE, message(source.id));
  expect(await find(source.id)).toMatchObject({ status: "ready" });
});

test("a sync of a failed source clears its error", async () => {
  const { learn, sync, find } = await createFixture();
  const source = await learn(" ");
  expect(source).toMatchObject({ status: "failed", error: { code: "text_empty" } });
  expect((await sync(source.id)).body).toMatchObject({ status: "pending", error: null });
  expect(await find(source.id)).toMatchObject({ status: "pending", error: null });
});

// --- The last good index ---------------------------------------------------------------------------------------------

test.for<[string, string, string]>([
  ["is gone", "DELETE FROM texts", "text_missing"],
  ["holds nothing", "UPDATE texts SET hash = 'other'; UPDATE text_parts SET bytes = x'20'", "text_empty"],
])("a sync that fails because the text %s leaves what was read in use", async ([, statement, code]) => {
  const { learn, sync, find, search, inIndex, generations, message } = await createFixture();
  const source = await learn();
  const found = await search();
  await inIndex(statement);
  await sync(source.id);
  await deliver(QUEUE, message(source.id));
  expect(await find(source.id)).toMatchObject({
    status: "failed",
    error: { code, message: expect.any(String) },
    pages_indexed: 1,
    chunks_count: 1,
    last_synced_at: source.last_synced_at,
  });
  expect(await search()).toEqual(found);
  expect((await generations()).map(({ state }) => state)).toEqual(["live"]);
});

test("while a new text is built, searches find only the old one, and then only the new one", async () => {
  const { learn, sync, index, search, message } = await createFixture();
  const source = await learn();
  await index.stageText(source.id, "Handbook", LONG_TEXT, ROOM);
  await sync(source.id);
  const seen: string[] = [];
  const before = async () => void seen.push(...(await search()).map(({ content }: { content: string }) => content));
  await ingest(watched(before), message(source.id));
  expect(seen.length).toBeGreaterThan(2);
  expect(new Set(seen)).toEqual(new Set([TEXT]));
  const after = await search();
  expect(after.length).toBeGreaterThan(1);
  expect(after.map(({ content }: { content: string }) => content)).not.toContain(TEXT);
});

// --- Once ------------------------------------------------------------------------------------------------------------

test("the same wake-up ten times at once does the work once", async () => {
  const { create, find, generations, message } = await createFixture();
  const id = await create(LONG_TEXT);
  const steps: number[] = [];
  const counting = watched((step) => void steps.push(step));
  await Promise.all(Array.from({ length: 10 }, () => ingest(counting, message(id))));
  const alone = await create(LONG_TEXT);
  const stepsAlone: number[] = [];
  await ingest(
    watched((step) => void stepsAlone.push(step)),
    message(alone),
  );
  expect(stepsAlone.length).toBeGreaterThan(2);
  expect(steps).toHaveLength(stepsAlone.length);
  expect(await find(id)).toMatchObject({ status: "ready", pages_indexed: 1, chunks_count: (await find(alone)).chunks_count });
  expect(await generations()).toHaveLength(2);
});

test("the same wake-up ten times in one batch does the work once, and every message is acknowledged", async () => {
  const { create, find, message } = await createFixture();
  const id = await create();
  const result = await deliverBatch(Array.from({ length: 10 }, () => message(id)));
  expect(result.explicitAcks).toHaveLength(10);
  expect(result.retryMessages).toEqual([]);
  expect(await find(id)).toMatchObject({ status: "ready", chunks_count: 1 });
});

test("a wake-up for a source that is ready, failed or gone does nothing", async () => {
  const { learn, path, workspace, message } = await createFixture();
  const ready = await learn();
  const failed = await learn(" ");
  const gone = await learn();
  await workspace.call("DELETE", `${path}/${gone.id}`);
  const before = [await rowOf(ready.id), await rowOf(failed.id), await countRows()];
  for (const { id } of [ready, failed, gone]) expect((await deliver(QUEUE, message(id))).retryMessages).toEqual([]);
  expect([await rowOf(ready.id), await rowOf(failed.id), await countRows()]).toEqual(before);
});

test("a wake-up whose identifier names a shard that is not bound is dropped", async () => {
  const { message } = await createFixture();
  const sourceId = newId(200, Date.now());
  expect(await deliver(QUEUE, message(sourceId))).toMatchObject({ explicitAcks: [expect.any(String)], retryMessages: [] });
  expect(await deliver(DEAD_LETTERS, message(sourceId))).toMatchObject({ explicitAcks: [expect.any(String)], retryMessages: [] });
});

// --- Leases ----------------------------------------------------------------------------------------------------------

test("a source that another run has leased is not claimed until the lease expires", async () => {
  const { create, find, message } = await createFixture();
  const id = await create();
  const hold = (untilMs: number) =>
    query(id, "UPDATE sources SET status = 'processing', lease_id = 'other', lease_until = ? WHERE id = ?", untilMs, id);
  await hold(Date.now() + 60_000);
  const held = await rowOf(id);
  expect((await deliver(QUEUE, message(id))).retryMessages).toEqual([]);
  expect(await rowOf(id)).toEqual(held);
  await hold(Date.now() - 1);
  await deliver(QUEUE, message(id));
  expect(await find(id)).toMatchObject({ status: "ready" });
  expect(await rowOf(id)).toMatchObject({ lease_id: null, lease_until: null });
});

test("a source is processing under a lease of minutes while it is read", async () => {
  const { create, find, message } = await createFixture();
  const id = await create();
  let seen: Record<string, unknown> = {};
  await ingest(
    watched(async () => {
      expect(await find(id)).toMatchObject({ status: "processing" });
      seen = await rowOf(id);
    }),
    message(id),
  );
  expect(seen.lease_id).toEqual(expect.any(String));
  expect(seen.lease_until).toBeGreaterThan(Date.now() + 60_000);
});

test("a run that lost its lease finishes nothing: the one that took over does", async () => {
  const { create, find, generations, message } = await createFixture();
  const id = await create(LONG_TEXT);
  let overtaken: Record<string, unknown> = {};
  const slow = watched(async (step) => {
    if (step !== 2) return;
    // The lease ran out between two steps, and the sweep's wake-up hands the source to another run.
    await query(id, "UPDATE sources SET lease_until = 1 WHERE id = ?", id);
    await deliver(QUEUE, message(id));
    overtaken = await rowOf(id);
  });
  await ingest(slow, message(id));
  expect(overtaken).toMatchObject({ status: "ready", lease_id: null });
  expect(await rowOf(id)).toEqual(overtaken);
  expect((await generations()).map(({ state }) => state)).toEqual(["live"]);
  expect((await find(id)).chunks_count).toBeGreaterThan(100);
});

test("a source deleted between two steps leaves nothing behind", async () => {
  const { workspace, path, create, search, index, generations, message } = await createFixture();
  for (const at of [1, 2, 3]) {
    const id = await create(LONG_TEXT);
    await ingest(
      watched(async (step) => {
        if (step === at) expect((await workspace.call("DELETE", `${path}/${id}`)).status).toBe(204);
      }),
      message(id),
    );
    expect(await search()).toEqual([]);
    expect(await generations()).toEqual([]);
    const texts = await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("SELECT * FROM texts").toArray());
    expect(texts).toEqual([]);
  }
});

test("a text that was stored after its source was deleted is removed by the source's wake-up", async () => {
  const { workspace, path, index, create, message, search } = await createFixture();
  const id = await create();
  expect((await workspace.call("DELETE", `${path}/${id}`)).status).toBe(204);
  // The request that added it was slow, and keeps the text only now.
  await index.stageText(id, "Handbook", TEXT, ROOM);
  expect((await deliver(QUEUE, message(id))).retryMessages).toEqual([]);
  expect(await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("SELECT * FROM texts").toArray())).toEqual([]);
  expect(await search()).toEqual([]);
});

// --- Failure ---------------------------------------------------------------------------------------------------------

const BROKEN = () => Promise.reject(new Error("the object is overloaded"));

test("a run that throws releases the source, and its wake-up is retried with growing delays", async () => {
  const { create, find, message } = await createFixture();
  const id = await create();
  await expect(ingest(watched(BROKEN), message(id))).rejects.toThrow("overloaded");
  expect(await find(id)).toMatchObject({ status: "pending", error: null });
  expect(await rowOf(id)).toMatchObject({ lease_id: null, lease_until: null });
  await deliver(QUEUE, message(id), 2);
  expect(await find(id)).toMatchObject({ status: "ready" });
});

test("a wake-up that failed too often fails its source, with what was read before still in use", async () => {
  const { learn, sync, find, search, message } = await createFixture();
  const source = await learn();
  await sync(source.id);
  await expect(ingest(watched(BROKEN), message(source.id))).rejects.toThrow();
  expect(await deliver(DEAD_LETTERS, message(source.id))).toMatchObject({ explicitAcks: [expect.any(String)] });
  expect(await find(source.id)).toMatchObject({
    status: "failed",
    error: { code: "ingestion_failed", message: expect.stringContaining("Sync it again") },
    chunks_count: 1,
  });
  expect(await search()).toHaveLength(1);
  // A sync starts anew.
  await sync(source.id);
  await deliver(QUEUE, message(source.id));
  expect(await find(source.id)).toMatchObject({ status: "ready", error: null });
});

test("a dead letter leaves a source alone that another run has leased, or that is to continue later", async () => {
  const { create, message, workspace } = await createFixture();
  const hook = await listen(workspace, ["source.failed"]);
  const id = await create();
  const hold = (leaseId: string | null, untilMs: number) =>
    query(id, "UPDATE sources SET status = 'processing', lease_id = ?, lease_until = ? WHERE id = ?", leaseId, untilMs, id);
  const deliveries = async () => (await workspace.call("GET", `/webhooks/${hook.id}/deliveries`)).body.total;
  for (const leaseId of ["other", null]) {
    await hold(leaseId, Date.now() + 60_000);
    const held = await rowOf(id);
    await deliver(DEAD_LETTERS, message(id));
    expect(await rowOf(id)).toEqual(held);
  }
  expect(await deliveries()).toBe(0);
  await hold("other", Date.now() - 1);
  await deliver(DEAD_LETTERS, message(id));
  expect(await rowOf(id)).toMatchObject({ status: "failed", error_code: "ingestion_failed", lease_id: null });
  expect(await deliveries()).toBe(1);
});

test("a dead letter that comes after the source was read changes nothing", async () => {
  const { learn, message } = await createFixture();
  const source = await learn();
  const before = await rowOf(source.id);
  await deliver(DEAD_LETTERS, message(source.id));
  expect(await rowOf(source.id)).toEqual(before);
});
