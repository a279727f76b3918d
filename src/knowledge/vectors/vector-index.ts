import type { Embeddings } from "../../models/model.ts";
import { embeddingsFor } from "../../models/providers.ts";
import { type Passage, passageText } from "../../models/retrieval.ts";
import { vectorsRound } from "../../platform/config.ts";
import { truncateBytes } from "../../platform/text.ts";
import { withTimeout } from "../../platform/time.ts";

/** Whose vectors. */
export interface VectorScope {
  workspaceId: string;
  agentId: string;
}

/** A vector under its name, which is the agent's own. */
interface NamedVector {
  name: string;
  values: number[];
}

/** A vector near the one asked for. */
interface NearVector {
  name: string;
  /** Cosine, -1..1. */
  similarity: number;
}

/** Keeps vectors and finds near ones. What is written shows only after a while. Every method throws where the index is down. */
interface VectorIndex {
  /** Puts at most PUT_AT_ONCE vectors, in the place of those with the same names. */
  put(scope: VectorScope, vectors: readonly NamedVector[]): Promise<void>;
  /** Takes at most REMOVED_AT_ONCE vectors out. */
  remove(scope: VectorScope, names: readonly string[]): Promise<void>;
  /** Which of at most LOOKED_UP_AT_ONCE vectors the index has, as far as it has come. */
  present(scope: VectorScope, names: readonly string[]): Promise<string[]>;
  /** The agent's nearest vectors, best first. */
  nearest(scope: VectorScope, values: number[]): Promise<NearVector[]>;
}

/** Vectorize takes 1,000 vectors in one call; a long one that fails is sent again whole. */
export const PUT_AT_ONCE = 400;
/** Vectorize refuses whole calls with more names than these: not in its documentation, but in its errors (40007). */
export const REMOVED_AT_ONCE = 100;
export const LOOKED_UP_AT_ONCE = 20;

/** What is fused with as many chunks that words find; Vectorize gives up to 100 without their values. */
const NEAREST = 50;
/** Nobody waits for a write; one that takes longer is sent again. */
const WRITE_LIMIT_MS = 30_000;

type Binding = Pick<Vectorize, "upsert" | "deleteByIds" | "getByIds" | "query">;

/**
 * One Vectorize index for all tenants: a namespace a workspace, the agent as metadata, whose index `agent` must be made
 * before the first vector is.
 */
class VectorizeIndexEngine implements VectorIndex {
  constructor(private readonly binding: Binding) {}

  async put(scope: VectorScope, vectors: readonly NamedVector[]): Promise<void> {
    const { workspaceId: namespace, agentId: agent } = scope;
    const records = vectors.map(({ name, values }) => ({ id: idOf(scope, name), namespace, values, metadata: { agent } }));
    await withTimeout(WRITE_LIMIT_MS, this.binding.upsert(records), "Putting vectors");
  }

  async remove(scope: VectorScope, names: readonly string[]): Promise<void> {
    await withTimeout(WRITE_LIMIT_MS, this.binding.deleteByIds(names.map((name) => idOf(scope, name))), "Removing vectors");
  }

  async present(scope: VectorScope, names: readonly string[]): Promise<string[]> {
    const found = await withTimeout(WRITE_LIMIT_MS, this.binding.getByIds(names.map((name) => idOf(scope, name))), "Looking vectors up");
    return found.flatMap(({ id }) => nameOf(scope, id) ?? []);
  }

  async nearest(scope: VectorScope, values: number[]): Promise<NearVector[]> {
    const { workspaceId: namespace, agentId: agent } = scope;
    const options = { topK: NEAREST, namespace, filter: { agent }, returnValues: false, returnMetadata: "none" } as const;
    const { matches } = await this.binding.query(values, options);
    return matches.flatMap(({ id, score }) => {
      const name = nameOf(scope, id);
      return name === undefined ? [] : [{ name, similarity: score }];
    });
  }
}

function idOf({ agentId }: VectorScope, name: string): string {
  return `${agentId}/${name}`;
}

/** The name in an id; undefined where it is another agent's. */
function nameOf({ agentId }: VectorScope, id: string): string | undefined {
  return id.startsWith(`${agentId}/`) ? id.slice(agentId.length + 1) : undefined;
}

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

/** Raised whenever the embedded text is made differently, so that everything is embedded anew. */
const TEXT_VERSION = 1;
/** No tokenizer makes more tokens of a text than it has bytes, and the usual models read 8,191 or more. */
const MAX_BYTES = 8_000;
/** With the agent's id before it a vector's name fills the 64 bytes that it may have: nobody finds two texts with one. */
const NAME_BYTES = 20;

/** The text of a chunk that its vector is made of. */
export function embeddedText(chunk: Pick<Passage, "title" | "heading" | "content">): string {
  return truncateBytes(passageText(chunk), MAX_BYTES);
}

/** What is asked, as it is embedded. */
export function embeddedQuestion(question: string): string {
  return truncateBytes(question.trim(), MAX_BYTES);
}

/** The name of a text's vector: another one for another text or version. 27 letters of base64url. */
export async function vectorName(version: string, text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${version}\n${text}`));
  return new Uint8Array(digest, 0, NAME_BYTES).toBase64({ alphabet: "base64url", omitPadding: true });
}
