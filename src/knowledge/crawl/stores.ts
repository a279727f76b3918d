import type { IndexStore } from "../index-store.ts";
import { CrawlStore } from "./crawl-store.ts";
import { CrawlTables } from "./crawl-tables.ts";
import { PageStore } from "./page-store.ts";
import { PageTexts } from "./page-texts.ts";
import { SettleStore } from "./settle-store.ts";

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
