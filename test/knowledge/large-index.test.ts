import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { IndexStore } from "../../src/knowledge/indexing/store.ts";
import { rankChunks } from "../../src/knowledge/retrieval/lexical-search.ts";
import { newIndex } from "./agent-index.ts";

/* An index of so many chunks that its words are estimated, sought and looked for in a part of it. */

const CHUNKS = 60_000;

/** Every chunk has "account", every fourth "contract", every thousandth "roaming", every ten thousandth "wholesale": their stems. */
function inLargeIndex<T>(work: (store: IndexStore) => T): Promise<T> {
  return runInDurableObject(newIndex(), (_, { storage }) => {
    const store = new IndexStore(storage);
    store.write(() => {
      const { id: generationId } = store.createGeneration("source", "run", "");
      const page = { type: "page", url: "https://example.com", title: "Page", hash: "", textBytes: 0 } as const;
      const document = store.createDocument({ sourceId: "source", generationId, ...page });
      store.sql.exec(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${CHUNKS})
         INSERT INTO chunks (id, document_id, content, terms) SELECT n, ?, 'Chunk ' || n, 'account'
           || iif(n % 4 = 0, ' contract', '') || iif(n % 1000 = 0, ' roam', '') || iif(n % 10000 = 0, ' wholesal', '') FROM numbers`,
        document,
      );
      store.sql.exec("INSERT INTO chunk_index (rowid, generation, title, heading, body) SELECT id, 'g1', '', '', terms FROM chunks");
      store.sql.exec(`UPDATE documents SET chunks_count = ${CHUNKS}`);
      store.switchLive("source", generationId);
    });
    return work(store);
  });
}

const ranked = (store: IndexStore, question: string) => rankChunks(store, { question, previousQuestions: [] }, "en");

test("rare words are counted, common ones estimated", async () => {
  const counts = await inLargeIndex((store) => store.chunkTerms.documentFrequencies(["account", "contract", "roam", "wholesal", "none"]));
  expect([counts.get("roam"), counts.get("wholesal"), counts.get("none")]).toEqual([60, 6, undefined]);
  expect(counts.get("contract")! / (CHUNKS / 4)).toBeCloseTo(1, 1);
  expect(counts.get("account")! / CHUNKS).toBeCloseTo(1, 1);
});

test("a rare word finds its chunks among many", async () => {
  const found = await inLargeIndex((store) => ranked(store, "wholesale contract of my account").ranked);
  expect(found.slice(0, 6).every(({ chunkId }) => chunkId % 10_000 === 0)).toBe(true);
});

test("words that most chunks have find those that have all of them", async () => {
  const found = await inLargeIndex((store) => ranked(store, "account contract").ranked);
  expect(found.length).toBeGreaterThan(0);
  expect(found.every(({ chunkId }) => chunkId % 4 === 0)).toBe(true);
});

test("a word that every chunk has finds some", async () => {
  const found = await inLargeIndex((store) => ranked(store, "account").ranked);
  expect(found.length).toBeGreaterThan(0);
});

test.each([
  ["a letter too few at the beginning", "whlesale", "wholesal"],
  ["letters that changed places at the end", "wholeslae", "wholesal"],
  ["two edits", "wholessalle", "wholesal"],
  ["another letter near the beginning", "whplesale", "wholesal"],
])("a misspelt word is corrected: %s", async (_, word, term) => {
  const { questionTerms } = await inLargeIndex((store) => ranked(store, word));
  expect(questionTerms.flatMap(({ alternatives }) => alternatives.map((other) => other.term))).toContain(term);
});
