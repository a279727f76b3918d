import type { IndexStore } from "../indexing/store.ts";
import { CrawlStore, SettleStore } from "./crawl-store.ts";
import { PageStore, PageTexts } from "./page-store.ts";
import { CrawlTables } from "./tables.ts";

/** What crawls keep in an agent's object, beside its index. */
export class CrawlStores {
  readonly tables: CrawlTables;
  readonly crawls: CrawlStore;
  readonly pages: PageStore;
  readonly texts: PageTexts;
  readonly settled: SettleStore;

  constructor(readonly index: IndexStore) {
    this.tables = new CrawlTables(index);
    this.crawls = new CrawlStore(this.tables);
    this.pages = new PageStore(this.tables);
    this.texts = new PageTexts(this.tables);
    this.settled = new SettleStore(this.tables);
  }

  /** Removes all that is known of a source's pages. */
  removeSource(sourceId: string): void {
    if (!this.tables.exist) return;
    this.tables.write(() => {
      this.texts.removeSource(sourceId);
      this.settled.removeSource(sourceId);
      this.crawls.removeSource(sourceId);
    });
  }
}
