/*
 * A sketch has one bit for each number of a vector, its sign. It takes an eighth of the int8 vector, so that a scan of all vectors is
 * fast and fits in memory. A sketch is compared with the exact question, which loses far less than comparing two sketches.
 */

/** The memory for the sketches of all agents in this isolate, which has 128 MB. */
const MAX_BYTES = 48 * 1_024 * 1_024;
const FIRST_CAPACITY = 64;

/** The sketches in memory, least recently used first. */
const loaded = new Set<Sketches>();

/** The sketches of one set of vectors, by the row ids of the vectors. */
export class Sketches {
  private readonly rowBytes: number;
  private bits: Uint8Array;
  private ids: Float64Array;
  private size = 0;
  /** Whether the memory was released for other agents, so that the sketches have to be loaded again. */
  isReleased = false;

  constructor(readonly dimensions: number) {
    this.rowBytes = Math.ceil(dimensions / 8);
    this.bits = new Uint8Array(FIRST_CAPACITY * this.rowBytes);
    this.ids = new Float64Array(FIRST_CAPACITY);
  }

  add(id: number, sketch: Uint8Array): void {
    if (this.size === this.ids.length) this.grow();
    this.bits.set(sketch, this.size * this.rowBytes);
    this.ids[this.size++] = id;
  }

  remove(ids: ReadonlySet<number>): void {
    let kept = 0;
    for (let at = 0; at < this.size; at++) {
      if (ids.has(this.ids[at]!)) continue;
      if (kept !== at) {
        this.ids[kept] = this.ids[at]!;
        this.bits.copyWithin(kept * this.rowBytes, at * this.rowBytes, (at + 1) * this.rowBytes);
      }
      kept++;
    }
    this.size = kept;
  }

  /** Finds the ids of the nearest vectors approximately, best first. */
  nearest(question: Float32Array, count: number): number[] {
    this.markUsed();
    const { bits, rowBytes, size } = this;
    const sums = signedSums(question, rowBytes);
    const scores = new Float32Array(size);
    let found: number[] = [];
    let threshold = Number.NEGATIVE_INFINITY;
    const keepBest = () => {
      found = found.sort((a, b) => scores[b]! - scores[a]!).slice(0, count);
      if (found.length === count) threshold = scores[found.at(-1)!]!;
    };
    for (let at = 0, byte = 0; at < size; at++) {
      let score = 0;
      for (let column = 0; column < rowBytes; column++) score += sums[(column << 8) | bits[byte++]!]!;
      scores[at] = score;
      if (score <= threshold) continue;
      found.push(at);
      if (found.length === 2 * count) keepBest();
    }
    keepBest();
    return found.map((at) => this.ids[at]!);
  }

  /** Marks the sketches as used last, and releases those of other agents that were used longest ago, if memory is short. */
  markUsed(): void {
    loaded.delete(this);
    loaded.add(this);
    let bytes = 0;
    for (const sketches of loaded) bytes += sketches.bits.length + sketches.ids.byteLength;
    for (const sketches of loaded) {
      if (bytes <= MAX_BYTES || sketches === this) break;
      bytes -= sketches.bits.length + sketches.ids.byteLength;
      sketches.release();
    }
  }

  release(): void {
    loaded.delete(this);
    this.isReleased = true;
    this.bits = new Uint8Array();
    this.ids = new Float64Array();
    this.size = 0;
  }

  private grow(): void {
    const capacity = Math.ceil(this.ids.length * 1.5);
    const { bits, ids } = this;
    this.bits = new Uint8Array(capacity * this.rowBytes);
    this.bits.set(bits);
    this.ids = new Float64Array(capacity);
    this.ids.set(ids);
  }
}

/** Returns the signs of a vector as bits. */
export function sketchOf(vector: Int8Array): Uint8Array {
  const sketch = new Uint8Array(Math.ceil(vector.length / 8));
  for (let at = 0; at < vector.length; at++) if (vector[at]! > 0) sketch[at >> 3]! |= 1 << (at & 7);
  return sketch;
}

/** Computes, for each byte of a sketch and each of its values, the sum of the question's eight numbers with these signs. */
function signedSums(question: Float32Array, rowBytes: number): Float32Array {
  const sums = new Float32Array(rowBytes * 256);
  for (let column = 0; column < rowBytes; column++) {
    const numbers = Array.from({ length: 8 }, (_, bit) => question[column * 8 + bit] ?? 0);
    sums[column << 8] = -numbers.reduce((sum, number) => sum + number, 0);
    for (let value = 1; value < 256; value++) {
      const lowestBit = 31 - Math.clz32(value & -value);
      sums[(column << 8) | value] = sums[(column << 8) | (value & (value - 1))]! + 2 * numbers[lowestBit]!;
    }
  }
  return sums;
}

/** Scales a vector so that its largest number is 127. The scale is not kept, since the cosine does not depend on it. */
export function quantised(vector: ArrayLike<number>): Int8Array<ArrayBuffer> {
  let largest = 0;
  for (let at = 0; at < vector.length; at++) largest = Math.max(largest, Math.abs(vector[at]!));
  return Int8Array.from(vector, (value) => Math.round((value / (largest || 1)) * 127));
}

/** The cosine of a vector of unit length and a quantised one; 0 for a vector of zeros. */
export function cosineOf(question: Float32Array, vector: Int8Array): number {
  let dot = 0;
  let square = 0;
  for (let at = 0; at < vector.length; at++) {
    const value = vector[at]!;
    dot += question[at]! * value;
    square += value * value;
  }
  return dot / (Math.sqrt(square) || 1);
}
