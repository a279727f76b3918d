import { DurableObject } from "cloudflare:workers";
import { AgentKnowledge } from "../../src/knowledge/agent-knowledge.ts";
import { candidatesOf, confidenceFeatures } from "../../src/extractive/ranking.ts";
import { composeAnswer } from "../../src/extractive/compose.ts";

/*
 * Answers what the service does not show: the features of a question's candidates. The path names a corpus; PUT teaches it
 * texts until it answers false, POST asks it, and with the candidates' scores it answers the features of the confidence.
 */

/** As many as a turn reads. */
const PASSAGES = 5;

interface SignalsEnv {
  CORPORA: DurableObjectNamespace<Corpus>;
  ASSETS: Fetcher;
}

interface Asked {
  question: string;
  previousQuestions: string[];
  /** Whether passages are found by the service's encoder too. */
  isSemantic: boolean;
  scores?: number[];
}

export class Corpus extends DurableObject<SignalsEnv> {
  private readonly scope = { workspaceId: "1", agentId: "1" };
  private readonly semantic = new AgentKnowledge(this.ctx.storage, { ASSETS: this.env.ASSETS } as Env, this.scope);
  /** It is created after the texts are taught. */
  private lexical: AgentKnowledge | undefined;

  /** Adds texts, and computes some of the missing vectors. @returns whether more are missing. */
  async teach(texts: { id: string; title: string; text: string }[]): Promise<boolean> {
    const { ingestion } = this.semantic;
    for (const { id, title, text } of texts) {
      await ingestion.stage(id, { name: title, text }, Number.POSITIVE_INFINITY);
      while (!ingestion.step(id, "fit").done);
    }
    return this.semantic.updateVectors();
  }

  /** `teach` computes the vectors. */
  override async alarm(): Promise<void> {}

  async ask({ question, previousQuestions, isSemantic, scores }: Asked) {
    const knowledge = isSemantic ? this.semantic : (this.lexical ??= new AgentKnowledge(this.ctx.storage, {} as Env, this.scope));
    const retrieval = await knowledge.search({ question, previousQuestions, limit: PASSAGES });
    const found = candidatesOf(question, retrieval);
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
    const body = await request.json();
    return Response.json(await (request.method === "PUT" ? corpus.teach(body as never) : corpus.ask(body as never)));
  },
} satisfies ExportedHandler<SignalsEnv>;
