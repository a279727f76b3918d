import { atOnce, inSlices, type Slices } from "../../platform/time.ts";
import { findBytes, isAt, isSpace, Lexer } from "./lexer.ts";
import { type PdfStream, unpackStream } from "./streams.ts";
import { type PdfDict, PdfName, PdfRef, PdfTooLargeError, type PdfValue, ValueReader } from "./values.ts";

/** The most objects of a file. A tagged manual of 500 pages has 300,000. */
const MAX_OBJECTS = 600_000;
/** The most bytes that streams have, packed and unpacked. A stream that is used often is unpacked each time. */
const MAX_UNPACKED_BYTES = 96 * 1024 * 1024;
/** After so many objects, which are found in a few milliseconds, other requests get their turn. */
const OBJECTS_PER_SLICE = 2_000;
const MAX_OBJECT_STREAM_BYTES = 16 * 1024 * 1024;
const MAX_STREAM_OBJECTS = 100_000;
/** The bytes of object streams that are kept unpacked, since neighbouring objects are read one after another. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024;
const MAX_TRAILERS = 50;
/** A reference that leads to a reference and so on is a loop. */
const MAX_INDIRECTIONS = 5;

/**
 * The objects of a PDF. They are found by reading the file from its beginning to its end, the last one with a number counts, so
 * that a broken cross-reference table does no harm. An object is read when it is asked for, and a stream is unpacked up to a bound.
 */
export class PdfFile {
  /** The trailers of all revisions as one, the last one first. */
  readonly trailer: PdfDict = new Map();
  /** The streams that may hold text, fonts or objects. */
  readonly streams: PdfRef[] = [];
  private readonly offsets = new Map<number, number>();
  /** Where objects in object streams are: the number of the stream, and the position among its objects. */
  private readonly packed = new Map<number, readonly [stream: number, index: number]>();
  /** The ranges of streams that were asked for, since a stream without a length is searched for its end. */
  private readonly ranges = new Map<number, readonly [start: number, end: number]>();
  private readonly objectStreams: number[] = [];
  private readonly trailers: PdfDict[] = [];
  private readonly catalogs: number[] = [];
  private readonly unpackedStreams = new Map<number, ObjectStream>();
  /** The bytes of streams after their decryption. */
  private decrypted: ReadonlyMap<number, Uint8Array> | undefined;
  private readonly values = new ValueReader();
  private unpackedBytes = 0;
  private cachedBytes = 0;

  private constructor(readonly bytes: Uint8Array) {}

  /** Finds the objects of a file. @throws PdfTooLargeError */
  static async open(bytes: Uint8Array): Promise<PdfFile> {
    const file = new PdfFile(bytes);
    await inSlices(file.scan());
    file.readTrailers();
    if (!file.isEncrypted()) await inSlices(file.readObjectStreams());
    return file;
  }

  isEncrypted(): boolean {
    return this.trailer.has("Encrypt");
  }

  /** Replaces the bytes of the streams of an encrypted file. */
  async decrypt(streams: ReadonlyMap<number, Uint8Array>): Promise<void> {
    this.decrypted = streams;
    await inSlices(this.readObjectStreams());
  }

  /** The value that a reference leads to; a value that is no reference itself. */
  readonly get = (value: PdfValue | undefined): PdfValue => {
    let found = value ?? null;
    for (let count = 0; found instanceof PdfRef; count++) {
      if (count > MAX_INDIRECTIONS) return null;
      found = this.object(found.number);
    }
    return found;
  };

  dict(value: PdfValue | undefined): PdfDict | undefined {
    const found = this.get(value);
    return found instanceof Map ? found : undefined;
  }

  /** The stream that a reference leads to; undefined if it leads to something else. */
  stream(value: PdfValue | undefined): PdfStream | undefined {
    if (!(value instanceof PdfRef)) return undefined;
    const at = this.offsets.get(value.number);
    if (at === undefined) return undefined;
    const lexer = new Lexer(this.bytes, at);
    const dict = this.values.read(lexer);
    if (!(dict instanceof Map) || lexer.next() !== "keyword" || !lexer.is("stream")) return undefined;
    const known = this.ranges.get(value.number);
    const [start, end] = known ?? this.rangeOf(lexer.end, this.get(dict.get("Length")));
    if (!known) this.ranges.set(value.number, [start, end]);
    const packed = this.decrypted ? this.decrypted.get(value.number) : this.bytes.subarray(start, end);
    return packed && { dict, packed };
  }

  /**
   * Unpacks a stream, and counts its bytes for the file. Undefined for a stream with a filter that text does not use.
   * @throws PdfTooLargeError
   */
  *unpack(stream: PdfStream, maxBytes: number): Slices<Uint8Array | undefined> {
    this.unpackedBytes += stream.packed.length;
    const most = Math.min(maxBytes, MAX_UNPACKED_BYTES - this.unpackedBytes);
    // Counted also for a stream that is refused on the way.
    this.unpackedBytes += most;
    const unpacked = yield* unpackStream(stream, this.get, most);
    this.unpackedBytes -= most - (unpacked?.length ?? 0);
    return unpacked;
  }

  /** Unpacks the stream that a reference leads to, if it is one with at most `maxBytes`. @throws PdfTooLargeError past the file's bound */
  unpackOptional(value: PdfValue | undefined, maxBytes: number): Uint8Array | undefined {
    const stream = this.stream(value);
    try {
      return stream && atOnce(this.unpack(stream, maxBytes));
    } catch (error) {
      if (this.unpackedBytes < MAX_UNPACKED_BYTES) return undefined;
      throw error;
    }
  }

  private object(number: number): PdfValue {
    const at = this.offsets.get(number);
    if (at !== undefined) return this.values.read(new Lexer(this.bytes, at));
    const place = this.packed.get(number);
    const stream = place && this.objectStream(place[0]);
    const start = stream?.starts[place![1]];
    return start === undefined ? null : this.values.read(new Lexer(stream!.bytes, start));
  }

  /** The range of a stream's bytes after its keyword: of the length that it names, if it ends there. */
  private rangeOf(keywordEnd: number, length: PdfValue): [start: number, end: number] {
    const { bytes } = this;
    const start = keywordEnd + (bytes[keywordEnd] === 13 && bytes[keywordEnd + 1] === 10 ? 2 : 1);
    if (typeof length === "number" && length >= 0 && this.endsAt(start + length)) return [start, start + length];
    const found = findBytes(bytes, "endstream", start);
    return [start, found < 0 ? bytes.length : found];
  }

  private endsAt(at: number): boolean {
    let end = at;
    while (end < at + 4 && isSpace(this.bytes[end])) end++;
    return isAt(this.bytes, end, "endstream");
  }

  /** Finds the objects and trailers of the file. */
  private *scan(): Slices<void> {
    const { bytes } = this;
    // Damage can make one object seem to reach to the end of the file. It is not read so far again and again.
    let left = 4 * bytes.length + 1024;
    let objects = 0;
    for (let at = findBytes(bytes, "obj", 0); at >= 0; at = findBytes(bytes, "obj", at)) {
      const place = this.placeBefore(at);
      at += 3;
      if (!place) continue;
      if (this.offsets.size >= MAX_OBJECTS) throw new PdfTooLargeError();
      if (++objects % OBJECTS_PER_SLICE === 0) yield;
      this.offsets.set(place.number, at);
      const end = this.scanObject(place, at);
      if ((left -= end - at) < 0) throw new PdfTooLargeError();
      if (end < bytes.length) at = end;
    }
    for (
      let at = findBytes(bytes, "trailer", 0), count = 0;
      at >= 0 && count < MAX_TRAILERS;
      at = findBytes(bytes, "trailer", at + 7), count++
    )
      this.addTrailer(this.values.read(new Lexer(bytes, at + 7)));
  }

  private addTrailer(value: PdfValue): void {
    if (value instanceof Map && value.has("Root")) this.trailers.push(value);
  }

  /** The number and generation before the keyword `obj`. */
  private placeBefore(keyword: number): PdfRef | undefined {
    const { bytes } = this;
    let at = keyword - 1;
    const number = (): number | undefined => {
      while (isSpace(bytes[at])) at--;
      const end = at;
      let value = 0;
      for (let unit = 1; at >= 0 && end - at < 10 && bytes[at]! >= 0x30 && bytes[at]! <= 0x39; at--, unit *= 10)
        value += (bytes[at]! - 0x30) * unit;
      return end === at ? undefined : value;
    };
    const generation = number();
    const found = isSpace(bytes[at]) ? number() : undefined;
    return generation === undefined || found === undefined ? undefined : new PdfRef(found, generation);
  }

  /** Notes what kind of object this is, without reading its values. @returns its end, from where the next one is searched. */
  private scanObject(place: PdfRef, from: number): number {
    const lexer = new Lexer(this.bytes, from);
    let depth = 0;
    let key = "";
    const named = { Type: "", Subtype: "" };
    let length: PdfValue = null;
    for (;;) {
      const kind = lexer.next();
      if (kind === "end") return this.bytes.length;
      if (kind === "<<" || kind === "[") depth++;
      else if (kind === ">>" || kind === "]") depth--;
      else if (kind === "keyword") {
        if (lexer.is("stream")) break;
        if (lexer.is("R") && key === "Length") length = null;
        if (lexer.is("endobj") || lexer.is("obj")) {
          if (named.Type === "Catalog") this.catalogs.push(place.number);
          return lexer.start;
        }
      } else if (depth === 1 && kind === "number" && key === "Length" && length === null) length = lexer.number();
      else if (depth === 1 && kind === "name") {
        const name = lexer.end - lexer.start <= "/Subtype".length ? lexer.name() : "";
        if (key === "Type" || key === "Subtype") named[key] = name;
        key = name;
      }
    }
    if (named.Type === "ObjStm") this.objectStreams.push(place.number);
    if (named.Type === "XRef") this.addTrailer(this.values.read(new Lexer(this.bytes, from)));
    else if (named.Subtype !== "Image") this.streams.push(place);
    return this.rangeOf(lexer.end, length)[1];
  }

  private readTrailers(): void {
    const root = this.catalogs.at(-1);
    for (const trailer of this.trailers) for (const [key, value] of trailer) this.trailer.set(key, value);
    if (this.trailers.length === 0 && root !== undefined) this.trailer.set("Root", new PdfRef(root));
  }

  /** Notes where the objects in object streams are. An object with the same number further back in the file counts more. */
  private *readObjectStreams(): Slices<void> {
    for (const container of this.objectStreams) {
      yield;
      const stream = this.objectStream(container);
      for (const [index, number] of (stream?.numbers ?? []).entries()) {
        if ((this.offsets.get(number) ?? -1) > this.offsets.get(container)!) continue;
        if (this.packed.size >= MAX_OBJECTS) throw new PdfTooLargeError();
        this.offsets.delete(number);
        this.packed.set(number, [container, index]);
      }
    }
  }

  private objectStream(number: number): ObjectStream | undefined {
    const known = this.unpackedStreams.get(number);
    if (known) return known;
    const stream = this.stream(new PdfRef(number));
    const unpacked = stream && atOnce(this.unpack(stream, MAX_OBJECT_STREAM_BYTES));
    const [count, first] = [this.get(stream?.dict.get("N")), this.get(stream?.dict.get("First"))];
    if (!unpacked || typeof count !== "number" || typeof first !== "number") return undefined;
    const found = objectsOf(unpacked, Math.min(count, MAX_STREAM_OBJECTS), first);
    this.unpackedStreams.set(number, found);
    this.cachedBytes += found.bytes.length;
    for (const [oldest, { bytes }] of this.unpackedStreams) {
      if (this.cachedBytes <= MAX_CACHED_BYTES) break;
      this.unpackedStreams.delete(oldest);
      this.cachedBytes -= bytes.length;
    }
    return found;
  }
}

interface ObjectStream {
  bytes: Uint8Array;
  numbers: number[];
  starts: number[];
}

/** Reads the beginning of an object stream: the number and the place of each object. */
function objectsOf(bytes: Uint8Array, count: number, first: number): ObjectStream {
  const lexer = new Lexer(bytes.subarray(0, first));
  const found: ObjectStream = { bytes, numbers: [], starts: [] };
  while (found.numbers.length < count && lexer.next() === "number") {
    const number = lexer.number();
    if (lexer.next() !== "number") break;
    found.numbers.push(number);
    found.starts.push(first + lexer.number());
  }
  return found;
}

/** The name that a value is; "" if it is none. */
export function nameOf(value: PdfValue): string {
  return value instanceof PdfName ? value.name : "";
}
