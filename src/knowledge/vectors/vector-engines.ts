import type { Embeddings } from "../../models/model.ts";
import { embeddingsFor, embeddingsOfVersion } from "../../models/retrieval-models.ts";
import { maxEmbeddedVectors, vectorsRound } from "../../platform/config.ts";
import type { VectorHome, VectorIndex } from "./vector-index.ts";
import { VectorizeVectors } from "./vectorize-vectors.ts";

export interface VectorEngines {
  embeddings: Embeddings;
  /** Undefined if the deployment has no Vectorize. */
  vectorize: VectorIndex | undefined;
  /** The vectors of agents with more than this number are in Vectorize, where the deployment has it. */
  maxEmbedded: number;
  /** The version of everything that a vector depends on besides the text. Vectors of another version are replaced. */
  versionIn(home: VectorHome): string;
  /** The embeddings of a version; undefined if the deployment no longer has the model. */
  embeddingsOf(version: string): Embeddings | undefined;
}

/** The deployment's engines; undefined if it has no embeddings, so that search is lexical. */
export function vectorEnginesFor(env: Env): VectorEngines | undefined {
  const embeddings = embeddingsFor(env);
  if (!embeddings) return undefined;
  const inVectorize = `${TEXT_VERSION}/${vectorsRound(env)}/${embeddings.version}`;
  return {
    embeddings,
    // The generated types describe the binding of the beta version.
    vectorize: env.VECTORS && new VectorizeVectors(env.VECTORS as unknown as Vectorize),
    maxEmbedded: maxEmbeddedVectors(env),
    versionIn: (home) => (home === "object" ? `${OBJECT_PREFIX}${inVectorize}` : inVectorize),
    embeddingsOf: (version) => embeddingsOfVersion(env, parseVersion(version).embeddings),
  };
}

/** Increment it with every change of the embedded text, so that everything is embedded again. */
const TEXT_VERSION = 1;
const OBJECT_PREFIX = "object/";

export function parseVersion(version: string): { home: VectorHome; round: string; embeddings: string } {
  const isInObject = version.startsWith(OBJECT_PREFIX);
  const [, round = "", ...embeddings] = (isInObject ? version.slice(OBJECT_PREFIX.length) : version).split("/");
  return { home: isInObject ? "object" : "vectorize", round, embeddings: embeddings.join("/") };
}
