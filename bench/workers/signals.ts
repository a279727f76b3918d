import { DurableObject } from "cloudflare:workers";
import { AgentKnowledge } from "../../src/knowledge/agent-knowledge.ts";
import { candidatesOf, confidenceFeatures, excerptsOf, indexOfBest, scoresOf } from "../../src/extractive/ranking.ts";
import { composeAnswer } from "../../src/extractive/compose.ts";
import { readCandidates, unread } from "../../src/extractive/engine.ts";
import { answerReader } from "../../src/models/encoder/load.ts";

/*
 * Answers what the service does not show: the features of a question's candidates. The path names a corpus; PUT teaches it
 * texts until it answers false, POST asks it, and with the candidates' scores it answers the best one and the features of the confidence.
 * PATCH answers what the reader reads.
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
  /** Whether the reader chooses the best candidate. */
  isRead: boolean;
  scores?: number[];
}

interface ToArrange extends Pick<Asked, "question" | "previousQuestions"> {
  variant: number;
  /** The texts of excerpts that are left out. */
  without: string[];
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

  /** Arranges a question with its excerpts for the reader; each variant but the first lacks an eighth of the excerpts. */
  async arrange({ question, previousQuestions, variant, without }: ToArrange) {
    const retrieval = await this.semantic.search({ question, previousQuestions, limit: PASSAGES });
    const found = candidatesOf(question, retrieval);
    const isKept = (index: number): boolean => variant === 0 || (index + 3 * variant) % 8 !== 0;
    const excerpts = excerptsOf(found, scoresOf(found)).filter(({ text }, index) => isKept(index) && !without.includes(text));
    const { tokens, rows } = (await answerReader(this.env)).arrange(question, retrieval.previousQuestion, excerpts);
    const read = [...rows].map(([index, own]) => ({ ...excerpts[index]!, rows: own }));
    return { tokens, excerpts: read.map((excerpt) => ({ ...excerpt, title: found.passages[excerpt.passage]!.title })) };
  }

  async ask({ question, previousQuestions, isSemantic, isRead, scores }: Asked) {
    const knowledge = isSemantic ? this.semantic : (this.lexical ??= new AgentKnowledge(this.ctx.storage, {} as Env, this.scope));
    const retrieval = await knowledge.search({ question, previousQuestions, limit: PASSAGES });
    const found = candidatesOf(question, retrieval);
    if (scores) {
      // The reader reads no question in another language.
      if (isRead && !found.isSemantic) return { best: -1, features: null };
      const ranked = unread(found, scores);
      const judged = isRead ? readCandidates(await answerReader(this.env), question, retrieval.previousQuestion, ranked) : ranked;
      return { best: indexOfBest(judged), features: confidenceFeatures(judged) ?? null };
    }
    return found.candidates.map(({ passage, segments, at, features }) => ({
      sourceId: passage.sourceId,
      text: composeAnswer(segments, at),
      features,
    }));
  }
}

const METHODS = { PUT: "teach", POST: "ask", PATCH: "arrange" } as const;

export default {
  async fetch(request, env) {
    const corpus = env.CORPORA.getByName(new URL(request.url).pathname);
    const method = METHODS[request.method as keyof typeof METHODS];
    return Response.json(await corpus[method](await request.json<never>()));
  },
} satisfies ExportedHandler<SignalsEnv>;
