import kernels from "./kernels.wasm";
import { Tokenizer } from "./tokenizer.ts";

/*
 * The network of all-MiniLM-L6-v2 (Wang et al. 2020), a transformer of six layers. It computes with int8 weights and 16-bit activations
 * in WebAssembly; the folder `encoder` has the kernels, the weights and their origin. All networks of an isolate share one memory, and a
 * network that was trained further only adds the weights that differ.
 */

/** The numbers of a token's state. */
export const DIMENSIONS = 384;
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

/** A file of weights, of this size in bytes. */
export interface WeightsFile {
  stream: ReadableStream<Uint8Array>;
  bytes: number;
}

type Offsets = Readonly<Record<string, number>>;

const PAGE_BYTES = 65_536;
const FLOAT_BYTES = 4;

/** The columns of the buffers, which follow the first file in the memory. */
const BUFFERS = {
  x: DIMENSIONS,
  attention: 3 * DIMENSIONS,
  context: DIMENSIONS,
  inner: INNER,
  output: DIMENSIONS,
  scratch: INNER,
};

/** The memory and code that all networks of an isolate share. */
interface Shared {
  memory: WebAssembly.Memory;
  kernels: Kernels;
  tokenizer: Tokenizer;
  buffers: Record<keyof typeof BUFFERS, number>;
}

export class Network {
  private constructor(
    private readonly shared: Shared,
    private readonly offsets: Offsets,
  ) {}

  get tokenizer(): Tokenizer {
    return this.shared.tokenizer;
  }

  /** Loads weights into a memory of their own. @throws Error if the file has another size. */
  static async load(file: WeightsFile): Promise<Network> {
    const memory = new WebAssembly.Memory({ initial: 0 });
    const { offsets, vocabulary } = await readInto(memory, file);
    const { exports } = await WebAssembly.instantiate(kernels, { env: { memory } });
    const places = Object.entries(BUFFERS).map(([name, columns]) => [name, grow(memory, MAX_TOKENS * columns * FLOAT_BYTES)]);
    const buffers = Object.fromEntries(places) as Shared["buffers"];
    return new Network({ memory, kernels: exports as unknown as Kernels, tokenizer: new Tokenizer(vocabulary), buffers }, offsets);
  }

  /** Loads a network that has some weights of its own, and shares all others with this one. @throws Error if the file has another size. */
  async loadVariant(file: WeightsFile): Promise<Network> {
    const { offsets } = await readInto(this.shared.memory, file);
    return new Network(this.shared, { ...this.offsets, ...offsets });
  }

  /**
   * Computes the states of tokens.
   * @returns a function for the sum of the states of some tokens, by their rows. It is valid until the next call of `transform`.
   * @throws RangeError if there are more than MAX_TOKENS.
   */
  transform(tokens: readonly number[]): (rows: Iterable<number>) => Float32Array {
    const rows = tokens.length;
    if (rows > MAX_TOKENS) throw new RangeError(`${rows} tokens are more than ${MAX_TOKENS}`);
    const { x, attention, context, inner, output, scratch } = this.shared.buffers;
    const { kernels } = this.shared;
    this.embed(tokens);
    for (let layer = 0; layer < LAYERS; layer++) {
      this.linear(x, rows, DIMENSIONS, `${layer}.attention`, 3 * DIMENSIONS, attention);
      kernels.attend(attention, rows, HEADS, context, scratch);
      this.linear(context, rows, DIMENSIONS, `${layer}.projection`, DIMENSIONS, output);
      this.addAndNormalise(output, rows, `${layer}.projection`);
      this.linear(x, rows, DIMENSIONS, `${layer}.inner`, INNER, inner);
      kernels.gelu(inner, rows * INNER);
      this.linear(inner, rows, INNER, `${layer}.outer`, DIMENSIONS, output);
      this.addAndNormalise(output, rows, `${layer}.outer`);
    }
    return (some) => {
      const sum = new Float32Array(DIMENSIONS);
      for (const row of some) {
        for (const [at, value] of this.floats(x + row * DIMENSIONS * FLOAT_BYTES, DIMENSIONS).entries()) sum[at]! += value;
      }
      return sum;
    };
  }

  /** A vector of the weights. */
  vector(name: string, length: number): Float32Array {
    return this.floats(this.offset(name), length);
  }

  private embed(tokens: readonly number[]): void {
    const { x, output } = this.shared.buffers;
    const scales = new Float32Array(this.shared.memory.buffer, this.offset("wordsScales"));
    const rowBytes = DIMENSIONS * FLOAT_BYTES;
    for (const [at, token] of tokens.entries()) {
      const [word, position] = [this.offset("words") + token * DIMENSIONS, this.offset("positions") + at * rowBytes];
      this.shared.kernels.embed(word, scales[token]!, position, DIMENSIONS, x + at * rowBytes);
    }
    this.floats(output, tokens.length * DIMENSIONS).fill(0);
    this.addAndNormalise(output, tokens.length, "embedding");
  }

  /** Multiplies rows by the matrix of this name and adds its bias. */
  private linear(from: number, rows: number, columns: number, name: string, outputs: number, to: number): void {
    const [weights, scales, bias] = [this.offset(name), this.offset(`${name}Scales`), this.offset(`${name}Bias`)];
    this.shared.kernels.linear(from, rows, columns, weights, scales, bias, outputs, to, this.shared.buffers.scratch);
  }

  private addAndNormalise(added: number, rows: number, name: string): void {
    const [gamma, beta] = [this.offset(`${name}Gamma`), this.offset(`${name}Beta`)];
    this.shared.kernels.addAndNormalise(this.shared.buffers.x, added, rows, DIMENSIONS, gamma, beta);
  }

  private offset(name: string): number {
    return this.offsets[name]!;
  }

  private floats(offset: number, length: number): Float32Array {
    return new Float32Array(this.shared.memory.buffer, offset, length);
  }
}

/** Grows a memory. @returns the offset of the added bytes. */
function grow(memory: WebAssembly.Memory, bytes: number): number {
  return memory.grow(Math.ceil(bytes / PAGE_BYTES)) * PAGE_BYTES;
}

/** Adds a file to the end of a memory, once all of it has arrived: a memory never shrinks again. @returns where its parts are. */
async function readInto(memory: WebAssembly.Memory, { stream, bytes }: WeightsFile): Promise<{ offsets: Offsets; vocabulary: string }> {
  const file = new Uint8Array(await new Response(stream).arrayBuffer());
  if (file.length !== bytes) throw new Error(`The weights have ${file.length} bytes, not ${bytes}`);
  const start = grow(memory, bytes);
  new Uint8Array(memory.buffer).set(file, start);
  const headerBytes = new DataView(memory.buffer).getUint32(start, true);
  const decoder = new TextDecoder();
  const text = (from: number, length: number) => decoder.decode(new Uint8Array(memory.buffer, from, length));
  const header = JSON.parse(text(start + 4, headerBytes)) as { vocabularyBytes: number; offsets: Record<string, number> };
  const first = start + 4 + headerBytes;
  const offsets = Object.fromEntries(Object.entries(header.offsets).map(([name, offset]) => [name, first + offset]));
  return { offsets, vocabulary: header.vocabularyBytes === 0 ? "" : text(offsets["vocabulary"]!, header.vocabularyBytes) };
}
