import { DurableObject } from "cloudflare:workers";
import { TextIngestion } from "../../src/knowledge/indexing/ingest.ts";
import { IndexStore } from "../../src/knowledge/indexing/store.ts";
import { rankChunks } from "../../src/knowledge/retrieval/lexical-search.ts";
import { draftAnswer } from "../../src/models/extractive.ts";

/*
 * Answers what the service does not show: the signals of a question, and what would be cited however little it is worth.
 * The path names a corpus; PUT teaches it passages, POST asks it.
 */

/** As many as a turn reads. */
const PASSAGES = 5;

interface SignalsEnv {
  CORPORA: DurableObjectNamespace<Corpus>;
}

export class Corpus extends DurableObject<SignalsEnv> {
  private readonly store = new IndexStore(this.ctx.storage);

  async teach(passages: { id: string; text: string }[]): Promise<void> {
    const ingestion = new TextIngestion(this.store);
    for (const { id, text } of passages) {
      await ingestion.stage(id, { name: id, text }, Number.POSITIVE_INFINITY);
      while (!ingestion.step(id, "fit").done);
    }
  }

  async ask(turns: string[]): Promise<{ signals: Record<string, number>; cited: string[] }> {
    const question = turns.at(-1)!;
    const { ranked, ...terms } = rankChunks(this.store, { question, previousQuestions: turns.slice(0, -1) });
    const passages = ranked.slice(0, PASSAGES).map(({ passage }) => passage);
    const { signals, cited } = draftAnswer(question, { passages, curated: [], ...terms });
    return { signals: { ...signals }, cited: cited.map(({ sourceId }) => sourceId) };
  }
}

export default {
  async fetch(request, env) {
    const corpus = env.CORPORA.getByName(new URL(request.url).pathname);
    if (request.method === "PUT") await corpus.teach(await request.json());
    return Response.json(request.method === "POST" ? await corpus.ask(await request.json()) : null);
  },
} satisfies ExportedHandler<SignalsEnv>;
