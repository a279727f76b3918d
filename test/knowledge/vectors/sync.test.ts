import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import type { KnowledgeIndex } from "../../../src/knowledge/knowledge-index.ts";
import { IndexStore } from "../../../src/knowledge/indexing/store.ts";
import { dump, found, type Index, ingest, load, longText, newIndex, search, ROOM } from "../agent-index.ts";
import { alarmAt, bind, catchUp, countVisible, makeAllDue, setUpVectors, queuedTasks, runAlarm } from "./setup.ts";
import { VectorizeStandIn } from "../../stand-ins/vectorize.ts";
import { evict } from "../../harness.ts";

const DONE = { vectors: [], unnamed: 0 };

/** A text of sections, each of a word of its own. */
function sections(words: readonly string[]): string {
  return words
    .map((word) => `## About ${word}\n\nThis section speaks of the ${word} alone, at some length and in some detail.`)
    .join("\n\n");
}

async function sync(index: Index, sourceId: string, text: string, runId = crypto.randomUUID()): Promise<void> {
  await index.stageText(sourceId, "Animals", text, ROOM);
  expect(await ingest(index, sourceId, runId)).toMatchObject({ outcome: "ready" });
}

test("every chunk is embedded, within the limits of model and vector index", async () => {
  const setup = setUpVectors();
  await sync(setup.index, "long", longText(2_500));
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(2_500);
  expect(setup.ai.embedded).toHaveLength(2_500);
  expect(Math.max(...setup.ai.batches)).toBe(100);
  const [first] = setup.vectors.visible.values();
  expect(first).toMatchObject({ namespace: setup.workspaceId, metadata: { agent: setup.agentId } });
  expect(await queuedTasks(setup.index)).toEqual(DONE);
  await setup.index.removeSource("long");
  await catchUp(setup.index);
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(0);
  expect(await queuedTasks(setup.index)).toEqual(DONE);
  const most = (name: string) => Math.max(...setup.vectors.calls.filter((call) => call.name === name).map(({ size }) => size));
  expect([most("deleteByIds"), most("getByIds")]).toEqual([100, 20]);
}, 60_000);

test("a call with long texts stays within the token limit of the model", async () => {
  const setup = setUpVectors();
  const long = Array.from({ length: 60 }, (_, at) => `## Part ${at}\n\n${`Absatz${at} Rückerstattung 退款 `.repeat(100)}`).join("\n\n");
  await sync(setup.index, "long", long);
  await catchUp(setup.index);
  expect(setup.ai.batches.length).toBeGreaterThan(1);
  const bytes = setup.ai.embedded.map((text) => new TextEncoder().encode(text).length);
  expect(Math.max(...bytes)).toBeLessThanOrEqual(8_000);
  expect(Math.max(...setup.ai.batches) * Math.min(...bytes)).toBeLessThanOrEqual(120_000);
});

test.each(["embed", "upsert"] as const)("a sync catches up after %s was down", async (part) => {
  const setup = setUpVectors();
  if (part === "embed") setup.ai.faults.set("embed", "fails");
  else setup.vectors.faults.set("upsert", "fails");
  await sync(setup.index, "animals", sections(["zebra", "okapi"]));
  await runAlarm(setup.index);
  expect(await found(setup.index, "zebra")).toEqual(["animals"]);
  expect(countVisible(setup)).toBe(0);
  expect((await alarmAt(setup.index))!).toBeGreaterThan(Date.now());
  await evict(setup.index);
  setup.ai.faults.clear();
  setup.vectors.faults.clear();
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(2);
});

test("the backoff grows up to 15 minutes", async () => {
  const setup = setUpVectors();
  setup.vectors.faults.set("upsert", "fails");
  await sync(setup.index, "animals", sections(["zebra"]));
  const waits: number[] = [];
  for (let run = 0; run < 12; run++) {
    await runAlarm(setup.index);
    waits.push(Math.round(((await alarmAt(setup.index))! - Date.now()) / 1_000));
  }
  expect(waits.slice(0, 4).map((seconds) => seconds > 0)).toEqual([true, true, true, true]);
  expect(waits[3]!).toBeGreaterThan(2 * waits[1]!);
  expect(waits.at(-1)).toBeLessThanOrEqual(900);
});

test("a text that the model refuses is skipped and retried the next day", async () => {
  const setup = setUpVectors();
  setup.ai.refused = "okapi";
  await sync(setup.index, "animals", sections(["zebra", "okapi", "lemur", "camel", "tapir"]));
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(4);
  expect((await queuedTasks(setup.index)).vectors).toMatchObject([{ task: "put" }]);
  setup.ai.refused = undefined;
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(5);
});

test("invalid vectors are not stored", async () => {
  const setup = setUpVectors();
  setup.ai.faults.set("embed", "nonsense");
  await sync(setup.index, "animals", sections(["zebra"]));
  await runAlarm(setup.index);
  expect(setup.vectors.calls).toEqual([]);
  expect((await queuedTasks(setup.index)).vectors).toMatchObject([{ task: "put" }]);
});

test("a re-sync embeds only what changed", async () => {
  const setup = setUpVectors();
  const words = ["zebra", "okapi", "lemur", "camel", "tapir"];
  await sync(setup.index, "animals", sections(words));
  await catchUp(setup.index);
  setup.ai.clear();
  await sync(setup.index, "animals", sections(words.with(1, "hippo")));
  await catchUp(setup.index);
  expect(setup.ai.embedded).toEqual([expect.stringContaining("hippo")]);
  expect(countVisible(setup)).toBe(5);
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect([countVisible(setup), await queuedTasks(setup.index)]).toEqual([5, DONE]);
  setup.ai.clear();
  await sync(setup.index, "animals", sections(words.with(1, "hippo")));
  await catchUp(setup.index);
  expect(setup.ai.embedded).toEqual([]);
});

test("equal texts share one vector until the last of them is deleted", async () => {
  const setup = setUpVectors();
  await sync(setup.index, "one", sections(["zebra"]));
  await sync(setup.index, "two", sections(["zebra"]));
  await catchUp(setup.index);
  expect(setup.ai.embedded).toHaveLength(1);
  expect(await found(setup.index, "zebra")).toEqual(["one", "two"]);
  await setup.index.removeSource("one");
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(1);
  await setup.index.removeSource("two");
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(0);
});

test("no vector of an abandoned generation stays", async () => {
  const setup = setUpVectors();
  await setup.index.stageText("long", "Animals", longText(300), ROOM);
  await setup.index.ingestText("long", "first");
  await catchUp(setup.index);
  expect(countVisible(setup)).toBeGreaterThan(0);
  await setup.index.removeSource("long");
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(0);
});

test("vectors are deleted even if the index is down at first, and their deletion is verified", async () => {
  const setup = setUpVectors();
  await sync(setup.index, "animals", sections(["zebra", "okapi"]));
  await catchUp(setup.index);
  const kept = [...setup.vectors.visible.values()];
  setup.vectors.faults.set("deleteByIds", "fails");
  await setup.index.removeSource("animals");
  await runAlarm(setup.index);
  expect(countVisible(setup)).toBe(2);
  await evict(setup.index);
  setup.vectors.faults.clear();
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(0);
  expect((await queuedTasks(setup.index)).vectors.map(({ task }) => task)).toEqual(["verify", "verify"]);
  // A put that was thought lost arrives after all.
  setup.vectors.visible.set(kept[0]!.id, kept[0]!);
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(0);
  expect((await queuedTasks(setup.index)).vectors.map(({ task }) => task)).toEqual(["verify"]);
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(await queuedTasks(setup.index)).toEqual(DONE);
});

test("a vector that is being removed is put again when its text comes back", async () => {
  const setup = setUpVectors();
  await sync(setup.index, "animals", sections(["zebra"]));
  await catchUp(setup.index);
  await setup.index.removeSource("animals");
  await catchUp(setup.index);
  await sync(setup.index, "animals", sections(["zebra"]));
  await catchUp(setup.index);
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect([countVisible(setup), await queuedTasks(setup.index)]).toEqual([1, DONE]);
});

test("another model version embeds every chunk again", async () => {
  const setup = setUpVectors();
  await sync(setup.index, "animals", sections(["zebra", "okapi"]));
  await catchUp(setup.index);
  const before = [...setup.vectors.visible.keys()];
  bind({ VECTORS_ROUND: "2" });
  try {
    await evict(setup.index);
    await search(setup.index, "zebra");
    await catchUp(setup.index);
    await makeAllDue(setup.index);
    await catchUp(setup.index);
    expect(countVisible(setup)).toBe(2);
    for (const id of before) expect(setup.vectors.visible.has(id)).toBe(false);
    expect(await queuedTasks(setup.index)).toEqual(DONE);
  } finally {
    bind({ VECTORS_ROUND: undefined });
  }
});

test("vectors follow their workspace into the index of another database, and serve meanwhile", async () => {
  const setup = setUpVectors();
  await sync(setup.index, "animals", sections(["zebra", "okapi"]));
  await catchUp(setup.index);
  const [map, own] = [env.SHARD_MAP, new VectorizeStandIn()];
  bind({ VECTORS_1: own, SHARD_MAP: "0=DB_1" });
  try {
    await evict(setup.index);
    expect(await search(setup.index, "zebra")).not.toEqual([]);
    await catchUp(setup.index);
    await makeAllDue(setup.index);
    await catchUp(setup.index);
    expect([countVisible(setup), own.visible.size]).toEqual([0, 2]);
    expect(await search(setup.index, "zebra")).not.toEqual([]);
    expect(await queuedTasks(setup.index)).toEqual(DONE);
    // Without an index of its own, the database uses that of DB.
    bind({ VECTORS_1: undefined });
    await evict(setup.index);
    await search(setup.index, "zebra");
    await catchUp(setup.index);
    expect(countVisible(setup)).toBe(2);
  } finally {
    bind({ VECTORS_1: undefined, SHARD_MAP: map });
  }
});

test("chunks from before the vector index are embedded", async () => {
  bind({ AI: undefined, VECTORS: undefined });
  const index = newIndex();
  await sync(index, "animals", sections(["zebra", "okapi"]));
  const tables = Object.keys(await runInDurableObject(index, (_, { storage }) => dump(storage.sql)));
  expect(tables.filter((name) => ["vectors", "chunk_vectors"].includes(name))).toEqual([]);
  expect(await alarmAt(index)).toBe(null);
  await evict(index);
  const setup = setUpVectors(index);
  await search(index, "zebra");
  await catchUp(index);
  expect(countVisible(setup)).toBe(2);
});

test("a write that is rolled back queues no vectors", async () => {
  const setup = setUpVectors();
  await load(setup.index, { first: "The zebra lives in Africa and eats grass all day long." });
  await catchUp(setup.index);
  await setup.index.stageText("second", "Animals", sections(["okapi"]), ROOM);
  await runInDurableObject(setup.index, async (instance: KnowledgeIndex, { storage }) => {
    storage.sql.exec("CREATE TRIGGER fails BEFORE UPDATE ON generations BEGIN SELECT RAISE(ABORT, 'no'); END");
    await expect(instance.ingestText("second", "run")).rejects.toThrow("no");
    storage.sql.exec("DROP TRIGGER fails");
  });
  expect(await queuedTasks(setup.index)).toEqual(DONE);
});

test("the listener is called once for a committed write, and not for one that failed", async () => {
  await runInDurableObject(newIndex(), (_, { storage }) => {
    const onWrite = vi.fn();
    const store = new IndexStore(storage, onWrite);
    const part = () => store.write(() => store.putText("text", { name: "Text", hash: "1" }, new Uint8Array()));
    const breaks = () => store.write(() => [part(), JSON.parse("no")]);
    part();
    expect(breaks).toThrow();
    expect(onWrite).toHaveBeenCalledTimes(1);
    store.write(part);
    expect(onWrite).toHaveBeenCalledTimes(2);
  });
});
