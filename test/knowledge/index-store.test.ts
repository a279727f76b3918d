import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { CrawlStorage } from "../../src/knowledge/crawl/crawl-store.ts";
import { IndexStore } from "../../src/knowledge/indexing/store.ts";
import { newIndex } from "./agent-index.ts";

/** The stores of an unused object, made beside those of the object. */
function inNewStorage<T>(work: (store: IndexStore, crawls: CrawlStorage) => T): Promise<T> {
  return runInDurableObject(newIndex(), (_, { storage }) => {
    const store = new IndexStore(storage);
    return work(store, new CrawlStorage(store));
  });
}

const ANSWER = { id: "a", question: "Where?", answer: "Here." };

test("the first write may contain others", async () => {
  await inNewStorage((store, crawls) => {
    store.write(() => {
      store.write(() => store.putAnswer(ANSWER));
      store.write(() => crawls.crawls.start("s", 1, "https://example.com"));
    });
    expect(store.findAnswer("a")).toMatchObject({ question: "Where?" });
    expect(crawls.crawls.find("s")).toMatchObject({ syncNumber: 1 });
  });
});

test("a first write that fails leaves an empty object, which the next one may write to", async () => {
  await inNewStorage((store, crawls) => {
    const fail = () => {
      store.write(() => store.putAnswer(ANSWER));
      throw new Error("full");
    };
    expect(() => store.write(fail)).toThrow("full");
    expect([store.isEmpty, crawls.crawls.find("s")]).toEqual([true, undefined]);
    store.write(() => store.putAnswer(ANSWER));
    expect([store.isEmpty, store.size.answers]).toEqual([false, 1]);
  });
});
