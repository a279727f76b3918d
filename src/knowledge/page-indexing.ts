import { chunks, cleanText } from "./chunk.ts";
import { dropFurniture, isRepeated } from "./extract/furniture.ts";
import type { Generation, IndexStore } from "./index-store.ts";
import { newChunk, titleTermsOf } from "./ingest.ts";
import type { CrawlRow, PageStore } from "./page-store.ts";

/** About 50 ms of work, as for texts; a page is indexed whole. */
const CHUNKS_PER_STEP = 128;

/**
 * Indexes some of the pages whose text was read, beside the live index.
 * @returns whether pages are left.
 */
export function indexSomePages(index: IndexStore, pages: PageStore, { sourceId, run }: CrawlRow): boolean {
  const { indexed: all } = pages.countPages(sourceId, run);
  for (let left = CHUNKS_PER_STEP; left > 0;) {
    const page = pages.findUnindexed(sourceId);
    if (!page) return false;
    const counts = pages.countHolding(sourceId, page.blocks);
    const text = dropFurniture(page.text, (block) => isRepeated({ pages: all, holding: counts.get(block) ?? 0 }));
    const generation = generationOf(index, sourceId, run);
    const document = { sourceId, generationId: generation.id, type: "page" as const, url: page.url, title: page.title, hash: page.hash };
    const documentId = index.createDocument(document);
    const titleTerms = titleTermsOf(page.title);
    const made = [...chunks(cleanText(text))].map((chunk) => newChunk(chunk, titleTerms));
    index.addChunks(documentId, generation.id, made);
    pages.updatePage(page.id, { state: "indexed", builtId: documentId });
    pages.dropText(page.id);
    left -= Math.max(1, made.length);
  }
  return true;
}

/** Brings what a crawl read into use, in the place of what was in use before. */
export function switchPages(index: IndexStore, pages: PageStore, { sourceId, run }: CrawlRow): void {
  if (!pages.isSame(sourceId, run)) {
    const generation = generationOf(index, sourceId, run);
    pages.adopt(sourceId, run, generation.id);
    index.switchLive(sourceId, generation.id);
  }
  pages.dropLost(sourceId, run);
}

function generationOf(index: IndexStore, sourceId: string, run: number): Generation {
  return index.findGeneration(sourceId, "building") ?? index.createGeneration(sourceId, String(run), `crawl:${run}`);
}
