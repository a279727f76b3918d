import type { Slices } from "../../platform/time.ts";
import { isSpace, Lexer } from "./lexer.ts";

/** What a content stream uses. */
export interface ContentNames {
  /** Whether the name is that of a form, whose content is shown in this place. */
  form: (name: string) => Slices<boolean>;
  font: (name: string) => boolean;
}

/** The operators that text needs, and the number of their operands. All others draw, and are left out. */
const OPERATORS = new Map<string, number>([
  ...(["BT", "ET", "T*", "q", "Q"] as const).map((name) => [name, 0] as const),
  ...(["Tc", "Tw", "Tz", "TL", "Tr", "Ts", "Tj", "TJ", "'", "Do"] as const).map((name) => [name, 1] as const),
  ...(["Tf", "Td", "TD"] as const).map((name) => [name, 2] as const),
  ['"', 3],
  ["Tm", 6],
  ["cm", 6],
]);
/** After so many tokens, which are read in a few milliseconds, other requests get their turn. */
const TOKENS_PER_SLICE = 20_000;
const MAX_OPERANDS = 6;
/** Operands without an operator are dropped from time to time. */
const MAX_HELD_OPERANDS = 64;
const MAX_OPERATOR_BYTES = 2;
const [LETTER_E, LETTER_I, SPACE, LF] = [0x45, 0x49, 0x20, 0x0a];
/** The most `q` (save the state) without `Q` (restore it). The deeper ones have no effect. */
const MAX_SAVED_STATES = 64;
/** The bytes after an inline image that are looked at: a part of the image that looks like its end is followed by others. */
const AFTER_IMAGE_BYTES = 10;

/**
 * Reduces a content stream to its text: it writes the operators that show and place text, one a line, and leaves out drawings and
 * images, which are most of a stream and take as long to read.
 */
export function* textContent(bytes: Uint8Array, { form, font }: ContentNames): Slices<Uint8Array> {
  const lexer = new Lexer(bytes);
  // The spaces between operands may be new.
  const output = new Uint8Array(2 * bytes.length + 2);
  let length = 0;
  /** The ranges of the last operands. */
  const starts: number[] = [];
  const ends: number[] = [];
  let [arrays, savedStates] = [0, 0];
  const write = (start: number, end: number): void => {
    output.set(bytes.subarray(start, end), length);
    length += end - start;
    output[length++] = SPACE;
  };
  function* isUsed(operator: string, operand: number): Slices<boolean> {
    if (operator === "q") return ++savedStates <= MAX_SAVED_STATES;
    if (operator === "Q") return savedStates > 0 && --savedStates < MAX_SAVED_STATES;
    if (operator !== "Do" && operator !== "Tf") return true;
    const name = new Lexer(bytes, starts[operand]);
    if (name.next() !== "name") return false;
    return operator === "Do" ? yield* form(name.name()) : font(name.name());
  }
  for (let kind = lexer.next(), tokens = 1; kind !== "end"; kind = lexer.next(), tokens++) {
    if (tokens % TOKENS_PER_SLICE === 0) yield;
    if (kind !== "keyword") {
      if (kind === "]") {
        arrays--;
        if (arrays === 0) ends[ends.length - 1] = lexer.end;
        arrays = Math.max(arrays, 0);
        continue;
      }
      if (arrays === 0) {
        starts.push(lexer.start);
        ends.push(lexer.end);
        if (starts.length >= MAX_HELD_OPERANDS) for (const held of [starts, ends]) held.splice(0, held.length - MAX_OPERANDS);
      }
      if (kind === "[") arrays++;
      continue;
    }
    const operator = lexer.end - lexer.start <= MAX_OPERATOR_BYTES ? lexer.text() : "";
    if (operator === "BI") skipInlineImage(lexer);
    const count = OPERATORS.get(operator);
    const from = starts.length - (count ?? 0);
    if (count !== undefined && from >= 0 && arrays === 0 && (yield* isUsed(operator, from))) {
      for (let at = from; at < starts.length; at++) write(starts[at]!, ends[at]!);
      write(lexer.start, lexer.end);
      output[length - 1] = LF;
    }
    starts.length = ends.length = arrays = 0;
  }
  return output.slice(0, length);
}

/** Moves behind an inline image: its settings, the keyword `ID`, its bytes and the keyword `EI`. */
function skipInlineImage(lexer: Lexer): void {
  const { bytes } = lexer;
  for (let kind = lexer.next(); kind !== "end"; kind = lexer.next()) if (lexer.is("ID")) break;
  for (let at = bytes.indexOf(LETTER_E, lexer.end); at >= 0; at = bytes.indexOf(LETTER_E, at + 1)) {
    if (bytes[at + 1] !== LETTER_I || !isTextAt(bytes, at + 2)) continue;
    lexer.at = at + 2;
    return;
  }
  lexer.at = bytes.length;
}

/** Whether a space and then only characters of a content stream follow, or nothing. */
function isTextAt(bytes: Uint8Array, from: number): boolean {
  if (from < bytes.length && !isSpace(bytes[from])) return false;
  return bytes.subarray(from, from + AFTER_IMAGE_BYTES).every((byte) => isSpace(byte) || (byte >= 0x20 && byte < 0x7f));
}
