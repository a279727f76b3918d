import { copiedCMap } from "./cmap.ts";
import { nameOf, type PdfFile } from "./file.ts";
import { Lexer } from "./lexer.ts";
import { type PdfDict, PdfName, PdfRef, PdfTooLargeError, type PdfValue } from "./values.ts";
import type { PdfWriter } from "./writer.ts";

/** The most bytes of a font's program, of which the encoding is read. */
const MAX_PROGRAM_BYTES = 3 * 1024 * 1024;
/** The most codes and names of an encoding, one after another. */
const MAX_OWN_DIFFERENCES = 512;
const MAX_FONTS = 2_000;
const MAX_CMAP_BYTES = 2 * 1024 * 1024;
/** The most characters and widths that ranges of codes stand for, in all fonts. A CMap of 50 bytes can name 65,536 codes. */
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

/**
 * Copies what the characters of a text and their widths depend on. Font programs are left out: they hardly tell the characters, and
 * a program of a few bytes can take the parser hours, for example with subroutines that call one another.
 */
export class FontCopier {
  private readonly copied = new Map<number, PdfRef>();
  private count = 0;
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
    add("Widths", plain(file, font.get("Widths"), 1));
    add("W", this.widths(font.get("W"), 1));
    add("W2", this.widths(font.get("W2"), 3));
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
    if (descriptor) add("FontDescriptor", writer.object(picked(file, descriptor, DESCRIPTOR_KEYS)));
    add("Encoding", this.encoding(font.get("Encoding"), descriptor?.get("FontFile")));
    if (nameOf(file.get(font.get("Subtype"))) === "Type3") add("CharProcs", new Map());
    return copy;
  }

  private nameOrStream(value: PdfValue | undefined, ofStream: (value: PdfValue | undefined) => PdfValue): PdfValue {
    const found = this.file.get(value);
    return found instanceof PdfName ? found : ofStream(value);
  }

  private cmap(value: PdfValue | undefined): PdfValue {
    const bytes = this.file.unpackOptional(value, MAX_CMAP_BYTES);
    const text = bytes && copiedCMap(bytes, (codes, charsEach) => this.countCodes(codes, charsEach));
    return text === undefined ? null : this.writer.stream(new Map(), new TextEncoder().encode(text));
  }

  private countCodes(codes: number, charsEach: number): boolean {
    if (codes < 0 || codes > MAX_CODE + 1) return false;
    this.codeMemory += codes * charsEach;
    return this.codeMemory <= MAX_CODE_MEMORY;
  }

  /** The encoding of a font: a name, the differences from one, or a CMap. */
  private encoding(value: PdfValue | undefined, program: PdfValue | undefined): PdfValue {
    const { file } = this;
    const found = file.get(value);
    if (found instanceof PdfName) return found;
    const cmap = this.cmap(value);
    if (cmap) return cmap;
    const copy = found instanceof Map ? picked(file, found, ["Type", "BaseEncoding"]) : new Map<string, PdfValue>();
    const own = copy.has("BaseEncoding") ? [] : this.ownEncoding(program);
    const differences = found instanceof Map ? file.get(found.get("Differences")) : null;
    const items = Array.isArray(differences) && differences.length <= MAX_ITEMS ? differences.map((item) => file.get(item)) : [];
    const all = [...own, ...items.filter((item) => item instanceof PdfName || isCode(item))];
    return all.length === 0 && !(found instanceof Map) ? null : copy.set("Differences", all);
  }

  private glyphMap(value: PdfValue | undefined): PdfValue {
    const bytes = this.file.unpackOptional(value, MAX_GLYPH_MAP_BYTES);
    return bytes ? this.writer.stream(new Map(), bytes) : null;
  }

  /** The widths of characters, by their first code, or by their first and last code. */
  private widths(value: PdfValue | undefined, each: number): PdfValue {
    const { file } = this;
    const list = file.get(value);
    if (!Array.isArray(list) || list.length > MAX_ITEMS) return null;
    const copied: PdfValue[] = [];
    for (let at = 0; at + 1 < list.length;) {
      const [first, second] = [file.get(list[at]), file.get(list[at + 1])];
      if (!isCode(first)) break;
      if (Array.isArray(second)) copied.push(first, plain(file, second, 1));
      else if (!isCode(second) || !this.countCodes(second - first + 1, 1)) break;
      else copied.push(first, second, ...list.slice(at + 2, at + 2 + each).map((item) => plain(file, item, 0)));
      at += Array.isArray(second) ? 2 : 2 + each;
    }
    return copied;
  }

  /** The differences of a font's own encoding, which a Type 1 font program begins with. None where the program names a known encoding. */
  private ownEncoding(program: PdfValue | undefined): PdfValue[] {
    const bytes = this.file.unpackOptional(program, MAX_PROGRAM_BYTES);
    return bytes ? encodingOfProgram(bytes) : [];
  }
}

/** Reads lines such as `dup 65 /A put` after `/Encoding`, up to the encrypted part of the program. */
function encodingOfProgram(bytes: Uint8Array): PdfValue[] {
  const lexer = new Lexer(bytes);
  const differences: PdfValue[] = [];
  let isEncoding = false;
  let code = -1;
  for (let kind = lexer.next(); kind !== "end" && differences.length < MAX_OWN_DIFFERENCES; kind = lexer.next()) {
    if (lexer.is("eexec") || (lexer.is("def") && isEncoding)) break;
    if (kind === "number") code = lexer.number();
    else if (kind === "name") {
      if (isEncoding && isCode(code)) differences.push(code, new PdfName(lexer.name()));
      isEncoding ||= lexer.name() === "Encoding";
    } else if (lexer.is("dup")) code = -1;
  }
  return differences;
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

function isCode(value: PdfValue): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_CODE;
}
