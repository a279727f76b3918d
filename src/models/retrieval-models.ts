import { aiGateway, embeddingServer, encodesSentences, usesReranker } from "../platform/config.ts";
import { readAtMost } from "../platform/read-stream.ts";
import { truncate } from "../platform/text.ts";
import { withTimeout } from "../platform/time.ts";
import { postToServer } from "./chat-servers.ts";
import { ENCODER_NAME } from "./encoder/load.ts";
import { WORKERS_AI_DIMENSIONS, WORKERS_AI_MODELS } from "./limits.ts";
import type { Embeddings, Reranker } from "./model.ts";

// --- Embeddings ---

/** 1,536 numbers for each text of a full call are 3 MB of JSON; some servers write more digits. */
const MAX_EMBEDDING_RESPONSE_BYTES = 16 * 1024 * 1024;

/** All vectors of bge-m3 are near each other; those of other models may be less so. Passages below these values are left out. */
const WORKERS_AI_UNRELATED_COSINE = 0.4;
const SERVER_UNRELATED_COSINE = 0.2;

/** The deployment's embeddings: of the configured server's model, otherwise of Workers AI; undefined if it has neither. */
export function embeddingsFor(env: Env, send?: typeof fetch): Embeddings | undefined {
  return openAiEmbeddings(env, send) ?? workersAiEmbeddings(env);
}

/** Whether the service's own encoder is used, in the languages that it knows: configured embeddings take precedence. */
export function hasOwnEncoder(env: Env): boolean {
  return encodesSentences(env) && embeddingsFor(env) === undefined && (env.ASSETS as Fetcher | undefined) !== undefined;
}

/** The name of the model by which passages are found by their meaning; null if they are found by their words only. */
export function searchModel(env: Env): string | null {
  return embeddingsFor(env)?.version ?? (hasOwnEncoder(env) ? ENCODER_NAME : null);
}

/**
 * The embeddings by which existing vectors were made, if the deployment has changed its embedding model since: those of the same server
 * or of Workers AI; undefined if it has neither. A server that no longer has the model fails when it is called.
 */
export function embeddingsOfVersion(env: Env, version: string, send?: typeof fetch): Embeddings | undefined {
  const workersAi = workersAiEmbeddings(env);
  if (workersAi?.version === version) return workersAi;
  const separator = version.lastIndexOf(":");
  const dimensions = version.slice(separator + 1);
  return openAiEmbeddings(
    {
      ...env,
      OPENAI_EMBEDDING_MODEL: version.slice(0, separator),
      OPENAI_EMBEDDING_DIMENSIONS: dimensions === OWN_DIMENSIONS ? "" : dimensions,
    },
    send,
  );
}

const OWN_DIMENSIONS = "own";

function openAiEmbeddings(env: Parameters<typeof embeddingServer>[0], send?: typeof fetch): Embeddings | undefined {
  const server = embeddingServer(env);
  if (!server) return undefined;
  const { model, dimensions } = server;
  return {
    version: `${model}:${dimensions ?? OWN_DIMENSIONS}`,
    unrelatedCosine: SERVER_UNRELATED_COSINE,
    embed: async (texts, timeoutMs) => {
      const body = { model, input: texts, encoding_format: "float", ...(dimensions !== undefined && { dimensions }) };
      const stopped = new AbortController();
      // The timer of AbortSignal.timeout would keep the index object in memory after the response.
      const timer = setTimeout(() => stopped.abort(new Error("Embedding took too long")), timeoutMs);
      try {
        const response = await postToServer(server, "/embeddings", body, { send, signal: stopped.signal });
        return checkVectors(await readVectors(response), texts.length, dimensions);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Reads the vectors of a response, in the order of its texts. */
async function readVectors({ body }: Response): Promise<number[][] | undefined> {
  const { body: bytes, isTruncated } = await readAtMost(body, MAX_EMBEDDING_RESPONSE_BYTES);
  if (isTruncated) throw new Error("The embedding model's response is too long");
  const { data } = JSON.parse(new TextDecoder().decode(bytes)) as { data?: { embedding?: number[] }[] };
  return data?.map(({ embedding }) => embedding ?? []);
}

function workersAiEmbeddings(env: Env): Embeddings | undefined {
  const { AI: ai } = env;
  if (!ai) return undefined;
  return {
    version: `${WORKERS_AI_MODELS.embedding}:${WORKERS_AI_DIMENSIONS}`,
    unrelatedCosine: WORKERS_AI_UNRELATED_COSINE,
    embed: async (texts, timeoutMs) => {
      const run = ai.run(WORKERS_AI_MODELS.embedding, { text: [...texts], truncate_inputs: true }, aiGateway(env));
      const output = await withTimeout(timeoutMs, run, "Embedding");
      return checkVectors("data" in output ? output.data : undefined, texts.length, WORKERS_AI_DIMENSIONS);
    },
  };
}

/** @throws Error unless these are `count` vectors of numbers, all of one length. */
function checkVectors(vectors: number[][] | undefined, count: number, dimensions = vectors?.[0]?.length): number[][] {
  const isVector = (values: unknown) =>
    Array.isArray(values) && values.length > 0 && values.length === dimensions && values.every((value) => Number.isFinite(value));
  if (vectors?.length !== count || !vectors.every(isVector)) {
    throw new Error(`The embedding model returned ${vectors?.length ?? "no"} vectors for ${count} texts, or vectors of other dimensions`);
  }
  return vectors;
}

// --- Reranker ---

/** The model reads 512 tokens, including the question, and ignores the rest. */
const MAX_QUESTION_LENGTH = 500;
const MAX_PASSAGE_LENGTH = 2_000;

/** The deployment's reranker; undefined unless it has Workers AI and reranking is switched on. */
export function rerankerFor(env: Env): Reranker | undefined {
  const { AI: ai } = env;
  if (!ai || !usesReranker(env)) return undefined;
  return {
    score: async (question, texts, timeoutMs) => {
      const contexts = texts.map((text) => ({ text: truncate(text, MAX_PASSAGE_LENGTH) }));
      const input = { query: truncate(question, MAX_QUESTION_LENGTH), contexts, top_k: texts.length };
      // The generated types lack `query`.
      const run = ai.run(WORKERS_AI_MODELS.reranker, input as AiModels[typeof WORKERS_AI_MODELS.reranker]["inputs"], aiGateway(env));
      return scoresOf(await withTimeout(timeoutMs, run, "Reranking"), texts.length);
    },
  };
}

function scoresOf({ response }: { response?: { id?: number; score?: number }[] }, count: number): number[] {
  const scores = new Map(response?.map(({ id, score }) => [id, score]));
  return Array.from({ length: count }, (_, at) => {
    const score = scores.get(at);
    if (score === undefined || !Number.isFinite(score)) throw new Error(`The reranker returned ${scores.size} scores for ${count} texts`);
    return Math.min(1, Math.max(0, score));
  });
}
