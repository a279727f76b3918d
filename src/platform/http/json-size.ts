const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];
const HEX_DIGITS = 4;

/**
 * Measures a JSON text while its bytes stream in: the decoded length of its longest string in UTF-8, and the length of everything
 * else. A body that is too long can thus be refused before it is in memory and parsed, however its characters are escaped. The text
 * need not be valid.
 */
export class JsonSize {
  /** The bytes of the longest string so far. */
  longest = 0;
  private total = 0;
  private current = 0;
  private isInString = false;
  /** How many more bytes of an escape are expected; -1 after the backslash. */
  private expected = 0;
  private unit = 0;
  private isAfterHighSurrogate = false;

  /** The bytes outside of the longest string. */
  get others(): number {
    return this.total - this.longest;
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const end = this.expected === 0 ? endOfRun(bytes, at) : at;
      if (end > at) this.count(end - at);
      else this.addByte(bytes[at]!);
      at = Math.max(end, at + 1);
    }
  }

  private addByte(byte: number): void {
    if (this.expected !== 0) this.addEscaped(byte);
    else if (byte === QUOTE) this.toggleString();
    else if (byte === BACKSLASH && this.isInString) this.expected = -1;
    else this.count(1);
  }

  private toggleString(): void {
    this.isInString = !this.isInString;
    this.total++;
    this.current = 0;
    this.isAfterHighSurrogate = false;
  }

  private addEscaped(byte: number): void {
    if (this.expected > 0) {
      this.unit = this.unit * 16 + hexValue(byte);
      if (--this.expected === 0) this.countUnit(this.unit);
    } else if (byte === LETTER_U) {
      this.expected = HEX_DIGITS;
      this.unit = 0;
    } else {
      this.expected = 0;
      this.count(1);
    }
  }

  /** A surrogate pair takes four bytes; a surrogate without the other is replaced by U+FFFD, which takes three. */
  private countUnit(unit: number): void {
    const completesPair = this.isAfterHighSurrogate && unit >= 0xdc00 && unit <= 0xdfff;
    this.count(completesPair || unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3);
    this.isAfterHighSurrogate = unit >= 0xd800 && unit <= 0xdbff;
  }

  private count(size: number): void {
    this.total += size;
    this.isAfterHighSurrogate = false;
    if (!this.isInString) return;
    this.current += size;
    if (this.current > this.longest) this.longest = this.current;
  }
}

/** The position of the next quote or backslash. */
function endOfRun(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at++;
  return at;
}

/** The value of a hexadecimal digit; any number for another byte, which makes the text invalid. */
function hexValue(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57;
}
