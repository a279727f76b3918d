import kernels from "./kernels.wasm";
import { Tokenizer } from "./tokenizer.ts";

/*
 * The sentence encoder all-MiniLM-L6-v2 (Wang et al. 2020, Reimers and Gurevych 2019): texts of similar meaning have similar vectors. It
 * computes with int8 weights and 16-bit activations in WebAssembly; the folder `encoder` has the kernels, the weights and their origin.
 */

/** The numbers of a vector. */
export const ENCODER_DIMENSIONS = 384;
const LAYERS = 6;
const HEADS = 12;
const INNER = 1_536;
/** The most tokens of a text that are read, which is what the model was made for: about 180 words. */
export const MAX_TOKENS = 256;

/** The functions of encoder/kernels.ts. Every pointer is an offset in the memory. */
interface Kernels {
  embed(words: number, scale: number, base: number, columns: number, out: number): void;
  linear(
    x: number,
    rows: number,
    columns: number,
    weights: number,
    scales: number,
    bias: number,
    outputs: number,
    out: number,
    scratch: number,
  ): void;
  addAndNormalise(x: number, added: number, rows: number, columns: number, gamma: number, beta: number): void;
  attend(qkv: number, rows: number, heads: number, out: number, scratch: number): void;
  gelu(x: number, count: number): void;
}

const PAGE_BYTES = 65_536;
const FLOAT_BYTES = 4;

/** The columns of the buffers, which follow the file in the memory. */
const BUFFERS = {
  x: ENCODER_DIMENSIONS,
  attention: 3 * ENCODER_DIMENSIONS,
  context: ENCODER_DIMENSIONS,
  inner: INNER,
  output: ENCODER_DIMENSIONS,
  scratch: INNER,
};

export class SentenceEncoder {
  private readonly buffers: Record<keyof typeof BUFFERS, number>;

  private constructor(
    private readonly memory: WebAssembly.Memory,
    private readonly kernels: Kernels,
    private readonly tokenizer: Tokenizer,
    private readonly offsets: Readonly<Record<string, number>>,
    end: number,
  ) {
    let at = end;
    const places = Object.entries(BUFFERS).map(([name, columns]) => {
      const start = at;
      at += MAX_TOKENS * columns * FLOAT_BYTES;
      return [name, start];
    });
    this.buffers = Object.fromEntries(places) as typeof this.buffers;
    memory.grow(Math.ceil((at - memory.buffer.byteLength) / PAGE_BYTES));
  }

  /**
   * Loads the weights into its own memory, of 27 MB.
   * @param file encoder/minilm-l6.bin, of this size in bytes.
   * @throws Error if the file has another size.
   */
  static async load(file: ReadableStream<Uint8Array>, bytes: number): Promise<SentenceEncoder> {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) });
    const stored = new Uint8Array(memory.buffer);
    let size = 0;
    for await (const part of file) {
      if (size + part.length > stored.length) break;
      stored.set(part, size);
      size += part.length;
    }
    const start = 4 + new DataView(memory.buffer).getUint32(0, true);
    if (size !== bytes || start > size) throw new Error(`The encoder's weights have ${size} bytes, not ${bytes}`);
    const decoder = new TextDecoder();
    const header = JSON.parse(decoder.decode(stored.subarray(4, start))) as { vocabularyBytes: number; offsets: Record<string, number> };
    const offsets = Object.fromEntries(Object.entries(header.offsets).map(([name, offset]) => [name, start + offset]));
    const vocabulary = decoder.decode(stored.subarray(offsets["vocabulary"], offsets["vocabulary"]! + header.vocabularyBytes));
    const { exports } = await WebAssembly.instantiate(kernels, { env: { memory } });
    return new SentenceEncoder(memory, exports as unknown as Kernels, new Tokenizer(vocabulary), offsets, stored.length);
  }

  /** Returns the vector of a text, of unit length; at most MAX_TOKENS of it are read. A question of twelve tokens takes about 5 ms, a hundred tokens 40 ms. */
  encode(text: string, maxTokens = MAX_TOKENS): Float32Array {
    const { tokens } = this.tokenizer.tokenize(text, maxTokens);
    this.transform(tokens);
    return toUnitLength(this.sum(tokens.keys()));
  }

  /**
   * Encodes a text, and the text without each of its words. The vector is the mean of the tokens' states, so that the text does not have
   * to be encoded again without a word.
   * @returns the vector of the text and, by lower-case word, the vector of the text without this word. All are of unit length.
   */
  encodeWithout(text: string, maxTokens = MAX_TOKENS): { vector: Float32Array; without: Map<string, Float32Array> } {
    const { tokens, words } = this.tokenizer.tokenize(text, maxTokens);
    this.transform(tokens);
    const sum = this.sum(tokens.keys());
    const without = new Map<string, Float32Array>();
    for (const [word, rows] of Map.groupBy(tokens.keys(), (at) => words[at]!)) {
      if (word === "") continue;
      const own = this.sum(rows);
      without.set(word, toUnitLength(sum.map((value, at) => value - own[at]!)));
    }
    return { vector: toUnitLength(sum), without };
  }

  /** Computes the states of tokens. */
  private transform(tokens: readonly number[]): void {
    const rows = tokens.length;
    const { x, attention, context, inner, output } = this.buffers;
    this.embed(tokens);
    for (let layer = 0; layer < LAYERS; layer++) {
      this.linear(x, rows, ENCODER_DIMENSIONS, `${layer}.attention`, 3 * ENCODER_DIMENSIONS, attention);
      this.kernels.attend(attention, rows, HEADS, context, this.buffers.scratch);
      this.linear(context, rows, ENCODER_DIMENSIONS, `${layer}.projection`, ENCODER_DIMENSIONS, output);
      this.addAndNormalise(output, rows, `${layer}.projection`);
      this.linear(x, rows, ENCODER_DIMENSIONS, `${layer}.inner`, INNER, inner);
      this.kernels.gelu(inner, rows * INNER);
      this.linear(inner, rows, INNER, `${layer}.outer`, ENCODER_DIMENSIONS, output);
      this.addAndNormalise(output, rows, `${layer}.outer`);
    }
  }

  private embed(tokens: readonly number[]): void {
    const { x, output } = this.buffers;
    const scales = new Float32Array(this.memory.buffer, this.offset("wordsScales"));
    const rowBytes = ENCODER_DIMENSIONS * FLOAT_BYTES;
    for (const [at, token] of tokens.entries()) {
      const [word, position] = [this.offset("words") + token * ENCODER_DIMENSIONS, this.offset("positions") + at * rowBytes];
      this.kernels.embed(word, scales[token]!, position, ENCODER_DIMENSIONS, x + at * rowBytes);
    }
    new Float32Array(this.memory.buffer, output, tokens.length * ENCODER_DIMENSIONS).fill(0);
    this.addAndNormalise(output, tokens.length, "embedding");
  }

  /** Multiplies with the weights of this name. */
  private linear(from: number, rows: number, columns: number, name: string, outputs: number, to: number): void {
    const [weights, scales, bias] = [this.offset(name), this.offset(`${name}Scales`), this.offset(`${name}Bias`)];
    this.kernels.linear(from, rows, columns, weights, scales, bias, outputs, to, this.buffers.scratch);
  }

  private addAndNormalise(added: number, rows: number, name: string): void {
    const [gamma, beta] = [this.offset(`${name}Gamma`), this.offset(`${name}Beta`)];
    this.kernels.addAndNormalise(this.buffers.x, added, rows, ENCODER_DIMENSIONS, gamma, beta);
  }

  private offset(name: string): number {
    return this.offsets[name]!;
  }

  /** The sum of these rows of the states. */
  private sum(rows: Iterable<number>): Float32Array {
    const sum = new Float32Array(ENCODER_DIMENSIONS);
    for (const row of rows) {
      const state = new Float32Array(this.memory.buffer, this.buffers.x + row * ENCODER_DIMENSIONS * FLOAT_BYTES, ENCODER_DIMENSIONS);
      for (const [at, value] of state.entries()) sum[at]! += value;
    }
    return sum;
  }
}

function toUnitLength(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
