import { type Lexer, type TokenKind } from "./lexer.ts";

/** A PDF that takes more work or memory to read than one file may. */
export class PdfTooLargeError extends Error {}

export class PdfName {
  constructor(readonly name: string) {}
}

/** A string as it is written in the file, with its delimiters. */
export class PdfString {
  constructor(readonly raw: string) {}
}

/** A reference to an object. */
export class PdfRef {
  constructor(
    readonly number: number,
    readonly generation = 0,
  ) {}
}

export type PdfDict = Map<string, PdfValue>;
export type PdfValue = null | boolean | number | PdfName | PdfString | PdfRef | PdfValue[] | PdfDict;

/** The most values that are read of one file. A manual of 500 pages has a tenth of it. */
const MAX_VALUES = 600_000;
const MAX_DEPTH = 40;
/** The most bytes that the values are read from. An object that is used often is read each time. */
const MAX_READ_BYTES = 128 * 1024 * 1024;
/** A longer string has no use for reading text. */
const MAX_STRING_BYTES = 4_096;

/** Reads values, and counts them for one file. */
export class ValueReader {
  private values = 0;
  private bytes = 0;

  /** Reads the value at the lexer's position: null if there is none. @throws PdfTooLargeError */
  read(lexer: Lexer): PdfValue {
    const start = lexer.at;
    const value = this.one(lexer, lexer.next(), 0) ?? null;
    if ((this.bytes += lexer.at - start) > MAX_READ_BYTES) throw new PdfTooLargeError();
    return value;
  }

  /** The value that begins with the lexer's token; undefined for another token. */
  private one(lexer: Lexer, kind: TokenKind, depth: number): PdfValue | undefined {
    if (++this.values > MAX_VALUES || depth > MAX_DEPTH) throw new PdfTooLargeError();
    if (kind === "number") return lexer.number();
    if (kind === "name") return new PdfName(lexer.name());
    if (kind === "string") return lexer.end - lexer.start > MAX_STRING_BYTES ? null : new PdfString(lexer.text());
    if (kind === "[") return this.items(lexer, "]", depth + 1);
    if (kind === "<<") return dictOf(this.items(lexer, ">>", depth + 1));
    return kind === "keyword" && lexer.end - lexer.start <= 5 ? CONSTANTS.get(lexer.text()) : undefined;
  }

  /** The values up to the closing token. */
  private items(lexer: Lexer, close: TokenKind, depth: number): PdfValue[] {
    const items: PdfValue[] = [];
    for (let kind = lexer.next(); kind !== close && kind !== "end"; kind = lexer.next()) {
      const item = this.one(lexer, kind, depth);
      if (item !== undefined) items.push(item);
      else if (lexer.is("R")) {
        const generation = items.pop();
        const number = items.pop();
        items.push(typeof number === "number" && typeof generation === "number" ? new PdfRef(number, generation) : null);
      } else if (lexer.is("endobj")) break;
    }
    return items;
  }
}

const CONSTANTS = new Map<string, PdfValue>([
  ["null", null],
  ["true", true],
  ["false", false],
]);

function dictOf(items: PdfValue[]): PdfDict {
  const dict: PdfDict = new Map();
  for (let at = 0; at + 1 < items.length; at += 2) {
    const key = items[at];
    if (key instanceof PdfName) dict.set(key.name, items[at + 1]!);
    // A key without a value: the next name is a key again.
    else at--;
  }
  return dict;
}

/** Writes a value as a PDF has it. */
export function written(value: PdfValue): string {
  if (value instanceof PdfName) return writtenName(value.name);
  if (value instanceof PdfString) return value.raw;
  if (value instanceof PdfRef) return `${value.number} ${value.generation} R`;
  if (Array.isArray(value)) return `[${value.map(written).join(" ")}]`;
  if (value instanceof Map) return `<<${[...value].map(([key, item]) => `${writtenName(key)} ${written(item)}`).join(" ")}>>`;
  if (typeof value === "number") return numberOf(value);
  return `${value}`;
}

function numberOf(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toFixed(6);
}

function writtenName(name: string): string {
  return `/${name.replace(/[^\w.+*-]/g, (character) => `#${(character.charCodeAt(0) & 0xff).toString(16).padStart(2, "0")}`)}`;
}
