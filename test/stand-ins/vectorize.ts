const MAX_ID_BYTES = 64;
const MAX_METADATA_BYTES = 10 * 1024;
const MAX_UPSERT = 1_000;
const MAX_DELETED = 100;
const MAX_FETCHED = 20;
const MAX_TOP_K = 100;
const MAX_TOP_K_WITH_MORE = 50;
const MAX_FILTER_BYTES = 2_048;
/** Vectorize indexes the first bytes of a string. */
const INDEXED_BYTES = 64;

type Call = "upsert" | "deleteByIds" | "getByIds" | "query";
type Mutation = { put: VectorizeVector[] } | { removed: string[] };

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/**
 * A Vectorize index with its documented limits. A write is accepted immediately and becomes visible at once, or at
 * `settle()` where `isPrompt` is false. As with the real one, vectors cannot be listed; `visible` is for assertions.
 */
export class VectorizeStandIn {
  readonly calls: { name: Call; size: number }[] = [];
  /** Calls that fail or hang. */
  readonly faults = new Map<Call, "fails" | "hangs">();
  /** Whether writes are visible immediately. */
  isPrompt = true;
  /** Ignores namespace and filter. */
  leaks = false;
  readonly visible = new Map<string, VectorizeVector>();
  private readonly waiting: Mutation[] = [];

  constructor(
    private readonly dimensions = 1_024,
    private readonly indexed: readonly string[] = ["agent"],
  ) {}

  /** Makes this many pending writes visible, by default all. */
  settle(count = this.waiting.length): void {
    for (const mutation of this.waiting.splice(0, count)) {
      if ("put" in mutation) for (const vector of mutation.put) this.visible.set(vector.id, vector);
      else for (const id of mutation.removed) this.visible.delete(id);
    }
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  async upsert(vectors: VectorizeVector[]): Promise<VectorizeAsyncMutation> {
    await this.begin("upsert", vectors.length);
    if (vectors.length > MAX_UPSERT) throw new Error(`VECTOR_UPSERT_ERROR (code = 40008): too many vectors, max is ${MAX_UPSERT}`);
    for (const { id, namespace = "", values, metadata = {} } of vectors) {
      if (bytesOf(id) > MAX_ID_BYTES || bytesOf(namespace) > MAX_ID_BYTES) throw new Error(`VECTOR_UPSERT_ERROR: ${id} is too long`);
      if (bytesOf(JSON.stringify(metadata)) > MAX_METADATA_BYTES) throw new Error("VECTOR_UPSERT_ERROR: metadata is too large");
      this.checkDimensions(values);
    }
    return this.accept({ put: structuredClone(vectors) });
  }

  async deleteByIds(ids: string[]): Promise<VectorizeAsyncMutation> {
    await this.begin("deleteByIds", ids.length);
    if (ids.length > MAX_DELETED)
      throw new Error(`VECTOR_DELETE_ERROR (code = 40007): too many ids in payload; max id count is ${MAX_DELETED}`);
    return this.accept({ removed: [...ids] });
  }

  async getByIds(ids: string[]): Promise<VectorizeVector[]> {
    await this.begin("getByIds", ids.length);
    if (ids.length > MAX_FETCHED)
      throw new Error(`VECTOR_GET_ERROR (code = 40007): too many ids in payload; max id count is ${MAX_FETCHED}`);
    return ids.flatMap((id) => this.visible.get(id) ?? []);
  }

  async query(vector: number[], options: VectorizeQueryOptions = {}): Promise<VectorizeMatches> {
    await this.begin("query", 1);
    const { topK = 5, namespace, filter = {}, returnValues = false, returnMetadata = "none" } = options;
    const hasMore = returnValues || returnMetadata === "all" || returnMetadata === true;
    if (topK > (hasMore ? MAX_TOP_K_WITH_MORE : MAX_TOP_K)) throw new Error("VECTOR_QUERY_ERROR (code = 40025): topK is too large");
    if (bytesOf(JSON.stringify(filter)) >= MAX_FILTER_BYTES) throw new Error("VECTOR_QUERY_ERROR: the filter is too large");
    this.checkDimensions(vector);
    const all = [...this.visible.values()].filter(
      (one) => this.leaks || ((namespace === undefined || one.namespace === namespace) && this.passes(one, filter)),
    );
    const matches = all
      .map((one) => ({ id: one.id, score: cosine(vector, [...one.values]) }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, topK);
    return { matches, count: matches.length };
  }

  async describe(): Promise<VectorizeIndexInfo> {
    return { vectorCount: this.visible.size, dimensions: this.dimensions, processedUpToDatetime: 0, processedUpToMutation: 0 };
  }

  /** Equality only; a field without a metadata index matches nothing. */
  private passes({ metadata = {} }: VectorizeVector, filter: object): boolean {
    const head = (value: unknown) => (typeof value === "string" ? value.slice(0, INDEXED_BYTES) : value);
    return Object.entries(filter).every(([field, value]) => this.indexed.includes(field) && head(metadata[field]) === head(value));
  }

  private checkDimensions(values: ArrayLike<number>): void {
    if (values.length !== this.dimensions)
      throw new Error(`code = 40012: expected ${this.dimensions} dimensions, and got ${values.length}`);
  }

  private accept(mutation: Mutation): VectorizeAsyncMutation {
    this.waiting.push(mutation);
    if (this.isPrompt) this.settle();
    return { mutationId: crypto.randomUUID() };
  }

  private async begin(name: Call, size: number): Promise<void> {
    this.calls.push({ name, size });
    if (this.faults.get(name) === "fails") throw new Error(`${name}: the stand-in is down`);
    if (this.faults.get(name) === "hangs") await new Promise(() => undefined);
  }
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, value, at) => sum + value * y[at]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b) || 1);
}
