import { Inflate, inflateSync } from "fflate";
import { joinedBytes } from "../../platform/read-stream.ts";
import type { Slices } from "../../platform/time.ts";
import { PdfName, PdfTooLargeError, type PdfDict, type PdfValue } from "./values.ts";

/** A stream as the file has it. */
export interface PdfStream {
  dict: PdfDict;
  packed: Uint8Array;
}

/** A filter is called once, gets all bytes, and yields pieces of its output. */
type Filter = (bytes: Uint8Array, parameters: PdfDict) => Generator<Uint8Array>;

/** One piece unpacks to up to 1,032 times its size. Small ones also lose less before damage. */
const PIECE_BYTES = 4_096;
/** After so many unpacked bytes, which take a few milliseconds, other requests get their turn. */
const SLICE_BYTES = 256 * 1024;
const MAX_AT_ONCE_BYTES = 16 * 1024;
const smallOutput = new Uint8Array(64 * 1024);
const OUTPUT_BYTES = 32 * 1024;
/** The most bytes that a filter adds before it yields its output. */
const MAX_STEP_BYTES = 4_096;
/** The most bytes that LZW unpacks to. It is obsolete, and takes ten times as long for a byte as deflate. */
const MAX_LZW_BYTES = 3 * 1024 * 1024;
/** Filters may be chained; more than a few are an attack. */
const MAX_FILTERS = 4;

/**
 * Unpacks a stream, up to its damage. Undefined for a stream with a filter that text does not use.
 * @param get resolves references.
 * @throws PdfTooLargeError where it, or what a filter before the last gives, has more than `maxBytes`.
 */
export function* unpackStream(
  { dict, packed }: PdfStream,
  get: (value: PdfValue | undefined) => PdfValue,
  maxBytes: number,
): Slices<Uint8Array | undefined> {
  const names = listOf(get(dict.get("Filter") ?? dict.get("F"))).map((item) => get(item));
  const parameters = listOf(get(dict.get("DecodeParms") ?? dict.get("DP"))).map((item) => get(item));
  if (names.length > MAX_FILTERS) throw new PdfTooLargeError();
  let bytes = packed;
  for (const [at, name] of names.entries()) {
    const filter = name instanceof PdfName ? FILTERS.get(name.name) : undefined;
    if (!filter) return undefined;
    const own = parameters[at];
    const settings: PdfDict = new Map(own instanceof Map ? [...own].map(([key, value]) => [key, get(value)]) : []);
    const most = filter === fromLzw ? Math.min(maxBytes, MAX_LZW_BYTES) : maxBytes;
    const unpacked = (filter === inflated && inflatedAtOnce(bytes, most)) || (yield* collected(filter(bytes, settings), most));
    bytes = unpredicted(unpacked, settings);
  }
  return bytes;
}

function listOf(value: PdfValue): PdfValue[] {
  if (Array.isArray(value)) return value;
  return value === null ? [] : [value];
}

function* collected(output: Generator<Uint8Array>, maxBytes: number): Slices<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  let sliceEnd = SLICE_BYTES;
  for (const piece of output) {
    if ((length += piece.length) > maxBytes) throw new PdfTooLargeError();
    pieces.push(piece);
    if (length < sliceEnd) continue;
    sliceEnd = length + SLICE_BYTES;
    yield;
  }
  return pieces.length === 1 ? pieces[0]! : joinedBytes(pieces);
}

/** Small zlib data without damage, which is unpacked into one buffer: `Inflate` allocates 200 KB for each stream. Undefined for other data. */
function inflatedAtOnce(bytes: Uint8Array, maxBytes: number): Uint8Array | undefined {
  if (bytes.length > MAX_AT_ONCE_BYTES) return undefined;
  try {
    const unpacked = inflateSync(bytes.subarray(2), { out: smallOutput });
    // A full buffer may have been too small.
    if (unpacked.length === smallOutput.length || unpacked.length > maxBytes) return undefined;
    return unpacked.slice();
  } catch {
    return undefined;
  }
}

/** Unpacks zlib data, up to its damage. The checksum is not compared: readers ignore it. */
function* inflated(bytes: Uint8Array): Generator<Uint8Array> {
  let output: Uint8Array | undefined;
  const inflate = new Inflate((piece) => (output = piece));
  // The end is pushed alone, so that a stream that is cut keeps its beginning.
  for (let at = 2, isEnd = false; !isEnd; at += PIECE_BYTES) {
    isEnd = at >= bytes.length;
    try {
      inflate.push(bytes.subarray(at, at + PIECE_BYTES), isEnd);
    } catch {
      return;
    }
    if (output && output.length > 0) yield output;
  }
}

/** Collects single bytes to pieces. */
class Output {
  private buffer = new Uint8Array(OUTPUT_BYTES);
  length = 0;

  add(byte: number): void {
    this.buffer[this.length++] = byte;
  }

  addAll(bytes: Uint8Array): void {
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  isFull(): boolean {
    return this.length + MAX_STEP_BYTES > OUTPUT_BYTES;
  }

  take(): Uint8Array {
    const piece = this.buffer.slice(0, this.length);
    this.length = 0;
    return piece;
  }
}

const [TILDE, GREATER, LETTER_Z] = [0x7e, 0x3e, 0x7a];

function* fromHex(bytes: Uint8Array): Generator<Uint8Array> {
  const output = new Output();
  let high = -1;
  for (const byte of bytes) {
    if (byte === GREATER) break;
    const digit = Number.parseInt(String.fromCharCode(byte), 16);
    if (Number.isNaN(digit)) continue;
    if (high < 0) high = digit;
    else {
      output.add(high * 16 + digit);
      high = -1;
      if (output.isFull()) yield output.take();
    }
  }
  if (high >= 0) output.add(high * 16);
  yield output.take();
}

function* fromBase85(bytes: Uint8Array): Generator<Uint8Array> {
  const output = new Output();
  const digits: number[] = [];
  const end = (): void => {
    const count = digits.length - 1;
    while (digits.length < 5) digits.push(84);
    const value = digits.splice(0).reduce((sum, digit) => sum * 85 + digit, 0);
    for (let at = 0; at < count; at++) output.add(Math.floor(value / 256 ** (3 - at)) & 0xff);
  };
  for (const byte of bytes) {
    if (byte === TILDE) break;
    if (byte === LETTER_Z && digits.length === 0) for (let at = 0; at < 4; at++) output.add(0);
    else if (byte >= 33 && byte <= 117 && digits.push(byte - 33) === 5) end();
    if (output.isFull()) yield output.take();
  }
  if (digits.length > 1) end();
  yield output.take();
}

function* fromRunLength(bytes: Uint8Array): Generator<Uint8Array> {
  const output = new Output();
  for (let at = 0; at < bytes.length && bytes[at] !== 128;) {
    const length = bytes[at]!;
    if (length < 128) output.addAll(bytes.subarray(at + 1, at + 2 + length));
    else for (let count = 257 - length; count > 0; count--) output.add(bytes[at + 1] ?? 0);
    at += length < 128 ? length + 2 : 2;
    if (output.isFull()) yield output.take();
  }
  yield output.take();
}

const [LZW_CLEAR, LZW_END, LZW_CODES] = [256, 257, 4096];

/** Each code stands for an earlier piece of the output and the byte after it. */
function* fromLzw(bytes: Uint8Array, parameters: PdfDict): Generator<Uint8Array> {
  const output = new Output();
  const early = parameters.get("EarlyChange") === 0 ? 0 : 1;
  const prefixes = new Uint16Array(LZW_CODES);
  const suffixes = new Uint8Array(LZW_CODES);
  const text = new Uint8Array(LZW_CODES);
  let [next, width, previous, first] = [258, 9, -1, 0];
  let [bits, count] = [0, 0];
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xffffff;
    if ((count += 8) < width) continue;
    count -= width;
    const code = (bits >> count) & ((1 << width) - 1);
    if (code === LZW_END) break;
    if (code === LZW_CLEAR) {
      [next, width, previous] = [258, 9, -1];
      continue;
    }
    if (code > next || (code === next && previous < 0)) break;
    let at = LZW_CODES;
    let rest = code;
    // The code that this step defines: the previous piece and its first byte again.
    if (code === next) {
      text[--at] = first;
      rest = previous;
    }
    for (; rest > LZW_END; rest = prefixes[rest]!) text[--at] = suffixes[rest]!;
    text[--at] = rest;
    first = rest;
    if (previous >= 0 && next < LZW_CODES) {
      prefixes[next] = previous;
      suffixes[next++] = first;
    }
    previous = code;
    while (width < 12 && next + early >= 1 << width) width++;
    output.addAll(text.subarray(at));
    if (output.isFull()) yield output.take();
  }
  yield output.take();
}

const FILTERS = new Map<string, Filter>([
  ["FlateDecode", inflated],
  ["Fl", inflated],
  ["ASCIIHexDecode", fromHex],
  ["AHx", fromHex],
  ["ASCII85Decode", fromBase85],
  ["A85", fromBase85],
  ["RunLengthDecode", fromRunLength],
  ["RL", fromRunLength],
  ["LZWDecode", fromLzw],
  ["LZW", fromLzw],
]);

/**
 * Reverses the predictors of PNG, which some writers use for object streams: each row begins with the number of its predictor. Returns
 * other bytes unchanged.
 */
function unpredicted(bytes: Uint8Array, parameters: PdfDict): Uint8Array {
  const number = (key: string, otherwise: number) => {
    const value = parameters.get(key);
    return typeof value === "number" && value > 0 && value <= 65_536 ? value : otherwise;
  };
  if (number("Predictor", 1) < 10) return bytes;
  const pixel = Math.ceil((number("Colors", 1) * number("BitsPerComponent", 8)) / 8);
  const row = Math.ceil((number("Columns", 1) * number("Colors", 1) * number("BitsPerComponent", 8)) / 8);
  const rows = Math.ceil(bytes.length / (row + 1));
  const output = new Uint8Array(Math.max(0, bytes.length - rows));
  for (let from = 0, to = 0; from < bytes.length; from += row + 1, to += row) {
    const predictor = bytes[from];
    for (let at = 0; at < row && to + at < output.length; at++) {
      const left = at >= pixel ? output[to + at - pixel]! : 0;
      const up = to > 0 ? output[to + at - row]! : 0;
      const corner = at >= pixel && to > 0 ? output[to + at - row - pixel]! : 0;
      output[to + at] = bytes[from + 1 + at]! + predicted(predictor, left, up, corner);
    }
  }
  return output;
}

function predicted(predictor: number | undefined, left: number, up: number, corner: number): number {
  if (predictor === 1) return left;
  if (predictor === 2) return up;
  if (predictor === 3) return (left + up) >> 1;
  if (predictor !== 4) return 0;
  const [byLeft, byUp, byCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}
