import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import type { KnowledgeIndex } from "../../../src/knowledge/index.ts";
import { IndexStore } from "../../../src/knowledge/indexing/store.ts";
import { dump, found, type Index, ingest, load, longText, newIndex, search } from "../agent-index.ts";
import { alarmOf, bind, catchUp, countVisible, letTimePass, newDesk, outstanding, runAlarm } from "./desk.ts";

const DONE = { vectors: [], unnamed: 0 };

/** A text of sections, each of a word of its own. */
function sections(words: readonly string[]): string {
  return words
    .map((word) => `## About ${word}\n\nThis section speaks of the ${word} alone, at some length and in some detail.`)
    .join("\n\n");
}

async function sync(index: Index, sourceId: string, text: string, runId = crypto.randomUUID()): Promise<void> {
  await index.stageText(sourceId, "Animals", text);
  expect(await ingest(index, sourceId, runId)).toMatchObject({ outcome: "ready" });
}

it("embeds every chunk, within the limits of the model and of the index", async () => {
  const desk = newDesk();
  await sync(desk.index, "long", longText(2_500));
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(2_500);
  expect(desk.ai.embedded).toHaveLength(2_500);
  expect(Math.max(...desk.ai.batches)).toBe(100);
  const [first] = desk.vectors.visible.values();
  expect(first).toMatchObject({ namespace: desk.workspaceId, metadata: { agent: desk.agentId } });
  expect(await outstanding(desk.index)).toEqual(DONE);
  await desk.index.removeSource("long");
  await catchUp(desk.index);
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(0);
  expect(await outstanding(desk.index)).toEqual(DONE);
  const most = (name: string) => Math.max(...desk.vectors.calls.filter((call) => call.name === name).map(({ size }) => size));
  expect([most("deleteByIds"), most("getByIds")]).toEqual([100, 20]);
}, 60_000);

it("keeps a call of long texts under what the model takes together", async () => {
  const desk = newDesk();
  const long = Array.from({ length: 60 }, (_, at) => `## Part ${at}\n\n${`Absatz${at} Rückerstattung 退款 `.repeat(100)}`).join("\n\n");
  await sync(desk.index, "long", long);
  await catchUp(desk.index);
  expect(desk.ai.batches.length).toBeGreaterThan(1);
  const bytes = desk.ai.embedded.map((text) => new TextEncoder().encode(text).length);
  expect(Math.max(...bytes)).toBeLessThanOrEqual(8_000);
  expect(Math.max(...desk.ai.batches) * Math.min(...bytes)).toBeLessThanOrEqual(120_000);
});

it.each(["embed", "upsert"] as const)("catches up when %s was down while a source was built", async (part) => {
  const desk = newDesk();
  if (part === "embed") desk.ai.faults.set("embed", "fails");
  else desk.vectors.faults.set("upsert", "fails");
  await sync(desk.index, "animals", sections(["zebra", "okapi"]));
  await runAlarm(desk.index);
  expect(await found(desk.index, "zebra")).toEqual(["animals"]);
  expect(countVisible(desk)).toBe(0);
  expect((await alarmOf(desk.index))!).toBeGreaterThan(Date.now());
  await evictDurableObject(desk.index);
  desk.ai.faults.clear();
  desk.vectors.faults.clear();
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(2);
});

it("waits longer after each failure, and no longer than a quarter of an hour", async () => {
  const desk = newDesk();
  desk.vectors.faults.set("upsert", "fails");
  await sync(desk.index, "animals", sections(["zebra"]));
  const waits: number[] = [];
  for (let run = 0; run < 12; run++) {
    await runAlarm(desk.index);
    waits.push(Math.round(((await alarmOf(desk.index))! - Date.now()) / 1_000));
  }
  expect(waits.slice(0, 4).map((seconds) => seconds > 0)).toEqual([true, true, true, true]);
  expect(waits[3]!).toBeGreaterThan(2 * waits[1]!);
  expect(waits.at(-1)).toBeLessThanOrEqual(900);
});

it("embeds all but a text that the model refuses, and tries that one again another day", async () => {
  const desk = newDesk();
  desk.ai.refused = "okapi";
  await sync(desk.index, "animals", sections(["zebra", "okapi", "lemur", "camel", "tapir"]));
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(4);
  expect((await outstanding(desk.index)).vectors).toMatchObject([{ task: "put" }]);
  desk.ai.refused = undefined;
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(5);
});

it("stores nothing that a model makes up", async () => {
  const desk = newDesk();
  desk.ai.faults.set("embed", "nonsense");
  await sync(desk.index, "animals", sections(["zebra"]));
  await runAlarm(desk.index);
  expect(desk.vectors.calls).toEqual([]);
  expect((await outstanding(desk.index)).vectors).toMatchObject([{ task: "put" }]);
});

it("embeds with another sync what changed, and nothing else", async () => {
  const desk = newDesk();
  const words = ["zebra", "okapi", "lemur", "camel", "tapir"];
  await sync(desk.index, "animals", sections(words));
  await catchUp(desk.index);
  desk.ai.clear();
  await sync(desk.index, "animals", sections(words.with(1, "hippo")));
  await catchUp(desk.index);
  expect(desk.ai.embedded).toEqual([expect.stringContaining("hippo")]);
  expect(countVisible(desk)).toBe(5);
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect([countVisible(desk), await outstanding(desk.index)]).toEqual([5, DONE]);
  desk.ai.clear();
  await sync(desk.index, "animals", sections(words.with(1, "hippo")));
  await catchUp(desk.index);
  expect(desk.ai.embedded).toEqual([]);
});

it("keeps one vector for texts that are equal, until the last of them goes", async () => {
  const desk = newDesk();
  await sync(desk.index, "one", sections(["zebra"]));
  await sync(desk.index, "two", sections(["zebra"]));
  await catchUp(desk.index);
  expect(desk.ai.embedded).toHaveLength(1);
  expect(await found(desk.index, "zebra")).toEqual(["one", "two"]);
  await desk.index.removeSource("one");
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(1);
  await desk.index.removeSource("two");
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(0);
});

it("leaves no vector of a half-built index that is given up", async () => {
  const desk = newDesk();
  await desk.index.stageText("long", "Animals", longText(300));
  await desk.index.ingestText("long", "first");
  await catchUp(desk.index);
  expect(countVisible(desk)).toBeGreaterThan(0);
  await desk.index.removeSource("long");
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(0);
});

it("takes deleted vectors out although the index is down at first, and looks whether they are gone", async () => {
  const desk = newDesk();
  await sync(desk.index, "animals", sections(["zebra", "okapi"]));
  await catchUp(desk.index);
  const kept = [...desk.vectors.visible.values()];
  desk.vectors.faults.set("deleteByIds", "fails");
  await desk.index.removeSource("animals");
  await runAlarm(desk.index);
  expect(countVisible(desk)).toBe(2);
  await evictDurableObject(desk.index);
  desk.vectors.faults.clear();
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(0);
  expect((await outstanding(desk.index)).vectors.map(({ task }) => task)).toEqual(["verify", "verify"]);
  // A put that was thought lost arrives after all.
  desk.vectors.visible.set(kept[0]!.id, kept[0]!);
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(0);
  expect((await outstanding(desk.index)).vectors.map(({ task }) => task)).toEqual(["verify"]);
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(await outstanding(desk.index)).toEqual(DONE);
});

it("puts again what was being removed when its text came back", async () => {
  const desk = newDesk();
  await sync(desk.index, "animals", sections(["zebra"]));
  await catchUp(desk.index);
  await desk.index.removeSource("animals");
  await catchUp(desk.index);
  await sync(desk.index, "animals", sections(["zebra"]));
  await catchUp(desk.index);
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect([countVisible(desk), await outstanding(desk.index)]).toEqual([1, DONE]);
});

it("makes every vector anew for another model", async () => {
  const desk = newDesk();
  await sync(desk.index, "animals", sections(["zebra", "okapi"]));
  await catchUp(desk.index);
  const before = [...desk.vectors.visible.keys()];
  bind({ VECTORS_ROUND: "2" });
  try {
    await evictDurableObject(desk.index);
    await search(desk.index, "zebra");
    await catchUp(desk.index);
    await letTimePass(desk.index);
    await catchUp(desk.index);
    expect(countVisible(desk)).toBe(2);
    for (const id of before) expect(desk.vectors.visible.has(id)).toBe(false);
    expect(await outstanding(desk.index)).toEqual(DONE);
  } finally {
    bind({ VECTORS_ROUND: undefined });
  }
});

it("takes up what was read before there was an index of vectors", async () => {
  bind({ AI: undefined, VECTORS: undefined });
  const index = newIndex();
  await sync(index, "animals", sections(["zebra", "okapi"]));
  const tables = Object.keys(await runInDurableObject(index, (_, { storage }) => dump(storage.sql)));
  expect(tables.filter((name) => name.includes("vector"))).toEqual([]);
  expect(await alarmOf(index)).toBe(null);
  await evictDurableObject(index);
  const desk = newDesk(index);
  await search(index, "zebra");
  await catchUp(index);
  expect(countVisible(desk)).toBe(2);
});

it("keeps what a write that failed had queued out of the outside", async () => {
  const desk = newDesk();
  await load(desk.index, { first: "The zebra lives in Africa and eats grass all day long." });
  await catchUp(desk.index);
  await desk.index.stageText("second", "Animals", sections(["okapi"]));
  await runInDurableObject(desk.index, async (instance: KnowledgeIndex, { storage }) => {
    storage.sql.exec("CREATE TRIGGER fails BEFORE UPDATE ON generations BEGIN SELECT RAISE(ABORT, 'no'); END");
    await expect(instance.ingestText("second", "run")).rejects.toThrow("no");
    storage.sql.exec("DROP TRIGGER fails");
  });
  expect(await outstanding(desk.index)).toEqual(DONE);
});

it("hears of a write once it is whole, and of none that failed", async () => {
  await runInDurableObject(newIndex(), (_, { storage }) => {
    const heard = vi.fn();
    const store = new IndexStore(storage, heard);
    const part = () => store.write(() => store.putText("text", { name: "Text", hash: "1" }, new Uint8Array()));
    const breaks = () => store.write(() => [part(), JSON.parse("no")]);
    part();
    expect(breaks).toThrow();
    expect(heard).toHaveBeenCalledTimes(1);
    store.write(part);
    expect(heard).toHaveBeenCalledTimes(2);
  });
});
