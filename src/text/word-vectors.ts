import file from "./word-vectors.bin";

/*
 * Vectors of English words. Words with similar uses have similar vectors: "trash" and "garbage", "kindergarten" and "nursery".
 * bench/word-vectors.ts makes the file from GloVe. It has about 1 MB, and is decoded when a word is first looked up.
 */

interface Table {
  rows: Map<string, number>;
  values: Uint8Array;
  dimensions: number;
}

let table: Table | undefined;
/** Decoded vectors of unit length, cached since the words of a text repeat. */
const decoded = new Map<string, Float32Array | null>();
const MAX_DECODED = 10_000;

/** The vector of a stem, of unit length; undefined for a stem that is rare or not English. */
export function wordVector(stem: string): Float32Array | undefined {
  const known = decoded.get(stem);
  if (known !== undefined) return known ?? undefined;
  const english = readTable();
  const row = english.rows.get(stem);
  const vector = row === undefined ? null : vectorAt(english, row);
  if (decoded.size >= MAX_DECODED) decoded.clear();
  decoded.set(stem, vector);
  return vector ?? undefined;
}

/** The cosine of two vectors of unit length. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += a[at]! * b[at]!;
  return sum;
}

/** The least cosine of two related words. */
export const RELATED_COSINE = 0.45;

/** The weighted mean of the stems' vectors, of unit length; undefined if no stem has a vector. */
export function meanVector(weights: Iterable<readonly [stem: string, weight: number]>): Float32Array | undefined {
  let mean: Float32Array | undefined;
  for (const [stem, weight] of weights) {
    const vector = wordVector(stem);
    if (!vector) continue;
    mean ??= new Float32Array(vector.length);
    for (let at = 0; at < vector.length; at++) mean[at]! += weight * vector[at]!;
  }
  return mean && normalised(mean);
}

/** Words with a rank below this say little about the subject of a text. */
const FREQUENT_RANK = 100;

/** How much a word says about the subject of a text, 0..1, by its frequency in English (smooth inverse frequency, Arora et al. 2017). */
export function generalWeight(stem: string): number {
  const rank = readTable().rows.get(stem) ?? 0;
  return rank / (rank + FREQUENT_RANK);
}

/** How rare a word is in English, 0..1, by the logarithm of its rank. A word that the table does not have, such as a name, has 1. */
export function rarityOf(stem: string): number {
  const { rows } = readTable();
  return Math.log1p(rows.get(stem) ?? rows.size) / Math.log1p(rows.size);
}

function readTable(): Table {
  return (table ??= decode(new Uint8Array(file)));
}

/** bench/word-vectors.ts describes the layout of the file. */
function decode(bytes: Uint8Array): Table {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const namesEnd = 8 + view.getUint32(0, true);
  const rows = new Map<string, number>();
  for (const stem of new TextDecoder().decode(bytes.subarray(8, namesEnd)).split("\n")) rows.set(stem, rows.size);
  return { rows, values: bytes.subarray(namesEnd), dimensions: view.getUint32(4, true) };
}

function vectorAt({ values, dimensions }: Table, row: number): Float32Array {
  const vector = new Float32Array(dimensions);
  const start = (row * dimensions) / 2;
  for (let at = 0; at < dimensions; at += 2) {
    const pair = values[start + at / 2]!;
    vector[at] = (pair & 15) - 8;
    vector[at + 1] = (pair >> 4) - 8;
  }
  return normalised(vector);
}

function normalised(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
