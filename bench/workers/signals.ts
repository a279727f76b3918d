import { DurableObject } from "cloudflare:workers";
import { TextIngestion } from "../../src/knowledge/indexing/ingest.ts";
import { IndexStore } from "../../src/knowledge/indexing/store.ts";
import { languageOfQuestion, rankChunks } from "../../src/knowledge/retrieval/lexical-search.ts";
import { candidatesOf, confidenceFeatures } from "../../src/extractive/ranking.ts";
import { composeAnswer } from "../../src/extractive/compose.ts";

/*
 * Answers what the service does not show: the features of a question's candidates. The path names a corpus; PUT teaches it
 * texts, POST asks it, and with the candidates' scores it answers the features of the confidence.
 */

/** As many as a turn reads. */
const PASSAGES = 5;

interface SignalsEnv {
  CORPORA: DurableObjectNamespace<Corpus>;
}

interface Asked {
  question: string;
  previousQuestions: string[];
  scores?: number[];
}

export class Corpus extends DurableObject<SignalsEnv> {
  private readonly store = new IndexStore(this.ctx.storage);

  async teach(texts: { id: string; title: string; text: string }[]): Promise<void> {
    const ingestion = new TextIngestion(this.store);
    for (const { id, title, text } of texts) {
      await ingestion.stage(id, { name: title, text }, Number.POSITIVE_INFINITY);
      while (!ingestion.step(id, "fit").done);
    }
  }

  async ask({ question, previousQuestions, scores }: Asked) {
    const language = languageOfQuestion({ question, previousQuestions }, this.store.languages);
    const { ranked, ...terms } = rankChunks(this.store, { question, previousQuestions }, language);
    const passages = ranked.slice(0, PASSAGES).map(({ passage }) => passage);
    const found = candidatesOf(question, { passages, curated: [], ...terms });
    if (scores) return confidenceFeatures(found, scores) ?? null;
    return found.candidates.map(({ passage, segments, at, features }) => ({
      sourceId: passage.sourceId,
      text: composeAnswer(segments, at),
      features,
    }));
  }
}

export default {
  async fetch(request, env) {
    const corpus = env.CORPORA.getByName(new URL(request.url).pathname);
    if (request.method === "PUT") await corpus.teach(await request.json());
    return Response.json(request.method === "POST" ? await corpus.ask(await request.json()) : null);
  },
} satisfies ExportedHandler<SignalsEnv>;
