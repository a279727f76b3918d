import type { AgentKey } from "../../platform/db/sql.ts";
import { withTimeout } from "../../platform/time.ts";
import type { FoundVector, NamedVector, VectorIndex, WantedVectors } from "./vector-index.ts";

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

  async upsert(key: AgentKey, vectors: readonly NamedVector[]): Promise<void> {
    const { workspaceId: namespace, agentId: agent } = key;
    const records = vectors.map(({ name, values }) => ({ id: idOf(key, name), namespace, values, metadata: { agent } }));
    await withTimeout(WRITE_TIMEOUT_MS, this.binding.upsert(records), "Upserting vectors");
  }

  async delete(key: AgentKey, names: readonly string[]): Promise<void> {
    const ids = names.map((name) => idOf(key, name));
    await withTimeout(WRITE_TIMEOUT_MS, this.binding.deleteByIds(ids), "Deleting vectors");
  }

  async listPresent(key: AgentKey, names: readonly string[]): Promise<string[]> {
    const ids = names.map((name) => idOf(key, name));
    const found = await withTimeout(WRITE_TIMEOUT_MS, this.binding.getByIds(ids), "Getting vectors");
    return found.flatMap(({ id }) => nameOf(key, id) ?? []);
  }

  async nearest(key: AgentKey, values: number[], wanted: WantedVectors): Promise<FoundVector[]> {
    const { workspaceId: namespace, agentId: agent } = key;
    const topK = Math.min(MAX_TOP_K, "count" in wanted ? wanted.count : MAX_TOP_K);
    const options = { topK, namespace, filter: { agent }, returnValues: false, returnMetadata: "none" } as const;
    const { matches } = await this.binding.query(values, options);
    return matches.flatMap(({ id, score }) => {
      const name = nameOf(key, id);
      return name === undefined ? [] : [{ name, cosine: score }];
    });
  }
}

function idOf({ agentId }: AgentKey, name: string): string {
  return `${agentId}/${name}`;
}

/** Undefined for an id of another agent. */
function nameOf({ agentId }: AgentKey, id: string): string | undefined {
  return id.startsWith(`${agentId}/`) ? id.slice(agentId.length + 1) : undefined;
}
