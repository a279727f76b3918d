import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { IndexStore } from "../../../src/knowledge/indexing/store.ts";
import { STRONG_MATCH } from "../../../src/knowledge/retrieval/curated-answers.ts";
import { SentenceVectors } from "../../../src/knowledge/vectors/sentence-vectors.ts";
import { evict } from "../../harness.ts";
import { dump, found, type Index, load, newIndex, search } from "../agent-index.ts";
import { alarmAt, bind, countMissing, encodeAll, runAlarm } from "./setup.ts";

const TEXTS = {
  plans: "# Flex\n\nThe Flex membership may be frozen for up to three months a year.\n\n# Basic\n\nBasic is paid monthly.",
  pool: "# Pool\n\nThe pool is open every day. Children swim with an adult.",
  hours:
    "# Opening hours\n\n| club | Saturday | Sunday |\n| --- | --- | --- |\n| Station | 9:00 to 18:00 | closed |\n| Harbour | 8:00 to 20:00 | 10:00 to 16:00 |",
};

beforeEach(() => bind({ ENCODE_SENTENCES: "true" }));
afterEach(() => {
  bind({ ENCODE_SENTENCES: "false" });
  vi.restoreAllMocks();
});

async function newEncodedIndex(texts: Record<string, string> = TEXTS): Promise<Index> {
  const index = newIndex();
  await load(index, texts);
  await encodeAll(index);
  return index;
}

describe("the encoder of the service", () => {
  test("finds a passage that has no word of the question", async () => {
    const index = await newEncodedIndex();
    expect((await found(index, "suspend my subscription"))[0]).toBe("plans");
  });

  test("gives each segment its similarity, best the row that is meant", async () => {
    const index = await newEncodedIndex();
    const { passages } = await search(index, "is the one at the station open on sundays");
    const [best] = passages;
    expect(best).toMatchObject({ sourceId: "hours", scores: { semantic: expect.any(Number) } });
    const [station, harbour] = best!.similarities!.slice(-2);
    expect(station).toBeGreaterThan(harbour!);
  });

  test("gives a passage its similarity to the question without each of its terms", async () => {
    const index = await newEncodedIndex();
    const { passages } = await search(index, "is the yoga at the station open on sundays");
    const { similarities, similarityWithout } = passages[0]!;
    const similarity = Math.max(...similarities!);
    expect([...similarityWithout.keys()].sort()).toEqual(["open", "station", "sundai", "yoga"]);
    expect(similarityWithout.get("yoga")).toBeGreaterThan(similarity);
    expect(similarityWithout.get("station")).toBeLessThan(similarity);
  });

  test("a text is found by its words before it has vectors, among texts that have them", async () => {
    const index = await newEncodedIndex();
    await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("DELETE FROM sentence_vectors WHERE chunk_id = 1"));
    const { passages } = await search(index, "Flex membership frozen");
    expect(passages[0]).toMatchObject({ sourceId: "plans", similarities: null });
  });

  test("while many texts have no vectors, all are found by their words", async () => {
    const index = await newEncodedIndex();
    await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("DELETE FROM sentence_vectors WHERE chunk_id > 1"));
    const { passages } = await search(index, "Is the Flex membership frozen on Saturday?");
    expect(passages.length).toBeGreaterThan(1);
    for (const { similarities } of passages) expect(similarities).toBeNull();
  });

  test("a short question about something else is asked without the one before it, and a follow-up with it", async () => {
    const index = await newEncodedIndex();
    const previousQuestions = ["can my Flex membership be suspended"];
    const firstFor = async (question: string) => {
      const { passages, previousQuestion } = await index.search({ question, previousQuestions, limit: 5 });
      return [passages[0]!.sourceId, previousQuestion];
    };
    for (const question of ["when is the pool open", "And when is the pool open?", "is there a pool"])
      expect(await firstFor(question), question).toEqual(["pool", null]);
    for (const question of ["and for how long", "is it also for Basic", "how long?"])
      expect(await firstFor(question), question).toEqual(["plans", previousQuestions[0]]);
  });

  test("a chunk without sentences does not keep others from getting vectors", async () => {
    const index = await newEncodedIndex({ picture: "![A map](https://example.com/map.png)", plans: TEXTS.plans });
    expect((await found(index, "suspend my subscription"))[0]).toBe("plans");
  });

  test("removing a source removes its vectors, and erasing all of them", async () => {
    const index = await newEncodedIndex();
    const count = () =>
      runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("SELECT chunk_id FROM sentence_vectors").toArray().length);
    const before = await count();
    await index.removeSource("pool");
    expect(await count()).toBe(before - 1);
    expect(await found(index, "is there somewhere to go swimming")).not.toContain("pool");
    await index.erase();
    const { sqlite_sequence: _, ...tables } = await runInDurableObject(index, (_, { storage }) => dump(storage.sql));
    expect(tables).toEqual({});
    expect(await found(index, "is there somewhere to go swimming")).toEqual([]);
  });

  test("knowledge that is erased and added again gets its vectors", async () => {
    const index = newIndex();
    const alarmOf = () => runInDurableObject(index, (_, { storage }) => storage.getAlarm());
    await load(index, { plans: TEXTS.plans });
    expect(await alarmOf()).not.toBeNull();
    await index.erase();
    expect(await alarmOf()).toBeNull();
    await load(index, { plans: TEXTS.plans });
    expect(await alarmOf()).not.toBeNull();
  });

  test("all knowledge gets its vectors if it is erased and added again while they are computed", async () => {
    const index = newIndex();
    await load(index, TEXTS);
    const wait = scheduler.wait.bind(scheduler);
    let waits = 0;
    let isAddedAgain = false;
    vi.spyOn(scheduler, "wait").mockImplementation(async (ms) => {
      waits++;
      do await wait(ms);
      while (waits > 2 && !isAddedAgain);
    });
    const run = runAlarm(index);
    await vi.waitUntil(() => waits > 2);
    await index.erase();
    await load(index, TEXTS);
    isAddedAgain = true;
    await run;
    await runAlarm(index);
    expect(await countMissing(index)).toBe(0);
  });

  test("vectors of other segments are computed again, also if nothing else is to be done", async () => {
    const index = await newEncodedIndex();
    const read = (query: string) => runInDurableObject(index, (_, { storage: { sql } }) => sql.exec(query).toArray());
    const vectors = await read("SELECT * FROM sentence_vectors");
    await evict(index);
    await search(index, "suspend my subscription");
    expect(await read("SELECT * FROM sentence_vectors")).toEqual(vectors);
    await runInDurableObject(index, async (_, { storage }) => {
      storage.kv.delete("segments_version");
      storage.sql.exec("UPDATE sentence_vectors SET vectors = zeroblob(length(vectors))");
      await storage.deleteAlarm();
    });
    await evict(index);
    expect((await search(index, "Is the Flex membership frozen?")).passages[0]).toMatchObject({ sourceId: "plans", similarities: null });
    expect(await alarmAt(index)).not.toBeNull();
    await encodeAll(index);
    expect(await read("SELECT * FROM sentence_vectors")).toEqual(vectors);
  });

  test("a filter finds the nearest passage of its sources", async () => {
    const index = await newEncodedIndex();
    const only = { sources: ["pool"], answers: [] };
    const { passages } = await index.search({ question: "suspend my subscription", previousQuestions: [], limit: 5, only });
    expect(passages.map(({ sourceId }) => sourceId)).toEqual(["pool"]);
  });

  test("languages that it is not measured in are searched by their words", async () => {
    const index = newIndex();
    await load(index, { piscine: "# La piscine\n\nLa piscine est ouverte tous les jours. Les enfants nagent avec un adulte." });
    await runAlarm(index);
    const { passages } = await search(index, "à quelle heure ouvre la piscine ?");
    expect(passages[0]).toMatchObject({ sourceId: "piscine", similarities: null, scores: { semantic: null } });
  });

  describe("of curated answers", () => {
    const ANSWERS = [
      { id: "freeze", question: "How can I freeze my membership?", answer: "Choose Freeze in the app." },
      { id: "freeze-2", question: "I want to pause for a month", answer: "Choose Freeze in the app." },
      { id: "towel", question: "Do I need a towel?", answer: "Bring a towel." },
    ];

    async function withAnswers(answers = ANSWERS): Promise<Index> {
      const index = newIndex();
      for (const answer of answers) await index.putAnswer(answer);
      return index;
    }

    const best = async (index: Index, question: string) => (await search(index, question)).curated[0];

    test("gives the answer to a question in other words, once all questions have vectors", async () => {
      const index = await withAnswers();
      const question = "can my membership be suspended for some weeks";
      expect((await best(index, question))?.score ?? 0).toBeLessThan(STRONG_MATCH);
      await encodeAll(index);
      const match = await best(index, question);
      expect(match).toMatchObject({ answer: "Choose Freeze in the app." });
      expect(match!.score).toBeGreaterThanOrEqual(STRONG_MATCH);
      expect((await best(index, "where do you sell parking permits"))!.score).toBeLessThan(STRONG_MATCH);
      expect((await best(index, "Do I need a towel?"))!).toMatchObject({ answerId: "towel", score: 1 });
    });

    test("compares questions in another language by their words", async () => {
      const index = await withAnswers([{ id: "pause", question: "Wie kann ich meine Mitgliedschaft pausieren?", answer: "In der App." }]);
      await encodeAll(index);
      expect((await best(index, "Kann ich meine Mitgliedschaft pausieren?"))!.score).toBeGreaterThan(0.5);
    });

    test("a removed answer is not found any more, and its vector is gone", async () => {
      const index = await withAnswers();
      await encodeAll(index);
      await index.removeAnswer("towel");
      expect((await search(index, "must I take a towel along")).curated.map(({ answerId }) => answerId)).not.toContain("towel");
      const rows = await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("SELECT * FROM question_vectors").toArray());
      expect(rows).toHaveLength(2);
    });
  });

  test("while its weights cannot be read, search goes on by words, and it tries again later", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const index = newIndex();
    await load(index, { plans: TEXTS.plans });
    await runInDurableObject(index, async (_, { storage }) => {
      const sentences = new SentenceVectors(storage, new IndexStore(storage), () => Promise.reject(new Error("no weights")));
      storage.sql.exec("DELETE FROM sentence_vectors");
      expect(await sentences.run()).toBe(false);
      expect(await storage.getAlarm()).toBeGreaterThan(Date.now() + 30_000);
      expect(await sentences.vectorsOf("Flex")).toBe(undefined);
    });
  });
});
