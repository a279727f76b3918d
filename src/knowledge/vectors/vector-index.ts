import type { Embeddings } from "../../models/model.ts";
import { embeddingsFor } from "../../models/providers.ts";
import { type Passage, passageText } from "../../models/retrieval.ts";
import { vectorsRound } from "../../platform/config.ts";
import { truncateBytes } from "../../platform/text.ts";
import { withTimeout } from "../../platform/time.ts";

/*
 * The vector index, which is Vectorize: without it or without embeddings, search is lexical. VectorSync writes to it, and
 * SemanticSearch queries it.
 */

export interface VectorScope {
  workspaceId: string;
  agentId: string;
}

interface NamedVector {
  /** Unique within the agent. */
  name: string;
  values: number[];
}

/** Vectorize takes 1,000 vectors in one call, but a failed call is sent again whole. */
export const UPSERT_BATCH = 400;
/** Vectorize refuses calls with more ids than these: not in its documentation, but in its errors (40007). */
export const DELETE_BATCH = 100;
export const GET_BATCH = 20;

/** As many as the candidates of lexical search; Vectorize returns up to 100 without their values. */
const NEAREST = 50;
/** Nobody waits for a write; one that times out is sent again. */
const WRITE_TIMEOUT_MS = 30_000;

type Binding = Pick<Vectorize, "upsert" | "deleteByIds" | "getByIds" | "query">;

/**
 * The one Vectorize index for all tenants: the workspace is the namespace, the agent is metadata. The metadata index
 * `agent` must exist before the first vector is written. Writes are eventually consistent; every method throws where
 * Vectorize is down.
 */
class VectorIndex {
  constructor(private readonly binding: Binding) {}

  /** At most UPSERT_BATCH vectors. */
  async upsert(scope: VectorScope, vectors: readonly NamedVector[]): Promise<void> {
    const { workspaceId: namespace, agentId: agent } = scope;
    const records = vectors.map(({ name, values }) => ({ id: idOf(scope, name), namespace, values, metadata: { agent } }));
    await withTimeout(WRITE_TIMEOUT_MS, this.binding.upsert(records), "Upserting vectors");
  }

  /** At most DELETE_BATCH vectors. */
  async delete(scope: VectorScope, names: readonly string[]): Promise<void> {
    const ids = names.map((name) => idOf(scope, name));
    await withTimeout(WRITE_TIMEOUT_MS, this.binding.deleteByIds(ids), "Deleting vectors");
  }

  /** Which of at most GET_BATCH vectors the index has at the moment. */
  async listPresent(scope: VectorScope, names: readonly string[]): Promise<string[]> {
    const ids = names.map((name) => idOf(scope, name));
    const found = await withTimeout(WRITE_TIMEOUT_MS, this.binding.getByIds(ids), "Getting vectors");
    return found.flatMap(({ id }) => nameOf(scope, id) ?? []);
  }

  /** The agent's nearest vectors, best first. */
  async nearest(scope: VectorScope, values: number[]): Promise<{ name: string; cosine: number }[]> {
    const { workspaceId: namespace, agentId: agent } = scope;
    const options = { topK: NEAREST, namespace, filter: { agent }, returnValues: false, returnMetadata: "none" } as const;
    const { matches } = await this.binding.query(values, options);
    return matches.flatMap(({ id, score }) => {
      const name = nameOf(scope, id);
      return name === undefined ? [] : [{ name, cosine: score }];
    });
  }
}

function idOf({ agentId }: VectorScope, name: string): string {
  return `${agentId}/${name}`;
}

/** Undefined for an id of another agent. */
function nameOf({ agentId }: VectorScope, id: string): string | undefined {
  return id.startsWith(`${agentId}/`) ? id.slice(agentId.length + 1) : undefined;
}

export interface VectorEngines {
  index: VectorIndex;
  embeddings: Embeddings;
  /** Of everything that a vector depends on besides the text: vectors of another version are replaced. */
  version: string;
}

/** The deployment's engines; undefined where it does not have both, and search is lexical. */
export function vectorEnginesFor(env: Env): VectorEngines | undefined {
  const embeddings = embeddingsFor(env);
  if (!env.VECTORS || !embeddings) return undefined;
  // The generated types describe the binding of the beta.
  const index = new VectorIndex(env.VECTORS as unknown as Vectorize);
  return { index, embeddings, version: `${TEXT_VERSION}/${vectorsRound(env)}/${embeddings.version}` };
}

/** Increment it with every change of the embedded text, so that everything is embedded again. */
const TEXT_VERSION = 1;
/** No tokenizer makes more tokens of a text than it has bytes, and the usual models read 8,191 or more. */
const MAX_BYTES = 8_000;
/** With the agent's id before it the name fills the 64 bytes of an id; collisions are out of reach. */
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
  return new Uint8Array(digest, 0, NAME_BYTES).toBase64({ alphabet: "base64url", omitPadding: true });
}
