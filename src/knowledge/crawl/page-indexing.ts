import { dropBoilerplate, isRepeated } from "../extract/boilerplate.ts";
import { type Chunk, chunks, cleanText } from "../indexing/chunk.ts";
import { CHUNKS_PER_STEP, newChunk, take, titleTermsOf } from "../indexing/ingest.ts";
import type { Generation } from "../indexing/store.ts";
import type { UnindexedPage } from "./page-store.ts";
import type { CrawlSource } from "./protocol.ts";
import type { CrawlStores } from "./stores.ts";

interface Build {
  documentId: number;
  chunks: Iterator<Chunk>;
  /** How many were taken: where storage says otherwise (a write failed), the place is found anew. */
  taken: number;
}

/** Builds a generation of the pages that a crawl has read, beside the live one, and then switches to it. */
export class PageIndexing {
  /** The page that the last step did not finish. */
  private build: Build | undefined;

  constructor(private readonly stores: CrawlStores) {}

  /**
   * Indexes some of the pages whose text was read.
   * @returns whether pages are left.
   */
  step(source: CrawlSource): boolean {
    const { indexed: readPages } = this.stores.pages.countPages(source.id, source.syncNumber);
    for (let left = CHUNKS_PER_STEP; left > 0;) {
      const page = this.stores.texts.findUnindexed(source.id);
      if (!page) return false;
      // A page without chunks is work, too.
      left -= Math.max(1, this.indexSome(source, page, readPages, left));
    }
    return true;
  }

  /** Makes what a crawl found the live generation. A site without changes keeps its live generation. */
  switchLive({ id, syncNumber }: CrawlSource): void {
    const { index, settled, texts } = this.stores;
    if (!settled.isSame(id, syncNumber)) {
      const generation = this.generationOf(id, syncNumber);
      settled.adopt(id, syncNumber, generation.id);
      index.switchLive(id, generation.id);
    }
    settled.moveDocuments(id, syncNumber);
    for (const blocks of settled.takeUnusedBlocks(id, syncNumber)) texts.countBlocks(id, blocks, -1);
    texts.dropUnheldBlocks(id);
    settled.dropLost(id, syncNumber);
    this.stores.crawls.dropGroups(id, syncNumber + 1);
  }

  /** @returns how many chunks it made. */
  private indexSome(source: CrawlSource, page: UnindexedPage, readPages: number, most: number): number {
    const { index, pages, texts } = this.stores;
    const generation = this.generationOf(source.id, source.syncNumber);
    const { url, title, hash } = page;
    const documentId =
      page.builtId ?? index.createDocument({ sourceId: source.id, generationId: generation.id, type: "page", url, title, hash });
    const build = this.resume(source.id, page, documentId, readPages);
    const titleTerms = titleTermsOf(title);
    const next = take(build.chunks, most);
    build.taken += next.length;
    index.addChunks(
      documentId,
      generation.id,
      next.map((chunk) => newChunk(chunk, titleTerms)),
    );
    if (next.length === most) {
      pages.update(page.id, { builtId: documentId });
      return most;
    }
    this.build = undefined;
    pages.update(page.id, { state: "indexed", builtId: documentId });
    texts.drop(page.id);
    return next.length;
  }

  /** The page's chunks, from where the last step ended. */
  private resume(sourceId: string, page: UnindexedPage, documentId: number, readPages: number): Build {
    const indexed = page.builtId === null ? 0 : this.stores.index.countChunks(documentId);
    if (this.build?.documentId === documentId && this.build.taken === indexed) return this.build;
    const counts = this.stores.texts.countHolding(sourceId, page.blocks);
    const text = dropBoilerplate(page.text, (block) => isRepeated({ pages: readPages, holding: counts.get(block) ?? 0 }));
    const build = { documentId, chunks: chunks(cleanText(text)), taken: indexed };
    take(build.chunks, indexed);
    this.build = build;
    return build;
  }

  private generationOf(sourceId: string, run: number): Generation {
    const { index } = this.stores;
    return index.findGeneration(sourceId, "building") ?? index.createGeneration(sourceId, String(run), `crawl:${run}`);
  }
}
