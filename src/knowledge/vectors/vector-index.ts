import { withinMs } from "../../time-limit.ts";

/** Whose vectors. */
export interface VectorScope {
  workspaceId: string;
  agentId: string;
}

/** A vector under its name, which is the agent's own. */
export interface NamedVector {
  name: string;
  values: number[];
}

/** A vector near the one asked for. */
export interface NearVector {
  name: string;
  /** Cosine, -1..1. */
  similarity: number;
}

/** Keeps vectors and finds near ones. What is written shows only after a while. Every method throws where the index is down. */
export interface VectorIndex {
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
export class VectorizeIndexEngine implements VectorIndex {
  constructor(private readonly binding: Binding) {}

  async put(scope: VectorScope, vectors: readonly NamedVector[]): Promise<void> {
    const { workspaceId: namespace, agentId: agent } = scope;
    const records = vectors.map(({ name, values }) => ({ id: idOf(scope, name), namespace, values, metadata: { agent } }));
    await withinMs(WRITE_LIMIT_MS, this.binding.upsert(records), "Putting vectors");
  }

  async remove(scope: VectorScope, names: readonly string[]): Promise<void> {
    await withinMs(WRITE_LIMIT_MS, this.binding.deleteByIds(names.map((name) => idOf(scope, name))), "Removing vectors");
  }

  async present(scope: VectorScope, names: readonly string[]): Promise<string[]> {
    const found = await withinMs(WRITE_LIMIT_MS, this.binding.getByIds(names.map((name) => idOf(scope, name))), "Looking vectors up");
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
