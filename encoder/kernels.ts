// The numeric kernels of the sentence encoder, in AssemblyScript with 128-bit SIMD. `src/models/encoder/encoder.ts` calls them in the
// order of the network. Matrices are dense and row by row; every pointer is a byte offset in the memory, a multiple of 16, and every
// number of columns is a multiple of 8. See README.md for how to compile this file.

// AssemblyScript's types and operators are not those of TypeScript, so the checks of the project leave this folder out.

/** The quantised activations of a row are within ±LIMIT, so that a sum of 1,536 products with int8 weights stays within 32 bits. */
const LIMIT: f32 = 11000;

/**
 * Multiplies the rows of a matrix with int8 weights and adds the bias: out[row, n] = scale[n] * (x[row] · weights[n]) + bias[n].
 * The activations are quantised to 16 bits, each row by its largest value.
 * @param scratch 2 * columns * 2 + 8 bytes.
 */
export function linear(x: usize, rows: i32, columns: i32, weights: usize, scales: usize, bias: usize, outputs: i32, out: usize, scratch: usize): void {
  const rowBytes = <usize>columns << 2;
  const halfBytes = <usize>columns << 1;
  for (let row = 0; row < rows; row += 2) {
    // A last odd row is multiplied twice, into the same place.
    const other = min(row + 1, rows - 1);
    const first = quantise(x + <usize>row * rowBytes, columns, scratch);
    const second = quantise(x + <usize>other * rowBytes, columns, scratch + halfBytes);
    const out0 = out + ((<usize>row * outputs) << 2);
    const out1 = out + ((<usize>other * outputs) << 2);
    for (let n: usize = 0; n < <usize>outputs; n += 4) {
      let w = weights + n * columns;
      let a0 = i32x4.splat(0), a1 = i32x4.splat(0), a2 = i32x4.splat(0), a3 = i32x4.splat(0);
      let b0 = i32x4.splat(0), b1 = i32x4.splat(0), b2 = i32x4.splat(0), b3 = i32x4.splat(0);
      const end = scratch + halfBytes;
      for (let at = scratch; at < end; at += 16) {
        const a = v128.load(at);
        const b = v128.load(at + halfBytes);
        const w0 = v128.load8x8_s(w);
        const w1 = v128.load8x8_s(w + columns);
        const w2 = v128.load8x8_s(w + (columns << 1));
        const w3 = v128.load8x8_s(w + columns * 3);
        a0 = i32x4.add(a0, i32x4.dot_i16x8_s(a, w0));
        a1 = i32x4.add(a1, i32x4.dot_i16x8_s(a, w1));
        a2 = i32x4.add(a2, i32x4.dot_i16x8_s(a, w2));
        a3 = i32x4.add(a3, i32x4.dot_i16x8_s(a, w3));
        b0 = i32x4.add(b0, i32x4.dot_i16x8_s(b, w0));
        b1 = i32x4.add(b1, i32x4.dot_i16x8_s(b, w1));
        b2 = i32x4.add(b2, i32x4.dot_i16x8_s(b, w2));
        b3 = i32x4.add(b3, i32x4.dot_i16x8_s(b, w3));
        w += 8;
      }
      const scale = v128.load(scales + (n << 2));
      const added = v128.load(bias + (n << 2));
      v128.store(out0 + (n << 2), scaled(sums(a0, a1, a2, a3), scale, first, added));
      v128.store(out1 + (n << 2), scaled(sums(b0, b1, b2, b3), scale, second, added));
    }
  }
}

/** Writes a row as 16-bit integers. @returns the value of one unit. */
// @ts-ignore: decorator
@inline
function quantise(x: usize, columns: i32, out: usize): f32 {
  let most = f32x4.splat(0);
  const end = x + (<usize>columns << 2);
  for (let at = x; at < end; at += 16) most = f32x4.max(most, f32x4.abs(v128.load(at)));
  const largest = max(max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)), max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)));
  const factor = f32x4.splat(largest > 0 ? LIMIT / largest : 0);
  for (let at = x; at < end; at += 32, out += 16) {
    const low = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(at), factor)));
    const high = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(at, 16), factor)));
    v128.store(out, i16x8.narrow_i32x4_s(low, high));
  }
  return largest / LIMIT;
}

/** The sums of the lanes of four vectors, as one vector. */
// @ts-ignore: decorator
@inline
function sums(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
}

// @ts-ignore: decorator
@inline
function scaled(sum: v128, scale: v128, unit: f32, bias: v128): v128 {
  return f32x4.add(f32x4.mul(f32x4.mul(f32x4.convert_i32x4_s(sum), scale), f32x4.splat(unit)), bias);
}

/** Adds int8 embeddings: out = words[word] * scale + base, where base is the sum of the other embeddings. */
export function embed(words: usize, scale: f32, base: usize, columns: i32, out: usize): void {
  const factor = f32x4.splat(scale);
  for (let at: usize = 0; at < <usize>columns; at += 4) {
    const values = i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(v128.load32_zero(words + at)));
    v128.store(out + (at << 2), f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(values), factor), v128.load(base + (at << 2))));
  }
}

/** Adds `added` to the rows of x, and normalises each row (Ba et al. 2016): x = (x - mean) / deviation * gamma + beta. */
export function addAndNormalise(x: usize, added: usize, rows: i32, columns: i32, gamma: usize, beta: usize): void {
  const rowBytes = <usize>columns << 2;
  for (let row = 0; row < rows; row++, x += rowBytes, added += rowBytes) {
    let total = f32x4.splat(0);
    for (let at: usize = 0; at < rowBytes; at += 16) {
      const value = f32x4.add(v128.load(x + at), v128.load(added + at));
      v128.store(x + at, value);
      total = f32x4.add(total, value);
    }
    const mean = f32x4.splat(sum(total) / <f32>columns);
    let squares = f32x4.splat(0);
    for (let at: usize = 0; at < rowBytes; at += 16) {
      const difference = f32x4.sub(v128.load(x + at), mean);
      squares = f32x4.add(squares, f32x4.mul(difference, difference));
    }
    const factor = f32x4.splat(1 / sqrt<f32>(sum(squares) / <f32>columns + 1e-12));
    for (let at: usize = 0; at < rowBytes; at += 16) {
      const normal = f32x4.mul(f32x4.sub(v128.load(x + at), mean), factor);
      v128.store(x + at, f32x4.add(f32x4.mul(normal, v128.load(gamma + at)), v128.load(beta + at)));
    }
  }
}

// @ts-ignore: decorator
@inline
function sum(values: v128): f32 {
  return f32x4.extract_lane(values, 0) + f32x4.extract_lane(values, 1) + f32x4.extract_lane(values, 2) + f32x4.extract_lane(values, 3);
}

/**
 * Attends within one text: for each head, out[i] = Σ softmax(q[i] · k / √size)[j] * v[j]. A head has 32 columns.
 * @param qkv rows of queries, keys and values, each of heads * 32 columns.
 * @param scratch 4 bytes for each row, rounded up to 16.
 */
export function attend(qkv: usize, rows: i32, heads: i32, out: usize, scratch: usize): void {
  const width = (<usize>heads) << 7;
  const rowBytes = width * 3;
  const scale: f32 = 1 / sqrt<f32>(32);
  for (let head: usize = 0; head < <usize>heads; head++) {
    const queries = qkv + (head << 7);
    const keys = queries + width;
    const values = keys + width;
    for (let i: usize = 0; i < <usize>rows; i++) {
      const q = queries + i * rowBytes;
      const q0 = v128.load(q), q1 = v128.load(q, 16), q2 = v128.load(q, 32), q3 = v128.load(q, 48);
      const q4 = v128.load(q, 64), q5 = v128.load(q, 80), q6 = v128.load(q, 96), q7 = v128.load(q, 112);
      let largest: f32 = -f32.MAX_VALUE;
      for (let j: usize = 0; j < <usize>rows; j++) {
        const k = keys + j * rowBytes;
        const low = f32x4.add(
          f32x4.add(f32x4.mul(q0, v128.load(k)), f32x4.mul(q1, v128.load(k, 16))),
          f32x4.add(f32x4.mul(q2, v128.load(k, 32)), f32x4.mul(q3, v128.load(k, 48))),
        );
        const high = f32x4.add(
          f32x4.add(f32x4.mul(q4, v128.load(k, 64)), f32x4.mul(q5, v128.load(k, 80))),
          f32x4.add(f32x4.mul(q6, v128.load(k, 96)), f32x4.mul(q7, v128.load(k, 112))),
        );
        const score = sum(f32x4.add(low, high)) * scale;
        f32.store(scratch + (j << 2), score);
        largest = max(largest, score);
      }
      const top = f32x4.splat(largest);
      for (let j: usize = <usize>rows; j & 3; j++) f32.store(scratch + (j << 2), -f32.MAX_VALUE);
      let total = f32x4.splat(0);
      for (let j: usize = 0; j < <usize>rows; j += 4) {
        const power = exp(f32x4.sub(v128.load(scratch + (j << 2)), top));
        v128.store(scratch + (j << 2), power);
        total = f32x4.add(total, power);
      }
      const share: f32 = 1 / sum(total);
      let v0 = f32x4.splat(0), v1 = f32x4.splat(0), v2 = f32x4.splat(0), v3 = f32x4.splat(0);
      let v4 = f32x4.splat(0), v5 = f32x4.splat(0), v6 = f32x4.splat(0), v7 = f32x4.splat(0);
      for (let j: usize = 0; j < <usize>rows; j++) {
        const p = f32x4.splat(f32.load(scratch + (j << 2)) * share);
        const v = values + j * rowBytes;
        v0 = f32x4.add(v0, f32x4.mul(p, v128.load(v)));
        v1 = f32x4.add(v1, f32x4.mul(p, v128.load(v, 16)));
        v2 = f32x4.add(v2, f32x4.mul(p, v128.load(v, 32)));
        v3 = f32x4.add(v3, f32x4.mul(p, v128.load(v, 48)));
        v4 = f32x4.add(v4, f32x4.mul(p, v128.load(v, 64)));
        v5 = f32x4.add(v5, f32x4.mul(p, v128.load(v, 80)));
        v6 = f32x4.add(v6, f32x4.mul(p, v128.load(v, 96)));
        v7 = f32x4.add(v7, f32x4.mul(p, v128.load(v, 112)));
      }
      const o = out + i * width + (head << 7);
      v128.store(o, v0);
      v128.store(o, v1, 16);
      v128.store(o, v2, 32);
      v128.store(o, v3, 48);
      v128.store(o, v4, 64);
      v128.store(o, v5, 80);
      v128.store(o, v6, 96);
      v128.store(o, v7, 112);
    }
  }
}

/** The Gaussian error linear unit (Hendrycks and Gimpel 2016): x = x / 2 * (1 + erf(x / √2)). */
export function gelu(x: usize, count: i32): void {
  const half = f32x4.splat(0.5);
  const one = f32x4.splat(1);
  const end = x + (<usize>count << 2);
  for (let at = x; at < end; at += 16) {
    const value = v128.load(at);
    v128.store(at, f32x4.mul(f32x4.mul(half, value), f32x4.add(one, erf(f32x4.mul(value, f32x4.splat(0.70710678))))));
  }
}

/** The error function within 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26). */
// @ts-ignore: decorator
@inline
function erf(x: v128): v128 {
  const one = f32x4.splat(1);
  const size = f32x4.abs(x);
  const t = f32x4.div(one, f32x4.add(one, f32x4.mul(f32x4.splat(0.3275911), size)));
  let series = f32x4.splat(1.061405429);
  series = f32x4.add(f32x4.mul(series, t), f32x4.splat(-1.453152027));
  series = f32x4.add(f32x4.mul(series, t), f32x4.splat(1.421413741));
  series = f32x4.add(f32x4.mul(series, t), f32x4.splat(-0.284496736));
  series = f32x4.mul(f32x4.add(f32x4.mul(series, t), f32x4.splat(0.254829592)), t);
  const result = f32x4.sub(one, f32x4.mul(series, exp(f32x4.neg(f32x4.mul(size, size)))));
  return v128.or(result, v128.and(x, f32x4.splat(-0.0)));
}

/** The exponential of numbers that are at most 0, within a few units of the last place: 2^n * e^r with |r| ≤ ln 2 / 2. */
// @ts-ignore: decorator
@inline
function exp(x: v128): v128 {
  const clamped = f32x4.max(x, f32x4.splat(-87));
  const n = f32x4.nearest(f32x4.mul(clamped, f32x4.splat(1.44269504)));
  const r = f32x4.sub(f32x4.sub(clamped, f32x4.mul(n, f32x4.splat(0.693359375))), f32x4.mul(n, f32x4.splat(-2.12194440e-4)));
  let series = f32x4.splat(1.9875691500e-4);
  series = f32x4.add(f32x4.mul(series, r), f32x4.splat(1.3981999507e-3));
  series = f32x4.add(f32x4.mul(series, r), f32x4.splat(8.3334519073e-3));
  series = f32x4.add(f32x4.mul(series, r), f32x4.splat(4.1665795894e-2));
  series = f32x4.add(f32x4.mul(series, r), f32x4.splat(1.6666665459e-1));
  series = f32x4.add(f32x4.mul(series, r), f32x4.splat(5.0000001201e-1));
  const power = f32x4.add(f32x4.add(f32x4.mul(series, f32x4.mul(r, r)), r), f32x4.splat(1));
  const exponent = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23);
  return f32x4.mul(power, exponent);
}
