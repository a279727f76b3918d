import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { CrawlStore } from "../../src/knowledge/crawl/crawl-store.ts";
import { IndexStore } from "../../src/knowledge/indexing/store.ts";
import { newIndex } from "./agent-index.ts";

/** The stores of an unused object, made beside those of the object. */
function inNewStorage<T>(work: (store: IndexStore, crawls: CrawlStore) => T): Promise<T> {
  return runInDurableObject(newIndex(), (_, { storage }) => {
    const store = new IndexStore(storage);
    return work(store, new CrawlStore(store, SOURCE));
  });
}

const SOURCE = { id: "s", type: "website", url: "https://example.com", maxPages: 1, maxBytes: 1_000, syncNumber: 1 } as const;
const ANSWER = { id: "a", question: "Where?", answer: "Here." };

test("the first write may contain others", async () => {
  await inNewStorage((store, crawls) => {
    store.write(() => {
      store.write(() => store.putAnswer(ANSWER));
      store.write(() => crawls.start("https://example.com"));
    });
    expect(store.findAnswer("a")).toMatchObject({ question: "Where?" });
    expect(crawls.find()).toMatchObject({ syncNumber: 1 });
  });
});

test("a first write that fails leaves an empty object, which the next one may write to", async () => {
  await inNewStorage((store, crawls) => {
    const fail = () => {
      store.write(() => store.putAnswer(ANSWER));
      throw new Error("full");
    };
    expect(() => store.write(fail)).toThrow("full");
    expect([store.isEmpty, crawls.find()]).toEqual([true, undefined]);
    store.write(() => store.putAnswer(ANSWER));
    expect([store.isEmpty, store.size.answers]).toEqual([false, 1]);
  });
});
