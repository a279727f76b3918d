import { KnowledgeIndex as Index } from "../../src/index.ts";
import type { Chunk } from "../../src/knowledge/indexing/chunk.ts";
import { newChunk, titleTermsOf } from "../../src/knowledge/indexing/ingest.ts";
import { IndexStore } from "../../src/knowledge/indexing/store.ts";
import service from "./object-rows.ts";

export * from "./object-rows.ts";

/*
 * The service with its objects' rows counted, whose indexes are filled without a crawl: `POST /fill/<workspace>/<agent>` with one
 * source, which is searched after the next start. Only `npm run bench -- --chunks` serves it.
 */

interface Source {
  id: string;
  documents: { title: string; url: string; chunks: Chunk[] }[];
}

export class KnowledgeIndex extends Index {
  async fill({ id: sourceId, documents }: Source): Promise<void> {
    const store = new IndexStore(this.ctx.storage);
    store.write(() => {
      const generation = store.createGeneration(sourceId, "bench", "");
      for (const { title, url, chunks } of documents) {
        const named = { sourceId, generationId: generation.id, type: "page", url, title, hash: "", textBytes: 0 } as const;
        const titleTerms = titleTermsOf(title);
        store.addChunks(
          store.createDocument(named),
          generation.id,
          chunks.map((chunk) => newChunk(chunk, titleTerms)),
        );
      }
      store.switchLive(sourceId, generation.id);
    });
  }
}

export default {
  ...service,
  async fetch(request, env, ctx) {
    const [, action, ...name] = new URL(request.url).pathname.split("/");
    if (action !== "fill") return service.fetch(request, env, ctx);
    const index = env.INDEX.getByName(name.join("/")) as unknown as DurableObjectStub<KnowledgeIndex>;
    await index.fill(await request.json<Source>());
    return Response.json({});
  },
} satisfies ExportedHandler<Env>;
