import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { KnowledgeIndex } from "../../src/knowledge/knowledge-index.ts";
import { dump, found, type Index, ingest, load, longText, newIndex, search, ROOM } from "./agent-index.ts";
import { evict } from "../harness.ts";

/** Takes three steps of a step's 64 chunks each, and a rest. */
const SECTIONS = 200;
const MIB = 1024 * 1024;

async function counts(index: Index): Promise<{ chunks: number; generations: string[] }> {
  return runInDurableObject(index, (_, { storage: { sql } }) => ({
    chunks: sql.exec<{ n: number }>("SELECT count(*) AS n FROM chunks").one().n,
    generations: sql
      .exec<{ state: string }>("SELECT state FROM generations ORDER BY id")
      .toArray()
      .map(({ state }) => state),
  }));
}

describe("building a text source", () => {
  test("runs in steps and is searchable after the last one", async () => {
    const index = newIndex();
    await index.stageText("long", "Animals", longText(SECTIONS), ROOM);
    for (let step = 0; step < 3; step++) {
      expect(await index.ingestText("long", "run")).toEqual({ done: false });
      expect(await found(index, "zebra")).toEqual([]);
    }
    const ready = { done: true, outcome: "ready", pagesIndexed: 1, chunksCount: SECTIONS, unchanged: false, textBytes: expect.any(Number) };
    expect(await index.ingestText("long", "run")).toEqual(ready);
    expect(await found(index, "zebra")).toEqual(["long"]);
    expect((await search(index, "Section 199")).passages[0]).toMatchObject({
      sourceId: "long",
      type: "text",
      title: "Animals",
      heading: "Section 199",
      url: null,
    });
  });

  test("a new name does not bring back the text that is replaced meanwhile", async () => {
    const index = newIndex();
    // A text of this size is hashed in several pieces.
    await index.stageText("long", "Animals", longText(20_000), ROOM);
    await runInDurableObject(index, async (instance: KnowledgeIndex) => {
      const renamed = instance.stageText("long", "Beasts", null, ROOM);
      await instance.stageText("long", "Animals", "# Birds\n\nAn eagle flies.", ROOM);
      await renamed;
    });
    await ingest(index, "long", "run");
    expect((await search(index, "eagle")).passages[0]).toMatchObject({ title: "Beasts", heading: "Birds" });
  });

  test("continues after an eviction, with every chunk once", async () => {
    const index = newIndex();
    await index.stageText("long", "Animals", longText(SECTIONS), ROOM);
    await index.ingestText("long", "run");
    await evict(index);
    await index.ingestText("long", "run");
    await evict(index);
    expect(await ingest(index, "long", "run")).toMatchObject({ outcome: "ready", chunksCount: SECTIONS });
    const contents = await runInDurableObject(index, (_, { storage }) =>
      storage.sql.exec<{ content: string }>("SELECT content FROM chunks ORDER BY id").toArray(),
    );
    const places = contents.map(({ content }) => Number(/Paragraph (\d+)/.exec(content)![1]));
    expect(places).toEqual(Array.from({ length: SECTIONS }, (_, at) => at));
  });

  test("continues from what is stored when a step's write failed", async () => {
    const index = newIndex();
    await index.stageText("long", "Animals", longText(SECTIONS), ROOM);
    await index.ingestText("long", "run");
    await runInDurableObject(index, async (instance: KnowledgeIndex, { storage }) => {
      storage.sql.exec(
        "CREATE TRIGGER fails BEFORE INSERT ON chunks WHEN NEW.content LIKE 'Paragraph 100 %' BEGIN SELECT RAISE(ABORT, 'no'); END",
      );
      await expect(instance.ingestText("long", "run")).rejects.toThrow("no");
      storage.sql.exec("DROP TRIGGER fails");
    });
    expect(await ingest(index, "long", "run")).toMatchObject({ outcome: "ready", chunksCount: SECTIONS });
    expect((await counts(index)).chunks).toBe(SECTIONS);
  });

  test("starts over for another run", async () => {
    const index = newIndex();
    await index.stageText("long", "Animals", longText(SECTIONS), ROOM);
    await index.ingestText("long", "first");
    await index.ingestText("long", "first");
    await index.ingestText("long", "second");
    expect(await counts(index)).toEqual({ chunks: 64, generations: ["building"] });
    expect(await ingest(index, "long", "second")).toMatchObject({ outcome: "ready", chunksCount: SECTIONS });
    expect(await counts(index)).toEqual({ chunks: SECTIONS, generations: ["live"] });
  });

  test("starts over when the text changes meanwhile", async () => {
    const index = newIndex();
    await index.stageText("long", "Animals", longText(SECTIONS, "zebra"), ROOM);
    await index.ingestText("long", "run");
    await index.stageText("long", "Animals", longText(SECTIONS, "giraffe"), ROOM);
    await ingest(index, "long", "run");
    expect((await counts(index)).chunks).toBe(SECTIONS);
    expect(await found(index, "zebra")).toEqual([]);
    expect(await found(index, "giraffe")).toEqual(["long"]);
  });

  test("does nothing when the text is the same as the live one", async () => {
    const index = newIndex();
    await load(index, { short: "The zebra lives in Africa and eats grass all day long." });
    const before = await runInDurableObject(index, (_, { storage }) => dump(storage.sql));
    await index.stageText("short", "Title of short", "The zebra lives in Africa and eats grass all day long.", ROOM);
    const again = { done: true, outcome: "ready", pagesIndexed: 1, chunksCount: 1, unchanged: true, textBytes: expect.any(Number) };
    expect(await index.ingestText("short", "another run")).toEqual(again);
    expect(await runInDurableObject(index, (_, { storage }) => dump(storage.sql))).toEqual(before);
  });

  test("rebuilds when only the name changes, since it is the title of every passage", async () => {
    const index = newIndex();
    await load(index, { short: "The zebra lives in Africa and eats grass all day long." });
    await index.stageText("short", "Savanna", "The zebra lives in Africa and eats grass all day long.", ROOM);
    expect(await ingest(index, "short", "second")).toMatchObject({ outcome: "ready", unchanged: false });
    expect((await search(index, "zebra")).passages.map(({ title }) => title)).toEqual(["Savanna"]);
  });

  test("search reads only the live generation while the next is built", async () => {
    const index = newIndex();
    await index.stageText("long", "Animals", longText(SECTIONS, "zebra"), ROOM);
    await ingest(index, "long", "first");
    await index.stageText("long", "Animals", longText(SECTIONS, "giraffe"), ROOM);
    for (let step = 0; step < 3; step++) {
      expect(await index.ingestText("long", "second")).toEqual({ done: false });
      expect(await found(index, "giraffe")).toEqual([]);
      const { passages } = await search(index, "paragraph zebra");
      expect(passages.map(({ content }) => content.includes("zebra"))).toEqual(Array.from({ length: 8 }, () => true));
    }
    expect(await ingest(index, "long", "second")).toMatchObject({ outcome: "ready", chunksCount: SECTIONS });
    expect(await found(index, "zebra")).toEqual([]);
    expect(await found(index, "giraffe")).toEqual(["long"]);
  });

  test("hides the unfinished index of one source from the search of the others", async () => {
    const index = newIndex();
    await load(index, { short: "A zebra is mentioned here, in a single sentence among others." });
    await index.stageText("long", "Animals", longText(SECTIONS), ROOM);
    await index.ingestText("long", "run");
    expect(await found(index, "zebra")).toEqual(["short"]);
  });

  test("fails without a text and for an empty one; the live index stays", async () => {
    const index = newIndex();
    expect(await index.ingestText("none", "run")).toMatchObject({ done: true, outcome: "failed", code: "text_missing" });
    await load(index, { short: "The zebra lives in Africa and eats grass all day long." });
    await index.stageText("short", "Empty", " \n\0\n --- \n", ROOM);
    expect(await index.ingestText("short", "second")).toMatchObject({ done: true, outcome: "failed", code: "text_empty" });
    expect(await counts(index)).toEqual({ chunks: 1, generations: ["live"] });
    expect(await found(index, "zebra")).toEqual(["short"]);
  });

  test("builds several sources in interleaved steps", async () => {
    const index = newIndex();
    const sources = ["antelope", "buffalo", "camel"];
    for (const source of sources) await index.stageText(source, source, longText(150, source), ROOM);
    for (let step = 0; step < 2; step++) {
      for (const source of sources) expect(await index.ingestText(source, "run")).toEqual({ done: false });
    }
    for (const source of sources) expect(await index.ingestText(source, "run")).toMatchObject({ done: true, chunksCount: 150 });
    expect((await counts(index)).chunks).toBe(450);
    for (const source of sources) expect(await found(index, source)).toEqual([source]);
  });

  test("keeps text of any kind as it is", async () => {
    const index = newIndex();
    // One byte before characters of three: the parts that the text is stored in end within characters.
    const text = `Grüße 🎉! ${"退款需要五个工作日。".repeat(60_000)} Ende der Zeichenkette mit ümlaut`;
    await load(index, { odd: text });
    const { passages } = await search(index, "Ende der Zeichenkette");
    expect(passages[0]!.content).toContain("Ende der Zeichenkette mit ümlaut");
    expect((await search(index, "Grüße")).passages[0]!.content).toContain("Grüße 🎉! 退款需要五个工作日。");
    const broken = await runInDurableObject(index, (_, { storage }) =>
      storage.sql.exec("SELECT id FROM chunks WHERE instr(content, ?)", "\ufffd").toArray(),
    );
    expect(broken).toEqual([]);
  });

  test("indexes 5 MiB in steps that leave room for searches", async () => {
    const index = newIndex();
    const page = `# A page\n\n${longText(20).replaceAll(/## Section \d+\n\n/g, "")}\n\n`;
    const text = page.repeat(Math.ceil((5 * MIB) / page.length)).slice(0, 5 * MIB);
    await index.stageText("big", "Big", text, ROOM);
    for (let steps = 0; steps < 100; steps++) expect(await index.ingestText("big", "run")).toEqual({ done: false });
    expect(await ingest(index, "big")).toMatchObject({ outcome: "ready", pagesIndexed: 1 });
    expect(await found(index, "zebra at some length")).toEqual(["big"]);
  }, 30_000);
});

describe("removal", () => {
  test("removes all of a source, unfinished builds included, and nothing of the others", async () => {
    const index = newIndex();
    await load(index, { kept: "The hippopotamus stays in the water for most of the day." });
    await index.stageText("gone", "Giraffe", longText(SECTIONS, "okapi"), ROOM);
    await ingest(index, "gone", "first");
    await index.stageText("gone", "Giraffe", longText(SECTIONS, "quagga"), ROOM);
    await index.ingestText("gone", "second");
    await index.removeSource("gone");
    expect(await found(index, "okapi quagga giraffe hippopotamus")).toEqual(["kept"]);
    const rows = await runInDurableObject(index, (_, { storage }) => JSON.stringify(dump(storage.sql), asText));
    expect(rows).toContain("hippopotamu");
    for (const word of ["okapi", "quagga", "giraff", "gone"]) expect(rows.toLowerCase()).not.toContain(word);
  });

  test("leaves no word of a source or an answer in shared segments", async () => {
    const index = newIndex();
    const animals = ["aardvark", "buffalo", "camel", "dolphin", "elephant", "flamingo", "gazelle", "hedgehog", "iguana", "jaguar"];
    for (const animal of animals) {
      await load(index, { [animal]: `The ${animal} lives in the zoo and is fed by its keeper twice a day.` });
      await index.putAnswer({ id: animal, question: `Where does the ${animal} live?`, answer: "In the zoo." });
    }
    await index.removeSource("dolphin");
    await index.removeAnswer("dolphin");
    const rows = await runInDurableObject(index, (_, { storage }) => JSON.stringify(dump(storage.sql), asText));
    expect(rows).not.toContain("olphin");
    expect(await found(index, "elephant")).toEqual(["elephant"]);
    expect((await search(index, "Where does the elephant live?")).curated[0]?.answerId).toBe("elephant");
  });

  test("can be repeated, and a late wake-up finds nothing to build", async () => {
    const index = newIndex();
    await load(index, { gone: "The okapi lives in the forest and eats leaves all day." });
    await index.removeSource("gone");
    await index.removeSource("gone");
    expect(await index.ingestText("gone", "late")).toMatchObject({ outcome: "failed", code: "text_missing" });
    expect(await counts(index)).toEqual({ chunks: 0, generations: [] });
  });

  test("of an agent empties the storage, and the object can be used again", async () => {
    const index = newIndex();
    await load(index, { gone: "The okapi lives in the forest and eats leaves all day." });
    await index.putAnswer({ id: "a", question: "Where does the okapi live?", answer: "In the forest." });
    await index.erase();
    await index.erase();
    expect(await runInDurableObject(index, (_, { storage }) => dump(storage.sql))).toEqual({});
    expect(await search(index, "okapi")).toMatchObject({ passages: [], curated: [] });
    await load(index, { again: "The okapi is back in the forest and eats leaves again." });
    expect(await found(index, "okapi")).toEqual(["again"]);
  });
});

describe("the longest chunks", () => {
  test.each<[string, string]>([
    ["words far apart", `okapi${" ".repeat(2_000)}`.repeat(2_000)],
    ["a table with wide cells", `| okapi |${" ".repeat(3_000)}| b |\n`.repeat(1_000)],
    ["a script without spaces", "okapi 退款需要五个工作日".repeat(20_000)],
  ])("of %s make rows and a response of a few hundred kilobytes", async (_, text) => {
    const index = newIndex();
    await load(index, { long: text });
    const { passages } = await index.search({ question: "okapi", previousQuestions: [], limit: 50 });
    expect(passages.length).toBeGreaterThan(40);
    expect(JSON.stringify(passages).length).toBeLessThan(500_000);
    const widest = "SELECT max(octet_length(content) + octet_length(terms)) AS bytes FROM chunks";
    expect(await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec<{ bytes: number }>(widest).one().bytes)).toBeLessThan(
      65_536,
    );
  });
});

test("a text whose chunks were made by another version of the pipeline is indexed again when its source is read again", async () => {
  const index = newIndex();
  await load(index, { long: longText(3, "okapi") });
  await runInDurableObject(index, (_, { storage: { sql } }) => {
    sql.exec("UPDATE chunks SET content = content || 'é'");
    sql.exec("UPDATE generations SET hash = '1' || substr(hash, 2)");
  });
  for (const { content } of (await search(index, "okapi")).passages) expect(content).toContain("é");
  expect(await ingest(index, "long", "again")).toMatchObject({ outcome: "ready", unchanged: false });
  const { passages } = await search(index, "okapi");
  expect(passages).toHaveLength(3);
  for (const { content } of passages) expect(content).not.toContain("é");
});

test("writes nothing for an agent without knowledge", async () => {
  const index = newIndex();
  expect(await search(index, "anything at all", "before")).toEqual({
    passages: [],
    curated: [],
    questionTerms: [],
    previousQuestion: null,
    previousTerms: [],
    language: "en",
  });
  await index.removeSource("none");
  await index.removeAnswer("none");
  expect(await index.ingestText("none", "run")).toMatchObject({ code: "text_missing" });
  expect(await runInDurableObject(index, (_, { storage }) => dump(storage.sql))).toEqual({});
});

/** Blobs of the index's shadow tables hold their words in plain bytes. */
function asText(_: string, value: unknown): unknown {
  return value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : value;
}
