export type TokenKind = "number" | "name" | "string" | "[" | "]" | "<<" | ">>" | "keyword" | "end";

const REGULAR = 0;
const SPACE = 1;
const DELIMITER = 2;
/** The class of each byte. */
const CLASSES = new Uint8Array(256);
for (const byte of [0, 9, 10, 12, 13, 32]) CLASSES[byte] = SPACE;
for (const character of "()<>[]{}/%") CLASSES[character.charCodeAt(0)] = DELIMITER;
/** The bytes of numbers: digits, signs and the point. */
const NUMERIC = new Uint8Array(256);
for (const character of "0123456789+-.") NUMERIC[character.charCodeAt(0)] = 1;

const [BACKSLASH, OPEN, CLOSE, LESS, GREATER, SLASH, PERCENT, LF, CR] = [0x5c, 0x28, 0x29, 0x3c, 0x3e, 0x2f, 0x25, 10, 13];

const MAX_NUMBER_CHARS = 32;
const MAX_NAME_CHARS = 256;

/** Splits the bytes of a PDF into tokens. A token is a range of the bytes, so that reading one allocates nothing. */
export class Lexer {
  kind: TokenKind = "end";
  /** The range of the token. A string includes its delimiters, a name its slash. */
  start = 0;
  end = 0;

  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {}

  next(): TokenKind {
    this.skipSpace();
    this.start = this.at;
    this.kind = this.read();
    this.end = this.at;
    return this.kind;
  }

  /** Whether the token is this keyword. */
  is(keyword: string): boolean {
    return this.kind === "keyword" && this.end - this.start === keyword.length && isAt(this.bytes, this.start, keyword);
  }

  /** The value of a number token; 0 if it is none. */
  number(): number {
    return this.end - this.start > MAX_NUMBER_CHARS ? 0 : Number(this.text()) || 0;
  }

  /** The token's bytes as characters. */
  text(): string {
    return latin1(this.bytes, this.start, this.end);
  }

  /** The name of a name token, without its slash, with its escapes decoded; "" for one that is too long. */
  name(): string {
    if (this.end - this.start > MAX_NAME_CHARS) return "";
    const text = latin1(this.bytes, this.start + 1, this.end);
    return text.includes("#") ? text.replace(/#([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))) : text;
  }

  private skipSpace(): void {
    const { bytes } = this;
    for (; this.at < bytes.length; this.at++) {
      const byte = bytes[this.at]!;
      if (byte === PERCENT) while (this.at + 1 < bytes.length && bytes[this.at + 1] !== LF && bytes[this.at + 1] !== CR) this.at++;
      else if (CLASSES[byte] !== SPACE) return;
    }
  }

  private read(): TokenKind {
    const { bytes } = this;
    const byte = bytes[this.at];
    if (byte === undefined) return "end";
    if (NUMERIC[byte] === 1) {
      while (NUMERIC[bytes[++this.at]!] === 1);
      return "number";
    }
    this.at++;
    if (byte === SLASH) {
      this.skipRegular();
      return "name";
    }
    if (byte === OPEN) return this.literalString();
    if (byte === LESS) return bytes[this.at] === LESS ? this.two("<<") : this.hexString();
    if (byte === GREATER) return bytes[this.at] === GREATER ? this.two(">>") : "keyword";
    if (byte === 0x5b) return "[";
    if (byte === 0x5d) return "]";
    if (CLASSES[byte] === REGULAR) this.skipRegular();
    return "keyword";
  }

  private two(kind: "<<" | ">>"): TokenKind {
    this.at++;
    return kind;
  }

  private skipRegular(): void {
    while (this.at < this.bytes.length && CLASSES[this.bytes[this.at]!] === REGULAR) this.at++;
  }

  private literalString(): TokenKind {
    const { bytes } = this;
    let depth = 1;
    while (depth > 0 && this.at < bytes.length) {
      const byte = bytes[this.at++];
      if (byte === BACKSLASH) this.at++;
      else if (byte === OPEN) depth++;
      else if (byte === CLOSE) depth--;
    }
    // A string that does not end is no string.
    return depth > 0 ? this.truncated() : "string";
  }

  private hexString(): TokenKind {
    const end = this.bytes.indexOf(GREATER, this.at);
    if (end < 0) return this.truncated();
    this.at = end + 1;
    return "string";
  }

  private truncated(): TokenKind {
    this.at = this.bytes.length;
    return "end";
  }
}

function latin1(bytes: Uint8Array, from: number, to: number): string {
  let text = "";
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at]!);
  return text;
}

/** Returns whether the bytes at a position are these ASCII characters. */
export function isAt(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text.charCodeAt(index)) return false;
  return true;
}

/** The position of ASCII characters, from a position on; -1 if there are none. */
export function findBytes(bytes: Uint8Array, text: string, from: number): number {
  const first = text.charCodeAt(0);
  let at = bytes.indexOf(first, from);
  while (at >= 0 && !isAt(bytes, at, text)) at = bytes.indexOf(first, at + 1);
  return at;
}

export function isSpace(byte: number | undefined): boolean {
  return byte !== undefined && CLASSES[byte] === SPACE;
}
