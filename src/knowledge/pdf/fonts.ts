import { copiedCMap } from "./cmap.ts";
import { nameOf, type PdfFile } from "./file.ts";
import { type PdfDict, PdfName, PdfRef, PdfTooLargeError, type PdfValue } from "./values.ts";
import type { PdfWriter } from "./writer.ts";

/** The most bytes of a font's program, which tells the characters where nothing else does. */
const MAX_PROGRAM_BYTES = 3 * 1024 * 1024;
const MAX_ALL_PROGRAM_BYTES = 24 * 1024 * 1024;
const MAX_FONTS = 2_000;
const MAX_CMAP_BYTES = 2 * 1024 * 1024;
/** The most characters that the codes of all fonts map to. A CMap of 50 bytes can name 65,536 codes. */
const MAX_CODE_MEMORY = 3_000_000;
const MAX_GLYPH_MAP_BYTES = 128 * 1024;
/** The codes of a font have two bytes. */
const MAX_CODE = 0xffff;
/** The most values of an array, such as the widths of a font. */
const MAX_ITEMS = 70_000;

/** The values that the text of a font, of its descendant and of its descriptor depends on, besides those that are copied one by one. */
const FONT_KEYS = ["Type", "Subtype", "BaseFont", "FontBBox", "FontMatrix", "DW", "DW2"];
const DESCRIPTOR_KEYS =
  "Type FontName FontFamily FontWeight Flags FontBBox ItalicAngle Ascent Descent CapHeight XHeight StemV MissingWidth".split(" ");
const PROGRAM_KEYS = ["FontFile", "FontFile2", "FontFile3"];

/** Copies fonts without their drawings: what the characters of a text and their widths depend on. */
export class FontCopier {
  private readonly copied = new Map<number, PdfRef>();
  private count = 0;
  private programBytes = 0;
  private codeMemory = 0;

  constructor(
    private readonly file: PdfFile,
    private readonly writer: PdfWriter,
  ) {}

  /** @returns a reference to the font in the copy. @throws PdfTooLargeError */
  copy(value: PdfValue): PdfRef {
    const known = value instanceof PdfRef ? this.copied.get(value.number) : undefined;
    if (known) return known;
    if (++this.count > MAX_FONTS) throw new PdfTooLargeError();
    const font = this.writer.object(this.font(this.file.dict(value) ?? new Map(), false));
    if (value instanceof PdfRef) this.copied.set(value.number, font);
    return font;
  }

  private font(font: PdfDict, isDescendant: boolean): PdfDict {
    const { file, writer } = this;
    const copy = picked(file, font, FONT_KEYS);
    const add = (key: string, value: PdfValue): void => {
      if (value !== null) copy.set(key, value);
    };
    for (const key of ["FirstChar", "LastChar"]) {
      const code = file.get(font.get(key));
      if (typeof code === "number") add(key, Math.min(Math.max(0, Math.trunc(code)), MAX_CODE));
    }
    add(
      "ToUnicode",
      this.nameOrStream(font.get("ToUnicode"), (value) => this.cmap(value)),
    );
    add("Encoding", this.encoding(font.get("Encoding")));
    add("Widths", plain(file, font.get("Widths"), 1));
    add("W", widths(file, font.get("W"), 1));
    add("W2", widths(file, font.get("W2"), 3));
    add(
      "CIDToGIDMap",
      this.nameOrStream(font.get("CIDToGIDMap"), (value) => this.glyphMap(value)),
    );
    const system = file.dict(font.get("CIDSystemInfo"));
    if (system) add("CIDSystemInfo", picked(file, system, ["Registry", "Ordering", "Supplement"]));
    const descendants = file.get(font.get("DescendantFonts"));
    const descendant = file.dict(Array.isArray(descendants) ? descendants[0] : descendants);
    if (descendant && !isDescendant) add("DescendantFonts", [writer.object(this.font(descendant, true))]);
    const descriptor = file.dict(font.get("FontDescriptor"));
    if (descriptor) add("FontDescriptor", writer.object(this.descriptor(descriptor)));
    if (nameOf(file.get(font.get("Subtype"))) === "Type3") add("CharProcs", new Map());
    return copy;
  }

  private nameOrStream(value: PdfValue | undefined, ofStream: (value: PdfValue | undefined) => PdfValue): PdfValue {
    const found = this.file.get(value);
    return found instanceof PdfName ? found : ofStream(value);
  }

  private cmap(value: PdfValue | undefined): PdfValue {
    const bytes = this.file.unpackOptional(value, MAX_CMAP_BYTES)?.bytes;
    const text = bytes && copiedCMap(bytes, (codes, charsEach) => this.countCodes(codes, charsEach));
    return text === undefined ? null : this.writer.stream(new Map(), new TextEncoder().encode(text));
  }

  private countCodes(codes: number, charsEach: number): boolean {
    if (codes < 0 || codes > MAX_CODE + 1) return false;
    this.codeMemory += codes * charsEach;
    return this.codeMemory <= MAX_CODE_MEMORY;
  }

  /** The encoding of a font: a name, the differences from one, or a CMap. */
  private encoding(value: PdfValue | undefined): PdfValue {
    const { file } = this;
    const found = file.get(value);
    if (found instanceof PdfName) return found;
    if (!(found instanceof Map)) return null;
    const cmap = this.cmap(value);
    if (cmap) return cmap;
    const copy = picked(file, found, ["Type", "BaseEncoding"]);
    const differences = file.get(found.get("Differences"));
    if (Array.isArray(differences) && differences.length <= MAX_ITEMS) {
      const items = differences.map((item) => file.get(item));
      copy.set(
        "Differences",
        items.filter((item) => item instanceof PdfName || isCode(item)),
      );
    }
    return copy;
  }

  private glyphMap(value: PdfValue | undefined): PdfValue {
    const bytes = this.file.unpackOptional(value, MAX_GLYPH_MAP_BYTES)?.bytes;
    return bytes ? this.writer.stream(new Map(), bytes) : null;
  }

  private descriptor(descriptor: PdfDict): PdfDict {
    const copy = picked(this.file, descriptor, DESCRIPTOR_KEYS);
    for (const key of PROGRAM_KEYS) {
      const program = this.program(descriptor.get(key));
      if (program) copy.set(key, program);
    }
    return copy;
  }

  /** The program of a font. One that is too large is left out: most fonts name their characters elsewhere too. */
  private program(value: PdfValue | undefined): PdfRef | undefined {
    const unpacked = this.file.unpackOptional(value, Math.min(MAX_PROGRAM_BYTES, MAX_ALL_PROGRAM_BYTES - this.programBytes));
    if (!unpacked) return undefined;
    this.programBytes += unpacked.bytes.length;
    const dict = picked(this.file, unpacked.dict, ["Subtype", "Length1", "Length2", "Length3"]);
    if (!unpacked.isSound) return this.writer.stream(dict, unpacked.bytes);
    return this.writer.stream(dict.set("Filter", new PdfName("FlateDecode")), unpacked.packed);
  }
}

function picked(file: PdfFile, dict: PdfDict, keys: string[]): PdfDict {
  return new Map(
    keys.flatMap((key) => {
      const value = plain(file, dict.get(key), 1);
      return value === null ? [] : [[key, value] as const];
    }),
  );
}

/** A value without references: a constant, or an array of constants. */
function plain(file: PdfFile, value: PdfValue | undefined, depth: number): PdfValue {
  const found = file.get(value);
  if (Array.isArray(found)) return depth > 0 && found.length <= MAX_ITEMS ? found.map((item) => plain(file, item, depth - 1)) : null;
  return found instanceof Map ? null : found;
}

/** The widths of characters, by their first code, or by their first and last code. */
function widths(file: PdfFile, value: PdfValue | undefined, each: number): PdfValue {
  const list = file.get(value);
  if (!Array.isArray(list) || list.length > MAX_ITEMS) return null;
  const copied: PdfValue[] = [];
  for (let at = 0; at + 1 < list.length;) {
    const [first, second] = [file.get(list[at]), file.get(list[at + 1])];
    if (!isCode(first)) break;
    if (Array.isArray(second)) copied.push(first, plain(file, second, 1));
    else if (!isCode(second)) break;
    else copied.push(first, second, ...list.slice(at + 2, at + 2 + each).map((item) => plain(file, item, 0)));
    at += Array.isArray(second) ? 2 : 2 + each;
  }
  return copied;
}

function isCode(value: PdfValue): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_CODE;
}
