import { type Passage, passageText } from "../../models/retrieval.ts";
import { BASE64URL } from "../../platform/crypto/base64url.ts";
import type { AgentKey } from "../../platform/db/sql.ts";
import { truncateBytes } from "../../platform/text.ts";

/*
 * The port to a vector index. It has two implementations: EmbeddedVectors in the agent's own object, and VectorizeVectors for agents
 * that are too large for it. VectorSync writes to them, SemanticSearch queries them. Without embeddings, search is lexical.
 */

/** The vectors of an agent that were computed in the same way, and can be compared. */
export interface VectorSet extends AgentKey {
  version: string;
}

export interface NamedVector {
  /** Unique within the agent. */
  name: string;
  values: number[];
}

export interface FoundVector {
  name: string;
  cosine: number;
}

/** Every method throws where the vector index is down. */
export interface VectorIndex {
  /** Whether a deleted vector is gone immediately. */
  readonly isConsistent: boolean;
  /** At most UPSERT_BATCH vectors. */
  upsert(set: VectorSet, vectors: readonly NamedVector[]): Promise<void>;
  /** At most DELETE_BATCH vectors. */
  delete(key: AgentKey, names: readonly string[]): Promise<void>;
  /** The names among at most GET_BATCH that the index has now. */
  listPresent(key: AgentKey, names: readonly string[]): Promise<string[]>;
  /** The agent's nearest vectors, best first; Vectorize may return those of other sets too. */
  nearest(set: VectorSet, values: number[], wanted: WantedVectors): Promise<FoundVector[]>;
}

/** The nearest of all vectors, or only vectors with these names. An index that cannot look up names returns as many of all as it can. */
export type WantedVectors = { count: number } | { names: string[] };

/** Vectorize takes 1,000 vectors in one call, but a failed call is sent again whole. */
export const UPSERT_BATCH = 400;
/** Vectorize refuses calls with more ids than these. The limit is not in its documentation, but in its errors (40007). */
export const DELETE_BATCH = 100;
export const GET_BATCH = 20;

/** The number of vectors that a search uses, the same as the candidates of lexical search. */
export const NEAREST = 50;

/** An index in Vectorize: that of the database DB, or of another one by its number. */
export type VectorizeHome = "vectorize" | `vectorize_${number}`;
/** The place of vectors: the agent's object, or an index in Vectorize. */
export type VectorHome = "object" | VectorizeHome;

// --- What is embedded ---

/** A text has at most as many tokens as bytes, and the usual models read 8,191 tokens or more. */
const MAX_BYTES = 8_000;
/** With the agent's id before it, a name of this size fills the 64 bytes of an id. Collisions do not occur. */
const NAME_BYTES = 20;

export function embeddedText(chunk: Pick<Passage, "title" | "heading" | "content">): string {
  return truncateBytes(passageText(chunk), MAX_BYTES);
}

export function embeddedQuestion(question: string): string {
  return truncateBytes(question.trim(), MAX_BYTES);
}

/** The name of a text's vector: a hash of version and text, 27 characters of base64url. */
export async function vectorName(version: string, text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${version}\n${text}`));
  return BASE64URL.encode(new Uint8Array(digest, 0, NAME_BYTES));
}
