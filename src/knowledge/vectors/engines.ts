import { vectorsRound } from "../../config.ts";
import { type Embeddings, embeddingsFor } from "../../models/embeddings.ts";
import { TEXT_VERSION } from "./embedded-text.ts";
import { type VectorIndex, VectorizeIndexEngine } from "./vector-index.ts";

/** What search by meaning takes. */
export interface VectorEngines {
  index: VectorIndex;
  embeddings: Embeddings;
  /** Of everything that a vector depends on beside the text: vectors of another version are replaced. */
  version: string;
}

/** The deployment's engines; undefined where it has not both of them, and words alone are searched. */
export function vectorEnginesFor(env: Env): VectorEngines | undefined {
  const embeddings = embeddingsFor(env);
  if (!env.VECTORS || !embeddings) return undefined;
  // The generated types know the binding as it was in the beta.
  const index = new VectorizeIndexEngine(env.VECTORS as unknown as Vectorize);
  return { index, embeddings, version: `${TEXT_VERSION}/${vectorsRound(env)}/${embeddings.version}` };
}
