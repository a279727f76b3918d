import { dropBoilerplate, isRepeated } from "../extract/boilerplate.ts";
import { ChunkCursor, CHUNKS_PER_STEP, newChunk, titleTermsOf } from "../indexing/ingest.ts";
import type { Generation } from "../indexing/store.ts";
import { utf8Length } from "../../platform/text.ts";
import type { CrawlStore } from "./crawl-store.ts";
import type { UnindexedPage } from "./page-store.ts";

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
    for (let left = CHUNKS_PER_STEP; left > 0;) {
      const page = store.pages.findUnindexed();
      if (!page) return false;
      // A page without chunks costs time, too.
      left -= Math.max(1, this.indexChunks(store, page, readPages, left));
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

  /** @returns how many chunks were added. */
  private indexChunks(store: CrawlStore, page: UnindexedPage, readPages: number, most: number): number {
    const { index, pages } = store;
    const { id: generationId } = generationOf(store);
    const { url, title, hash } = page;
    const document = { sourceId: store.source.id, generationId, type: "page" as const, url, title, hash };
    const documentId = page.builtId ?? index.createDocument({ ...document, textBytes: utf8Length(page.text) });
    const next = this.cursorAt(store, page, documentId, readPages).next(most);
    const titleTerms = titleTermsOf(title);
    index.addChunks(
      documentId,
      generationId,
      next.map((chunk) => newChunk(chunk, titleTerms)),
    );
    if (next.length === most) {
      pages.update(page.id, { builtId: documentId });
      return most;
    }
    this.cursor = undefined;
    pages.update(page.id, { state: "indexed", builtId: documentId });
    pages.deleteText(page.id);
    return next.length;
  }

  /** A cursor after the page's chunks that are indexed already. */
  private cursorAt({ index, pages }: CrawlStore, page: UnindexedPage, documentId: number, readPages: number): ChunkCursor {
    const indexed = page.builtId === null ? 0 : index.sizeOfDocument(documentId).chunks;
    if (this.cursor?.id === documentId && this.cursor.position === indexed) return this.cursor;
    const counts = pages.countPagesPerBlock(page.blocks);
    const text = dropBoilerplate(page.text, (block) => isRepeated({ pages: readPages, holding: counts.get(block) ?? 0 }));
    return (this.cursor = new ChunkCursor(documentId, text, indexed));
  }
}

function generationOf({ index, source: { id, syncNumber } }: CrawlStore): Generation {
  return index.findGeneration(id, "building") ?? index.createGeneration(id, String(syncNumber), `crawl:${syncNumber}`);
}
