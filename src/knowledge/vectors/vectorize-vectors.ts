import { withTimeout } from "../../platform/time.ts";
import type { FoundVector, NamedVector, VectorIndex, VectorScope, WantedVectors } from "./vector-index.ts";

/** The timeout is long, since nobody waits for a write. A write that times out is sent again. */
const WRITE_TIMEOUT_MS = 30_000;

/** The most vectors that Vectorize returns without their values. */
const MAX_TOP_K = 100;

type Binding = Pick<Vectorize, "upsert" | "deleteByIds" | "getByIds" | "query">;

/**
 * The Vectorize index of all tenants. The workspace is the namespace, the agent is in the metadata. The metadata index `agent` must
 * exist before the first vector is written. Writes are eventually consistent. Every method throws where Vectorize is down.
 */
export class VectorizeVectors implements VectorIndex {
  readonly isConsistent = false;

  constructor(private readonly binding: Binding) {}

  async upsert(scope: VectorScope, vectors: readonly NamedVector[]): Promise<void> {
    const { workspaceId: namespace, agentId: agent } = scope;
    const records = vectors.map(({ name, values }) => ({ id: idOf(scope, name), namespace, values, metadata: { agent } }));
    await withTimeout(WRITE_TIMEOUT_MS, this.binding.upsert(records), "Upserting vectors");
  }

  async delete(scope: VectorScope, names: readonly string[]): Promise<void> {
    const ids = names.map((name) => idOf(scope, name));
    await withTimeout(WRITE_TIMEOUT_MS, this.binding.deleteByIds(ids), "Deleting vectors");
  }

  async listPresent(scope: VectorScope, names: readonly string[]): Promise<string[]> {
    const ids = names.map((name) => idOf(scope, name));
    const found = await withTimeout(WRITE_TIMEOUT_MS, this.binding.getByIds(ids), "Getting vectors");
    return found.flatMap(({ id }) => nameOf(scope, id) ?? []);
  }

  async nearest(scope: VectorScope, values: number[], wanted: WantedVectors): Promise<FoundVector[]> {
    const { workspaceId: namespace, agentId: agent } = scope;
    const topK = Math.min(MAX_TOP_K, "count" in wanted ? wanted.count : MAX_TOP_K);
    const options = { topK, namespace, filter: { agent }, returnValues: false, returnMetadata: "none" } as const;
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
