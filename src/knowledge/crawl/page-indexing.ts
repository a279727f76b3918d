import { dropBoilerplate, isRepeated } from "../extract/boilerplate.ts";
import { ChunkCursor, newChunk, STEP_COST, titleTermsOf } from "../indexing/ingest.ts";
import type { Generation } from "../indexing/store.ts";
import { utf8Length } from "../../platform/text.ts";
import type { CrawlStore } from "./crawl-store.ts";
import type { UnindexedPage } from "./page-store.ts";

/** The least cost of a page, in the unit of STEP_COST. */
const MIN_PAGE_COST = 512;

/** Indexes the pages that a crawl has read as a new generation, and then makes it the live one. */
export class PageIndexing {
  /** The position in the page that the last step did not finish. */
  private cursor: ChunkCursor | undefined;

  /**
   * Indexes some of the pages whose text was read.
   * @returns whether pages are left.
   */
  step(store: CrawlStore): boolean {
    const { indexed: readPages } = store.pages.countPages();
    for (let left = STEP_COST; left > 0;) {
      const page = store.pages.findUnindexed();
      if (!page) return false;
      // A page without chunks costs time, too.
      left -= Math.max(MIN_PAGE_COST, this.indexChunks(store, page, readPages, left));
    }
    return true;
  }

  /** Makes a crawl's generation the live one. A site without changes keeps its live generation. */
  switchLive(store: CrawlStore): void {
    if (!store.pages.isUnchanged()) {
      const { id } = generationOf(store);
      store.pages.commit(id);
      store.index.switchLive(store.source.id, id);
    }
    store.pages.finish();
  }

  /** @returns the cost of the chunks that were added. */
  private indexChunks(store: CrawlStore, page: UnindexedPage, readPages: number, maxCost: number): number {
    const { index, pages } = store;
    const { id: generationId } = generationOf(store);
    const { url, title, hash } = page;
    const document = { sourceId: store.source.id, generationId, type: "page" as const, url, title, hash };
    const documentId = page.builtId ?? index.createDocument({ ...document, textBytes: utf8Length(page.text) });
    const cursor = this.cursorAt(store, page, documentId, readPages);
    const { chunks, cost } = cursor.next(maxCost);
    const titleTerms = titleTermsOf(title);
    index.addChunks(
      documentId,
      generationId,
      chunks.map((chunk) => newChunk(chunk, titleTerms)),
    );
    if (!cursor.isAtEnd) {
      pages.update(page.id, { builtId: documentId });
      return cost;
    }
    this.cursor = undefined;
    pages.update(page.id, { state: "indexed", builtId: documentId });
    pages.deleteText(page.id);
    return cost;
  }

  /** A cursor after the page's chunks that are indexed already. */
  private cursorAt({ index, pages }: CrawlStore, page: UnindexedPage, documentId: number, readPages: number): ChunkCursor {
    const indexed = page.builtId === null ? 0 : index.sizeOfDocument(documentId).chunks;
    if (this.cursor?.id === documentId && this.cursor.position === indexed) return this.cursor;
    const counts = pages.countPagesPerBlock(page.blocks);
    const text = dropBoilerplate(page.text, (block) => isRepeated({ pages: readPages, holding: counts.get(block) ?? 0 }));
    return (this.cursor = new ChunkCursor(documentId, [text], indexed));
  }
}

function generationOf({ index, source: { id, syncNumber } }: CrawlStore): Generation {
  return index.findGeneration(id, "building") ?? index.createGeneration(id, String(syncNumber), `crawl:${syncNumber}`);
}
