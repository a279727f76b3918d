import { cosineOf, quantised, sketchOf, Sketches } from "./sketches.ts";
import { type FoundVector, type NamedVector, NEAREST, type VectorIndex, type VectorSet, type WantedVectors } from "./vector-index.ts";

/*
 * The vector index of an agent in its own KnowledgeIndex object has int8 vectors in SQLite, and their sketches in memory. A search
 * scans the sketches, then compares the vectors of the best ones exactly.
 */

/** The database index has all that a scan of the sketches reads, an eighth of the table. */
export const EMBEDDED_TABLE = `
CREATE TABLE IF NOT EXISTS embedded_vectors (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, version TEXT NOT NULL, sketch BLOB NOT NULL, vector BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS embedded_vectors_sketch ON embedded_vectors (version, sketch);`;

/** The number of vectors that a search compares exactly, among which the best 50 of all nearly always are. */
const CANDIDATES = 200;
/** The number of exact comparisons for each vector that is wanted, where more are wanted. */
const CANDIDATES_PER_WANTED = 2;
/** The dimensions of the largest models in use. */
const MAX_DIMENSIONS = 4_096;

interface StoredVector extends Record<string, SqlStorageValue> {
  name: string;
  vector: ArrayBuffer;
}

export class EmbeddedVectors implements VectorIndex {
  readonly isConsistent = true;
  /** The sketches of the version that was searched last. */
  private sketches: Sketches | undefined;
  private version = "";

  constructor(private readonly sql: SqlStorage) {}

  /** @throws WrongDimensionsError if a vector has other dimensions than those of its set. */
  async upsert({ version }: VectorSet, vectors: readonly NamedVector[]): Promise<void> {
    const dimensions = this.dimensionsOf(version) ?? vectors[0]?.values.length ?? 0;
    if (dimensions > MAX_DIMENSIONS) throw new WrongDimensionsError(`Vectors have ${dimensions} dimensions, more than ${MAX_DIMENSIONS}`);
    for (const { values } of vectors) checkDimensions(values, dimensions);
    const sketches = this.loaded(version);
    for (const { name, values } of vectors) {
      const vector = quantised(values);
      const sketch = sketchOf(vector);
      const insert = `INSERT INTO embedded_vectors (name, version, sketch, vector) VALUES (?, ?, ?, ?)
        ON CONFLICT (name) DO NOTHING RETURNING id`;
      const [row] = this.sql.exec<{ id: number }>(insert, name, version, bufferOf(sketch), bufferOf(vector)).toArray();
      if (row) sketches?.add(row.id, sketch);
    }
  }

  async delete(_: unknown, names: readonly string[]): Promise<void> {
    const query = "DELETE FROM embedded_vectors WHERE name IN (SELECT value FROM json_each(?)) RETURNING id";
    const ids = this.sql.exec<{ id: number }>(query, JSON.stringify(names)).toArray();
    this.sketches?.remove(new Set(ids.map(({ id }) => id)));
  }

  async listPresent(_: unknown, names: readonly string[]): Promise<string[]> {
    const query = "SELECT name FROM embedded_vectors WHERE name IN (SELECT value FROM json_each(?))";
    return this.sql
      .exec<{ name: string }>(query, JSON.stringify(names))
      .toArray()
      .map(({ name }) => name);
  }

  async nearest({ version }: VectorSet, values: readonly number[], wanted: WantedVectors): Promise<FoundVector[]> {
    const sketches = this.load(version);
    if (!sketches) return [];
    checkDimensions(values, sketches.dimensions);
    const question = Float32Array.from(values);
    const rows = "names" in wanted ? this.named(version, wanted.names) : this.candidates(sketches, question, wanted.count);
    const length = Math.hypot(...question);
    const found = rows.toArray().map(({ name, vector }) => ({ name, cosine: cosineOf(question, new Int8Array(vector)) / length }));
    return found.toSorted((a, b) => b.cosine - a.cosine).slice(0, "count" in wanted ? wanted.count : NEAREST);
  }

  private named(version: string, names: readonly string[]): SqlStorageCursor<StoredVector> {
    const query = "SELECT name, vector FROM embedded_vectors WHERE version = ? AND name IN (SELECT value FROM json_each(?))";
    return this.sql.exec(query, version, JSON.stringify(names));
  }

  private candidates(sketches: Sketches, question: Float32Array, count: number): SqlStorageCursor<StoredVector> {
    const ids = sketches.nearest(question, Math.max(CANDIDATES, count * CANDIDATES_PER_WANTED));
    return this.sql.exec("SELECT name, vector FROM embedded_vectors WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  }

  /** Releases the sketches, after the table was dropped or cleared. */
  forget(): void {
    this.sketches?.release();
    this.sketches = undefined;
    this.version = "";
  }

  private load(version: string): Sketches | undefined {
    const loaded = this.loaded(version);
    if (loaded) return loaded;
    this.forget();
    const dimensions = this.dimensionsOf(version);
    if (dimensions === undefined) return undefined;
    const sketches = new Sketches(dimensions);
    const query = "SELECT id, sketch FROM embedded_vectors WHERE version = ?";
    for (const { id, sketch } of this.sql.exec<{ id: number; sketch: ArrayBuffer }>(query, version))
      sketches.add(id, new Uint8Array(sketch));
    this.version = version;
    this.sketches = sketches;
    return sketches;
  }

  private loaded(version: string): Sketches | undefined {
    return this.version === version && this.sketches?.isReleased === false ? this.sketches : undefined;
  }

  /** The dimensions of the vectors of a version; undefined if there are none. */
  private dimensionsOf(version: string): number | undefined {
    const query = "SELECT length(vector) AS dimensions FROM embedded_vectors WHERE version = ? LIMIT 1";
    return this.loaded(version)?.dimensions ?? this.sql.exec<{ dimensions: number }>(query, version).toArray()[0]?.dimensions;
  }
}

/** The model was replaced under its name. Increasing VECTORS_ROUND embeds everything again. */
class WrongDimensionsError extends Error {
  override readonly name = "WrongDimensionsError";
}

function checkDimensions(values: readonly number[], dimensions: number): void {
  if (values.length !== dimensions) throw new WrongDimensionsError(`A vector has ${values.length} dimensions, not ${dimensions}`);
}

function bufferOf(bytes: Uint8Array | Int8Array): ArrayBuffer {
  return bytes.buffer as ArrayBuffer;
}
