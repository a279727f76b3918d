import { dropBoilerplate, isRepeated } from "../extract/boilerplate.ts";
import { ChunkCursor, CHUNKS_PER_STEP, newChunk, titleTermsOf } from "../indexing/ingest.ts";
import type { Generation } from "../indexing/store.ts";
import { utf8Length } from "../../platform/text.ts";
import type { CrawlStorage } from "./crawl-store.ts";
import type { UnindexedPage } from "./page-store.ts";
import type { CrawlSource } from "./protocol.ts";

/** Indexes the pages that a crawl has read as a new generation, and then makes it the live one. */
export class PageIndexing {
  /** The page that the last step did not finish. */
  private cursor: ChunkCursor | undefined;

  constructor(private readonly storage: CrawlStorage) {}

  /**
   * Indexes some of the pages whose text was read.
   * @returns whether pages are left.
   */
  step(source: CrawlSource): boolean {
    const { indexed: readPages } = this.storage.pages.countPages(source.id, source.syncNumber);
    for (let left = CHUNKS_PER_STEP; left > 0;) {
      const page = this.storage.pages.findUnindexed(source.id);
      if (!page) return false;
      // A page without chunks costs time, too.
      left -= Math.max(1, this.indexChunks(source, page, readPages, left));
    }
    return true;
  }

  /** Commits a crawl: its generation becomes the live one. A site without changes keeps its live generation. */
  switchLive({ id, syncNumber }: CrawlSource): void {
    const { index, pages } = this.storage;
    if (!pages.isUnchanged(id, syncNumber)) {
      const generation = this.generationOf(id, syncNumber);
      pages.commit(id, syncNumber, generation.id);
      index.switchLive(id, generation.id);
    }
    pages.updateDocumentUrls(id, syncNumber);
    for (const blocks of pages.clearUnusedBlocks(id, syncNumber)) pages.countBlocks(id, blocks, -1);
    pages.deleteUnusedBlocks(id);
    pages.deleteGone(id, syncNumber);
  }

  /** @returns how many chunks it made. */
  private indexChunks(source: CrawlSource, page: UnindexedPage, readPages: number, most: number): number {
    const { index, pages } = this.storage;
    const generation = this.generationOf(source.id, source.syncNumber);
    const { url, title, hash } = page;
    const document = { sourceId: source.id, generationId: generation.id, type: "page" as const, url, title, hash };
    const documentId = page.builtId ?? index.createDocument({ ...document, textBytes: utf8Length(page.text) });
    const next = this.cursorAt(source.id, page, documentId, readPages).next(most);
    const titleTerms = titleTermsOf(title);
    index.addChunks(
      documentId,
      generation.id,
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
  private cursorAt(sourceId: string, page: UnindexedPage, documentId: number, readPages: number): ChunkCursor {
    const indexed = page.builtId === null ? 0 : this.storage.index.countChunks(documentId);
    if (this.cursor?.id === documentId && this.cursor.position === indexed) return this.cursor;
    const counts = this.storage.pages.countPagesPerBlock(sourceId, page.blocks);
    const text = dropBoilerplate(page.text, (block) => isRepeated({ pages: readPages, holding: counts.get(block) ?? 0 }));
    return (this.cursor = new ChunkCursor(documentId, text, indexed));
  }

  private generationOf(sourceId: string, run: number): Generation {
    const { index } = this.storage;
    return index.findGeneration(sourceId, "building") ?? index.createGeneration(sourceId, String(run), `crawl:${run}`);
  }
}
