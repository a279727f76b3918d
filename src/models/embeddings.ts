import { aiGateway, embeddingServer } from "../platform/config.ts";
import { withTimeout } from "../platform/time.ts";
import { WORKERS_AI_DIMENSIONS } from "./limits.ts";
import { openAiServer } from "./openai-server.ts";

/** Turns texts into vectors: near ones are about the same matter. */
export interface Embeddings {
  /** Of model and dimensions: vectors of another version are not comparable. */
  readonly version: string;
  /** The cosine that texts of different matters have with this model: what is no nearer says nothing. */
  readonly unrelated: number;
  /**
   * The vectors of at most EMBEDDED_AT_ONCE texts, in their order, all of one length.
   * @throws Error when the model is down, too slow, refuses a text or answers nonsense.
   */
  embed(texts: readonly string[], limitMs: number): Promise<number[][]>;
}

/** Workers AI takes no more texts in a call. */
export const EMBEDDED_AT_ONCE = 100;
/** As many vectors of 1,536 numbers take 3 MB as JSON; some servers write more digits. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Many languages, 8,192 tokens a text, 1,024 dimensions. */
const WORKERS_AI_MODEL = "@cf/baai/bge-m3";
/** bge-m3 puts all texts into a narrow cone; other models may spread them wider. Rather too low: what is below is left out. */
const WORKERS_AI_UNRELATED = 0.4;
const SERVER_UNRELATED = 0.2;

/** The deployment's embeddings: of the server that it names a model of, else of Workers AI; undefined where it has neither. */
export function embeddingsFor(env: Env, send?: typeof fetch): Embeddings | undefined {
  return serverEmbeddings(env, send) ?? workersAiEmbeddings(env);
}

function workersAiEmbeddings(env: Env): Embeddings | undefined {
  const { AI: ai } = env;
  if (!ai) return undefined;
  return {
    version: `${WORKERS_AI_MODEL}:${WORKERS_AI_DIMENSIONS}`,
    unrelated: WORKERS_AI_UNRELATED,
    embed: async (texts, limitMs) => {
      const run = ai.run(WORKERS_AI_MODEL, { text: [...texts], truncate_inputs: true }, aiGateway(env));
      const answer = await withTimeout(limitMs, run, "Embedding");
      return checked("data" in answer ? answer.data : undefined, texts.length, WORKERS_AI_DIMENSIONS);
    },
  };
}

function serverEmbeddings(env: Env, send?: typeof fetch): Embeddings | undefined {
  const server = embeddingServer(env);
  if (!server) return undefined;
  const { model, dimensions } = server;
  const engine = openAiServer(server, MAX_RESPONSE_BYTES, send).embeddingModel(model);
  return {
    version: `${model}:${dimensions ?? "own"}`,
    unrelated: SERVER_UNRELATED,
    embed: async (texts, limitMs) => {
      const shape = dimensions === undefined ? {} : { dimensions };
      const call = { values: [...texts], abortSignal: AbortSignal.timeout(limitMs), ...shape };
      const { embeddings } = await engine.doEmbed(call);
      return checked(embeddings, texts.length, dimensions);
    },
  };
}

/** What a model answered, once it is known to be as many vectors as were asked for, of numbers and of one length. */
function checked(vectors: number[][] | undefined, count: number, dimensions = vectors?.[0]?.length): number[][] {
  const isVector = (values: unknown) =>
    Array.isArray(values) && values.length > 0 && values.length === dimensions && values.every((value) => Number.isFinite(value));
  if (vectors?.length !== count || !vectors.every(isVector)) {
    throw new Error(`The embedding model answered ${vectors?.length ?? "no"} vectors to ${count} texts, or of other dimensions`);
  }
  return vectors;
}
